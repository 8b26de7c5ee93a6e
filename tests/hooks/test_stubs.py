"""The rule that an error suggests: pasted and completed, it gives the right gradient."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg


def suggested(f: Callable[..., Any], *args: Any) -> str:
    """The code in the error of a gradient."""
    with pytest.raises(wg.NoRuleError) as error:
        wg.grad(f)(*args)
    paragraphs = str(error.value).split("\n\n")
    return "\n\n".join(paragraphs[1:-1])


SQUARES = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(lambda xs: math.fsum(a * a for a in xs))
"""The sum of squares of the items of a list or tuple, called through C."""


@pytest.mark.parametrize("made", [lambda x: [x, 3.0], lambda x: [x], lambda x: (x, 2 * x)])
def test_a_list_or_tuple_has_a_cotangent_for_each_item(made: Any) -> None:
    def f(x: float) -> Any:
        return SQUARES(made(x))

    text = suggested(f, 1.5)
    assert "for _ in x" in text
    with wg.rules.scope():
        exec(text.replace("y_bar * ... for _ in x", "y_bar * 2 * a for a in x"), {"wg": wg, "SQUARES": SQUARES})
        assert wg.grad(f)(1.5) == pytest.approx(wg.ngradient(f, 1.5)[0], rel=1e-8)


def test_a_c_function_that_writes_its_result_needs_a_wrapper() -> None:
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    pointer = np.ctypeslib.ndpointer(float)
    library.sincos.argtypes, library.sincos.restype = [ctypes.c_double, pointer, pointer], None
    sine, cosine = np.zeros(1), np.zeros(1)

    def f(x: float) -> Any:
        library.sincos(x, sine, cosine)
        return sine[0] + 2 * cosine[0]

    text = suggested(f, 0.5)
    space: dict[str, Any] = {"wg": wg, "np": np, "library": library}
    with wg.rules.scope():
        exec(text.replace("y_bar * ...", "y_bar[0][0] * np.cos(x1) - y_bar[1][0] * np.sin(x1)"), space)

        def wrapped(x: float) -> Any:
            sine, cosine = space["sincos_result"](x)
            return sine[0] + 2 * cosine[0]

        assert wg.grad(wrapped)(0.5) == pytest.approx(math.cos(0.5) - 2 * math.sin(0.5), rel=1e-14)


def test_one_number_has_a_bare_cotangent() -> None:
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    library.cos.argtypes, library.cos.restype = [ctypes.c_double], ctypes.c_double

    def f(x: float) -> Any:
        return library.cos(x)

    with wg.rules.scope():
        exec(suggested(f, 0.5).replace("...", "-np.sin(x)"), {"wg": wg, "np": np, "library": library})
        assert wg.grad(f)(0.5) == pytest.approx(-math.sin(0.5), rel=1e-14)
