"""What a compiled function reads, and gives, by ways that are seldom gone: compiled is as plain after each change."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.array([3.0, 1.0, 2.0])


def as_plain(f: Any, calls: list[Any], changes: tuple[str, ...] = (), space: dict[str, Any] | None = None) -> Any:
    """Compare each call of the compiled function with a plain one, and make the changes between them."""
    g = wg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wg.NotCompiledWarning)
        for k, args in enumerate(calls):
            assert shown(g(*args)) == shown(f(*args)), k
            if k < len(changes):
                exec(changes[k], space)
    return g


def shown(result: Any) -> str:
    parts = {**vars(result)} if hasattr(result, "__dict__") and not isinstance(result, np.ndarray) else result
    return f"{type(result).__name__} {parts!r}"


RESULTS = {
    "order": np.argsort,
    "place": np.argmax,
    "test": lambda x: x > 1.5,
    "whole numbers": lambda x: x.astype(int),
    "one whole number": lambda x: np.floor(x[0]).astype(int),
    "places": lambda x: np.nonzero(x > 1.5),
    "text": lambda x: f"{x[0]:.1f}",
    "key": lambda x: {f"{x[0]:.0f}": 1.0},
    "mask": lambda x: np.ma.masked_greater(x, 1.5),
    "exponents": np.frexp,
    "many": lambda x: (np.searchsorted([1.5, 2.5], x), [np.signbit(x - 1.5), "text"], x.shape),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_that_are_no_floats(name: str) -> None:
    as_plain(RESULTS[name], [(X,), (X[::-1].copy(),), (X * 0.5,), (X,)])


@dataclass
class Line:
    a: float
    b: float
    name: str = "line"


@dataclass
class Fit:
    line: Line
    weights: list[Any]


def of_line(line: Any) -> Any:
    return line.a**2 * line.b


@pytest.mark.parametrize("derivative", [wg.value_and_grad, wg.grad, wg.hessian])
def test_derivatives_with_respect_to_objects(derivative: Any) -> None:
    f = derivative(of_line)
    g = wg.compile(f, strict=True)
    for k in (1.0, 2.0, 3.0):
        assert repr(g(Line(k, k + 2.0))) == repr(f(Line(k, k + 2.0)))
    assert "of_line: compiled (NumPy), 1 trace" in g.explain()


def test_objects_in_objects() -> None:
    f = wg.value_and_grad(lambda fits: sum(of_line(fit.line) * fit.weights[0] for fit in fits))
    as_plain(f, [([Fit(Line(k, 2.0), [k]), Fit(Line(2.0, k), [2.0])],) for k in (1.0, 2.0, 3.0)])


THROUGH_OBJECTS = {
    "ravel": lambda x: x * np.sum(wg.ravel(LINE)[0]),
    "tangent": lambda x: wg.jvp(of_line, (Line(x, x),), (LINE,))[1],
    "stop_gradient": lambda x: x * wg.stop_gradient(LINE).b,
    "gradient": lambda x: wg.grad(lambda line: of_line(line) * x)(LINE).a,
    "shared under vmap": lambda x: wg.vmap(lambda line, row: row * line.b, (None, 0))(LINE, x * X),
}
LINE = Line(1.0, 2.0)


@pytest.mark.parametrize("name", THROUGH_OBJECTS)
def test_objects_that_wengert_walks_through(name: str) -> None:
    changes = ("LINE.b = 5.0", "LINE.a = 7.0", "LINE = Line(0.5, 0.25)")
    as_plain(THROUGH_OBJECTS[name], [(1.0,), (1.0,), (1.5,), (1.5,)], changes, globals())


class Model:
    def __init__(self) -> None:
        self.w = np.ones(3)

    def loss(self, x: Any) -> Any:
        return np.sum(self.w * x)


MODEL = Model()


def test_a_gradient_with_respect_to_all_that_a_function_holds() -> None:
    f = lambda x: wg.grad(MODEL.loss, x)[1][1]
    as_plain(f, [(X,), (X,), (X,)], ("MODEL.w[0] = 5.0", "MODEL.w = X"), globals())


rate = 2.0


def weighed(x: Any) -> Any:
    return np.sum(x) * rate


@pytest.mark.parametrize("f", [weighed, lambda x: x * len(TABLE), wg.grad(weighed)])
def test_what_is_read_under_vmap(f: Any) -> None:
    x = np.ones((2, 3))
    as_plain(wg.vmap(f), [(x,), (x,), (x,)], ("rate = 3.0; TABLE.append(1)", "rate = 2.0; TABLE.pop()"), globals())


TABLE = [1, 2]
KINDS = """
import functools, sys, types, weakref
class Thing: pass
thing, other = Thing(), Thing(); thing.a, other.a = 2.0, 5.0
weak = weakref.WeakValueDictionary(k=thing)
keys, members = weakref.WeakKeyDictionary({thing: 2.0}), weakref.WeakSet([thing])
ending = weakref.finalize(thing, len, "")
ending.atexit = False
module = types.ModuleType("of_test"); module.k = 2.0
class Made(types.ModuleType):
    k = property(lambda self: 9.0)
