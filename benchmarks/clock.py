"""Timing for the benchmarks: medians of repeats taken in turns, so that a slow spell hits all alike."""

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any


def medians(works: Mapping[Any, Callable[[], object]], repeats: int) -> dict[Any, float]:
    """Seconds each piece of work takes: the median of `repeats` runs, taken in turns after one to warm up."""
    for work in works.values():
        work()
    times: dict[Any, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            gc.collect()
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}
