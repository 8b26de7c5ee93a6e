"""quantities: arrays with units."""

import numpy as np
import quantities as pq
from case import case

X = np.array([1.0, 2.0, 3.0])


@case(X)
def rescaled(x):
    return (x * pq.km / (2.0 * pq.hour)).rescale("m/s").magnitude


@case(X)
def arithmetic(x):
    q = pq.Quantity(x, "m")
    return (q**2 + 2 * q * pq.m).sum().magnitude


@case(np.array([0.7, 1.3, 0.4]))
def changed_in_place(x):
    a = x * pq.m
    a *= 2
    b = a.copy() + 3 * pq.cm
    return float(b.sum()) + float(b.max()) + b.std().magnitude.item() + float(np.sum(a)) + sum(float(v) for v in a)
