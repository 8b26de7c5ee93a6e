"""Each program of the corpus, compiled, is what it is plain: values, gradients and side effects of three calls."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest
from program_table import LOG, Program
from programs import PROGRAMS

import wengert as wg
from wengert.values.trees import leaves, rebuild


def outcome(g: Any, args: tuple[Any, ...]) -> tuple[Any, Any, list[Any]]:
    """What a call gives, or the class of the exception that it raises; its arguments after it; what it notes."""
    LOG.clear()
    try:
        result = g(*args)
    except Exception as error:
        result = type(error)
    return result, args, list(LOG)


def scaled(leaf: Any, by: float) -> Any:
    return (leaf * by).astype(leaf.dtype) if isinstance(leaf, np.ndarray) else type(leaf)(leaf * by)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_compiled_program(program: Program, capsys: pytest.CaptureFixture[str]) -> None:
    plain = wg.value_and_grad(program.f, argnums=tuple(range(len(program.args))), allow_int=True)
    g = wg.compile(plain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for by in (1.0, 1.001, 1.0):
            args = rebuild(copy.deepcopy(program.args), lambda leaf, _, by=by: scaled(leaf, by))
            want = outcome(plain, copy.deepcopy(args))
            printed = capsys.readouterr().out
            got = outcome(g, copy.deepcopy(args))
            assert capsys.readouterr().out == printed
            assert got[2] == want[2]
            assert_same(got[0], want[0])
            assert_same(got[1], want[1])


def assert_same(got: Any, want: Any) -> None:
    if isinstance(want, type):
        assert got is want
        return
    ours, theirs = leaves(got), leaves(want)
    assert [path for path, _ in ours] == [path for path, _ in theirs]
    most = max([float(np.max(np.abs(b), initial=0.0)) for _, b in theirs], default=0.0)
    for (path, a), (_, b) in zip(ours, theirs, strict=True):
        assert type(a) is type(b), path
        assert np.allclose(a, b, rtol=1e-11, atol=1e-12 * most, equal_nan=True), path
