"""sdeint: stochastic integration with given noise."""

import numpy as np
import sdeint
from case import case

T = np.linspace(0, 1, 6)
DW = 0.1 * np.random.default_rng(0).normal(size=(5, 1))


@case(0.8)
def euler(a):
    return sdeint.itoEuler(lambda x, t: -a * x, lambda x, t: 0.2 * np.eye(1), np.array([1.0]), T, dW=DW)


@case(0.8)
def heun(a):
    return sdeint.stratHeun(lambda x, t: -a * x, lambda x, t: 0.2 * x[:, None], np.array([1.0]), T, dW=DW)
