"""Random loops over small matrices: NumPy code and native code give the gradient of the function as it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matrix_sources import matrix_arguments, matrix_function
from native_by_python import interpret_program

import wengert as wg
from wengert.compiling.loops import deferred_reverse
from wengert.compiling.native.compiled import compile_native
from wengert.compiling.native.values import UnsupportedOp


def native_code(compiled: Any) -> Any:
    """The native code of a compiled function's only trace, run by Python: a function of its arguments; or None."""
    entries = [entry for of in compiled._entries.values() for entry in of]
    try:
        run = compile_native(entries[0].tape, "run", interpret_program)
    except (IndexError, UnsupportedOp):
        return None
    names = dict(entries[0].names)
    return lambda *args: run(
        *[eval(place, {**names, **dict(zip(entries[0].parameters, args, strict=True))}) for place in entries[0].inputs]
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::wengert.NoPathWarning")
@pytest.mark.parametrize("seed", range(60))
def test_loops_over_small_matrices(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(deferred_reverse, "LEAST_ENTRIES", 20)
    text, f = matrix_function(seed)
    gradient = wg.grad(f, argnums=(0, 1))
    compiled = wg.compile(gradient, native=False, quiet=True)
    args = matrix_arguments(seed)
    compiled(*args)
    native = native_code(compiled)
    for given in (args, tuple([1.001 * x for x in args])):
        expected = np.concatenate([np.ravel(x) for x in gradient(*given)])
        near = np.concatenate([np.ravel(x) for x in gradient(*[(1 + 1e-13) * x for x in given])])
        size = np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected))
        if not np.allclose(near, expected, rtol=0.0, atol=1e-8 * size, equal_nan=True):
            continue  # rounding decides
        for run in (compiled, native or compiled):
            try:
                found = np.concatenate([np.ravel(x) for x in run(*given)])
            except wg.StaleTapeError:
                continue
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * float(size), err_msg=text)


def test_most_of_them_are_native() -> None:
    states = []
    for seed in range(20):
        compiled = wg.compile(wg.grad(matrix_function(seed)[1], argnums=(0, 1)), native=False, quiet=True)
        with np.errstate(all="ignore"):
            compiled(*matrix_arguments(seed))
        states.append(native_code(compiled) is not None)
    assert sum(states) > 17
