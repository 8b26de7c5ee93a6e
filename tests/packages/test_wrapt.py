"""Decorators that wrapt makes, whose objects of C call the functions that they hold, are followed."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg

wrapt = pytest.importorskip("wrapt")


@wrapt.decorator
def passing(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    return wrapped(*args, **kwargs)


@wrapt.decorator
def doubling(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    return 2.0 * wrapped(*args, **kwargs)


@wrapt.decorator(enabled=False)
def off(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    return 100.0 * wrapped(*args, **kwargs)


class Value:
    """A class of which each method is wrapped, also those that Python calls by itself."""

    @passing
    def __init__(self, t: Any) -> None:
        self.t = t

    @passing
    def square(self) -> Any:
        return self.t**2

    @doubling
    def scaled(self, by: Any = 1.0) -> Any:
        return by * self.t**2

    @passing
    @classmethod
    def of_class(cls, a: Any) -> Any:
        return a * a

    @classmethod
    @passing
    def of_class_too(cls, a: Any) -> Any:
        return a * a

    @staticmethod
    @passing
    def static(a: Any) -> Any:
        return a * a

    @passing
    @staticmethod
    def static_too(a: Any) -> Any:
        return a * a

    @property
    @passing
    def area(self) -> Any:
        return self.t**2

    @passing
    @property
    def side(self) -> Any:
        return self.t * 2

    @functools.cached_property
    @passing
    def kept(self) -> Any:
        return self.t**2

    @functools.singledispatchmethod
    def chosen(self, a: Any) -> Any:
        return 0.0

    @chosen.register
    @passing
    def _(self, a: float) -> Any:
        return self.t * a

    bound = functools.partialmethod(passing(lambda self, a, b: self.t * a * b), 2.0)

    @wrapt.synchronized
    def locked(self) -> Any:
        return self.t**2

    @passing
    def __add__(self, other: Any) -> Any:
        return Value(self.t + 3.0 * other.t)

    @passing
    def __mul__(self, other: Any) -> Any:
        return self.t * other

    @passing
    def __getitem__(self, i: int) -> Any:
        return self.t ** (i + 1)

    @passing
    def __call__(self, a: Any) -> Any:
        return self.t * a

    @passing
    def __float__(self) -> Any:
        return self.t

    @passing
    def __iter__(self) -> Iterator[Any]:
        yield self.t
        yield self.t * 2

    @passing
    def __enter__(self) -> Any:
        return self.t * 7

    @passing
    def __exit__(self, *error: object) -> None:
        return None

    @passing
    def __getattr__(self, name: str) -> Any:
        return self.t * 5


@passing
def square(a: Any) -> Any:
    return a * a


@passing
class Wrapped:
    """A class that is wrapped itself."""

    def __init__(self, t: Any) -> None:
        self.t = t

    def square(self) -> Any:
        return self.t**2


class Own(wrapt.FunctionWrapper):  # type: ignore[misc, name-defined]
    """A class made from wrapt's, with a call of its own."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return 2 * super().__call__(*args, **kwargs)


class Proxy(wrapt.ObjectProxy):  # type: ignore[misc, name-defined]
    """A proxy in Python of a function."""

    def __call__(self, *args: Any) -> Any:
        return 5 * self.__wrapped__(*args)


