"""Programs, the random ones also in parts, under wg.checkpoint: as without. FUZZ_EXAMPLES=10000 runs so many."""

from __future__ import annotations

import copy
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutation_programs import leaves as leaves_of
from program_table import Program
from programs import PROGRAMS
from tapes import same_bits
from test_fuzz_mutation import N, arguments, program, programs, run
from view_programs import FOLLOWED

import wengert as wg
from wengert.recording.recording import STATE
from wengert.recording.session import SESSION
from wengert.recording.shadow import SHADOW
from wengert.values.trees import leaves

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "100"))
lengths = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def in_parts(ops: list[Any], lengths: list[int], wrap: Any) -> Any:
    """The program, `lengths` of its operations at a time under `wrap`."""

    def f(x: Any, y: Any) -> Any:
        scratch = np.full(N, 0.3, x.dtype)
        names = [x, y, scratch, x[1:5]]
        total, done, turn = x[0] * y[1], 0, 0
        while done < len(ops):
            length = lengths[turn % len(lengths)]
            total = wrap(run)(ops[done : done + length], names, total)
            done, turn = done + length, turn + 1
        return total + sum(np.sum(a * a) for a in names)

    return f


def alternately(f: Any) -> Any:
    """A checkpoint around every second call, by turns."""
    alternately.turn += 1
    return wg.checkpoint(f) if alternately.turn % 2 else f


def nested(f: Any) -> Any:
    return wg.checkpoint(lambda *args: wg.checkpoint(f)(*args))


def gradients(f: Any) -> tuple[Any, list[np.ndarray], list[np.ndarray]]:
    """Value, gradients, and what the function left in its arguments."""
    args = arguments(float)
    alternately.turn = 0
    value, (_, *found) = wg.grad(f, *args)
    assert not (SHADOW or SESSION.recordings or STATE.recording)
    return value, found, list(args)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=EXAMPLES == 100)
@given(programs, lengths)
def test_random_programs_under_checkpoints(ops: list[Any], lengths: list[int]) -> None:
    plain = gradients(program(ops))
    for f in (
        wg.checkpoint(program(ops)),
        in_parts(ops, lengths, wg.checkpoint),
        in_parts(ops, lengths, alternately),
        wg.checkpoint(in_parts(ops, lengths, nested)),
    ):
        value, found, left = gradients(f)
        assert same_bits(value, plain[0])
        assert all(map(same_bits, left, plain[2]))
        np.testing.assert_allclose(np.concatenate(found), np.concatenate(plain[1]), rtol=1e-12, atol=1e-13)


def all_gradients(f: Any, args: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    value, gradients = wg.grad(f, *args)
    return value, [np.asarray(leaf) for _, leaf in leaves(list(gradients[1:]))]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_programs_under_a_checkpoint(program: Program) -> None:
    plain = all_gradients(program.f, copy.deepcopy(program.args))
    assert same_bits(all_gradients(wg.checkpoint(program.f), copy.deepcopy(program.args)), plain)


@pytest.mark.parametrize("program", FOLLOWED, ids=lambda program: program.f.__name__)
def test_programs_in_place_under_a_checkpoint(program: Any) -> None:
    plain = all_gradients(program.f, program.args())
    args, expected = program.args(), program.args()
    assert same_bits(all_gradients(wg.checkpoint(program.f), args), plain)
    program.f(*expected)
    assert same_bits(leaves_of(args), leaves_of(expected))
