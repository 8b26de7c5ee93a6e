"""What is printed of a call is what the call path does, for every public callable of Python, NumPy and SciPy."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import datetime
import decimal
import functools
import gc
import importlib
import io
import pkgutil
import queue
import random
import re
import sys
import threading
import types
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.__main__ import main
from wengert.errors import NoRuleError
from wengert.hooks import calls, code_swap, decide, standins
from wengert.hooks.policy import Kind
from wengert.hooks.search import ASKING_TYPES
from wengert.hooks.tracer import open_level
from wengert.recording.primitives import INPUT, primitive_of
from wengert.recording.recording import Recording
from wengert.recording.shadow import SHADOW
from wengert.values.codes import original
from wengert.values.specs import fresh

ELSEWHERE = {"antigravity", "this", "idlelib", "test", "turtledemo", "tkinter", "lib2to3", "turtle"}
"""Modules that act when they are imported, or need a screen."""


def public(space: Any) -> Iterator[Any]:
    """The callables that a module or class names in public, and the methods of its classes and ufuncs."""
    for name in [name for name in dir(space) if not name.startswith("_")]:
        with contextlib.suppress(AttributeError, DeprecationWarning):
            value = getattr(space, name)
            if callable(value) and type(value) is not functools.partial:  # it is as what it calls
                yield value
            if isinstance(value, type) and isinstance(space, types.ModuleType):
                yield from public(value)
            if isinstance(value, np.ufunc):
                yield from [getattr(value, method) for method in ("reduce", "accumulate", "reduceat", "outer", "at")]


def modules(top: str) -> Iterator[types.ModuleType]:
    try:
        module = importlib.import_module(top)
    except ImportError:  # of another system
        return
    yield module
    for info in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not info.name.startswith("_") and info.name not in ("tests", "testing", "conftest", "f2py", "distutils"):
            yield from modules(f"{top}.{info.name}")


def all_public(*tops: str) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {id(f): f for top in tops for module in modules(top) for f in public(module)}
    return list(found.values())


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> set[Any]:
    """The functions whose code would be exchanged: here none is."""
    functions: set[Any] = set()
    twin_of = code_swap.twin_of  # needed by stand-ins; a twin to exchange is not made
    monkeypatch.setattr(code_swap, "twin_of", lambda code, *how: None if how else twin_of(code))
    monkeypatch.setattr(code_swap, "exchange", lambda f, own, twin: functions.add(f))
    monkeypatch.setattr(code_swap, "_prepare_named", lambda f, code: None)
    monkeypatch.setattr(decide, "copy_function", lambda f, code: types.FunctionType(code, {}, closure=f.__closure__))
    monkeypatch.setattr(decide, "twin_of", lambda code, deep: code)
    monkeypatch.setattr(code_swap, "_swap_in_function", lambda f, sees_result, lazily=True: None)
    return functions


def agrees(f: Any, kind: Kind, given: Any, entered: set[Any], box: Any) -> bool:
    """Whether what is called in place of a callable is what was decided of it."""
    if kind is Kind.PLAIN:
        return given == f if type(f) is types.MethodType else given is f
    if kind is Kind.SEARCHED:
        own = TypeError, ValueError, RuntimeError  # of a callable that takes other arguments
        with pytest.raises((NoRuleError, *own)):
            given(box.traced)
        return True
    if kind is Kind.RECORDED:
        return primitive_of(f) is not None and (given is not f or f in ASKING_TYPES)
    if kind is Kind.ENTERED and type(f) is types.FunctionType:
        made_from = original(given.__code__) or given.__code__  # another test may have made the copy already
        return (given is f and f in entered) or (given is not f and made_from is f.__code__)
    return callable(given)


def boxed(recording: Recording) -> Any:
    """A traced number, an input at slot 0, where the net under escaped frames does not find it."""
    box = types.SimpleNamespace(traced=fresh(0.5))
    recording.entries.append((INPUT, box.traced, (), (), None, None))
    SHADOW[id(box.traced)] = 0
    return box


def disagreeing(callables: list[Any], entered: set[Any]) -> list[Any]:
    kinds = [decide.decide(f).kind for f in callables]
    with open_level() as (recording, _):
        box = boxed(recording)
        found = [agrees(f, kind, calls.resolve(f), entered, box) for f, kind in zip(callables, kinds, strict=True)]
        recording.refusals.clear()
    return [f for f, agreed in zip(callables, found, strict=True) if not agreed]


def test_builtins_and_numpy(entered: set[Any]) -> None:
    found = all_public("builtins", "math", "cmath", "operator", "itertools", "functools", "numpy")
    assert len(found) > 2000
    assert disagreeing(found, entered) == []


def test_the_standard_library_and_scipy(entered: set[Any]) -> None:
    names = [name for name in sorted(sys.stdlib_module_names) if not name.startswith("_") and name not in ELSEWHERE]
    found = all_public(*names, "scipy")
    assert len(found) > 10_000
    assert disagreeing(found, entered) == []


def generator() -> Iterator[float]:
    yield 1.0


OBJECTS: list[Any] = [
    np.ones((2, 2)), np.float64(1), np.float32(1), np.complex128(1), np.int64(1), np.bool_(True), 1.5, 2**70, 1j, True,
    [1.0], {}, (1.0,), set(), frozenset(), collections.deque(), collections.OrderedDict(), collections.defaultdict(),
    "s", b"s", bytearray(), memoryview(b"s"), generator(), io.StringIO(), io.BytesIO(), sys.__stdout__, ValueError(),
    ExceptionGroup("", [ValueError()]), slice(1), range(3), types.MappingProxyType({}), iter([]), iter({}), object(),
    contextvars.Context(), property(), queue.SimpleQueue(), threading.Lock(), np.random.default_rng(0), np.dtype(float),
    np.ones(3).flat, np.add, decimal.Decimal(1), datetime.date(2000, 1, 1), re.compile("a"), random.Random(0),
]  # fmt: skip


@pytest.mark.parametrize("owner", OBJECTS, ids=lambda owner: type(owner).__name__)
def test_methods_of_objects(owner: Any, entered: set[Any]) -> None:
    methods = [getattr(owner, name, None) for name in dir(owner) if name != "__class__"]
    bound = [f for f in methods if type(f) is types.BuiltinFunctionType and f.__self__ is owner]
    with open_level() as (recording, _):
        box = boxed(recording)
        if isinstance(owner, int | float | complex | np.generic):  # of others the methods run as they are
            SHADOW[id(owner)] = 0
        for f in bound:
            kind, given = decide.decide(f).kind, calls.resolve(f)
            if kind is Kind.RECORDED:
                assert given is not f and is_ruled(f)
            else:
                assert agrees(f, kind, given, entered, box), (f, kind, given)
        recording.refusals.clear()


def is_ruled(f: Any) -> bool:
    """Whether a method has a rule, of its own or of NumPy's function of that name."""
    spelled = [getattr(owner, f.__name__, None) for owner in (type(f.__self__), np.ndarray, np)]
    return any([one in wg.rules for one in (f, *spelled)])