def calls_on(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    return wrapped(*args, **kwargs)


GIVEN: list[Any] = [0.0]


@passing
def of_a_global() -> Any:
    return GIVEN[0] ** 2


def by_a_global(t: Any) -> Any:
    GIVEN[0] = t
    try:
        return of_a_global()
    finally:
        GIVEN[0] = 0.0


def entered(t: Any) -> Any:
    with Value(t) as value:
        return value * t


def unpacked(t: Any) -> Any:
    a, b = Value(t)
    return a * b


own, proxy = Own(lambda a: a * a, calls_on), Proxy(lambda a: a * a)
sine, partial = wrapt.FunctionWrapper(np.sin, calls_on), wrapt.PartialCallableObjectProxy(operator.mul, 2.0)
CASES: dict[str, Callable[[Any], Any]] = {
    "method": lambda t: Value(t).square() + t,
    "method with arguments": lambda t: Value(t).scaled(2.0) + Value(t).scaled(by=t),
    "class methods": lambda t: Value.of_class(t) + Value(t).of_class_too(t),
    "static methods": lambda t: Value.static(t) + Value(t).static_too(t),
    "property": lambda t: Value(t).area,
    "cached property": lambda t: Value(t).kept,
    "dispatch": lambda t: Value(t).chosen(t),
    "partial method": lambda t: Value(t).bound(t),
    "synchronized": lambda t: Value(t).locked(),
    "of the class": lambda t: Value.square(Value(t)),
    "by name": lambda t: getattr(Value(t), "square")() + operator.methodcaller("square")(Value(t)),  # noqa: B009
    "in map": lambda t: sum(map(Value.square, [Value(t), Value(2 * t)])),
    "as a key": lambda t: sorted([Value(2 * t), Value(t)], key=Value.square)[0].t ** 2,
    "operators": lambda t: (Value(t) + Value(t * t)).t + Value(t) * t,
    "item": lambda t: Value(t)[2],
    "call": lambda t: Value(t)(t),
    "float": lambda t: float(Value(t)) * t,
    "iteration": lambda t: sum(Value(t)) * t,
    "unpacking": unpacked,
    "with": entered,
    "missing attribute": lambda t: Value(t).anything * t,
    "function": lambda t: square(t) + functools.partial(square, t)(),
    "class": lambda t: Wrapped(t).square(),
    "subclass": lambda t: own(t),
    "proxy": lambda t: proxy(t),
    "around C": lambda t: sine(t) + partial(t),
    "made inside": lambda t: passing(lambda: t * t)(),
    "global name": by_a_global,
    "disabled": lambda t: off(np.sin)(t) + off(lambda a: a * a)(t),
}


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("mode", ["grad", "jvp", "tape", "compiled"])
def test_wrapped_functions_have_their_gradient(mode: str) -> None:
    modes: dict[str, Callable[[Any, float], Any]] = {
        "grad": lambda f, t: wg.grad(f)(t),
        "jvp": lambda f, t: wg.jvp(f, (t,), (1.0,))[1],
        "tape": lambda f, t: wg.trace(f, t)[1].play(t + 1e-6) / 2e-6 - wg.trace(f, t)[1].play(t - 1e-6) / 2e-6,
        "compiled": lambda f, t: [g(a) for g in [wg.compile(wg.grad(f))] for a in (1.3, t)][1],
    }
    wrong = {}
    for name, f in CASES.items():
        expected = (f(3.0 + 1e-6) - f(3.0 - 1e-6)) / 2e-6
        found = modes[mode](f, 3.0)
        if found != pytest.approx(expected, rel=1e-6):
            wrong[name] = found, expected
    assert not wrong


def test_wrappers_run_as_untraced() -> None:
    seen: list[Any] = []

    @wrapt.decorator
    def noting(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        seen.append((wrapped.__name__, type(instance).__name__, len(args), sorted(kwargs)))
        return wrapped(*args, **kwargs)

    class Noted:
        @noting
        def method(self, a: Any, *, b: Any = 1.0) -> Any:
            return a * b

        @noting
        @classmethod
        def of_class(cls, a: Any) -> Any:
            return a

        @noting
        @staticmethod
        def static(a: Any) -> Any:
            return a

    def f(t: Any) -> Any:
        noted = Noted()
        parts = noted.method(t, b=t), Noted.method(noted, t), noted.of_class(t), Noted.of_class(t), noted.static(t)
        return sum(parts) + Noted.static(t)

    f(2.0)
    plain, seen = seen, []
    assert wg.grad(f)(2.0) == 4.0 + 5.0
    assert seen == plain


PROXIES: list[Callable[[Any], Any]] = [
    lambda t: wrapt.ObjectProxy(t) * t,
    lambda t: Value(t).side * t,  # wrapt shows what a wrapped property gives as a proxy
    lambda t: t * Value(t).side,
    lambda t: -Value(t).side + 0.0,
    lambda t: operator.imul(Value(t).side, 2.0) + 0.0,
]


@pytest.mark.parametrize("f", PROXIES)
def test_a_proxy_of_a_number_is_refused(f: Callable[[Any], Any]) -> None:
    with pytest.raises(wg.NoRuleError, match="traced value reaches it"):
        wg.grad(f)(3.0)
