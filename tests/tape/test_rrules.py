"""The recipe: tapes of rrule calls with the way back appended, against differences and complex steps."""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
from tapes import SITE, plainly, same_bits

import wengert as wg
import wengert_rules  # noqa: F401
from wengert.errors import NoGradientPathError, NonScalarOutputError, NoRuleError
from wengert.rulebook.declare import rrule, vjp_rule
from wengert.rulebook.registry import rules
from wengert.tape.rrules import RRuleContext, append_reverse_pass, rrule_tape
from wengert.tape.tape import Call, Input, Tape, Variable, mkcall, verify
from wengert.values import functional


def build(program: Callable[..., Variable], *inputs: Any) -> Tape:
    """A tape written by a program that calls `do(fn, *args)` for each step."""
    tape = Tape()
    variables = [tape.push(Input(x, f"x{k}")) for k, x in enumerate(inputs, 1)]
    tape.result = program(lambda fn, *args, **kwargs: tape.push(mkcall(fn, *args, **kwargs)), *variables)
    return tape


def differences(tape: Tape, *inputs: Any) -> list[Any]:
    """Central differences of the tape's result, element by element."""
    bars = []
    for k, x in enumerate(inputs):
        x_bar = np.zeros(np.shape(x))
        for place in np.ndindex(np.shape(x)):
            ends = []
            for step in (1e-6, -1e-6):
                moved = np.array(x, dtype=float)
                moved[place] += step
                given = moved if isinstance(x, np.ndarray) else float(moved)
                ends.append(plainly(tape, *inputs[:k], given, *inputs[k + 1 :]))
            x_bar[place] = (ends[0] - ends[1]) / 2e-6
        bars.append(x_bar)
    return bars


def check(program: Callable[..., Variable], *inputs: Any) -> Tape:
    tape = build(program, *inputs)
    made = verify(rrule_tape(tape))
    value, bars = made[made.result].val
    assert same_bits(value, plainly(tape))
    for x_bar, expected, x in zip(bars, differences(tape, *inputs), inputs, strict=True):
        assert np.shape(x_bar) == np.shape(x)
        np.testing.assert_allclose(x_bar, expected, rtol=1e-6, atol=1e-7)
    assert same_bits(made.play(*inputs), (value, bars))
    assert same_bits(made.compile()(*inputs), (value, bars))
    return made


def test_the_seeds_example() -> None:
    """f(x1, x2) = x1 x2 + sin(x1) at (2, 3)."""
    made = check(lambda do, x1, x2: do(operator.add, do(operator.mul, x1, x2), do(math.sin, x1)), 2.0, 3.0)
    value, (x1_bar, x2_bar) = made[made.result].val
    assert value == 6.909297426825682 and type(x1_bar) is type(x2_bar) is float
    step = 1e-30
    assert x1_bar == pytest.approx(((2 + step * 1j) * 3 + cmath.sin(2 + step * 1j)).imag / step, rel=1e-15)
    assert x2_bar == 2.0
    assert [op.fn for op in made.calls if op.fn == rules.rrule] == [rules.rrule] * 3


@pytest.mark.parametrize("program", [
    lambda do, x: x,
    lambda do, x: do(operator.mul, x, x),
    lambda do, x: do(operator.pow, do(operator.mul, x, do(math.exp, x)), 2.0),
    lambda do, x: do(operator.sub, do(math.log, x), do(operator.truediv, 1.0, x)),
])  # fmt: skip
def test_scalars(program: Any) -> None:
    check(program, 0.7)


def test_arrays_with_broadcasting_and_many_uses() -> None:
    def program(do: Any, x: Any, w: Any, s: Any) -> Any:
        h = do(np.tanh, do(np.matmul, w, x))
        both = do(np.concatenate, [h, x, h])
        return do(np.sum, do(np.multiply, do(np.multiply, both, s), both), axis=0)

    check(program, np.array([0.1, 0.2, 0.3]), np.arange(6.0).reshape(2, 3) / 7, 1.5)


def test_a_sequence_in_one_variable() -> None:
    def program(do: Any, x: Any, y: Any) -> Any:
        pair = do(functional.make_list, y, do(np.sin, y))
        return do(operator.mul, do(np.sum, do(np.concatenate, x)), do(np.sum, do(np.concatenate, pair)))

    check(program, np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5]))


