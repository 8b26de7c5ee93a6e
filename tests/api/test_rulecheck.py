"""`test_rrule` is itself tested: with planted mistakes that it must catch, each by the check meant for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from wengert.api.rulecheck import test_rrule
from wengert.errors import GradientCheckError, NoRuleError
from wengert.extend import (
    InplaceableThunk,
    NoTangent,
    Tangent,
    Thunk,
    ZeroTangent,
    accumulates,
    non_differentiable,
    partials,
    rrule,
    vjp_rule,
)
from wengert.rulebook.registry import Registry

A, B = np.array([0.5, -1.5]), np.array([[1.0, 2.0], [3.0, 4.0]])
Z = np.array([0.5 + 1j, -1.5 + 2j])


def product(a: Any, b: Any) -> Any:
    return a * b


def check(declare: Callable[[Registry], Any], *args: Any, f: Any = product, **kwargs: Any) -> None:
    registry = Registry()
    declare(registry)
    test_rrule(f, *args, registry=registry, **kwargs)


def fails(match: str, declare: Callable[[Registry], Any], *args: Any, **kwargs: Any) -> None:
    with pytest.raises(GradientCheckError, match=match):
        check(declare, *args, **kwargs)


def good(registry: Registry) -> None:
    @partials(product, registry=registry)
    def product_(y, a, b):
        return b, a


def general(registry: Registry, value: Callable[..., Any], back: Callable[..., Any]) -> None:
    @rrule(product, registry=registry)
    def product_(a, b):
        return value(a, b), lambda y_bar: back(y_bar, a, b)


def test_a_right_rule_passes() -> None:
    for args in [(2.0, 3.0), (A, B), (Z, A), (A.astype("f"), 2.0), (A.astype("e"), A), (A[:0], A[:0])]:
        check(good, *args)
    check(lambda r: general(r, product, lambda y_bar, a, b: (y_bar * b, y_bar * a)), 2.0, A[:1])


def test_pytest_does_not_collect_it() -> None:
    assert test_rrule.__test__ is False


def test_the_error_says_which_check_argument_and_numbers() -> None:
    with pytest.raises(GradientCheckError) as caught:
        check(lambda r: general(r, product, lambda y_bar, a, b: (y_bar * b, y_bar * a * a)), 2.0, 3.0)
    text = str(caught.value)
    assert "product, rule product_ at" in text and "test_rulecheck.py:" in text
    assert "derivative with respect to argument 1 disagrees with differences" in text and " is not " in text


def test_wrong_primal() -> None:
    for value in (lambda a, b: a * b * (1 + 2e-16), lambda a, b: np.asarray(a * b)):
        fails("returns another value", lambda r: general(r, value, lambda g, a, b: (g * b, g * a)), 2.5, 3.0)


@pytest.mark.parametrize("args", [(2.0, 3.0), (A, B), (A.astype("f"), A), (Z, Z)])
def test_wrong_derivative(args: Any) -> None:
    def declare(registry: Registry) -> None:
        @partials(product, registry=registry)
        def product_(y, a, b):
            return b, a * 1.01

    fails("derivative with respect to argument 1", declare, *args)


def test_wrong_in_one_element() -> None:
    def declare(registry: Registry) -> None:
        @partials(product, registry=registry)
        def product_(y, a, b):
            return b + np.array([0, 1e-4]), a

    fails(r"argument 0 disagrees with differences at \[1\]", declare, A, A)


def test_missing_conjugate() -> None:
    def declare(registry: Registry) -> None:
        @vjp_rule(product, registry=registry, broadcasts=True)
        def product_(y_bar, y, a, b):
            return y_bar * b, y_bar * a

    check(declare, A, A)
    named = r"disagrees with differences.*A conjugate is the likely cause.*conj\(∂y/∂x\)"
    for args in ((Z, Z), (A, Z), (Z, A), (1 + 2j, 0.5), (0.5, 2j)):
        fails(named, declare, *args)


def test_a_rule_that_is_wrong_otherwise_names_no_conjugate() -> None:
    def declare(registry: Registry) -> None:
        @vjp_rule(product, registry=registry, broadcasts=True)
        def product_(y_bar, y, a, b):
            return y_bar * np.conj(3 * b), y_bar * np.conj(a)

    with pytest.raises(GradientCheckError) as error:
        check(declare, Z, Z)
    assert "likely cause" not in str(error.value)


def test_wrong_count() -> None:
    fails("2 arguments", lambda r: general(r, product, lambda g, a, b: (g * b,)), 2.0, 3.0)
    fails("2 arguments", lambda r: general(r, product, lambda g, a, b: (g * b, g * a, None)), 2.0, 3.0)


def test_none_for_a_differentiable_argument() -> None:
    fails("argument 1 is None", lambda r: general(r, product, lambda g, a, b: (g * b, None)), 2.0, 3.0)


def test_a_cotangent_for_a_discrete_argument() -> None:
    back = lambda y_bar, a, b: (y_bar * b, y_bar * a)
    fails("argument 1 has no derivative", lambda r: general(r, product, back), 2.0, 3)


def test_wrong_shape() -> None:
    fails("does not fit", lambda r: general(r, product, lambda g, a, b: (np.ones(3), g * a)), A, A)


def test_not_linear_in_the_seed() -> None:
    def declare(registry: Registry) -> None:
        @vjp_rule(product, registry=registry)
        def product_(y_bar, y, a, b):
            return y_bar * b + 1e-3 * (y_bar * y_bar - 0.36), y_bar * a

    fails("not linear|disagrees with differences", declare, 2.0, 3.0)


def test_wrong_accumulator() -> None:
    def declare(registry: Registry) -> None:
        good(registry)

        @accumulates(product, arg=1, registry=registry)
        def add_to_b(x_bar, y_bar, y, a, b):
            x_bar += y_bar
            return x_bar

    fails("accumulator of argument 1", declare, A, A)


def test_right_accumulator() -> None:
    def declare(registry: Registry) -> None:
        good(registry)

        @accumulates(product, arg=1, registry=registry)
        def add_to_b(x_bar, y_bar, y, a, b):
            x_bar += y_bar * a
            return x_bar

    check(declare, A, A)


def test_writing_to_the_seed_or_an_argument() -> None:
    def spoil(x: Any, result: Any) -> Any:
        x += 1.0
        return result

    fails("changed its cotangent", lambda r: general(r, product, lambda g, a, b: spoil(g, (g * b, g * a))), A, A + 1)
    fails("the arguments", lambda r: general(r, product, lambda g, a, b: spoil(a, (g * b, g * a))), A, A + 1)


def test_a_variant_that_differs() -> None:
    calls = []

    def declare(registry: Registry) -> None:
        @vjp_rule(product, registry=registry)
        def product_(y_bar, y, a, b):
            calls.append(1)
            both = y_bar * (b if len(calls) < 4 else 2 * b), y_bar * a
            return tuple(both)

    fails("variant", declare, 2.0, 3.0)


def test_a_step_that_differs() -> None:
    def declare(registry: Registry) -> None:
        good(registry)
        rule = registry[product]
        rule.scalar_step = lambda wanted: lambda g, e, bars: bars.__setitem__(slice(None), [g, g])

    fails("step on floats disagrees with the pullback, argument 1", declare, 2.0, 3.0)


def test_a_constant_that_is_none() -> None:
    check(lambda r: non_differentiable(np.floor, registry=r), A, f=np.floor)
    fails("argument 0 disagrees with differences", lambda r: non_differentiable(np.sin, registry=r), A, f=np.sin)


def test_sequences_are_checked_item_by_item() -> None:
    def declare(registry: Registry) -> None:
        @vjp_rule(math.fsum, sequence=0, registry=registry)
        def fsum(y_bar, y, *terms):
            return (y_bar, *[0 * y_bar for _ in terms[1:]])

    fails(r"argument 0\[1\]", declare, [1.0, 2.0], f=math.fsum)


def test_no_rule_says_so() -> None:
    with pytest.raises(NoRuleError):
        test_rrule(product, 1.0, 2.0, registry=Registry())


# Thunks, and what adds itself in place


def plus_equals(x_bar: np.ndarray, value: Any) -> np.ndarray:
    x_bar += value
    return x_bar


def acting(val: Callable[..., Any] = lambda g, b: g * b, add: Callable[..., Any] = plus_equals) -> Any:
    """A rule whose first cotangent adds itself: `add(x_bar, g * b)`."""

    def back(g: Any, a: Any, b: Any) -> Any:
        return InplaceableThunk(val=lambda: val(g, b), add=lambda x_bar: add(x_bar, g * b)), Thunk(lambda: g * a)

    return lambda registry: general(registry, product, back)


@pytest.mark.parametrize(
    "args", [(A, A), (2.0, 3.0), (B, B), (A.astype("f"), A.astype("f")), (np.asfortranarray(B), B)]
)
def test_right_thunks(args: Any) -> None:
    check(acting(), *args)


def test_right_thunks_in_a_pullback() -> None:
    def declare(registry: Registry, factor: float = 1.0) -> None:
        @vjp_rule(product, registry=registry)
        def product_(y_bar, y, a, b):
            add = lambda x_bar: plus_equals(x_bar, y_bar * b * factor)
            return InplaceableThunk(val=lambda: y_bar * b, add=add), Thunk(lambda: y_bar * a)

    check(declare, A, A)
    check(declare, B, B)
    fails("add of the InplaceableThunk of argument 0 disagrees", lambda r: declare(r, 1.01), A, A)


@pytest.mark.parametrize("val", [lambda g, b: g * b * 1.01, lambda g, b: g, lambda g, b: ZeroTangent()])
def test_wrong_val(val: Any) -> None:
    fails("argument 0 disagrees with differences", acting(val=val), A, A)
    fails("argument 0", acting(val=val), 2.0, 3.0)


def test_a_thunk_that_gives_its_value_once() -> None:
    def back(g: Any, a: Any, b: Any) -> Any:
        values = iter([g * b])
        return Thunk(lambda: next(values, 0 * g)), g * a

    fails("the thunk of argument 0 returns another value", lambda r: general(r, product, back), A, A)


def twice(x_bar: np.ndarray, value: Any) -> np.ndarray:
    x_bar += value
    x_bar += value
    return x_bar


def elsewhere(x_bar: np.ndarray, value: Any) -> np.ndarray:
    plus_equals(x_bar.copy(), value)
    return x_bar


def in_one_order(x_bar: np.ndarray, value: Any) -> np.ndarray:
    x_bar.reshape(-1)[...] += np.ravel(value)
    return x_bar


def set_instead(x_bar: np.ndarray, value: Any) -> np.ndarray:
    x_bar[...] = value
    return x_bar


@pytest.mark.parametrize(("add", "match"), [
    (twice, "argument 0 disagrees with buffer [+] val"),
    (elsewhere, "argument 0 disagrees with buffer [+] val"),
    (set_instead, "argument 0 disagrees with buffer [+] val"),
    (in_one_order, "argument 0 in Fortran order disagrees with buffer [+] val"),
    (lambda x_bar, value: x_bar + value, "does not return its buffer"),
    (lambda x_bar, value: plus_equals(x_bar, value)[:], "does not return its buffer"),
    (lambda x_bar, value: None, "does not return its buffer"),
])  # fmt: skip
def test_wrong_add(add: Any, match: str) -> None:
    fails(match, acting(add=add), B, B)


def test_add_that_writes_to_the_seed_or_an_argument() -> None:
    def back(g: Any, a: Any, b: Any, of: str) -> Any:
        def add(x_bar: np.ndarray) -> np.ndarray:
            x_bar += g * b
            {"seed": g, "argument": a}[of][...] += 1.0
            return x_bar

        return InplaceableThunk(val=lambda: g * b, add=add), g * a

    # what was written is seen in the next layout at the latest
    fails(
        "changed the cotangent|disagrees with buffer [+] val",
        lambda r: general(r, product, lambda g, a, b: back(g, a, b, "seed")),
        B,
        B.copy(),
    )
    declare = lambda r: general(r, product, lambda g, a, b: back(g, a, b, "argument"))
    fails("a thunk changed the arguments", declare, B.copy(), B.copy())


def test_zeros_where_there_is_a_derivative_and_where_there_is_none() -> None:
    check(lambda r: general(r, product, lambda g, a, b: (g * b, NoTangent())), 2.0, 3)
    fails("argument 1 is None", lambda r: general(r, product, lambda g, a, b: (g * b, NoTangent())), 2.0, 3.0)
    fails("argument 1 disagrees", lambda r: general(r, product, lambda g, a, b: (g * b, ZeroTangent())), 2.0, 3.0)
    for x in (0.0, np.zeros(3)):
        check(lambda r: general(r, product, lambda g, a, b: (g * b, ZeroTangent())), x, x + 1)


def declared(registry: Registry, f: Callable[..., Any], back: Callable[..., Any]) -> None:
    @rrule(f, registry=registry)
    def rule_(*args):
        return f(*args), lambda y_bar: back(y_bar, *args)


class Spring:
    def __init__(self, stiffness: float, length: Any) -> None:
        self.stiffness, self.length = stiffness, length


def energy(spring: Spring, x: Any, scale: int) -> Any:
    return scale * np.sum(spring.stiffness * (x - spring.length) ** 2)


def energy_bars(g: Any, spring: Spring, x: Any, scale: int, wrong: float = 0.0) -> Any:
    stretch = x - spring.length
    force = 2 * scale * g * spring.stiffness * stretch
    return scale * g * np.sum(stretch**2), -force * (1 + wrong), force


def test_containers_leaf_by_leaf() -> None:
    spring = Spring(3.0, A)

    def structural(wrong: float) -> Any:
        def back(g: Any, spring: Spring, x: Any, scale: int) -> Any:
            stiffness, length, x_bar = energy_bars(g, spring, x, scale, wrong)
            return Tangent(Spring, stiffness=stiffness, length=length), x_bar, None

        return lambda r: declared(r, energy, back)

    check(structural(0.0), spring, 2 * A + 1, 2, f=energy)
    fails(r"argument 0.length disagrees with differences", structural(0.1), spring, 2 * A + 1, 2, f=energy)
    without = lambda g, spring, x, scale: (None, energy_bars(g, spring, x, scale)[2], None)
    declare = lambda r: declared(r, energy, without)
    fails(r"argument 0.stiffness disagrees with differences", declare, spring, 2 * A + 1, 2, f=energy)
    discrete = lambda g, *args: (None, energy_bars(g, *args)[2], 1.0)
    fails("argument 2 .*no derivative", lambda r: declared(r, energy, discrete), spring, 2 * A + 1, 2, f=energy)


def test_nested_containers() -> None:
    def total(p: Any) -> Any:
        return p["a"] * p["b"][0] + np.sum(2 * p["b"][1])

    def back(wrong: float) -> Any:
        return lambda g, p: ({"a": g * p["b"][0], "b": [g * p["a"], np.full(3, (2 + wrong) * g)]},)

    p = {"a": 2.0, "b": [3.0, np.arange(3.0)], "name": "p"}
    check(lambda r: declared(r, total, back(0)), p, f=total)
    fails(r"argument 0\['b'\]\[1\] disagrees with differences", lambda r: declared(r, total, back(1)), p, f=total)
