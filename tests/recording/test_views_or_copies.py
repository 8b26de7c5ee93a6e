"""Guards of the memory layout: whether a result is a view or a copy of its argument."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg


def _filled_and_reshaped(x, writes):
    total = 0.0
    for k in range(20):
        out = np.empty((3, 2))
        out[:, 0], out[:, 1] = np.sin(x * k), np.cos(x)
        row = out.reshape(-1)
        if writes:
            out[0, 0] = 3.0 * x[1]
        x = row[:3] * 0.5
        total = total + np.sum(row)
    return total


@pytest.mark.parametrize("writes", [False, True])
def test_a_view_is_guarded_if_it_is_written_later(writes: bool) -> None:
    x = np.array([0.3, 0.5, 0.7])
    tape = wg.trace(_filled_and_reshaped, x, writes)[1]
    assert bool(tape.find(np.shares_memory)) == writes
    gradient = wg.grad(_filled_and_reshaped)
    compiled = wg.compile(gradient, strict=True)
    for scale in (1.0, 0.5, 2.0):
        found = compiled(x * scale, writes)
        assert found == pytest.approx(gradient(x * scale, writes), rel=1e-12)
        assert found == pytest.approx(wg.ngradient(_filled_and_reshaped, x * scale, writes)[0], rel=1e-6)