def test_every_file_of_stand_ins_has_entered_its_decisions() -> None:
    for library in ("csv", "numpy.random", "random", "statistics"):  # for which stand-ins load later
        importlib.import_module(library)
    wg.rules.load()
    files = {f"{standins.__name__}.{info.name}" for info in pkgutil.iter_modules(standins.__path__)}
    assert files <= sys.modules.keys()


def test_to_ask_changes_nothing() -> None:
    def f(x: float) -> float:
        return x * x

    class Model:
        def __call__(self, x: float) -> float:
            return x * x

    codes = f.__code__, Model.__call__.__code__
    assert {wg.explain_call(asked).kind for asked in (f, Model, Model(), Model().__call__)} == {Kind.ENTERED.value}
    assert (f.__code__, Model.__call__.__code__) == codes


def test_a_rule_goes_before_a_stand_in() -> None:
    with wg.rules.scope():

        @wg.rrule(sorted)
        def sorted_rule(items):
            return sorted(items), lambda bars: ([7.0 for _ in bars],)

        assert wg.explain_call(sorted).kind == Kind.RECORDED.value
        assert wg.grad(lambda x: sorted([x, 1.0])[1])(2.0) == 7.0
    assert wg.grad(lambda x: sorted([x, 1.0])[1])(2.0) == 1.0


