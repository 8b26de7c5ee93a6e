"""The rule registry: lookup, duplicates, the binding of calls, and the general form of every rule."""

from __future__ import annotations

import math
import operator
from functools import partial
from typing import Any

import numpy as np
import pytest

from wengert.errors import DuplicateRuleError, NoRuleError, RuleError
from wengert.rulebook.declare import accumulates, adjoint, non_differentiable, partials, rrule, vjp_rule
from wengert.rulebook.registry import Registry
from wengert.rulebook.rule import Rule
from wengert.values.callables import callable_name, stub, written_name


class Line:
    def __init__(self, slope: float) -> None:
        self.slope = slope

    def at(self, x: float) -> float:
        return self.slope * x


def scaled(x: Any, scale: Any = 2.0, *, shift: float = 0.0) -> Any:
    return x * scale + shift


@pytest.fixture
def table() -> Registry:
    r = Registry()

    @partials(np.multiply, operator.mul, registry=r)
    def multiply(y, a, b):
        return b, a

    @vjp_rule(np.sum, np.ndarray.sum, registry=r)
    def sum_(y_bar, y, a, *, axis=None, dtype=None, out=None, keepdims=False):
        if axis is not None and not keepdims:
            y_bar = np.expand_dims(y_bar, axis)
        return np.broadcast_to(y_bar, np.shape(a))

    @vjp_rule(np.clip, names={"min": "a_min", "max": "a_max"}, registry=r)
    def clip(y_bar, y, a, a_min=None, a_max=None, *, out=None):
        return y_bar * (y == a), None, y_bar * (y == a_max)

    @vjp_rule(np.concatenate, sequence=0, registry=r)
    def concatenate(y_bar, y, *arrays, axis=0, out=None):
        ends = np.cumsum([np.shape(a)[axis] for a in arrays])
        return tuple(np.split(y_bar, ends[:-1], axis))

    @vjp_rule(np.matmul, operator.matmul, broadcasts=True, registry=r)
    def matmul(y_bar, y, a, b):
        return y_bar @ adjoint(b), adjoint(a) @ y_bar

    @rrule(scaled, registry=r)
    def scaled_rule(x, scale=2.0, *, shift=0.0):
        return scaled(x, scale, shift=shift), lambda y_bar: (y_bar * scale, y_bar * x)

    non_differentiable(np.floor, np.argmax, registry=r)
    return r


def test_a_rule_is_found_under_all_its_names(table: Registry) -> None:
    assert table[np.multiply] is table[operator.mul] and np.ndarray.sum in table
    assert table.get(math.sin) is None and math.sin not in table and [] not in table
    assert set(table) >= {np.multiply, operator.mul, np.floor} and len(table) == len(list(table))
    assert "multiply" in repr(table[np.multiply])


@pytest.mark.parametrize("f", [len, math.sin, np.sin, np.sum, np.ndarray.sum, np.linalg.norm, float, Line.at, scaled])
def test_any_callable_can_have_a_rule(f: Any) -> None:
    r = Registry()
    rrule(f, registry=r)(lambda *args: (f(*args), lambda y_bar: (None,) * len(args)))
    assert r[f].kind == "rrule"


def test_a_missing_rule_brings_a_stub_that_works(table: Registry) -> None:
    with pytest.raises(NoRuleError, match=r"math\.sinh has no rule") as caught:
        table[math.sinh]
    text = str(caught.value).partition("\n\n")[2].replace("...", "math.cosh(x)")

    class wg:
        pass

    wg.rrule = partial(rrule, registry=table)
    exec(text, {"wg": wg, "math": math})
    y, back = table.rrule(math.sinh, 0.5)
    assert y == math.sinh(0.5) and back(2.0) == (2.0 * math.cosh(0.5),)
    assert "dy/dx2" in stub(np.hypot, (1.0, 2.0))


def test_names_are_those_that_a_user_would_write() -> None:
    for f, name in [
        (np.sin, "np.sin"), (np.sum, "np.sum"), (np.ndarray.sum, "np.ndarray.sum"), (len, "len"),
        (math.sin, "math.sin"), (operator.mul, "operator.mul"), (np.linalg.norm, "np.linalg.norm"),
    ]:  # fmt: skip
        assert callable_name(f) == name
    scipy_special = pytest.importorskip("scipy.special")
    assert callable_name(scipy_special.erf) == "scipy.special.erf"


