"""Gradients of a mixture of Gaussians over chunks of rows with Dask: one worker and two, in turns, and a model of more.

First what tasks cost that compute next to nothing: the processor's time (ms) that each takes of a worker, and of client
and scheduler together. Then, by rows of a chunk: a chunk's gradient in one process without Dask (ms); how many times as
fast as that process one worker and two are, measured; two workers to one, and the same of two processes that share
nothing and compute the same gradients, which is what the machine has to give; and w workers, with 64 chunks each, by

    T(w) = max(a worker's gradients and tasks, client's and scheduler's part of all tasks).

`OPENBLAS_NUM_THREADS=1 python benchmarks/dask_rows.py [repeats]`, on a machine with nothing else to do.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import dask
import numpy as np
from compiled_rows import mixture
from distributed import Client, LocalCluster

import wengert as wg
from wengert.dask import FAN_IN

WORKERS = (1, 2)
MODELLED = (1, 2, 4, 16, 64)
CHUNKS = 64
K, D = 25, 10


def loss(p: dict[str, np.ndarray], x: np.ndarray) -> Any:
    return mixture(p["alpha"], p["mean"], p["q"], x)


def waiting(p: dict[str, np.ndarray], x: np.ndarray) -> Any:
    """No work for a processor: what a cluster gives on a machine that has none to spare."""
    time.sleep(0.05)
    return np.sum(p["alpha"])


def nothing(p: dict[str, np.ndarray], x: np.ndarray) -> Any:
    return np.sum(p["alpha"])


def rows(k: int, n: int) -> np.ndarray:
    return np.random.default_rng(k).normal(size=(n, D))


def chunk_by_chunk(f: Callable[..., Any], p: dict[str, np.ndarray], size: int) -> None:
    x, plain = rows(0, size), wg.value_and_grad(f)
    for _ in range(CHUNKS):
        plain(p, x)


def tasks_of(chunks: int) -> int:
    """The tasks of a sum over chunks: their gradients, and the additions."""
    total = chunks
    while chunks > 1:
        chunks = math.ceil(chunks / FAN_IN)
        total += chunks
    return total


def persisted(client: Client, size: int, chunks: int) -> Any:
    return client.persist([dask.delayed(rows)(k, size) for k in range(chunks)])


def costs_of_a_task(client: Client, p: Any, chunks: int = 512) -> tuple[float, float]:
    """Seconds of the processor: of a worker, and of client and scheduler, which are this process."""
    parts, far = persisted(client, 1, chunks), wg.dask.value_and_grad(nothing)
    with client.as_current():
        far(p, parts)
        before = sum(client.run(time.process_time).values()), time.process_time()
        far(p, parts)
        here = time.process_time() - before[1]
    there = sum(client.run(time.process_time).values()) - before[0]
    return there / tasks_of(chunks), here / tasks_of(chunks)


def medians(works: list[Callable[[], Any]], repeats: int) -> list[float]:
    """Seconds that each takes, in turns, once it is warm."""
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(repeats + 1):
        for times, work in zip(taken, works, strict=True):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
    return [statistics.median(times[1:]) for times in taken]


def ratios(
    clients: list[Client], f: Callable[..., Any], p: Any, size: int, costs: tuple[float, float], repeats: int
) -> list[float]:
    """The gradient's time of a chunk, and the columns after it."""
    here, parts = [rows(k, size) for k in range(CHUNKS)], [persisted(client, size, CHUNKS) for client in clients]
    plain, far = wg.value_and_grad(f), wg.dask.value_and_grad(f)

    def on(k: int) -> None:
        with clients[k].as_current():
            far(p, parts[k])

    def bare(count: int) -> None:
        client, each = clients[1], [*clients[1].scheduler_info()["workers"]]
        client.gather([client.submit(chunk_by_chunk, f, p, size, workers=w, pure=False) for w in each[:count]])

    on_workers = [lambda: on(0), lambda: on(1), lambda: bare(1), lambda: bare(2)]
    alone, one, two, single, both = medians([lambda: [plain(p, x) for x in here], *on_workers], repeats)
    tasks, (worker, scheduler) = tasks_of(CHUNKS), costs
    model = [w * alone / max(alone + tasks * worker, w * tasks * scheduler) for w in MODELLED]
    return [1e3 * alone / CHUNKS, alone / one, alone / two, one / two, 2 * single / both, *model]


def main(repeats: int = 5) -> None:
    rng = np.random.default_rng(0)
    p = {"alpha": rng.normal(size=K), "mean": rng.normal(size=(K, D)), "q": rng.normal(size=(K, D)) * 0.1}
    clusters = [LocalCluster(n_workers=w, threads_per_worker=1, dashboard_address=None) for w in WORKERS]
    clients = [Client(cluster, set_as_default=False) for cluster in clusters]
    costs = costs_of_a_task(clients[0], p)
    print("a task: {:.2f} ms of a worker, {:.2f} ms of client and scheduler".format(*[1e3 * cost for cost in costs]))
    columns = ["gradient", "1", "2", "2:1", "bare 2:1", *[f"w={w}" for w in MODELLED]]
    print("  rows", *[f"{name:>8}" for name in columns])
    for f, size in ((waiting, 1), (loss, 100), (loss, 1000), (loss, 4000)):
        numbers = ratios(clients, f, p, size, costs, repeats)
        print(f"{size:6}", *[f"{number:8.2f}" for number in numbers], "waits" if f is waiting else "", flush=True)
    for held in (*clients, *clusters):
        held.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
