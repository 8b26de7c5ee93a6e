"""Apply scalar functions to arrays, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Elementwise:
    """The scalar function `scalar` of `count` arguments, applied to arrays element by element.

    With `whole` it is called with whole arrays, which is faster. Since it may not be elementwise, three elements are
    checked; if one differs, the function is called with one number at a time from then on.
    """

    def __init__(self, scalar: Callable[..., Any], count: int, whole: bool = True) -> None:
        self.scalar, self.count, self.whole = scalar, count, whole
        self.__name__ = getattr(scalar, "__name__", "f")

    def __call__(self, *args: Any) -> Any:
        arrays = np.broadcast_arrays(*args)
        if not arrays[0].ndim:
            return self.scalar(*args)
        if self.whole and arrays[0].size:
            try:
                found = np.asarray(self.scalar(*args))
            except (TypeError, ValueError):
                self.whole = False
            else:
                if self._agrees(found, arrays):
                    return found
                self.whole = False
        return self._one_by_one(arrays)

    def _one_by_one(self, arrays: Any) -> np.ndarray:
        kind = np.result_type(np.float32, *arrays)
        found = [self.scalar(*numbers) for numbers in zip(*(a.flat for a in arrays), strict=True)]
        return np.array(found, kind).reshape(arrays[0].shape)

    def _agrees(self, found: np.ndarray, arrays: Any) -> bool:
        """Whether `found`, the result for whole arrays, is correct at three elements."""
        shape = arrays[0].shape
        if found.ndim and found.shape != shape:
            return False
        whole = np.broadcast_to(found, shape).flat
        for k in {0, len(whole) // 2, len(whole) - 1}:
            one = self.scalar(*(a.flat[k] for a in arrays))
            if found.dtype == object:
                if one != whole[k]:
                    return False
            elif not np.allclose(one, whole[k], 1e-6, 0.0, equal_nan=True):
                return False
        return True