def test_names_of_what_has_none() -> None:
    x, local = np.ones(2), lambda x: x
    for f, name, written in [
        (x.tolist, "np.ndarray.tolist", None), (np.multiply.reduce, "np.multiply.reduce", None),
        (np.random.default_rng(0).normal, "np.random.Generator.normal", None), ([].append, "list.append", None),
        (dict.fromkeys, "dict.fromkeys", None), (np.vectorize(math.sin), "np.vectorize(math.sin)", "f"),
        (np.frompyfunc(math.sin, 1, 1), "np.frompyfunc(sin, 1, 1)", "f"), (local, "<lambda>", "f"),
        (partial(math.pow, 2), "functools.partial(math.pow)", "f"), (Line(1.0).at, "Line.at", None),
    ]:  # fmt: skip
        assert callable_name(f).removeprefix(f"{__name__}.") == name
        assert written_name(f).removeprefix(f"{__name__}.") == (written or name)
        compile(stub(f).replace("...", "0"), "stub", "exec")
    assert stub(np.cross).splitlines()[1] == "def cross_rule(a, b):"
    assert stub(np.vectorize(math.sin)).startswith("@wg.rrule(f)  # f is np.vectorize(math.sin)\ndef f_rule(x):")


def test_a_second_rule_is_refused_naming_both_places(table: Registry) -> None:
    place = r"test_registry\.py:\d+"
    with pytest.raises(DuplicateRuleError, match=rf"operator\.mul already.*{place}.*{place}"):

        @partials(np.divide, operator.mul, registry=table)
        def again(y, a, b):
            return b, a

    assert np.divide not in table  # all or nothing


def test_a_line_that_runs_again_replaces_its_rule() -> None:
    r = Registry()
    for _ in range(2):

        @partials(np.sin, registry=r)
        def sin(y, x):
            return np.cos(x)

        @accumulates(np.sin, arg=0, registry=r)
        def add(x_bar, y_bar, y, x):
            return x_bar

        non_differentiable(np.floor, registry=r)
    assert r[np.sin].body is sin and r[np.sin].accumulators[0].add is add


def test_version_tells_of_every_change_and_scope_undoes_it(table: Registry) -> None:
    before = table.version
    with pytest.raises(ZeroDivisionError), table.scope() as inner:  # noqa: PT012 -- what it does is the point
        assert inner is table
        non_differentiable(np.ceil, registry=table)
        table.remove(np.multiply)
        assert np.ceil in table and operator.mul not in table and table.version == before + 2
        raise ZeroDivisionError
    assert np.ceil not in table and operator.mul in table and table.version == before + 3


def test_what_is_made_of_the_rules_is_made_again_after_a_change_also_of_one_meanwhile(table: Registry) -> None:
    changes: list[Any] = []

    def made() -> bool:
        """Of the rules as they were before the change that comes while it is at it."""
        found = np.ceil in table
        if changes:
            changes.pop()()
        return found

    assert table.once(made) is False
    table.remove(np.multiply)
    changes.append(lambda: non_differentiable(np.ceil, registry=table))
    assert table.once(made) is False
    assert table.once(made) is True
    changes.append(lambda: pytest.fail("it was made again, and nothing had changed"))
    assert table.once(made) is True


def test_named_arguments_move_to_their_places(table: Registry) -> None:
    x, m = np.ones(3), 2.0
    assert table[np.sum].normalise((), {"a": x, "axis": 0}) == ((x,), {"axis": 0})
    assert table[np.clip].normalise((x,), {"a_max": m}) == ((x, None, m), {})
    assert table[np.clip].normalise((x,), {"max": m}) == ((x, None, m), {})
    assert table[np.multiply].normalise((x, m), None) == ((x, m), {})
    assert table[np.concatenate].normalise(([x, x], 0), {}) == (([x, x],), {"axis": 0})
    with pytest.raises(NoRuleError, match=r"np\.multiply: argument 'a' is missing"):
        table[np.multiply].normalise((), {"b": m})


def test_positions_after_the_differentiable_arguments_are_static(table: Registry) -> None:
    plan = table[np.sum].plan(2)
    assert plan.positions == (0,) and plan.bind((3.0, 0)) == ((3.0,), {"axis": 0})
    assert table[np.sum].plan(2) is plan
    assert table[np.clip].plan(2).positions == (0, 1)
    assert table[np.concatenate].plan(5, ("axis",)).positions == (0, 1, 2, 3, 4)
    assert table[np.floor].plan(1).positions == ()
    assert table[np.multiply].plan(2).variant((True, False)) is table[operator.mul].variant((True, False))


def test_an_undeclared_argument_is_refused_by_name(table: Registry) -> None:
    with pytest.raises(NoRuleError, match=r"np\.sum: the rule does not know the argument 'where'"):
        table[np.sum].plan(1, ("where",))
    with pytest.raises(NoRuleError, match=r"np\.multiply: the rule does not know argument 3 of 3"):
        table[np.multiply].plan(3)
    with pytest.raises(NoRuleError, match="positional arguments are too many"):
        table[np.concatenate].normalise(([1], 0, None, "x"), {})


