"""Gradients of a mixture of Gaussians over chunks of rows with Dask: one worker and two, in turns, and a model of more.

First what tasks cost that compute next to nothing: the processor's time (ms) that each takes of a worker, and of client
and scheduler together. Then, by rows of a chunk: a chunk's gradient in one process without Dask (ms); how many times as
fast as that process one worker and two are, measured; two workers to one, and the same of two processes that share
nothing and compute the same gradients, which is what the machine has to give; and w workers, with 64 chunks each, by

    T(w) = max(a worker's gradients and tasks, client's and scheduler's part of all tasks).

`OPENBLAS_NUM_THREADS=1 python benchmarks/dask_rows.py [repeats]`, on a machine with nothing else to do.

With `lbfgs [rows]` (10⁷ by default), a logistic regression by L-BFGS instead: mean loss and penalty, ten chunks of
rows, the compiled gradient of each. It is fitted in one process without Dask, on one worker and on two, with the rows
in the workers' memory and in files. Printed are the seconds of the fit, the processors' seconds of all its processes,
its evaluations, the median and the least seconds of one, and the peak memory of a process (MB); then the least seconds
of the same gradients in processes that share nothing, and the largest relative difference from the gradient written by
hand.
"""

from __future__ import annotations

import math
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import numpy as np
from compiled_rows import mixture
from distributed import Client, LocalCluster
from scipy.optimize import minimize

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


def logistic(p: np.ndarray, data: np.ndarray) -> Any:
    z = data[:, :D] @ p[:D] + p[D]
    return np.sum(np.logaddexp(0.0, z) - data[:, D] * z)


def logistic_by_hand(p: np.ndarray, data: np.ndarray) -> np.ndarray:
    x = np.column_stack([data[:, :D], np.ones(len(data))])
    return x.T @ (1 / (1 + np.exp(-x @ p)) - data[:, D])


def sample(k: int, size: int) -> np.ndarray:
    """The rows of chunk k: D columns, and a class that depends on them."""
    rng = np.random.default_rng(k)
    x = rng.normal(size=(size, D))
    return np.column_stack([x, rng.uniform(size=size) < 1 / (1 + np.exp(-x @ np.linspace(-1.0, 1.0, D) - 0.5))])


def fit(sums: Callable[[np.ndarray], Any], count: int) -> Any:
    """Minimise the mean loss and a penalty."""

    def objective(p: np.ndarray) -> tuple[float, np.ndarray]:
        total, gradient = sums(p)
        return total / count + 1e-3 * p @ p, gradient / count + 2e-3 * p

    return minimize(objective, np.zeros(D + 1), jac=True, method="L-BFGS-B", options={"gtol": 1e-8, "ftol": 0.0})


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def sum_here(parts: list[np.ndarray]) -> Callable[[np.ndarray], Any]:
    gradient = wg.compile(wg.value_and_grad(logistic))

    def sums(p: np.ndarray) -> Any:
        found = [gradient(p, part) for part in parts]
        return sum(value for value, _ in found), sum(slope for _, slope in found)

    return sums


def pass_over(files: list[Path], passes: int = 5) -> float:
    """Seconds, at best, of all gradients of some chunks in memory, in a process that does nothing else."""
    sums, taken = timed(sum_here([np.load(file) for file in files]))
    for _ in range(passes + 1):
        sums(np.zeros(D + 1))
    return min(taken[1:])


def timed(sums: Callable[[np.ndarray], Any]) -> tuple[Callable[[np.ndarray], Any], list[float]]:
    """Return the function, and a list to which it adds the seconds of each call."""
    taken: list[float] = []

    def call(p: np.ndarray) -> Any:
        start = time.perf_counter()
        found = sums(p)
        taken.append(time.perf_counter() - start)
        return found

    return call, taken


def report(name: str, sums: Callable[[np.ndarray], Any], count: int, each: Callable[..., list[float]]) -> None:
    """Print the line of a fit; `each` calls a function in each of its processes, the client first."""
    sums(np.zeros(D + 1))  # reads, traces and compiles
    sums, taken = timed(sums)
    before = sum(each(time.process_time))
    found = fit(sums, count)
    used = sum(each(time.process_time)) - before
    times = f"{sum(taken):9.1f}{used:9.1f}{found.nfev:13}{statistics.median(taken):10.2f}{min(taken):10.2f}"
    memory = max(each(peak)[1:] or each(peak))  # a client of workers holds no rows
    print(f"{name:26}{times}{memory:9.0f}", flush=True)


def report_on(workers: int, files: list[Path], count: int, held: bool) -> None:
    options: Any = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        parts: Any = [dask.delayed(np.load)(file) for file in files]
        parts = client.persist(parts) if held else parts
        far = wg.dask.value_and_grad(logistic, compiled=True)
        name = f"{workers} worker{'s' * (workers > 1)}, {'in memory' if held else 'from files'}"
        report(name, lambda p: far(p, parts), count, lambda f: [f(), *client.run(f).values()])
        if held:
            return
        p, each = np.full(D + 1, 0.1), [*client.scheduler_info()["workers"]]
        by_hand = sum(client.gather([client.submit(logistic_by_hand, p, part) for part in client.compute(parts)]))
        error = np.max(np.abs(by_hand / far(p, parts)[1] - 1))
        alone = [client.submit(pass_over, files[k::workers], workers=worker) for k, worker in enumerate(each)]
        print(f"  {max(client.gather(alone)):.2f} s if they share nothing; {error:.0e} from the gradient by hand")


def lbfgs(count: int = 10_000_000, chunks: int = 10) -> None:
    print(f"{'':26}{'seconds':>9}{'CPU s':>9}{'evaluations':>13}{'median s':>10}{'least s':>10}{'peak MB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{k}.npy") for k in range(chunks)]
        for k, file in enumerate(files):
            np.save(file, sample(k, count // chunks))
        for workers in WORKERS:
            report_on(workers, files, count, held=False)
            report_on(workers, files, count, held=True)
        here = [np.load(file) for file in files]
        report("one process without Dask", sum_here(here), count, lambda f: [f()])


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
    (lbfgs if sys.argv[1:2] == ["lbfgs"] else main)(*[int(word) for word in sys.argv[1:] if word != "lbfgs"])
