"""Compiled functions that read attributes of a thread, and ask for facts about the process."""

from __future__ import annotations

import importlib
import importlib.machinery
import logging
import os
import sys
import threading
import types
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest

import wengert as wg


class Settings(threading.local):
    """Settings with a default in each thread."""

    def __init__(self) -> None:
        self.scale, self.rows = 3.0, [1.0]

    @property
    def doubled(self) -> float:
        return 2.0 * self.scale


LOCAL, SETTINGS = threading.local(), Settings()
OF_THREADS = {threading.get_ident(): 1.0}


def an_attribute(x: Any) -> Any:
    return x * LOCAL.scale


def a_missing_attribute(x: Any) -> Any:
    return x * getattr(LOCAL, "factor", 4.0) if hasattr(LOCAL, "scale") else x


def of_a_subclass(x: Any) -> Any:
    return x * SETTINGS.scale + SETTINGS.doubled * x**2 + len(SETTINGS.rows)


def all_attributes(x: Any) -> Any:
    return x * vars(LOCAL)["scale"] + len(LOCAL.__dict__)


def an_array(x: Any) -> Any:
    LOCAL.array[0] = x
    return x * LOCAL.array.sum()


def by_thread(x: Any) -> Any:
    return x * OF_THREADS.get(threading.get_ident(), 9.0)


def sets_an_attribute(x: Any) -> Any:
    LOCAL.last = float(x)
    return x**2


def counts_depth(x: Any) -> Any:
    SETTINGS.depth = getattr(SETTINGS, "depth", 0) + 1
    return x * SETTINGS.depth


def results(f: Any) -> list[Any]:
    """The results of calls in this thread and in others, with the attributes of the thread afterwards."""
    found: list[Any] = []

    def call(x: float, scale: float) -> None:
        LOCAL.__dict__.clear()
        LOCAL.scale, LOCAL.array, SETTINGS.scale = scale, np.ones(2), scale
        SETTINGS.rows.append(x)
        if scale > 3.0:
            LOCAL.factor = scale
        found.append((f(x), sorted(vars(LOCAL)), LOCAL.array.tolist(), getattr(LOCAL, "last", None)))

    SETTINGS.__dict__.clear()
    SETTINGS.__init__()  # type: ignore[misc]
    for k in range(5):
        call(0.5 + k, 1.0 + k)
        thread = threading.Thread(target=call, args=(1.5 + k, 2.0 + k))
        thread.start()
        thread.join()
    return found


COMPILED = [an_attribute, a_missing_attribute, of_a_subclass, all_attributes, an_array, by_thread]


@pytest.mark.parametrize("f", COMPILED, ids=lambda f: f.__name__)
def test_each_thread_has_attributes_of_its_own(f: Any) -> None:
    assert results(wg.compile(f, strict=True)) == results(f)
    slopes = [found[0] for found in results(wg.compile(wg.grad(f), strict=True))]
    assert slopes == pytest.approx([found[0] for found in results(lambda x: wg.grad(f)(x))], rel=1e-12)


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("f", [sets_an_attribute, counts_depth], ids=lambda f: f.__name__)
def test_functions_that_set_attributes_of_a_thread_run_uncompiled(f: Any) -> None:
    compiled = wg.compile(f)
    assert results(compiled) == results(f)
    assert "it sets the attribute" in compiled.explain()


def test_answers_about_the_process_are_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = str(tmp_path / "settings")

    def f(x: Any) -> Any:
        rate = 2.0 if os.path.exists(name) else 3.0
        return rate * x + (x**2 if os.getenv("WENGERT_TEST", default="0") == "1" else 0.0) + len(os.getcwd())

    monkeypatch.chdir(tmp_path)
    compiled = wg.compile(f, strict=True)
    found = [(compiled(2.0), f(2.0))]
    Path(name).touch()
    found.append((compiled(2.0), f(2.0)))
    monkeypatch.setenv("WENGERT_TEST", "1")
    found.append((compiled(2.0), f(2.0)))
    os.remove(name)
    found.append((compiled(2.0), f(2.0)))
    monkeypatch.chdir(tmp_path.parent)
    found.append((compiled(2.0), f(2.0)))
    assert all([a == b for a, b in found]) and len({*found}) == 5


KEY = "a"


def is_hashable(thing: Any) -> bool:
    try:
        hash(thing)
    except TypeError:
        return False
    return True