def test_rrule_brings_cotangents_back_to_their_arguments(table: Registry) -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.arange(3.0, dtype=np.float32)
    y, back = table.rrule(np.multiply, a, b)
    y_bar = np.full((2, 3), 1 + 1j)
    a_bar, b_bar = back(y_bar)
    assert np.array_equal(y, a * b)
    assert np.array_equal(a_bar, np.broadcast_to(b, (2, 3))) and a_bar.dtype == a.dtype
    assert np.array_equal(b_bar, a.sum(0)) and b_bar.dtype == np.float32
    assert table.rrule(np.multiply, 2.0, 3)[1](1.0) == (3.0, None)


def test_rrule_of_a_call_by_name_with_static_arguments_and_sequences(table: Registry) -> None:
    x = np.ones((2, 3))
    assert np.array_equal(table.rrule(np.sum, a=x, axis=0)[1](np.arange(3.0))[0], [[0, 1, 2]] * 2)
    x_bar, axis_bar = table.rrule(np.ndarray.sum, x, 1)[1](np.arange(2.0))
    assert axis_bar is None and np.array_equal(x_bar, [[0] * 3, [1] * 3])
    (bars,) = table.rrule(np.concatenate, [np.ones(2), np.arange(1), np.ones(1)])[1](np.arange(4.0))
    assert np.array_equal(bars[0], [0, 1]) and bars[1] is None and bars[2] == [3]
    (stacked,) = table.rrule(np.concatenate, np.ones((2, 2)))[1](np.arange(4.0))
    assert np.array_equal(stacked, [[0, 1], [2, 3]])
    assert table.rrule(np.clip, 3.0, a_max=2.0)[1](1.0) == (0.0, None, 1.0)
    assert table.rrule(np.floor, 2.5)[0] == 2.0 and table.rrule(np.floor, 2.5)[1](1.0) == (None,)


def test_rrule_sums_matmul_over_broadcast_axes(table: Registry) -> None:
    a, b = np.ones((3, 4)), np.ones((5, 4, 2))
    a_bar, b_bar = table.rrule(np.matmul, a, b)[1](np.ones((5, 3, 2)))
    assert a_bar.shape == a.shape and b_bar.shape == b.shape and a_bar[0, 0] == 10


def test_rrule_of_the_general_form(table: Registry) -> None:
    y, back = table.rrule(scaled, 3.0, scale=4.0, shift=1.0)
    assert y == 13.0 and back(2.0) == (8.0, 6.0)
    assert table.rrule(scaled, 3.0)[1](1.0) == (2.0,)  # the default's cotangent has nowhere to go
    with pytest.raises(NoRuleError, match="'offset'"):
        table.rrule(scaled, 3.0, offset=1.0)


def returning(result: Any) -> Registry:
    r = Registry()
    rrule(scaled, registry=r)(lambda x, *rest: result)
    return r


def test_a_broken_contract_is_named() -> None:
    with pytest.raises(RuleError, match=r"scaled .*test_registry\.py:\d+\) must return \(y, pullback\), not"):
        returning(1.0).rrule(scaled, 1.0)
    with pytest.raises(RuleError, match="returned 2 cotangents for 1 arguments"):
        returning((1.0, lambda y_bar: (1.0, 2.0))).rrule(scaled, 1.0)[1](1.0)
    with pytest.raises(RuleError, match="returned 1 cotangents for 2 arguments"):
        returning((1.0, lambda y_bar: 1.0)).rrule(scaled, 1.0, 2.0)[1](1.0)
    with pytest.raises(RuleError, match=r"argument 0: .*\(3,\).*\(2,\)"):
        returning((1.0, lambda y_bar: np.ones(3))).rrule(scaled, np.ones(2))[1](1.0)
    pair = returning((1.0, lambda y_bar: (1.0, 2.0)))
    assert pair.rrule(scaled, (3.0, 4.0))[1](1.0) == ((1.0, 2.0),)


def test_what_is_no_partials_has_no_scalar_step(table: Registry) -> None:
    assert table[np.multiply].scalar_step((True, True)) is table[operator.mul].scalar_step((True, True))
    for f in (np.sum, scaled, np.floor):
        with pytest.raises(RuleError, match="scalar step"):
            table[f].scalar_step((True,))
    for f in (scaled, np.floor):
        with pytest.raises(RuleError, match="call the rule"):
            table[f].variant((True,))


def test_a_target_must_be_callable() -> None:
    with pytest.raises(RuleError, match="not callable"):
        Registry().add(Rule("x", (3,), "constant", None, "here:1"))