@functools.singledispatch
def told(z): return z * 2.0
def helper(): "two"
class C:
    def m(self): "two"
    m.a = 2.0
c = C()
sys.of_test = [2.0]
record = np.array([(0.0, 1)], dtype=[("a", "f8"), ("n", "i4")])
a = b = np.ones(())
"""
READ = [
    ("weak['k'].a", "weak['k'] = other"),
    ("keys[thing]", "keys[thing] = 5.0"),
    ("len(members)", "members.add(other)"),
    ("(2.0 if ending.alive else 3.0)", "ending.detach()"),
    ("vars(module)['k']", "module.k = 3.0"),
    ("getattr(module, 'k')", "module.k = 3.0"),
    ("getattr(module, 'k', 1.0)", "del module.k"),
    ("told(1.0)", "told.register(float, lambda z: z * 5.0)"),
    ("len(helper.__doc__)", "helper.__doc__ = 'three'"),
    ("len(helper.__name__)", "helper.__name__ = 'h'"),
    ("c.m.a", "C.m.a = 3.0"),
    ("len(c.m.__doc__)", "C.m.__doc__ = 'three'"),
    ("sys.of_test[0]", "sys.of_test[0] = 3.0"),
    ("(2.0 if 'of_test' in sys.modules else 3.0)", "sys.modules['of_test'] = module"),
    ("np.copysign(1.0, record['a'][0])", "record['a'][0] = -0.0"),
    ("(2.0 if a is b else 3.0)", "b = a.copy()"),
]


@pytest.mark.parametrize(("read", "change"), READ, ids=[read for read, _ in READ])
def test_what_is_read(read: str, change: str) -> None:
    space: dict[str, Any] = {"np": np, "__name__": "read"}
    exec(f"{KINDS}\ndef f(x): return x * {read}\n", space)
    as_plain(space["f"], [(1.5,), (1.5,), (2.5,)], (change,), space)
    space["sys"].modules.pop("of_test", None)
    del space["sys"].of_test


def test_a_module_that_becomes_an_object_of_another_class() -> None:
    space: dict[str, Any] = {"np": np}
    exec(f"{KINDS}\ndef f(x): return x * module.k\n", space)
    g = wg.compile(space["f"], strict=True)
    assert g(1.0) == 2.0
    space["module"].__class__ = space["Made"]
    assert g(1.0) == 9.0


def test_whether_an_array_can_be_written() -> None:
    space: dict[str, Any] = {"np": np, "W": np.array([1.937, 2.0])}
    exec("def f(x):\n  for _ in range(2): x = x + x * len(repr(W[0] if W.flags.writeable else 0.5))\n  return x", space)
    as_plain(wg.grad(space["f"]), [(1.0,), (1.0,), (1.0,)], ("W.sort()", "W.flags.writeable = False"), space)
