"""Workspaces: a program's intermediate arrays, kept from one call to the next.

The operating system takes several times longer to allocate a page of memory than a loop takes to fill it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

MAX_KEPT_BYTES = 2**26  # limit per workspace


class Workspace:
    """The arrays of one call, by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def empty(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        array = self.arrays.pop(name, None)
        if array is None or array.shape != shape or array.dtype != dtype:
            array = np.empty(shape, dtype)
        if array.nbytes + sum(a.nbytes for a in self.arrays.values()) <= MAX_KEPT_BYTES:
            self.arrays[name] = array
        return array

    def zeros(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        array = self.empty(name, shape, dtype)
        array.fill(0)
        return array


class Workspaces:
    """A pool of workspaces, one for each call that runs at the same time."""

    def __init__(self) -> None:
        self.free: list[Workspace] = []

    @contextmanager
    def borrow(self) -> Iterator[Workspace]:
        try:
            space = self.free.pop()
        except IndexError:
            space = Workspace()
        try:
            yield space
        finally:
            self.free.append(space)
