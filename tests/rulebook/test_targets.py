"""What can have a rule: functions, methods however they are bound, callable objects, NumPy's wrappers of functions."""

from __future__ import annotations

import array
import functools
import math
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import RuleError


class Spring:
    """Rules give ten times the derivative, so that it shows where they are used."""

    k = 3.0

    def __init__(self, stiffness: float) -> None:
        self.stiffness = stiffness

    def energy(self, x: Any) -> Any:
        return 0.5 * self.stiffness * x * x

    def __call__(self, x: Any) -> Any:
        return self.energy(x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spring) and self.stiffness == other.stiffness

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of_class(cls, x: Any) -> Any:
        return cls.k * x

    @staticmethod
    def static(x: Any) -> Any:
        return x * x

    @property
    def length(self) -> float:
        return 1 / self.stiffness


class Stiff(Spring):
    k = 5.0


@pytest.fixture(autouse=True)
def scoped() -> Iterator[None]:
    with wg.rules.scope():
        yield


def tenfold(f: Any, derivative: Any) -> None:
    wg.rrule(f)(lambda x: (f(x), lambda y_bar: 10 * y_bar * derivative(x)))


def test_a_method_of_a_class() -> None:
    @wg.rrule(Spring.energy)
    def energy(self, x):
        return 0.5 * self.stiffness * x * x, lambda y_bar: (None, 10 * y_bar * self.stiffness * x)

    spring = Spring(3.0)
    for f in (spring.energy, lambda x: spring.energy(x), lambda x: Spring.energy(spring, x), spring):
        assert wg.grad(f)(2.0) == 60.0
    assert wg.grad(Stiff(3.0).energy)(2.0) == 60.0
    assert wg.grad(lambda x: spring.energy(x=x))(2.0) == 60.0
    assert wg.grad(spring.energy, 2.0)[1][1] == 60.0


def test_a_method_of_one_object() -> None:
    spring, equal = Spring(3.0), Spring(3.0)
    tenfold(spring.energy, lambda x: spring.stiffness * x)
    assert wg.grad(spring.energy)(2.0) == 60.0 and wg.grad(lambda x: spring.energy(x))(2.0) == 60.0
    assert wg.grad(spring.energy, 2.0) == (6.0, (None, 60.0))
    assert wg.grad(equal.energy)(2.0) == 6.0
    assert spring.energy in wg.rules and equal.energy not in wg.rules


def test_a_class_method() -> None:
    tenfold(Spring.of_class, lambda x: Spring.k)
    assert wg.grad(lambda x: Spring.of_class(x))(2.0) == 30.0
    assert wg.grad(lambda x: Stiff.of_class(x))(2.0) == 5.0

    @wg.rrule(Stiff.__mro__[1].__dict__["of_class"])
    def of_any_class(cls, x):
        return cls.k * x, lambda y_bar: (None, 100 * y_bar * cls.k)

    assert wg.grad(lambda x: Stiff.of_class(x))(2.0) == 500.0


def test_a_static_method() -> None:
    for target in (Spring.static, Spring.__dict__["static"]):
        with wg.rules.scope():
            tenfold(target, lambda x: 2 * x)
            assert wg.grad(lambda x: Spring.static(x) + Spring(1.0).static(x))(2.0) == 80.0


def test_a_property_says_what_to_do() -> None:
    with pytest.raises(RuleError, match=r"not callable: pass the property's function, its \.fget"):
        wg.rrule(Spring.length)(lambda x: (x, lambda y_bar: y_bar))

    @wg.rrule(Spring.length.fget)
    def length(self):
        value = 1 / self.stiffness
        return value, lambda y_bar: Spring(-10 * y_bar * value**2)

    assert wg.grad(lambda x: x * Spring(4.0).length)(2.0) == 0.25


def test_a_callable_object() -> None:
    spring, equal = Spring(3.0), Spring(3.0)
    tenfold(spring, lambda x: 3 * x)
    assert wg.grad(spring)(2.0) == 60.0 and wg.grad(lambda x: spring(x))(2.0) == 60.0
    assert wg.grad(spring, 2.0) == (6.0, (None, 60.0))
    assert wg.grad(equal)(2.0) == 6.0 and equal not in wg.rules
    assert np.array_equal(wg.grad(lambda x: sum(map(spring, x)))(np.array([1.0, 2.0])), [30, 60])


def test_partials_and_cached_functions() -> None:
    def power(n: int, x: Any) -> Any:
        return x**n

    square, cached = functools.partial(power, 2), functools.lru_cache(lambda x: x * x)
    for f in (square, cached):
        assert wg.grad(lambda x: f(x))(3.0) == 6.0
        tenfold(f, lambda x: 2 * x)
        assert wg.grad(lambda x: f(x))(3.0) == 60.0 and wg.grad(f)(3.0) == 60.0
    assert wg.grad(functools.partial(power, 2))(3.0) == 6.0


def test_a_method_in_c() -> None:
    number = struct.Struct("d")
    f = lambda x: x * number.unpack(number.pack(x))[0]
    with pytest.raises(wg.NoRuleError):
        wg.grad(f)(0.5)
    for target in (struct.Struct.pack, number.pack):
        with wg.rules.scope():
            wg.non_differentiable(target)
            assert np.isfinite(wg.grad(f)(0.5))
    with pytest.raises(wg.NoRuleError):
        wg.grad(f)(0.5)


