"""`a.shape = …`: the view of the old shape, which pullbacks read, lives as long as its id is that of a variable."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.recording.shadow import SHADOW


@pytest.mark.filterwarnings("ignore:Setting the shape")
@pytest.mark.parametrize("size", [4, 2000])  # small values are kept, large ones are not
@pytest.mark.parametrize("way", [wg.grad, lambda f: lambda x: wg.jvp(f, (x,), (np.ones(x.size),))[1]])
def test_no_new_array_is_taken_for_the_view_of_the_old_shape(size: int, way: Any) -> None:
    taken = []

    def f(x: Any) -> Any:
        a = x * 2.0
        a.shape = (2, size // 2)
        gc.collect()
        new = [np.empty(1) for _ in range(200)]
        taken.extend([array for array in new if id(array) in SHADOW])
        return np.sum(a * a)

    x = np.linspace(0.5, 1.0, size)
    derivative = way(f)(x)
    assert np.allclose(derivative, 8.0 * x if way is wg.grad else np.sum(8.0 * x))
    assert not taken


@pytest.mark.filterwarnings("ignore:Setting the shape")
@pytest.mark.parametrize("written", [False, True])
def test_the_shape_of_an_argument_is_not_set(written: bool) -> None:
    def f(x: Any) -> Any:
        row = x[::-1]
        if written:
            row += 1.0
        x.shape = -1
        return np.sum(row)

    with pytest.raises(wg.RefusedCallError, match=r"test_reshaping\.py:\d+ in .* sets \.shape of an argument"):
        wg.grad(f)(np.ones((2, 3)))


def set_real(y: Any, value: Any) -> None:
    y.real = value


@pytest.mark.parametrize("store", [set_real, lambda y, value: np.subtract.at(y, y > 0.0, value)], ids=["real", "at"])
def test_a_complex_number_is_not_stored_in_a_real_array(store: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        store(y, 2j * x[0])
        return np.sum(y)

    with pytest.raises(wg.RefusedCallError, match=r"test_reshaping\.py:\d+ in .* complex value is stored"):
        wg.grad(f)(np.ones(3))
