"""Right or refused: what passes through opaque calls has its gradient, or is an error at the user's line."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest
from programs import OPAQUE

import wengert as wg


def lines_of(f: Any) -> range:
    first = f.__code__.co_firstlineno
    return range(first, first + 20)


def assert_names_the_line(f: Any, error: wg.WengertError) -> None:
    """The message, or the traceback, says where in the program."""
    trace, lines = error.__traceback__, set()
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == f.__code__.co_filename:
            lines.add(trace.tb_lineno)
        trace = trace.tb_next
    said = [n for n in lines_of(f) if f"{f.__code__.co_filename}:{n}" in str(error)]
    assert said or lines & set(lines_of(f)), str(error)


@pytest.mark.parametrize("name", OPAQUE)
@pytest.mark.parametrize("mode", [wg.grad, wg.trace], ids=["grad", "trace"])
def test_right_or_refused(name: str, mode: Any) -> None:
    f, x = OPAQUE[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = f(copy.copy(x))
        try:
            value, made = mode(f, copy.copy(x))
        except wg.WengertError as error:
            assert_names_the_line(f, error)
            return
        assert type(value) is type(plain) and np.asarray(value).tobytes() == np.asarray(plain).tobytes()
        if mode is wg.grad:
            np.testing.assert_allclose(made[1], wg.ngradient(f, copy.copy(x))[0], rtol=1e-7, atol=1e-8)
        else:
            assert np.asarray(made.play(copy.copy(x))).tobytes() == np.asarray(plain).tobytes()
