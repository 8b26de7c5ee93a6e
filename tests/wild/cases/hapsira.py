"""hapsira: two-body orbits (its low-level functions)."""

import numpy as np
from case import case
from hapsira.core.angles import E_to_nu, M_to_E
from hapsira.core.elements import coe2rv, rv2coe


@case(0.4, 0.3)
def kepler(m, e):
    return E_to_nu(M_to_E(m, e), e)


@case(7000.0, 0.1, 0.4)
def elements_to_vectors(p, e, nu):
    r, v = coe2rv(398600.0, p, e, 0.5, 0.2, 0.3, nu)
    return r, v


@case(np.array([7000.0, 100.0, 300.0]), np.array([0.2, 7.4, 0.3]))
def vectors_to_elements(r, v):
    return np.array(rv2coe(398600.0, r, v))
