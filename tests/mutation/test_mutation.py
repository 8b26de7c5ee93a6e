"""Arrays changed in place: value and memory as in the plain run, derivatives against differences, in all modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mutation_programs import Program, leaves
from tapes import same_bits
from view_programs import FOLLOWED

import wengert as wg

each = pytest.mark.parametrize("program", FOLLOWED, ids=lambda program: program.f.__name__)
SINGLE = {"single_precision", "cast_on_store"}  # differences of float32 are rough


def differences(f: Callable[..., Any], make: Callable[[], tuple[Any, ...]], step: float = 1e-3) -> list[Any]:
    """∂f/∂(every entry of every leaf), by central differences extrapolated once."""

    def moved(k: int, place: int, h: float) -> float:
        args = list(make())
        if isinstance(args[k], float):
            args[k] += h
            return float(f(*args))
        sizes = np.cumsum([0, *(np.size(leaf) for leaf in leaves(args[k]))])
        which = int(np.searchsorted(sizes, place, "right")) - 1
        leaf = leaves(args[k])[which]
        leaf[np.unravel_index(place - sizes[which], leaf.shape)] += h
        return float(f(*args))

    out = []
    for k, arg in enumerate(make()):
        for place in range(sum(np.size(leaf) for leaf in leaves(arg))):
            d1, d2 = ((moved(k, place, h) - moved(k, place, -h)) / (2 * h) for h in (step, step / 2))
            out.append((4 * d2 - d1) / 3)
    return out


def flat(gradients: Any) -> np.ndarray:
    return np.concatenate([np.ravel(leaf) for leaf in leaves(gradients)])


def gradient(program: Program) -> Any:
    value, (_, *gradients) = wg.grad(program.f, *program.args())
    return value, gradients


def check(gradients: Any, program: Program) -> None:
    rough = program.f.__name__ in SINGLE
    want = differences(program.f, program.args, 0.05 if rough else 1e-3)
    np.testing.assert_allclose(flat(gradients), want, rtol=2e-3 if rough else 1e-7, atol=2e-3 if rough else 1e-8)


@each
def test_gradient_value_and_memory(program: Program) -> None:
    plain = program.args()
    want = program.f(*plain)
    args = program.args()
    value, (_, *gradients) = wg.grad(program.f, *args)
    assert same_bits(value, want)
    assert all(same_bits(a, b) for a, b in zip(leaves(args), leaves(plain), strict=True))
    check(gradients, program)


@each
def test_pullback_twice(program: Program) -> None:
    """Whatever happens to the caller's arrays after the call."""
    args = program.args()
    value, pullback = wg.vjp(program.f, *args)
    once = flat(pullback(value * 0 + 1))
    for leaf in leaves(args):
        if isinstance(leaf, np.ndarray):
            leaf[...] = np.nan
    assert same_bits(flat(pullback(value * 0 + 1)), once)
    check(once, program)


@pytest.mark.parametrize(
    "program",
    [pytest.param(p, id=p.f.__name__) for p in FOLLOWED if p.f.__name__ not in SINGLE],
)
def test_second_derivative(program: Program) -> None:

    def weighted(*args: Any) -> Any:
        _, (_, *gradients) = wg.grad(program.f, *args)
        return sum(np.sum(np.sin(np.arange(1.0, np.size(g) + 1)).reshape(np.shape(g)) * g) for g in leaves(gradients))

    _, (_, *gradients) = wg.grad(weighted, *program.args())
    np.testing.assert_allclose(flat(gradients), differences(weighted, program.args), rtol=1e-6, atol=1e-6)


def other(value: Any) -> Any:
    """Other numbers in the same structure, on the same side of every comparison in the programs."""
    if isinstance(value, dict):
        return {key: other(part) for key, part in value.items()}
    if isinstance(value, list):
        return [other(part) for part in value]
    if isinstance(value, np.ndarray):
        value[...] = value * 1.0001
        return value
    return value * 1.0001


@each
def test_tape(program: Program) -> None:
    """A tape of the program serves other inputs, played, compiled and as source."""
    want = program.f(*program.args())
    value, tape = wg.trace(program.f, *program.args())
    wg.verify(tape)
    assert same_bits(value, want)
    flat_args = leaves(program.args())
    assert same_bits(tape.play(*flat_args), want)
    moved = program.f(*map(other, program.args()))
    np.testing.assert_allclose(tape.play(*map(other, leaves(program.args()))), moved, rtol=1e-12)
    np.testing.assert_allclose(tape.compile()(*map(other, program.args())), moved, rtol=1e-12)


@each
def test_tape_of_the_gradient(program: Program) -> None:
    _, want = gradient(program)
    tape = wg.gradtape(program.f, *program.args())
    wg.verify(tape)
    _, got = tape.play(*leaves(program.args()))
    np.testing.assert_allclose(flat(got[-len(want) :]), flat(want), rtol=1e-10, atol=1e-12)


@each
def test_rrule_tape(program: Program) -> None:
    _, want = gradient(program)
    _, tape = wg.trace(program.f, *program.args())
    tape = wg.rrule_tape(tape)
    wg.verify(tape)
    _, got = tape.play(*leaves(program.args()))
    got = [leaf for leaf in leaves(got) if leaf is not None]
    np.testing.assert_allclose(flat(got[-len(leaves(want)) :]), flat(want), rtol=1e-10, atol=1e-12)
