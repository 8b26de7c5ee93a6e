"""Lookups in `sys.modules`: a compiled function guards the modules that it asks for, and gives up on other reads."""

from __future__ import annotations

import operator
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import wengert as wg

NAME = "a_module_of_this_test"
HELD = {"modules": sys.modules}


def caught(x: float) -> float:
    try:
        sys.modules[NAME]
    except KeyError:
        return x * 2
    return x * 3


def with_module(x: float) -> float:
    made: float = sys.modules["numpy"].sum(np.array([x, 1.0]))
    return made


LOOKUPS: list[Callable[[float], float]] = [
    caught,
    with_module,
    lambda x: x * 2 if NAME in sys.modules else x * 3,
    lambda x: x * 2 if NAME not in sys.modules else x * 3,
    lambda x: x * 2 if sys.modules.get(NAME) is None else x * 3,
    lambda x: x * 2 if sys.modules.get(NAME, 7) == 7 else x * 3,
    lambda x: x * 2 if HELD["modules"] is sys.modules and NAME in HELD["modules"] else x * 3,
    lambda x: x * 2 if operator.itemgetter("numpy")(sys.modules) is np else x * 3,
    lambda x: x * 2 if sys.modules.__contains__(NAME) else x * 3,
]
OTHERS: list[Callable[[float], float]] = [
    lambda x: x * (NAME in [*sys.modules]),
    lambda x: x * (NAME in {**sys.modules}),
    lambda x: x * (NAME in dict(sys.modules)),
    lambda x: x * (NAME in sys.modules.keys()),
    lambda x: x * (NAME in sys.modules.copy()),
    lambda x: x * (NAME in sorted(sys.modules)),
    lambda x: x * (len(sys.modules) > 3),
    lambda x: x * 2 if sys.modules == HELD["modules"] else x * 3,
    lambda x: x * (sys.modules.setdefault("another_module_of_this_test", 2) + 1),  # type: ignore[call-overload, no-any-return]
]


@pytest.fixture(autouse=True)
def _odd_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that no guard can inspect, as some packages have them."""
    monkeypatch.setitem(sys.modules, "odd", types.SimpleNamespace())  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "another_module_of_this_test", 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("f", LOOKUPS)
def test_a_lookup_guards_one_module(f: Callable[[float], float], monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = wg.compile(f, strict=True)
    for has_module in (False, False, True, False, True):
        with monkeypatch.context() as patch:
            if has_module:
                patch.setitem(sys.modules, NAME, types.ModuleType(NAME))
            assert compiled(3.0) == f(3.0)
    assert "odd" not in compiled.explain()


@pytest.mark.parametrize("f", OTHERS)
def test_another_read_is_right_uncompiled(f: Callable[[float], float], monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = wg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wg.NotCompiledWarning)
        for has_module in (False, True, False):
            with monkeypatch.context() as patch:
                if has_module:
                    patch.setitem(sys.modules, NAME, types.ModuleType(NAME))
                assert compiled(3.0) == f(3.0)
    assert "of sys.modules" in compiled.explain()


def test_a_module_that_is_loaded_after_the_code_has_read_a_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's import system runs uninstrumented, although the class of its specs is known to the trace."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "loaded_after_a_spec.py").write_text("rate = 3.0\n")

    def f(x: float) -> float:
        assert sys.modules["math"].__spec__ is not None
        import loaded_after_a_spec as loaded  # type: ignore[import-not-found]

        return x * loaded.rate

    g = wg.compile(f, strict=True)
    assert [g(1.0), g(2.0)] == [3.0, 6.0]
    del sys.modules["loaded_after_a_spec"]


def test_what_a_spec_computes_is_not_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = np.__spec__

    def f(x: float) -> float:
        return x * len(spec.parent)

    g = wg.compile(f, quiet=True)
    assert g(2.0) == 2.0 * len("numpy")
    monkeypatch.setattr(spec, "name", "longer_name")
    assert g(2.0) == f(2.0) == 2.0 * len("longer_name")
