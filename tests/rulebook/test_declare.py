"""The decorators in which rules are written."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.extend
from wengert.errors import DuplicateRuleError, NoRuleError, RuleError
from wengert.rulebook.declare import accumulates, adjoint, non_differentiable, partials, rrule, times, vjp_rule
from wengert.rulebook.registry import Registry
from wengert.values.specs import spec_of


@pytest.fixture
def table() -> Registry:
    return Registry()


def test_a_decorated_rule_stays_the_function_it_was(table: Registry) -> None:
    def sin(y, x):
        return np.cos(x)

    assert partials(np.sin, math.sin, registry=table)(sin) is sin
    rule = table[math.sin]
    assert rule.name == "sin" and rule.targets == (np.sin, math.sin) and rule.broadcasts
    assert rule.where == f"{__file__}:{sin.__code__.co_firstlineno}"


def test_options_reach_the_rule(table: Registry) -> None:
    @vjp_rule(np.reshape, view=True, identity=True, registry=table)
    def reshape(y_bar, y, a, *, shape=None):
        return np.reshape(y_bar, np.shape(a))

    @vjp_rule(np.stack, sequence=0, registry=table)
    def stack(y_bar, y, *arrays, axis=0):
        return tuple(np.moveaxis(y_bar, axis, 0))

    assert table[np.reshape].view and table[np.reshape].identity and not table[np.reshape].broadcasts
    assert table[np.stack].sequence == 0
    assert table.rrule(np.reshape, np.ones((2, 3)), (6,))[1](np.ones(6))[0].shape == (2, 3)
    (bars,) = table.rrule(np.stack, (np.ones(3), np.ones(3)), 1)[1](np.ones((3, 2)))
    assert [x.shape for x in bars] == [(3,), (3,)]


def test_non_differentiable_stands_above_a_definition_or_is_called(table: Registry) -> None:
    @non_differentiable(registry=table)
    def seed(x: float) -> int:
        return hash(x)

    def other(x: float) -> float:
        return x

    assert non_differentiable(other, registry=table) is other
    non_differentiable(np.floor, np.argmax, np.ndarray.argmax, registry=table)
    kinds = {table[f].kind for f in (seed, other, np.floor, np.argmax, np.ndarray.argmax)}
    assert kinds == {"constant"} and table[np.argmax].name == "argmax"
    assert table[np.floor].where.startswith(__file__)
    with pytest.raises(DuplicateRuleError):
        partials(np.floor, registry=table)(lambda y, x: 0)


def test_accumulates_adds_to_a_rule_that_exists(table: Registry) -> None:
    def add(x_bar: Any, y_bar: Any, y: Any, *args: Any) -> Any:
        x_bar += y_bar
        return x_bar

    with pytest.raises(NoRuleError):
        accumulates(operator.getitem, arg=0, registry=table)(add)

    @vjp_rule(operator.getitem, registry=table)
    def getitem(y_bar, y, x, *, key):
        return wengert.extend.additem(np.zeros(np.shape(x)), key, y_bar)

    before = table.version
    assert accumulates(operator.getitem, arg=0, registry=table)(add) is add
    assert table[operator.getitem].accumulators[0].add is add and table.version > before
    with pytest.raises(DuplicateRuleError, match=r"accumulates argument 0 at .*test_declare"):
        accumulates(operator.getitem, arg=0, registry=table)(lambda *args: None)


def test_rrule_is_a_decorator_and_with_arguments_a_call(table: Registry) -> None:
    @rrule(math.erf, registry=table)
    def erf(x):
        return math.erf(x), lambda y_bar: y_bar * 2 / math.sqrt(math.pi) * math.exp(-x * x)

    y, back = rrule(math.erf, 0.5, registry=table)
    assert y == math.erf(0.5)
    assert math.isclose(back(1.0)[0], (math.erf(0.5 + 1e-6) - math.erf(0.5 - 1e-6)) / 2e-6, rel_tol=1e-9)


def test_a_rule_that_cannot_be_one_is_refused_where_it_stands(table: Registry) -> None:
    with pytest.raises(RuleError, match=r"@partials\(np\.sin, math\.sin\)"):
        partials(registry=table)
    with pytest.raises(RuleError, match=r"must take y_bar, y and then the arguments.*got bad\(y\)"):

        @vjp_rule(np.sin, registry=table)
        def bad(y):
            return y

    with pytest.raises(RuleError, match="a Python function"):
        rrule(math.sin, registry=table)(math.cos)
    assert len(table) == 0


def test_times_conjugates_complex_partials_only() -> None:
    assert times(2.0, 3.0) == 6.0 and times(1j, 2j) == 2 and times(2.0, 1 + 1j) == 2 - 2j
    z = np.array([1 + 2j], np.complex64)
    assert np.array_equal(times(np.ones(1, np.float32), z), z.conj())


def test_adjoint_swaps_the_last_axes_and_conjugates() -> None:
    z = np.arange(12).reshape(2, 2, 3) * (1 + 1j)
    assert np.array_equal(adjoint(z), np.conj(z).transpose(0, 2, 1))
    assert np.shares_memory(adjoint(z.real), z)


def test_the_public_door_leads_where_it_says() -> None:
    assert sorted(wengert.extend.__all__) == wengert.extend.__all__
    assert all(hasattr(wengert.extend, name) for name in wengert.extend.__all__)
    assert wengert.extend.Spec is type(spec_of(1.0))


def test_a_rule_of_a_tuple_gets_zeros_for_unused_parts_or_none_where_it_asks() -> None:
    def both(x: Any) -> Any:
        return np.sin(x), np.cos(x)

    seen: list[Any] = []
    with wg.rules.scope():

        @wg.vjp_rule(both, parts=True)
        def both_rule(y_bar, y, x):
            seen.append(y_bar)
            return y_bar[0] * y[1] if y_bar[1] is None else -y_bar[1] * y[0]

        assert wg.grad(lambda x: both(x)[0] * 2)(0.5) == 2 * np.cos(0.5)
        tape = wg.rrule_tape(wg.trace(lambda x: both(x)[1], 0.5)[1])
        assert tape[tape.result].val[1][0] == -np.sin(0.5)
        assert [tuple(bar is None for bar in bars) for bars in seen] == [(False, True), (True, False)]


def test_a_rule_in_the_general_form_gets_a_tuple_for_a_tuple() -> None:
    def both(x: Any) -> Any:
        return np.sin(x), np.cos(x)

    with wg.rules.scope():

        @wg.rrule(both)
        def both_rule(x):
            return both(x), lambda y_bar: y_bar[0] * np.cos(x) - y_bar[1] * np.sin(x)

        assert wg.grad(lambda x: both(x)[0])(0.5) == np.cos(0.5)
        assert np.isclose(wg.grad(lambda x: both(x)[1] * both(x)[0])(0.5), np.cos(1.0))
        second = wg.grad(wg.grad(lambda x: both(x)[0] * x))(0.5)  # the value itself is seen by the outer trace
        assert np.isclose(second, 2 * np.cos(0.5) - 0.5 * np.sin(0.5))


def test_a_rule_with_any_number_of_arguments_may_ask_which_are_wanted() -> None:
    def total(*xs: Any) -> Any:
        return sum(xs)

    with wg.rules.scope():

        @wg.vjp_rule(total)
        def total_rule(y_bar, y, *xs, wanted):
            return [y_bar if want else None for want in wanted]

        assert wg.grad(lambda x: total(2.0, x, 3.0) * 2)(0.5) == 2.0
        assert wg.grad(lambda x, y: total(y, x, x), 1.0, 2.0)[1][1:] == (2.0, 1.0)


@pytest.mark.parametrize("items", [list, tuple])
def test_a_list_of_traced_values_is_refused_where_no_sequence_is_declared(items: type) -> None:
    def scaled(a, b):
        return a[0] * a[1] * b

    for declare, body, advice in (
        (wg.vjp_rule, lambda y_bar, y, a, b: (a, y_bar), "sequence=0"),
        (wg.partials, lambda y, a, b: (a, y), "@wg.rrule"),
    ):
        with wg.rules.scope():
            declare(scaled)(body)
            f = lambda x: scaled(items([x, 2.0]), x)
            for derivative in (lambda: wg.grad(f)(3.0), lambda: wg.jvp(f, (3.0,), (1.0,)), lambda: wg.gradtape(f, 3.0)):
                with pytest.raises(wg.NoRuleError, match=rf"argument 1 of .*scaled, a {items.__name__}, .*{advice}"):
                    derivative()
