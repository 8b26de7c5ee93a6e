"""Functions that generated NumPy source calls: strided views, contractions, sums into listed cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def broadcast_result(f: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap f to return the broadcast shape of all its arguments, even if it ignores some."""

    def applied(*args: Any) -> Any:
        value, shape = f(*args), np.broadcast_shapes(*map(np.shape, args))
        return value if np.shape(value) == shape else np.broadcast_to(value, shape)

    return applied


def window(x: np.ndarray, start: Sequence[int], steps: Sequence[Sequence[int]], shape: Sequence[int]) -> np.ndarray:
    """The view x[start + Σ steps·axis]: axis k of the result moves by steps[k] in x."""
    if 0 in shape or any(n < 0 for n in shape):
        return np.empty([max(n, 0) for n in shape], x.dtype)
    strides = [sum(c * s for c, s in zip(step, x.strides, strict=True)) for step in steps]
    begin = x[tuple(slice(s, None) for s in start)]
    return np.lib.stride_tricks.as_strided(begin, shape, strides)


def contract_axes(result: str, *operands: tuple[str, np.ndarray]) -> np.ndarray:
    """np.einsum of pairs (axes, array); a product of two arrays along shared axes goes to BLAS."""
    if len(operands) == 2:
        (a, x), (b, y) = operands
        shared = [i for i in a if i in b and i not in result]
        alone = [i for i in a + b if i not in result and i not in shared]
        batch = [i for i in a if i in b and i in result]
        if shared and not alone and not batch and x.ndim + y.ndim > 2:
            return _blas_product(result, a, x, b, y, shared)
    return np.einsum(
        ",".join(o for o, _ in operands) + "->" + result, *(x for _, x in operands), optimize=len(operands) > 2
    )


def _blas_product(result: str, a: str, x: np.ndarray, b: str, y: np.ndarray, shared: list[str]) -> np.ndarray:
    out = [i for i in a + b if i not in shared]
    value = np.tensordot(x, y, ([a.index(i) for i in shared], [b.index(i) for i in shared]))
    return value.transpose([out.index(i) for i in result])


def summed_at(shape: Sequence[int], at: Sequence[np.ndarray], values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return a tensor of zeros with `values` added into the cells `at`."""
    size = int(np.prod(shape))
    cell = np.ravel_multi_index(tuple(at), tuple(shape)) if len(shape) else 0
    return np.bincount(np.broadcast_to(cell, values.shape), values, size).reshape(shape).astype(dtype, copy=False)
