"""Timing for the benchmarks: medians of repeats taken in turns, so that a slow spell hits all alike."""

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

SAMPLE = 0.01  # seconds; short work is run over and over for so long, as a user's loop would run it
WARM_UP = 0.1  # seconds; what is made once, such as a generated step, is not what a loop waits for


def medians(works: Mapping[Any, Callable[[], object]], repeats: int) -> dict[Any, float]:
    """Seconds each piece of work takes: the median of `repeats` samples, once it is warm."""
    counts = {}
    for name, work in works.items():
        first = seconds(work, 1)
        taken = seconds(work, max(1, round(WARM_UP / first)))
        counts[name] = max(1, round(SAMPLE / taken))
    times: dict[Any, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            gc.collect()
            times[name].append(seconds(work, counts[name]))
    return {name: statistics.median(taken) for name, taken in times.items()}


def seconds(work: Callable[[], object], count: int) -> float:
    """The time of one run, the mean of so many."""
    start = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - start) / count