def test_a_method_of_a_ufunc() -> None:
    x = np.array([2.0, 3.0, 4.0])
    f = lambda x: np.sum(np.divide.accumulate(x))
    wg.rules.remove(np.divide.accumulate)
    with pytest.raises(wg.NoRuleError):
        wg.grad(f)(x)

    @wg.rrule(np.divide.accumulate)
    def quotients(x):
        y = np.divide.accumulate(x)
        return y, lambda y_bar: np.r_[np.sum(y_bar * y) / x[0], [-np.sum((y_bar * y)[i:]) / x[i] for i in (1, 2)]]

    wg.test_rrule(np.divide.accumulate, x)
    assert np.allclose(wg.grad(f)(x), wg.ngradient(f, x)[0])


def test_a_type_of_the_user() -> None:
    class Box(array.array):
        pass

    f = lambda x: x * Box("d", [x])[0]
    with pytest.raises(wg.WengertError):
        wg.grad(f)(2.0)

    @wg.rrule(Box)
    def box(code, items):
        return Box(code, items), lambda y_bar: (None, y_bar)

    assert Box in wg.rules


def steps(x: float) -> float:
    return math.sin(x) if x > 0.5 else x * x


X = np.array([0.3, 0.7, 0.9])
ANALYTIC = np.where(X > 0.5, np.cos(X), 2 * X)


def test_frompyfunc() -> None:
    ufunc = np.frompyfunc(steps, 1, 1)
    f = lambda x: np.sum(ufunc(x).astype(float))
    assert np.allclose(wg.grad(f)(X), ANALYTIC)

    @wg.rrule(ufunc)
    def ufunc_rule(x):
        return ufunc(x).astype(float), lambda y_bar: 10 * y_bar * np.where(x > 0.5, np.cos(x), 2 * x)

    assert np.allclose(wg.grad(lambda x: np.sum(ufunc(x)))(X), 10 * ANALYTIC)
    assert np.frompyfunc(steps, 1, 1) not in wg.rules


def test_vectorize() -> None:
    vectorized = np.vectorize(steps)
    f = lambda x: np.sum(vectorized(x))

    @wg.rrule(vectorized)
    def vectorized_rule(x):
        return vectorized(x), lambda y_bar: 10 * y_bar * np.where(x > 0.5, np.cos(x), 2 * x)

    assert np.allclose(wg.grad(f)(X), 10 * ANALYTIC)
    wg.rules.remove(vectorized)
    assert np.allclose(wg.grad(f)(X), ANALYTIC)


def bent(x: Any, by: Any = 2.0, *, times: float = 1.0, log: bool = False) -> Any:
    y = times * x * by
    return math.log(y) if log else y


@pytest.fixture
def bent_rule() -> None:
    @wg.rrule(bent)
    def bent_rule(x, by=2.0, *, times=1.0, log=False):
        y = bent(x, by, times=times, log=log)
        return y, lambda y_bar: (10 * y_bar / x, 10 * y_bar / by) if log else (10 * y_bar * times * by, y_bar)


@pytest.mark.usefixtures("bent_rule")
def test_keyword_only_statics() -> None:
    for f, expected in [
        (lambda x: bent(x), 20), (lambda x: bent(x, 3.0), 30), (lambda x: bent(x, by=3.0), 30),
        (lambda x: bent(by=3.0, x=x), 30), (lambda x: bent(x, times=5.0), 100),
        (lambda x: bent(x, log=True, times=5.0), 5), (lambda x: bent(x=x, times=5.0), 100),
    ]:  # fmt: skip
        assert math.isclose(wg.grad(f)(2.0), expected)
        assert math.isclose(wg.gradtape(f, 2.0).play(2.0)[1][1], expected)
    for f in (lambda x: bent(2.0, times=x), lambda x: bent(x, times=x)):
        with pytest.raises(wg.NoRuleError, match="'times' of bent depends on an input"):
            wg.grad(f)(2.0)
    value, tape = wg.trace(lambda x: bent(x, times=5.0, log=True), 2.0)
    assert tape.play(2.0) == value


def test_a_rule_with_two_results() -> None:
    def both(x: Any) -> Any:
        return np.sin(x), np.cos(x)

    @wg.rrule(both)
    def both_rule(x):
        sin, cos = np.sin(x), np.cos(x)
        return (sin, cos), lambda y_bar: y_bar[0] * cos - y_bar[1] * sin

    for f, first, second in [
        (lambda x: both(x)[0] * both(x)[1], np.cos(0.6), -2 * np.sin(0.6)),
        (lambda x: both(x)[1] * x, np.cos(0.3) - 0.3 * np.sin(0.3), -2 * np.sin(0.3) - 0.3 * np.cos(0.3)),
    ]:
        assert math.isclose(wg.grad(f)(0.3), first)
        assert math.isclose(wg.grad(wg.grad(f))(0.3), second)
        tape = wg.gradtape(f, 0.5)
        assert math.isclose(tape.play(0.3)[1][1], first)
