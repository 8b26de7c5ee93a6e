"""celerite2: terms of kernels."""

import numpy as np
from case import case
from celerite2 import terms

T = np.array([0.0, 0.3, 0.9])


@case(1.2, 0.4)
def simple_harmonic(s0, w0):
    return terms.SHOTerm(S0=s0, w0=w0, Q=2.0).get_value(T)


@case(0.9)
def power_spectrum(sigma):
    return terms.Matern32Term(sigma=sigma, rho=1.5).get_psd(T + 0.3)