def test_a_rule_of_one_closure_is_seen_where_another_runs_the_same_code() -> None:
    def times(k: float) -> Any:
        return lambda x: k * x

    def f(x: float) -> float:
        first, second = times(2.0), times(3.0)
        y = first(x) + second(x)
        wg.rrule(second)(lambda x: (3.0 * x, lambda y_bar: 100.0 * y_bar))
        return y + first(x) + second(x)

    with wg.rules.scope():
        assert wg.value_and_grad(f)(1.0) == (10.0, 2.0 + 3.0 + 2.0 + 100.0)


def test_what_records_by_a_rule_goes_with_it() -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    with wg.rules.scope():
        wg.rules.remove(np.ravel)
        assert wg.explain_call(np.ravel).kind == Kind.ENTERED.value
        with pytest.raises(NoRuleError, match=r"np.ravel .* has no rule"):
            wg.grad(lambda x: np.ravel(x)[1])(x)
        wg.rules.remove(sum)
        with pytest.raises(NoRuleError, match="sum has no rule"):
            wg.grad(lambda x: sum([x, x]))(1.0)
    assert wg.explain_call(np.ravel).kind == Kind.RECORDED.value


def test_classes_made_inside_may_go() -> None:
    made: list[weakref.ref[type]] = []

    def f(x: float) -> float:
        class Table(dict):  # type: ignore[type-arg]
            pass

        made.append(weakref.ref(Table))
        Table.fromkeys([1])
        return x * Table(a=x).get("a")

    assert wg.grad(f)(3.0) == 6.0
    gc.collect()
    assert made[0]() is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("np.sin", ["recorded as one call", "elementwise.py:"]),
        ("np.argmax", ["recorded as one call", "declared to have no derivative"]),
        ("np.fft.fftn", ["traced", "_pocketfft.py:", "@wg.rrule(np.fft.fftn)"]),
        ("sorted", ["replaced by a stand-in", "(ordered)"]),
        ("list.append", ["called untraced\n", "containers.py:"]),
        ("np.ndarray.fill", ["replaced by a stand-in", "writers.py:"]),
        ("np.ndarray.tobytes", ["refused", "written in C", "@wg.rrule(np.ndarray.tobytes)"]),
        ("np.ndarray.tolist", ["replaced by a stand-in", "(tolist)"]),
        ("threading.Thread.start", ["refused", "threads", "modules.py:"]),
        ("logging.info", ["called untraced\n", "modules.py:"]),
        ("fractions.Fraction", ["traced", "fractions.py:"]),
        ("wengert.grad", ["called untraced\n", "wengert's own"]),
    ],
)
def test_the_command(name: str, said: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", name]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"{name}: ")
    assert [text for text in said if text not in printed] == []
    for file, line in re.findall(r"(/\S+\.py):(\d+)", printed):
        assert int(line) <= len(Path(file).read_text().splitlines())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explain", "np.sinn"], "numpy has no sinn"),
        (["explain", "np.linalg.Solve"], "Did you mean solve"),
        (["explain", "xyz.f"], "no module xyz"),
        (["explain", "np.pi"], "np.pi is of type float, not a function"),
        (["explain"], "required: name"),
        (["polcy", "np.sin"], "invalid choice"),
        ([], "required: command"),
    ],
)
def test_the_command_says_what_is_wrong(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_what_cannot_be_called_has_no_policy() -> None:
    with pytest.raises(wg.ArgumentError, match="a float is not callable"):
        wg.explain_call(3.0)  # type: ignore[arg-type]
