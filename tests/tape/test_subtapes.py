"""Parts of tapes: what computes them comes along, what they lack is named; a tape is a function, also to grad."""

from __future__ import annotations

import inspect
import operator
from typing import Any

import numpy as np
import pytest
from tapes import same_bits

import wengert as wg


def f(x: Any, k: Any) -> Any:
    y = np.exp(x)
    if y[0] > 0.5:
        y[0] = k
    z = y * x
    if k > 1.0:
        z = z + k
    return np.sum(z)


ARGS = np.array([0.5, 1.0, -2.0]), 3.0


@pytest.fixture
def tape() -> wg.Tape:
    return wg.trace(f, *ARGS)[1]


def lines(tape: wg.Tape) -> list[str]:
    return [line.strip() for line in tape.dump(types=False).splitlines()[1:]]


def test_from_the_inputs(tape: wg.Tape) -> None:
    (v,) = tape.find(operator.mul)
    part = wg.verify(tape.subtape(v))
    y = np.exp(ARGS[0])
    y[0] = 3.0
    assert same_bits(part(*ARGS), y * ARGS[0])
    assert [op.name for op in part if isinstance(op, wg.Input)] == ["x", "k"]
    assert part.find(operator.gt) and not part.find(np.sum)


def test_from_the_middle(tape: wg.Tape) -> None:
    (z,), k = tape.find(operator.mul), tape.inputs[2]
    part = wg.verify(tape.subtape(tape.result, inputs=[z, k]))
    assert lines(part) == [
        "inp %1", "inp %2 = k", "guard gt(%2, 1.0) is True", "%4 = add(%1, %2)", "%5 = np.sum(%4)", "return %5",
    ]  # fmt: skip
    assert part(np.ones(3), 2.0) == 9.0
    with pytest.raises(wg.StaleTapeError):
        part(np.ones(3), 0.5)


def test_the_parts_make_up_the_whole(tape: wg.Tape) -> None:
    (z,), k = tape.find(operator.mul), tape.inputs[2]
    first, second = tape.subtape(z), tape.subtape(tape.result, inputs=[z, k])
    again = ARGS[0] + 0.25, 2.0
    assert second(first(*again), again[1]) == f(*again)
    whole = wg.Tape()
    whole.inputs = ARGS
    x, k = whole.inputs
    whole.result = whole.push(wg.mkcall(second, whole.push(wg.mkcall(first, x, k)), k))
    assert whole(*again) == f(*again) == wg.primitivize(whole)(*again)
    assert whole.compile()(*again) == f(*again)


def test_what_is_lacking_is_named(tape: wg.Tape) -> None:
    (z,) = tape.find(operator.mul)
    with pytest.raises(wg.TapeError, match=r"also depends on\n  inp %3 = k::float\n  fix: add %3 to inputs="):
        tape.subtape(tape.result, inputs=[z])


def test_the_tape_itself_stays(tape: wg.Tape) -> None:
    before = tape.dump(sites=True)
    part = tape.subtape(tape.find(operator.mul)[0])
    part.replace(3, wg.mkcall(np.sin, part.inputs[0]))
    assert tape.dump(sites=True) == before


def test_notes_are_of_the_part() -> None:
    tape = wg.gradtape(lambda x, y: np.sum(np.exp(x) * y), np.ones(2), np.ones(2))
    (gradients,) = tape.find("make_tuple", where=lambda op: len(op.args) == 3)
    part = tape.subtape(tape[gradients].args[1])
    assert [line.partition("# ")[2] for line in part.dump().splitlines()[-4:-1]] == ["", "", "pullback of %3"]


@pytest.mark.parametrize("call", [lambda t, *args: t(*args), lambda t, *args: t.play(*args)])
def test_a_tape_is_differentiated_like_the_function(tape: wg.Tape, call: Any) -> None:
    again = ARGS[0] + 0.25, 2.0
    _, (_, x_bar, k_bar) = wg.grad(f, *again)
    value, (_, x_bar_2, k_bar_2) = wg.grad(lambda *args: call(tape, *args), *again)
    assert value == f(*again) and same_bits(x_bar, x_bar_2) and same_bits(k_bar, k_bar_2)
    assert same_bits(wg.grad(tape)(*again), x_bar)


def test_an_edited_tape_is_differentiated_as_edited(tape: wg.Tape) -> None:
    (v,) = tape.find(np.exp)
    tape.replace(v, wg.mkcall(np.sinh, tape.inputs[1]))
    x = np.array([0.6, 1.0, -2.0])
    expected = np.cosh(x) * x + np.sinh(x)
    np.testing.assert_allclose(wg.grad(tape)(x, 3.0)[1:], expected[1:], rtol=1e-14)
    assert wg.grad(tape)(x, 3.0)[0] == 3.0


def test_stale_tapes_are_refused_under_grad_too(tape: wg.Tape) -> None:
    with pytest.raises(wg.StaleTapeError):
        wg.grad(tape)(np.array([-1.0, 1.0, 2.0]), 3.0)


def test_a_tape_has_a_signature(tape: wg.Tape) -> None:
    assert str(inspect.signature(tape)) == "(x, k)"
    assert wg.grad(tape, argnums="k")(*ARGS) == wg.grad(f, argnums="k")(*ARGS)
    derivative = wg.gradtape(tape, *ARGS)
    assert derivative.to_source().count("def f(x, k):") == 1
    unnamed = tape.subtape(tape.result, inputs=[*tape.find(operator.mul), tape.inputs[2]])
    assert str(inspect.signature(unnamed)) == "(x1, x2, /)"


def test_rules_called_by_hand_are_refused_under_grad() -> None:
    """They gave zeros: nothing of what they do is recorded."""
    reverse = wg.rrule_tape(wg.trace(lambda x: x * np.sin(x), 2.0)[1])
    for call in (
        lambda x: reverse.play(x)[0],
        lambda x: wg.rules.rrule(np.sin, x)[0],
        lambda x: wg.rules.rrule(np.sin, 1.0)[1](x)[0],
    ):
        with pytest.raises(wg.RefusedCallError, match="calls a rule by hand"):
            wg.grad(call)(2.0)
    pullback = wg.vjp(lambda x: x**2, 3.0)[1]
    assert wg.grad(lambda s: pullback(s)[0])(2.0) == 6.0  # that of a vjp is recorded
    assert wg.grad(lambda s: wg.vjp(lambda x: x**2, 3.0)[1](s)[0] + s * pullback(1.0)[0])(2.0) == 12.0
    assert wg.grad(lambda x: x * (np.sin in wg.rules))(2.0) == 1.0
    derivative = wg.gradtape(lambda x: x * np.sin(x), 2.0)
    assert wg.grad(lambda x: derivative.play(x)[1][1])(2.0) == pytest.approx(2 * np.cos(2) - 2 * np.sin(2), rel=1e-14)
