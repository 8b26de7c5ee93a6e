"""Meters of a lap between two moments: of seconds, or of the bytes allocated at once."""

from __future__ import annotations

import time
import tracemalloc


class Seconds:
    """A meter of seconds."""

    def __enter__(self) -> Seconds:
        self.last = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def lap(self) -> float:
        """Return the seconds since the last lap began."""
        return time.perf_counter() - self.last

    def begin(self) -> None:
        """Begin a lap; the time between two laps does not count."""
        self.last = time.perf_counter()


class Bytes:
    """A meter of the most bytes that Python and NumPy held more than at the start of a lap."""

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
        """Return the most bytes allocated at once since the last lap began."""
        return tracemalloc.get_traced_memory()[1] - self.last

    def begin(self) -> None:
        """Begin a lap."""
        tracemalloc.reset_peak()
        self.last = tracemalloc.get_traced_memory()[0]