def test_stores() -> None:
    def program(do: Any, x: Any, s: Any) -> Any:
        y = do(np.multiply, x, 2.0)
        y = do(functional.setitem, y, slice(0, 2), s)
        y = do(functional.setitem, y, 3, do(operator.getitem, y, 2))
        y = do(functional.additem, y, np.array([0, 0, 3]), s)
        return do(np.sum, do(np.multiply, y, y))

    check(program, np.array([0.1, 0.2, 0.3, 0.4]), 1.5)


def test_containers() -> None:
    def program(do: Any, x: Any, y: Any) -> Any:
        pair = do(functional.make_tuple, x, y, do(operator.mul, x, y))
        a, b = do(functional.getfield, pair, 0), do(functional.getfield, pair, 2)
        again = do(functional.getfield, pair, 2)
        return do(operator.add, do(operator.mul, a, b), again)

    check(program, 2.0, 3.0)


def test_only_what_leads_from_a_wanted_input_to_the_result() -> None:
    def opaque(x: float) -> float:
        return x

    def program(do: Any, x: Any, y: Any) -> Any:
        do(opaque, x)
        do(math.exp, x)
        return do(operator.mul, do(opaque, y), do(math.sin, x))

    tape = build(program, 0.5, 3.0)
    made = verify(rrule_tape(tape, [tape.inputs[0]]))
    assert sum(op.fn == rules.rrule for op in made.calls) == 2
    assert made[made.result].val == (plainly(tape), (3.0 * math.cos(0.5),))
    with pytest.raises(NoRuleError, match=r"opaque\(%2\)"):
        rrule_tape(tape)


def test_a_missing_rule_names_the_users_line_and_gives_a_stub() -> None:
    tape = build(lambda do, x: do(abs, do(scipy.special.ellip_harm, 5.0, 8.0, 1, 1, x)), 2.0)
    for op in tape.calls:
        op.site = SITE
    with pytest.raises(NoRuleError) as caught:
        rrule_tape(tape)
    assert "program.py:7 in f" in str(caught.value) and "@wg.rrule" in str(caught.value)


def test_inputs_that_do_not_matter_have_zero() -> None:
    tape = build(lambda do, x, y, z: do(math.sin, x), 0.5, np.ones((2, 3)), np.float32(1))
    _, bars = rrule_tape(tape).play()
    assert same_bits(bars[1], np.zeros((2, 3))) and same_bits(bars[2], np.float32(0))


def test_integers_and_the_function_itself_are_not_wanted() -> None:
    tape = Tape()
    tape.push(Input(math.sin, "f", callee=True))
    x, _n = tape.push(Input(0.5, "x")), tape.push(Input(3, "n"))
    tape.result = tape.push(mkcall(math.sin, x))
    assert len(rrule_tape(tape).play()[1]) == 1


def test_seeds() -> None:
    tape = build(lambda do, x: do(np.sin, x), np.array([0.1, 0.2]))
    with pytest.raises(NonScalarOutputError, match=r"shape \(2,\)"):
        rrule_tape(tape)
    seed = np.array([2.0, 3.0])
    _, (x_bar,) = rrule_tape(tape, seed=seed).play()
    np.testing.assert_allclose(x_bar, seed * np.cos([0.1, 0.2]))
    assert seed.tolist() == [2.0, 3.0]
    for x in (np.float32(0.5), np.ones((1, 1)), np.array(2.0), 1.5):
        made = rrule_tape(build(lambda do, x: do(np.multiply, x, x), x), seed=3)
        assert same_bits(
            made.play()[1][0], type(x)(6 * x) if not isinstance(x, np.ndarray) else 6 * x + np.zeros(x.shape)
        )
    with pytest.raises(NoGradientPathError, match="bool"):
        rrule_tape(build(lambda do, x: do(operator.lt, x, 1.0), 0.5))


def test_guards_and_notes_stay() -> None:
    tape = build(lambda do, x: do(operator.mul, x, x), 2.0)
    tape.insert(2, Call(operator.lt, [tape.inputs[0], 3.0], val=True, guard=True, site=SITE))
    tape[3].site = SITE
    made = rrule_tape(tape)
    assert (
        str(made)
        == """\
Tape(RRuleContext)
  inp %1 = x1::float
  guard lt(%1, 3.0) is True
  %3 = rrule(mul, %1, %1)::(float, function)
  %4 = getfield(%3, 0)::float
  %5 = getfield(%3, 1)::function  # pullback of %4
  const %6 = 1.0::float  # seed
  %7 = %5(%6)::(float, float)  # pullback of %4
  %8 = getfield(%7, 0)::float  # x̄ of %1
  %9 = getfield(%7, 1)::float  # x̄ of %1
  %10 = add(%8, %9)::float  # x̄ of %1
  %11 = make_tuple(%10)::(float,)  # gradients
  %12 = make_tuple(%4, %11)::(float, (float,))
  return %12"""
    )
    assert all(op.site == SITE for op in list(made)[2:5] + list(made)[6:10])
    assert len(tape) == 3