def test_a_hash_of_a_constant_is_a_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        return x * (hash((KEY, 1)) % 7) if is_hashable(KEY) and not is_hashable([x]) else x

    compiled = wg.compile(f, strict=True)
    for key in "abcdef":
        monkeypatch.setitem(globals(), "KEY", key)
        assert compiled(2.0) == f(2.0)


HASHES = [
    (lambda x: x * (hash(x) % 7), "float"),
    (lambda x: x * (hash(f"{x}") % 7), "str"),
    (lambda x: x * (hash((f"{x:.1f}", 1)) % 7), "tuple"),
]


@pytest.mark.parametrize(("f", "kind"), HASHES, ids=[kind for _, kind in HASHES])
def test_a_hash_of_an_input_is_none(f: Any, kind: str) -> None:
    with pytest.raises(wg.NotCompiledError, match=f"it calls hash of a {kind}"):
        wg.compile(f, strict=True)(2.0)


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
def test_questions_by_computed_strings_run_uncompiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("2.0").touch()
    monkeypatch.setenv("WENGERT_3.0", "1")

    def f(x: Any) -> Any:
        return x * (2.0 if os.path.exists(f"{x}") else 3.0) * (5.0 if os.getenv(f"WENGERT_{x:.1f}") else 7.0)

    compiled = wg.compile(f)
    assert [compiled(x) for x in (2.0, 3.0, 4.0)] == [f(x) for x in (2.0, 3.0, 4.0)] == [28.0, 45.0, 84.0]
    assert "other arguments than constant strings" in compiled.explain()


@pytest.mark.parametrize("asked", [("looked_up",), (".", "looked_up")])
def test_a_module_that_another_replaces(asked: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: float) -> float:
        return x * importlib.import_module(*asked).rate

    g = wg.compile(f)
    for rate in (3.0, 4.0, 5.0):
        module = types.ModuleType("named_otherwise" if rate == 5.0 else "looked_up")
        vars(module)["rate"] = rate
        monkeypatch.setitem(sys.modules, "looked_up", module)
        assert g(2.0) == f(2.0) == 2.0 * rate


def test_a_logger_that_another_replaces(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: float) -> float:
        return x * logging.getLogger("asked_for").level

    g = wg.compile(f)
    for level in (10, 20, 30):
        own = logging.Logger("asked_for", level)
        monkeypatch.setitem(logging.root.manager.loggerDict, "asked_for", own)
        assert g(2.0) == f(2.0) == 2.0 * level


class WithSpecClass:
    spec_class = importlib.machinery.ModuleSpec


def test_a_module_that_is_loaded_in_the_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python loads it by functions that are instrumented here, as the code reads their class."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "loaded_in_trace.py").write_text("rate = 3.0\n")

    def f(x: float) -> float:
        assert WithSpecClass.spec_class.parent is not None
        return x * importlib.import_module("loaded_in_trace").rate

    g = wg.compile(f)
    assert [g(1.0), g(2.0)] == [3.0, 6.0]
    assert "runs uncompiled" not in g.explain()
    vars(sys.modules["loaded_in_trace"])["rate"] = 4.0
    assert g(2.0) == f(2.0) == 8.0
    other = sys.modules["loaded_in_trace"] = types.ModuleType("loaded_in_trace")
    vars(other)["rate"] = 5.0
    assert g(2.0) == f(2.0) == 10.0
    del sys.modules["loaded_in_trace"]
    assert g(2.0) == f(2.0) == 6.0
    del sys.modules["loaded_in_trace"]


FOLDER = Path("/data/of/runs")


def test_a_path_from_outside_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        name = (FOLDER / "a" / "b.npy").with_suffix(".npz").name
        return x * x * len(FOLDER.parts) * len(f"{FOLDER}") * len(name)

    g = wg.compile(wg.grad(f), strict=True)
    assert g(3.0) == g(3.0) == 6.0 * 4 * 13 * 5
    monkeypatch.setitem(globals(), "FOLDER", PurePosixPath("/data/of/runs"))
    assert g(3.0) == 6.0 * 4 * 13 * 5
    monkeypatch.setitem(globals(), "FOLDER", Path("/x"))
    assert g(3.0) == 6.0 * 2 * 2 * 5


def test_a_path_that_is_looked_up_runs_uncompiled(tmp_path: Path) -> None:
    def f(x):
        return x * x * (2.0 if (tmp_path / "a").exists() else 1.0)

    g = wg.compile(wg.grad(f), quiet=True)
    with pytest.warns(wg.NotCompiledWarning):
        assert g(3.0) == 6.0
    (tmp_path / "a").touch()
    assert g(3.0) == 12.0
