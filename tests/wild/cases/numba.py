"""numba: functions decorated with njit, vectorize, guvectorize."""

import math

import numba
import numpy as np
from case import case


@numba.njit
def inner(x, y):
    return math.sin(x) * y


@numba.njit
def loop(x):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.6:
            total += inner(x[i], 2.0)
    return total


@numba.njit(parallel=True, fastmath=True)
def in_place(x):
    out = np.empty_like(x)
    for i in numba.prange(x.size):
        out[i] = x[i] ** 2
    return out


@numba.vectorize
def activation(x):
    return x if x > 0.6 else 0.1 * x


@numba.vectorize([numba.float64(numba.float64)])
def compiled_activation(x):
    return x * x


@case(np.array([0.5, 1.2, 0.7]))
def njit_loop(x):
    return loop(x)


@case(np.array([0.5, 1.2, 0.7]))
def njit_parallel(x):
    return in_place(x)


@case(np.array([0.5, 1.2, 0.7]))
def vectorized(x):
    return activation(x)


@case(np.array([0.5, 1.2, 0.7]))
def vectorized_with_signature(x):
    return compiled_activation(x)