def test_named_arguments_are_put_in_their_places() -> None:
    made = check(lambda do, x, y: do(np.sum, do(np.clip, x, a_min=y, a_max=9.0)), np.array([1.0, 2.0, 3.0]), 1.5)
    assert made.calls[0].args[0] is np.clip and len(made.calls[0].args) >= 3


def test_an_argument_without_a_derivative_is_refused() -> None:
    def scaled(x: float, by: float = 1.0) -> float:
        return x * by

    with rules.scope():

        @vjp_rule(scaled)
        def scaled_rule(y_bar: Any, y: Any, x: Any, *, by: Any = 1.0) -> Any:
            return y_bar * by

        check(lambda do, x: do(scaled, x, by=3.0), 2.0)
        for program in (lambda do, x: do(scaled, 1.0, by=x), lambda do, x: do(scaled, 1.0, x)):
            with pytest.raises(NoRuleError, match="has no derivative for %1"):
                rrule_tape(build(program, 2.0))


def test_a_users_rrule() -> None:
    def cube(x: float) -> float:
        return x**3

    with rules.scope():

        @rrule(cube)
        def cube_rule(x: Any) -> Any:
            return x**3, lambda y_bar: y_bar * 3 * x**2

        check(lambda do, x: do(operator.add, do(cube, x), do(cube, do(operator.mul, x, 2.0))), 1.5)


def test_constants_cut_the_path() -> None:
    check(lambda do, x: do(operator.mul, x, do(math.floor, x)), 2.5)


def test_while_recording() -> None:
    """As the seed's GradCtx: rrule calls are written during the trace."""
    tape = Tape(RRuleContext())
    x1, x2 = tape.push(Input(2.0, "x1")), tape.push(Input(3.0, "x2"))
    record = tape.ctx.record_primitive
    product = record(tape, operator.mul, x1, x2)
    record(tape, math.floor, x1)
    tape.result = record(tape, operator.add, product, record(tape, math.sin, x1))
    assert tape[product].val == 6.0 and len(tape.ctx.pullbacks) == 3
    append_reverse_pass(verify(tape))
    value, bars = verify(tape)[tape.result].val
    assert value == 6.909297426825682 and bars == pytest.approx((3.0 + math.cos(2.0), 2.0), rel=1e-15)
    with pytest.raises(NoRuleError):
        record(tape, print, x1)


def test_the_derivative_tape_grows_with_the_tape() -> None:
    def program(do: Any, x: Any) -> Any:
        for _ in range(2000):
            x = do(operator.mul, x, 1.001)
        return x

    tape = build(program, 1.0)
    made = rrule_tape(tape)
    assert len(made) <= 6 * len(tape) and made.renumberings == 0
    assert made[made.result].val[1][0] == pytest.approx(1.001**2000)


def test_a_context_rebinds_what_it_holds() -> None:
    tape = Tape(RRuleContext())
    x = tape.push(Input(2.0, "x"))
    tape.result = y = tape.ctx.record_primitive(tape, operator.mul, x, 3.0)
    old = tape.ctx.pullbacks[y]
    new = tape.push(mkcall(functional.getfield, tape[y].args[0], 1))
    tape.rebind({old: new})
    tape.delete(old)
    assert tape.ctx.pullbacks == {y: new}
    assert append_reverse_pass(verify(tape)).play(4.0) == (12.0, (3.0,))


def test_a_cotangent_that_is_broadcast_is_cleared_at_the_key_alone() -> None:
    """The pullback of a sum gives one number at many places; a mask names one of them."""

    def f(a: np.ndarray) -> Any:
        y = a.copy()
        y[a > 1.5] = 0.0
        return y.sum(axis=0)[1]

    a = np.array([[1.0, 0.5], [0.125, 2.0]])
    _, tape = wg.trace(f, a)
    tape = wg.rrule_tape(tape)
    np.testing.assert_array_equal(tape.play(a)[1][0], [[0.0, 1.0], [0.0, 0.0]])
