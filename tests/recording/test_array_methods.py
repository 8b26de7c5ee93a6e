"""Arrays of classes made from `np.ndarray`, whose methods NumPy calls: right, in gradients and on tapes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg


class Plain(np.ndarray):
    pass


class Noted(np.ndarray):
    def __array_finalize__(self, obj):
        self.info = getattr(obj, "info", None)


class Growing(np.ndarray):
    def __array_finalize__(self, obj):
        self.k = getattr(obj, "k", 1.0) * 1.5


class Summed(np.ndarray):
    def __array_finalize__(self, obj):
        self.s = None if obj is None or obj.size == 0 else np.sum(np.asarray(obj))


class WrapsAsNumPy(np.ndarray):
    def __array_finalize__(self, obj):
        super().__array_finalize__(obj)

    def __array_wrap__(self, a, *rest):
        return super().__array_wrap__(a, *rest)


class WithUnit(np.ndarray):
    def __array_finalize__(self, obj):
        self.unit = getattr(obj, "unit", "m")

    def __array_wrap__(self, a, context=None, return_scalar=False):
        made = super().__array_wrap__(a, context, return_scalar)
        if context is not None and isinstance(made, WithUnit):
            made.unit = self.unit + context[0].__name__
        return made


class WrapsAView(np.ndarray):
    def __array_wrap__(self, a, *rest):
        return a.view(type(self))


class WrapsPlain(np.ndarray):
    def __array_wrap__(self, a, *rest):
        return np.asarray(a)


class Triples(np.ndarray):
    def __array_wrap__(self, a, *rest):
        return np.asarray(a) * 3


class TakesUfuncs(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        inputs = [np.asarray(i) if isinstance(i, TakesUfuncs) else i for i in inputs]
        if out is not None:
            options["out"] = tuple([np.asarray(o) if isinstance(o, TakesUfuncs) else o for o in out])
        made = getattr(ufunc, method)(*inputs, **options)
        return made.view(TakesUfuncs) if isinstance(made, np.ndarray) else made


class Doubles(np.ndarray):
    k = 2.0

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        inputs = [np.asarray(i) if isinstance(i, Doubles) else i for i in inputs]
        return getattr(ufunc, method)(*inputs, **options) * self.k


class TakesFunctions(np.ndarray):
    def __array_function__(self, func, types, args, kwargs):
        return super().__array_function__(func, types, args, kwargs)


class Scales(np.ndarray):
    def __array_function__(self, func, types, args, kwargs):
        return np.asarray(super().__array_function__(func, types, args, kwargs)) * getattr(self, "k", 1.0)


CLASSES = (
    Plain, Noted, Growing, Summed, WrapsAsNumPy, WithUnit, WrapsAView, WrapsPlain, Triples, TakesUfuncs, Doubles,
    TakesFunctions, Scales, np.memmap,
)  # fmt: skip


def _in_place(w, x):
    y = w.copy()
    y *= 2
    y += np.asarray(x)
    return np.sum(np.asarray(y) ** 2)


def _out(w, x):
    out = np.ones(3)
    np.multiply(w, x, out=out)
    return np.sum(out * x)


def _attribute(w, x):
    v = w.copy()
    v.k = 1.25
    u = v * 2.0
    return np.sum(np.asarray(u) * x) * getattr(u, "k", 1.0)


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda w, x: np.sum(np.asarray(w * x)),
    "reflected": lambda w, x: np.sum(np.asarray(x * w)),
    "np.multiply": lambda w, x: np.sum(np.asarray(np.multiply(w, x))),
    "np.multiply, last": lambda w, x: np.sum(np.asarray(np.multiply(x, w))),
    "np.sin": lambda w, x: np.sum(np.asarray(np.sin(w))) * x[0],
    "np.sum": lambda w, x: np.sum(w) * x[1],
    "mean": lambda w, x: w.mean() * x[1],
    "items": lambda w, x: w[0] * x[1] + w[1:][0] * x[0],
    "np.dot": lambda w, x: np.dot(w, x),
    "of an attribute": lambda w, x: np.sum(np.asarray(w + x) * getattr(w + x, "k", 1.0)),
    "an attribute set": _attribute,
    "in place": _in_place,
    "out=": _out,
    "np.where": lambda w, x: np.sum(np.asarray(np.where(np.asarray(x) > 0, w, x))),
    "np.concatenate": lambda w, x: np.sum(np.asarray(np.concatenate([w, x])) ** 2),
    "np.clip": lambda w, x: np.sum(np.asarray(np.clip(w, -abs(x[0]), abs(x[1])))),
    "copy": lambda w, x: np.sum(np.asarray(w.copy()) * x),
    "reshape": lambda w, x: np.sum(np.asarray(w.reshape(3, 1).T) * x),
}
W, X = np.array([0.5, 1.25, -0.75]), np.array([0.3, -1.1, 0.9])
MODES: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda f, x: wg.grad(f)(x),
    "tape": lambda f, x: wg.gradtape(f, x).play(x)[1][1],
}


def made(cls: type, a: np.ndarray, folder: Path) -> Any:
    if cls is not np.memmap:
        return a.copy().view(cls)
    mapped = np.memmap(folder / "numbers", dtype=float, mode="w+", shape=a.shape)
    mapped[:] = a
    return mapped


def differences(f: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    """Central differences, of what may give a number in an array of one."""
    steps = 1e-6 * np.eye(3)
    return np.array([np.asarray(f(x + e) - f(x - e)).item() / 2e-6 for e in steps])


@pytest.mark.parametrize("where", ["constant", "argument"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("cls", CLASSES)
def test_gradient(cls: type, program: str, where: str, tmp_path: Path) -> None:
    run = PROGRAMS[program]
    if where == "constant":
        w, x = made(cls, W, tmp_path), X

        def f(x):
            return run(w, x)

        expected = differences(f, X)
    else:
        x = made(cls, W, tmp_path)

        def f(w):
            return run(w, X)

        expected = differences(lambda a: run(made(cls, a, tmp_path), X), W)
    for mode, gradient in MODES.items():
        np.testing.assert_allclose(np.asarray(gradient(f, x)), expected, rtol=1e-5, atol=1e-7, err_msg=mode)


def finalized(x):
    w = W.view(Growing)
    w.k = x[0]
    return (w * 2.0).k * w[1:].k


def by_function(x):
    w = W.view(Scales)
    w.k = x[0]
    return np.sum(np.asarray(np.concatenate([w, w])))


def by_function_inside(x):
    w = W.view(Scales)
    w.k = [x[0]]
    return np.sum(np.asarray(np.concatenate([w, x])))


def by_closure(x):
    k = x[0] * 2

    class Times(np.ndarray):
        def __array_function__(self, func, types, args, kwargs):
            return np.asarray(super().__array_function__(func, types, args, kwargs)) * k

    w = W.view(Times)
    return np.sum(np.asarray(np.concatenate([w, w])))


@pytest.mark.parametrize("f", [finalized, by_function, by_function_inside, by_closure])
def test_attributes_that_are_traced_are_seen(f: Callable[[Any], Any]) -> None:
    for gradient in MODES.values():
        np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-6)


FACTOR: dict[str, Any] = {}


class TimesFactor(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        made = getattr(ufunc, method)(*map(np.asarray, inputs), **options) * FACTOR["k"]
        if out is None:
            return made
        np.asarray(out[0])[...] = made
        return out[0]


class WrapsTimes(np.ndarray):
    def __array_finalize__(self, obj):
        self.k = getattr(obj, "k", 1.0)

    def __array_wrap__(self, a, *rest):
        return np.asarray(a) * self.k


class LargeTwice(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        made = getattr(ufunc, method)(*map(np.asarray, inputs), **options)
        made = made * 2 if np.max(made) > 3.0 else made
        if out is None:
            return made
        np.asarray(out[0])[...] = made
        return out[0]


class LargeWrappedTwice(np.ndarray):
    def __array_wrap__(self, a, *rest):
        return np.asarray(a) * (2 if np.max(np.asarray(a)) > 3.0 else 1)


def by_global_name(x):
    FACTOR["k"] = x[0]
    return np.sum(np.asarray(W.view(TimesFactor) * x))


def by_global_name_in_place(x):
    FACTOR["k"] = x[0]
    w = W.copy().view(TimesFactor)
    w *= x
    return np.sum(np.asarray(w))


def by_closure_of_a_wrapper(x):
    k = x[0]

    class Times(np.ndarray):
        def __array_wrap__(self, a, *rest):
            return np.asarray(a) * k

    return np.sum(np.asarray(W.view(Times) * x))


def by_attribute_of_the_class(x):
    class Times(np.ndarray):
        k = x[0]

        def __array_wrap__(self, a, *rest):
            return np.asarray(a) * self.k

    return np.sum(np.asarray(W.view(Times) * x))


def by_attribute_of_a_wrapper(x):
    w = W.view(WrapsTimes)
    w.k = x[0]
    return np.sum(np.asarray(w * x))


def by_attribute_of_a_wrapper_of_sums(x):
    w = np.ones(3).view(WrapsTimes)
    w[:] = x
    w.k = x[0]
    return np.sum(w) + w.mean()


FACTORS = [
    by_global_name, by_global_name_in_place, by_closure_of_a_wrapper, by_attribute_of_the_class,
    by_attribute_of_a_wrapper, by_attribute_of_a_wrapper_of_sums,
]  # fmt: skip


@pytest.mark.parametrize("f", FACTORS)
def test_a_traced_factor_that_is_one_is_seen(f: Callable[[Any], Any]) -> None:
    """What the methods make is that of plain arrays here, but for the derivative."""
    x = np.array([1.0, -1.1, 0.9])
    for gradient in MODES.values():
        np.testing.assert_allclose(gradient(f, x), differences(f, x), rtol=1e-6)


def _large_in_place(x):
    w = np.ones(3).view(LargeTwice)
    w *= x
    return np.sum(np.asarray(w) * x)


LARGE = {
    "by __array_ufunc__": lambda x: np.sum(np.asarray(np.ones(3).view(LargeTwice) * x * x)),
    "by __array_ufunc__, of a list": lambda x: np.sum(np.concatenate([np.ones(3).view(LargeTwice) * x, x]) ** 2),
    "by __array_ufunc__, in place": _large_in_place,
    "by __array_wrap__": lambda x: np.sum(np.asarray(np.ones(3).view(LargeWrappedTwice) * x * x)),
}


@pytest.mark.parametrize("name", LARGE)
def test_what_methods_decide_by_numbers_is_asked_again_by_tapes(name: str) -> None:
    f, x = LARGE[name], np.array([1.0, -1.1, 0.9])
    value, tape = wg.trace(f, x)
    gradient = wg.gradtape(f, x)
    assert tape.play(x) == value == f(x)
    np.testing.assert_allclose(gradient.play(0.5 * x)[1][1], differences(f, 0.5 * x), rtol=1e-6)
    for play in (lambda: tape.play(5 * x), lambda: gradient.play(5 * x)[0]):
        try:
            assert play() == pytest.approx(f(5 * x))
        except wg.StaleTapeError:
            pass
    try:
        got = gradient.play(5 * x)[1][1]
    except wg.StaleTapeError:
        return
    np.testing.assert_allclose(got, differences(f, 5 * x), rtol=1e-6)


class Pairs(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        made = getattr(ufunc, method)(*[np.asarray(a) for a in inputs], **options)
        return (*made, made[0]) if isinstance(made, tuple) else (made,)


@pytest.mark.parametrize("f", [lambda z: np.sum(np.sin(z)[0]), lambda z: np.sum(np.modf(z)[0])])
def test_a_tuple_of_another_length(f: Callable[[Any], Any]) -> None:
    for gradient in MODES.values():
        np.testing.assert_allclose(gradient(f, W.view(Pairs)), differences(lambda w: f(w.view(Pairs)), W), rtol=1e-6)
