"""A fit to data in chunks: each is read and differentiated in a task of Dask's, here or on a cluster.

Old Faithful's 272 eruptions stand for what is too much for one machine. `python examples/chunks_on_dask.py cluster` has
two processes do the same; on a real cluster the client is `Client("its address")`.
"""

import sys
from contextlib import nullcontext
from pathlib import Path

import dask
import numpy as np
from scipy.optimize import minimize

import wengert as wg

DATA = Path(__file__).parent / "data" / "faithful.csv"  # Härdle (1991); R's datasets::faithful
ROWS, CHUNK = 272, 34


@dask.delayed
def minutes(first):
    """How long some eruptions lasted, read where they are needed."""
    return np.loadtxt(DATA, delimiter=",", skiprows=1 + first, max_rows=CHUNK, usecols=0)


def unpack(theta):
    return 1 / (1 + np.exp(-theta[0])), theta[1:3], np.exp(theta[3:])


def minus_log_likelihood(theta, minutes):
    """Of the eruptions of one chunk, as a mixture of two normal distributions: the whole is the sum over chunks."""
    weight, mean, deviation = unpack(theta)
    z = (minutes[:, None] - mean) / deviation
    density = np.exp(-z * z / 2) / (deviation * np.sqrt(2 * np.pi))
    return -np.sum(np.log(weight * density[:, 0] + (1 - weight) * density[:, 1]))


def cluster():
    from distributed import Client

    return Client(n_workers=2, threads_per_worker=1, dashboard_address=None)


if __name__ == "__main__":  # the processes of a cluster import this file
    with cluster() if "cluster" in sys.argv else nullcontext():
        chunks = dask.persist(*[minutes(first) for first in range(0, ROWS, CHUNK)])
        objective = wg.dask.value_and_grad(minus_log_likelihood, compiled=True)
        fit = minimize(objective, np.array([0.0, 2.0, 4.0, 0.0, 0.0]), args=(chunks,), jac=True)
    weight, mean, deviation = unpack(fit.x)
    print(f"{len(chunks)} chunks of {CHUNK} eruptions: log-likelihood {-fit.fun:.2f}")
    for share, m, s in zip((weight, 1 - weight), mean, deviation, strict=True):
        print(f"  {share:5.1%} last {m:.3f} ± {s:.3f} minutes")
