"""Timing for the benchmarks: medians of repeats taken in turns, so that a slow spell hits all alike."""

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

SAMPLE = 0.01  # seconds; short work is run over and over for so long, as a user's loop would run it
WARM_UP = 0.1  # seconds; what is made once, such as a generated step, is not what a loop waits for


def medians(works: Mapping[Any, Callable[[], object]], repeats: int) -> dict[Any, float]:
    """Seconds each piece of work takes: the median of `repeats` samples, once it is warm."""
    counts = {}
    for name, work in works.items():
        first = seconds(work, 1)
        taken = min([seconds(work, max(1, round(WARM_UP / first))) for _ in range(3)])  # one may make code
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


def print_ratios(
    rows: Mapping[str, Callable[[], Any]], works: Callable[[Any], tuple[dict[str, Callable[[], Any]], str]],
    base: str, columns: Sequence[str], told: str, repeats: int, names: Sequence[str] = (),
) -> None:  # fmt: skip
    """Print a table of the times of what `works` gives for each row, as ratios to that of its `base`.

    `works` also gives a text for the end of the line, under the heading `told`; `names` says which rows are shown.
    """
    print(f"{'':20}{base:>12}" + "".join([f"{column:>10}" for column in columns]) + told)
    for name, make in rows.items():
        if not names or name in names:
            table, text = works(make())
            times = medians(table, repeats)
            ratios = [f"{times[c] / times[base]:10.2f}" if c in times else f"{'':10}" for c in columns]
            print(f"{name:20}{times[base] * 1e6:9.0f} µs{''.join(ratios)}{text}", flush=True)
