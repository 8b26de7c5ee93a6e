"""Each program, in each mode: the value of the untraced run, and one gradient however it is asked for."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest
from program_table import LOG, Program
from programs import PROGRAMS
from tapes import assert_close, same_bits

import wengert as wg
from wengert.values.specs import as_float
from wengert.values.trees import leaves, rebuild

each = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


def arguments(program: Program) -> tuple[Any, ...]:
    return copy.deepcopy(program.args)


def gradient(program: Program) -> tuple[Any, tuple[Any, ...]]:
    value, gradients = wg.grad(program.f, *arguments(program))
    return value, gradients[1:]


def inputs_of(tape: wg.Tape) -> list[Any]:
    return [op.val for op in tape if isinstance(op, wg.Input) and not op.callee]


@each
def test_value_and_side_effects(program: Program, capsys: pytest.CaptureFixture[str]) -> None:
    LOG.clear()
    plain = program.f(*arguments(program))
    expected, printed = list(LOG), capsys.readouterr().out
    LOG.clear()
    value, _ = gradient(program)
    assert same_bits(value, plain)
    assert list(LOG) == expected
    assert capsys.readouterr().out == printed


@pytest.mark.whole
@each
def test_gradient(program: Program) -> None:
    _, found = gradient(program)
    if program.closed is not None:
        assert_close(found, program.closed, 1e-13, 1e-13)
    else:
        assert_close(found, wg.ngradient(program.f, *arguments(program)), 2e-7, 2e-7)


def direction(a: Any) -> Any:
    """A random tangent of an argument."""
    random = np.random.default_rng(len(repr(a)))

    def tangent(leaf: Any, _: Any) -> Any:
        made = random.standard_normal(np.shape(leaf))
        if np.iscomplexobj(leaf):
            made = made + 1j * random.standard_normal(np.shape(leaf))
        return np.asarray(made, leaf.dtype) if isinstance(leaf, np.ndarray) else type(leaf)(made)

    return rebuild(copy.deepcopy(as_float(a)), tangent)


def slope(gradients: Any, dots: Any) -> float:
    """The derivative of a real number in the direction `dots`."""
    pairs = zip(leaves([*gradients]), leaves([*dots]), strict=True)
    return sum([np.sum(np.real(bar * dot)) for (_, bar), (_, dot) in pairs])


@each
def test_tangent(program: Program) -> None:
    plain, dots = program.f(*arguments(program)), tuple(map(direction, arguments(program)))
    _, gradients = wg.grad(program.f, *arguments(program), allow_int=True)
    value, found = wg.jvp(program.f, arguments(program), dots)
    assert same_bits(value, plain)
    assert np.isclose(found, slope(gradients[1:], dots), rtol=1e-10, atol=1e-12)


@each
def test_linearized(program: Program) -> None:
    plain, dots = program.f(*arguments(program)), tuple(map(direction, arguments(program)))
    _, expected = wg.jvp(program.f, arguments(program), dots)
    value, push = wg.linearize(program.f, *arguments(program))
    assert same_bits(value, plain)
    assert np.isclose(push(*dots), expected, rtol=1e-10, atol=1e-12)
    scaled = lambda t: wg.jvp(program.f, arguments(program), dots)[1] * t
    assert np.isclose(wg.jvp(scaled, (2.0,), (1.0,))[1], expected, rtol=1e-10, atol=1e-12)


@each
def test_tape(program: Program) -> None:
    plain, (_, expected) = program.f(*arguments(program)), gradient(program)
    value, tape = wg.trace(program.f, *arguments(program))
    assert same_bits(value, plain)
    wg.verify(tape)
    assert same_bits(tape.play(*inputs_of(tape)), plain)
    assert same_bits(tape.play(*arguments(program)), plain)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = tape.compile()
    assert same_bits(compiled(*arguments(program)), plain)
    reverse = wg.rrule_tape(tape)
    again, found = reverse[reverse.result].val
    assert same_bits(again, plain)
    assert_close(list(found), list(expected), 1e-12, 1e-13)


@each
def test_tape_of_the_gradient(program: Program) -> None:
    plain, (_, expected) = program.f(*arguments(program)), gradient(program)
    tape = wg.gradtape(program.f, *arguments(program))
    wg.verify(tape)
    for run in (tape.play, tape.compile()):
        value, found = run(*arguments(program))
        assert same_bits(value, plain)
        assert_close(list(found[1:]), list(expected), 1e-12, 1e-13)


def test_there_are_many() -> None:
    assert len(PROGRAMS) >= 165
    assert all(p.f.__globals__.get("LOG", LOG) is LOG for p in PROGRAMS)
