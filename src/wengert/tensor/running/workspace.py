"""The arrays that a program needs between its inputs and its results, kept from one call to the next.

The system takes some times longer to hand out a new page of memory than a loop takes to fill it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

KEPT = 2**26  # bytes that a program keeps at most


class Workspace:
    """The arrays of one call, by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def empty(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        array = self.arrays.pop(name, None)
        if array is None or array.shape != shape or array.dtype != dtype:
            array = np.empty(shape, dtype)
        if array.nbytes + sum(a.nbytes for a in self.arrays.values()) <= KEPT:
            self.arrays[name] = array
        return array

    def zeros(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        array = self.empty(name, shape, dtype)
        array.fill(0)
        return array


class Workspaces:
    """A Workspace for each of the calls that run at the same time."""

    def __init__(self) -> None:
        self.free: list[Workspace] = []

    @contextmanager
    def one(self) -> Iterator[Workspace]:
        try:
            space = self.free.pop()
        except IndexError:
            space = Workspace()
        try:
            yield space
        finally:
            self.free.append(space)
