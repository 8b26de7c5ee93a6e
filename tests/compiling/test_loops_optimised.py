"""Loop invariants, and what loops store for their reverse pass: less is computed and kept, with the same numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from loop_sources import loop_arguments, loop_function

import wengert as wg
from wengert.compiling.loops.hoisting import hoist
from wengert.compiling.loops.rolling import rolled
from wengert.tape.loops import Loop
from wengert.values.functional import setitem
from wengert.values.trees import leaves

R = np.random.default_rng(5)


def bits(x: Any) -> list[Any]:
    """The leaves of a result, with their types, to the bit."""
    return [(type(leaf), None if leaf is None else np.asarray(leaf).tobytes()) for _, leaf in leaves(x)]


def loops_of(tape: Any) -> list[Loop]:
    return [op.fn for op in tape.calls if isinstance(op.fn, Loop)]


def kept(tape: Any) -> list[tuple[int, ...]]:
    """The shapes of the arrays that the loops of a tape fill a row at a time."""
    stores = [op for loop in loops_of(tape) for op in loop.body.calls if op.fn is setitem and op.args[1] in loop.inputs]
    return sorted([op.val.shape for op in stores])


def check(f: Any, *args: Any) -> Any:
    """The gradient tape of a function, rolled and without loop invariants, which gives the same bits."""
    tape = wg.gradtape(f, *args, argnums=tuple(range(len(args))))
    made = hoist(rolled(tape))
    assert loops_of(made)
    for given in (args, [x * 1.25 for x in args]):
        assert bits(made.play(*given)) == bits(tape.play(*given))
    return made


@pytest.mark.parametrize("block", range(4))
def test_random_functions_give_the_same_bits(block: int) -> None:
    seen = 0
    for seed in range(block * 10, block * 10 + 10):
        (text, f), args = loop_function(seed), loop_arguments(seed)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            tape = wg.gradtape(f, *args, argnums=(0, 1, 2, 3))
            made = rolled(tape)
            if made is tape:
                continue
            seen += 1
            for given in (args, loop_arguments(seed + 1000)):
                try:
                    expected = tape.play(*given)
                except wg.StaleTapeError:
                    continue
                assert bits(hoist(made).play(*given)) == bits(expected), text
                for (_, a), (_, b) in zip(
                    leaves(made.optimise(exact=True).play(*given)), leaves(expected), strict=True
                ):
                    np.testing.assert_allclose(a, b, 1e-13, 1e-13, err_msg=text)
    assert seen > 5


def cell(w: Any, x: Any) -> Any:
    h = np.zeros(3)
    for t in range(20):
        h = np.tanh(w[0] @ h + x[t])
        h = h * (w[1, 0] * 0.5)
    return np.sum(h)


def test_views_of_what_is_the_same_are_taken_once() -> None:
    made = check(cell, R.normal(size=(2, 3, 3)), R.normal(size=(20, 3)))
    assert not [
        op for loop in loops_of(made) for op in loop.body.calls if op.fn is np.transpose and op.val.shape == (3, 3)
    ]


def gradient_tape(f: Any, *args: Any) -> Any:
    """The tape of the compiled gradient of a function, which returns the same numbers."""
    plain = wg.grad(f, argnums=tuple(range(len(args))))
    g = wg.compile(plain, strict=True, native=False)
    for given in (args, [x * 1.25 for x in args]):
        for a, b in zip(g(*given), plain(*given), strict=True):
            np.testing.assert_allclose(a, b, 1e-9, 1e-12)
    return g._entries[len(args)][0].tape


def test_elements_of_arguments_are_read_again() -> None:
    def f(a: Any) -> Any:
        s = 0.0
        for i in range(1, 300):
            s = s + np.sin(a[i] * a[i - 1])
        return s

    assert kept(gradient_tape(f, R.normal(size=300))) == []


def test_large_differences_are_computed_again_and_small_ones_are_kept() -> None:
    def f(x: Any, y: Any) -> Any:
        for _ in range(400):
            d = x * y - y
            x = 0.5 * np.tanh(x) + 0.01 * np.tanh(d * d * x)
        return np.sum(x)

    assert len(kept(gradient_tape(f, *R.normal(size=(2, 3))))) > len(kept(gradient_tape(f, *R.normal(size=(2, 1000)))))


def test_a_loop_that_is_not_read_goes_and_a_guard_in_one_stays() -> None:
    def f(x: float) -> float:
        y = x
        for _ in range(40):
            y = y * 1.5 + np.sin(y)
        return x * 2.0

    def guarded(x: float) -> float:
        y = x
        for _ in range(40):
            if y > 0.0:
                y = y * 0.5 + np.sin(y) * 0.1
        return x * 2.0

    assert loops_of(rolled(wg.trace(f, 0.5)[1]))
    assert not loops_of(wg.trace(f, 0.5)[1].optimise())
    made = wg.trace(guarded, 0.5)[1].optimise()
    assert made.play(0.25) == 0.5
    with pytest.raises(wg.StaleTapeError):
        made.play(-0.5)
