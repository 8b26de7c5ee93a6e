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
