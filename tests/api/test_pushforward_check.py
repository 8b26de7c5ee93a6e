"""What `test_rrule` says of pushforwards, with planted mistakes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from test_rulecheck import A, B, Z, general, product

from wengert.api.rulecheck import test_rrule
from wengert.errors import DuplicateRuleError, GradientCheckError, NoRuleError
from wengert.extend import jvp_rule, linear, multilinear, vjp_rule
from wengert.rulebook.registry import Registry


def ruled(push: Any) -> Registry:
    """A registry with a rule for `product` and the pushforward `push`."""
    registry = Registry()

    @vjp_rule(product, registry=registry, broadcasts=True)
    def product_(y_bar, y, a, b):
        return y_bar * np.conj(b), y_bar * np.conj(a)

    jvp_rule(product, registry=registry)(push)
    return registry


def right(dots, y, a, b):
    total = 0.0
    if dots[0] is not None:
        total = total + dots[0] * b
    return total if dots[1] is None else total + a * dots[1]


def test_a_right_pushforward_passes() -> None:
    for args in [(2.0, 3.0), (A, A), (Z, A), (A.astype("f"), 2.0), (B, A)]:
        test_rrule(product, *args, registry=ruled(right))


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (lambda dots, y, a, b: 1.001 * right(dots, y, a, b), "argument 0 and argument 1: Re"),
        (lambda dots, y, a, b: right((dots[0], None), y, a, b), "argument 0 and argument 1: Re"),
        (lambda dots, y, a, b: None, "argument 0 and argument 1: Re"),
        (lambda dots, y, a, b: right(dots, y, a, b) if all(dot is not None for dot in dots) else 0.0, "argument 0: Re"),
    ],
)
def test_a_wrong_one_is_found(wrong: Any, what: str) -> None:
    with pytest.raises(GradientCheckError, match=f"^.*product, rule product_ at .*: pushforward, {re.escape(what)}"):
        test_rrule(product, A, A, registry=ruled(wrong))


def test_one_that_only_looks_as_if_it_broadcast() -> None:
    registry = ruled(right)
    registry[product].pushforwards.clear()

    @jvp_rule(product, registry=registry, broadcasts=True)
    def push(dots, y, a, b):
        return right(dots, y, a, b) * (1 if np.ndim(dots[0]) < 2 else 2)

    with pytest.raises(GradientCheckError, match="pushforward, argument 0 and argument 1: two directions at once"):
        test_rrule(product, A, A, registry=registry)


def test_a_function_that_is_not_as_linear_as_declared() -> None:
    def squared(x):
        return x * x

    registry = Registry()
    vjp_rule(squared, registry=registry)(lambda y_bar, y, x: 2 * x * y_bar)
    linear(squared, registry=registry)
    with pytest.raises(GradientCheckError, match="pushforward, argument 0: Re"):
        test_rrule(squared, A, registry=registry)


def test_of_a_rule_in_the_general_form() -> None:
    registry = Registry()
    general(registry, product, lambda y_bar, a, b: (y_bar * b, y_bar * a))
    test_rrule(product, A, A, registry=registry)
    multilinear(product, registry=registry)
    test_rrule(product, A, A, registry=registry)


def test_declared_once_and_of_what_has_a_rule() -> None:
    registry = ruled(right)
    with pytest.raises(DuplicateRuleError, match="product already has a pushforward at"):
        multilinear(product, registry=registry)
    with pytest.raises(NoRuleError):
        linear(np.sum, registry=Registry())


def test_a_scope_ends_with_its_pushforwards() -> None:
    registry = ruled(right)
    registry[product].pushforwards.clear()
    with registry.scope():
        multilinear(product, registry=registry)
        assert registry[product].forward is not None
    assert registry[product].forward is None
