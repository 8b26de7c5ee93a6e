"""Random programs over all the ways to write an array, in each mode, against differences in long doubles.

FUZZ_EXAMPLES=10000 runs so many. A program may be refused; a refusal is an error of this package and nothing else.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from random_programs import TABLE, arguments, gradients, program, programs
from tapes import same_bits

import wengert as wg
from wengert.api.tangents import jvp_of_call

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "100"))
fuzz = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=EXAMPLES == 100
)
pytestmark = [
    pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="no longer floats than doubles here"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning"),
]


def assert_gradients(found: Any, exact: list[np.ndarray]) -> None:
    for a, b in zip(found, exact, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


def plain_run(f: Any) -> tuple[Any, tuple[np.ndarray, ...], np.ndarray]:
    """Value, arguments and the module's array as the untraced run leaves them."""
    args = arguments()
    return f(*args), args, TABLE.copy()


def check_gradient(f: Any, want: Any, plain: Any, held: np.ndarray, exact: list[np.ndarray]) -> None:
    args = arguments()
    value, (_, *found) = wg.grad(f, *args)
    assert same_bits(value, want)
    assert all(map(same_bits, args, plain)) and same_bits(TABLE, held)
    assert_gradients(found, exact)


def check_pullback(f: Any, want: Any, plain: Any, held: np.ndarray, exact: list[np.ndarray]) -> None:
    args = arguments()
    value, pullback = wg.vjp(f, *args)
    assert same_bits(value, want) and all(map(same_bits, args, plain)) and same_bits(TABLE, held)
    for a in (*args, TABLE):
        a[...] = np.nan
    once = pullback(1.0)
    assert_gradients(once, exact)
    assert same_bits(once, pullback(1.0))


def directions() -> tuple[np.ndarray, ...]:
    return np.linspace(-1.0, 2.0, 6), np.sin(np.arange(6.0)).reshape(2, 3), np.array([1j, 1.0, -0.5 + 1j, 2.0])


def check_tangent(f: Any, want: Any, plain: Any, held: np.ndarray, exact: list[np.ndarray]) -> None:
    slope = sum([np.sum(np.real(g * dot)) for g, dot in zip(exact, directions(), strict=True)])
    args = arguments()
    value, found = wg.jvp(f, args, directions())
    assert same_bits(value, want) and all(map(same_bits, args, plain)) and same_bits(TABLE, held)
    np.testing.assert_allclose(found, slope, rtol=1e-8, atol=1e-7)
    several = [np.stack([dot, 0.0 * dot, 2.0 * dot]) for dot in directions()]
    _, rows, _ = jvp_of_call(f, arguments(), {}, (0, 1, 2), several, size=3)
    np.testing.assert_allclose(rows, [slope, 0.0, 2.0 * slope], rtol=1e-8, atol=1e-7)
    value, push = wg.linearize(f, *arguments())
    assert same_bits(value, want)
    np.testing.assert_allclose(push(*directions()), slope, rtol=1e-8, atol=1e-7)
    TABLE[...] = np.nan
    np.testing.assert_allclose(push(*directions()), slope, rtol=1e-8, atol=1e-7)


def check_tape(f: Any, want: Any, plain: Any, held: np.ndarray, exact: list[np.ndarray]) -> None:
    value, tape = wg.trace(f, *arguments())
    wg.verify(tape)
    assert same_bits(value, want)
    for again in (tape.play, tape.compile()):
        # a window comes off the tape in C order: a sum over it may add in another order
        np.testing.assert_allclose(again(*arguments()), want, rtol=1e-12, atol=1e-13)
    reverse = wg.rrule_tape(tape)
    for _, found in (reverse[reverse.result].val, reverse.play(*arguments())):
        assert_gradients([np.conj(a) for a in found], exact)  # the inside convention


def check_tape_of_the_gradient(f: Any, want: Any, plain: Any, held: np.ndarray, exact: list[np.ndarray]) -> None:
    tape = wg.gradtape(f, *arguments())
    wg.verify(tape)
    for _, found in (tape[tape.result].val, tape.play(*arguments()), tape.compile()(*arguments())):
        assert_gradients(found[1:], exact)


def overlapping(dtype: Any = float) -> tuple[np.ndarray, ...]:
    """Arguments of which the first two share memory, and what they share."""
    shared = np.linspace(0.2, 0.9, 9).astype(dtype)
    return shared[:6], shared[3:].reshape(2, 3), arguments(dtype)[2]


def apart(dtype: Any = float) -> tuple[np.ndarray, ...]:
    return tuple([a.copy() for a in overlapping(dtype)])


@fuzz
@given(programs)
def test_arguments_that_share_memory(ops: list[Any]) -> None:
    """While the shared memory is only read, the gradients are those of arguments apart; written, it is refused."""
    f = program(ops)
    args = overlapping()
    plain = f(*args)
    written = not all(map(same_bits, args[:2], overlapping()[:2]))
    traced = overlapping()
    try:
        value, (_, *found) = wg.grad(f, *traced)
    except wg.WengertError:
        event("refused")
        return
    assert not written
    event("read only")
    assert same_bits(value, plain) and all(map(same_bits, traced, args))
    if np.isfinite(plain):
        assert_gradients(found, gradients(f, apart))


@fuzz
@given(programs)
def test_random_programs(ops: list[Any]) -> None:
    f = program(ops)
    want, plain, held = plain_run(f)
    if not np.isfinite(want):
        return
    exact = gradients(f, arguments)
    for check in (check_gradient, check_pullback, check_tangent, check_tape, check_tape_of_the_gradient):
        try:
            check(f, want, plain, held, exact)
            event("right")
        except wg.WengertError as error:
            event("refused: " + str(error).partition(": ")[2][:50])
