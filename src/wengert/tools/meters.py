"""Meters of a lap between two moments: of seconds, or of the bytes allocated at once."""

from __future__ import annotations

import time
import tracemalloc


class Seconds:
    """The seconds since it was asked last."""

    def __enter__(self) -> Seconds:
        self.last = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def lap(self) -> float:
        """Return the seconds since the last lap began."""
        return time.perf_counter() - self.last

    def begin(self) -> None:
        """Begin a lap; what lies between two of them is nobody's."""
        self.last = time.perf_counter()


class Bytes:
    """The bytes by which what Python and NumPy hold was larger, at the most, than when it was asked last."""

    def __enter__(self) -> Bytes:
        self.is_mine = not tracemalloc.is_tracing()
        if self.is_mine:
            tracemalloc.start()
        self.begin()
        return self

    def __exit__(self, *error: object) -> None:
        if self.is_mine:
            tracemalloc.stop()

    def lap(self) -> float:
        """Return the bytes allocated at once, at the most, since the last lap began."""
        return tracemalloc.get_traced_memory()[1] - self.last

    def begin(self) -> None:
        """Begin a lap."""
        tracemalloc.reset_peak()
        self.last = tracemalloc.get_traced_memory()[0]
