"""When a cotangent goes on: counts of the seed "Autodiff" (nGraph), and that numbers do not depend on the choice."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs import PROGRAMS
from view_programs import FOLLOWED

import wengert as wg
from wengert.tape.ops import value_of
from wengert.values.settings import STRATEGIES
from wengert.values.trees import leaves

A, B = np.array([0.3, 1.2]), np.array([0.7, -0.4])


def sum_used_twice(a: np.ndarray, b: np.ndarray) -> Any:
    t = a + b
    return np.sum(a * 3.0) + np.sum(b * 5.0) + np.sum(np.sin(t)) + np.sum(np.cos(t))


def product_used(u: int) -> Callable[[np.ndarray, np.ndarray], Any]:
    def f(a: np.ndarray, b: np.ndarray) -> Any:
        t = a * b
        total = np.sum(a) + np.sum(b)
        for k in range(u):
            total = total + np.sum(np.sin(t + k))
        return total

    return f


def ops(tape: wg.Tape, about: str) -> list[str]:
    """The lines of a tape whose note says `about`."""
    return [line for line in str(tape).splitlines() if re.search(rf"# {about}( |$)", line)]


def additions(tape: wg.Tape) -> int:
    return len([line for line in ops(tape, "x̄ of %[0-9]+") if "= add(" in line])


@pytest.mark.parametrize("tape_of", ["inlined", "rrule"])
def test_a_sum_used_twice(tape_of: str) -> None:
    """Three additions and a buffer where t̄ is summed first, four and none where each part goes on at once."""
    for strategy, count in (("accumulate", 3), ("auto", 3), ("pass through", 4)):
        tape = both_tapes(sum_used_twice, strategy)[tape_of]
        assert additions(tape) == count, strategy


@pytest.mark.parametrize("u", [2, 3, 7])
def test_a_product_used_often(u: int) -> None:
    """Two multiplications where t̄ is summed first, 2u where each part goes on at once."""
    for strategy, count in (("accumulate", 2), ("auto", 2), ("pass through", 2 * u)):
        tape = wg.gradtape(product_used(u), A, B, strategy=strategy)
        (t,) = [line.split()[0] for line in str(tape).splitlines() if "= mul(%2, %3)" in line]
        assert len([line for line in ops(tape, f"(pullback of|passed through) {t}") if "= mul(" in line]) == count


def both_tapes(f: Callable[..., Any], strategy: str) -> dict[str, wg.Tape]:
    _, tape = wg.trace(f, A, B)
    return {
        "inlined": wg.gradtape(f, A, B, strategy=strategy),
        "rrule": wg.rrule_tape(tape, strategy=strategy),
    }


def test_a_copy_is_passed_through() -> None:
    """Its pullback does nothing: what is contributed to the copy is added to what it was made of."""

    def f(a: np.ndarray, b: np.ndarray) -> Any:
        t = a.copy()
        return np.sum(t * b) + np.sum(np.sin(t)) + np.sum(t + 1.0)

    for tape, summed in (wg.gradtape(f, A, B), {"%2"}), (wg.gradtape(f, A, B, strategy="accumulate"), {"%4"}):
        assert {line.split("x̄ of ")[1] for line in ops(tape, "x̄ of %[0-9]+") if "= add(" in line} == summed
    value, (_, a_bar, _) = wg.gradtape(f, A, B).play(A, B)
    assert value == f(A, B)
    np.testing.assert_allclose(a_bar, B + np.cos(A) + 1, rtol=1e-15)


def test_each_value_is_finished_once_in_reverse_order() -> None:
    """The seed's finalize: after the last contribution, once, and never off the path."""

    def f(a: np.ndarray, b: np.ndarray) -> Any:
        t = np.sin(a)
        u = t * t + b
        unused = np.exp(u)
        return np.sum(u * t) + np.sum(u) + 0 * unused.size

    tape = wg.rrule_tape(wg.trace(f, A, B)[1], strategy="accumulate")
    calls = [line for line in ops(tape, "pullback of %[0-9]+") if "getfield" not in line]
    finished = [int(re.findall("# pullback of %([0-9]+)", line)[0]) for line in calls]
    assert finished == sorted(set(finished), reverse=True) and len(finished) == 8


def test_the_document_s_example() -> None:
    """y = a x² + b x + c has the derivatives x², x, 1 and 2 a x + b."""

    def y(a: float, b: float, c: float, x: float) -> float:
        return a * x**2 + b * x + c

    for strategy in STRATEGIES:
        with wg.accumulation_options(strategy=strategy):
            _, gradients = wg.grad(y, 2.0, 3.0, 0.5, 1.5)
        assert tuple(gradients)[1:] == (2.25, 1.5, 1.0, 9.0)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_programs(program: Any) -> None:
    """Each part of each cotangent by itself, or the sums: the same gradient to rounding, eager and on the tape."""
    found = {}
    for strategy in STRATEGIES:
        with wg.accumulation_options(strategy=strategy):
            _, gradients = wg.grad(program.f, *copy.deepcopy(program.args))
        found[strategy] = numbers(gradients[1:])
        made = wg.gradtape(program.f, *copy.deepcopy(program.args), strategy=strategy)
        found[f"tape, {strategy}"] = numbers(value_of(made.result)[1][1:])
    for strategy, gradient in found.items():
        for a, b in zip(gradient, found["accumulate"], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13, err_msg=strategy)


@pytest.mark.parametrize("program", FOLLOWED, ids=lambda p: p.f.__name__)
def test_programs_that_write(program: Any) -> None:
    """Residuals are what they were, although pullbacks run before memory has been put back."""
    plain = wg.grad(program.f, *program.args())[1][1:]
    with wg.accumulation_options(strategy="pass through"):
        passed = wg.grad(program.f, *program.args())[1][1:]
    for a, b in zip(numbers(passed), numbers(plain), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def test_checkpoints() -> None:
    """Cotangents pass through the second run, whose entries are not among the first run's that depend on inputs."""
    x, cube = np.array([0.7, 0.4, 1.3]), wg.checkpoint(lambda y: y * y * y)
    with wg.accumulation_options(strategy="pass through"):
        gradient = wg.grad(lambda x: np.sum(cube(x * x) + wg.checkpoint(lambda y: cube(y) * y)(x)))(x)
    np.testing.assert_allclose(gradient, 6 * x**5 + 4 * x**3, rtol=1e-12)


def numbers(value: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for _, leaf in leaves(value)]
