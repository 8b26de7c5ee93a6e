"""neurokit2: complexity and simulated signals."""

import neurokit2 as nk
import numpy as np
from case import case

X = np.sin(np.arange(40.0)) + 0.2 * np.cos(3.1 * np.arange(40.0))


@case(X)
def standardized(x):
    return nk.standardize(x)


@case(X)
def rescaled(x):
    return nk.rescale(x, to=[0, 1])


@case(X)
def hjorth(x):
    return nk.complexity_hjorth(x)[0]


@case(X)
def embedded(x):
    return nk.complexity_embedding(x, delay=2, dimension=3)


@case(X)
def detrended(x):
    return nk.signal_detrend(x, order=1)
