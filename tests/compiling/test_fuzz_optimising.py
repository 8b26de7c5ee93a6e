"""Random programs over all the ways to write an array: their optimised tapes compute what they compute, in own memory.

FUZZ_EXAMPLES=10000 runs so many. Even the smallest arrays go into buffers here.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from random_programs import arguments, program, programs
from tapes import numbers, same_bits

import wengert as wg
from wengert.compiling import placement

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "100"))
fuzz = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=EXAMPLES == 100
)
pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning"),
]


@fuzz
@given(programs)
def test_random_program(ops: list[Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement, "LEAST_BYTES", 1)
        f = program(ops)
        try:
            tapes = [wg.trace(f, *arguments())[1], wg.gradtape(f, *arguments())]
        except wg.WengertError:
            event("refused")
            return
        for tape in tapes:
            check(tape)


def check(tape: wg.Tape) -> None:
    expected = numbers(tape.play(*arguments()))
    for exact in (True, False):
        run: Any = tape.optimise(exact=exact).compile()
        event(f"{len(run.pool.buffers) if run.pool else 0} buffers")
        for _ in range(2):
            given, plain = arguments(), arguments()
            found = numbers(run(*given))
            for buffers in run.pool.free if run.pool else ():
                for buffer in buffers:
                    buffer.fill(99)
            assert all(map(same_bits, given, plain))
            for a, b in zip(found, expected, strict=True):
                assert (a.shape, a.dtype) == (b.shape, b.dtype)
                if exact:
                    np.testing.assert_array_equal(a, b)
                else:
                    largest = np.max(np.abs(b[np.isfinite(b)]), initial=0.0)
                    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * largest)
