"""seawater: EOS-80."""

import numpy as np
import seawater as sw
from case import case

S, T, P = np.array([34.5, 35.0]), np.array([10.0, 4.0]), np.array([100.0, 1000.0])


@case(S, T, P)
def density(s, t, p):
    return sw.dens(s, t, p)


@case(S, T, P)
def sound_speed(s, t, p):
    return sw.svel(s, t, p)


@case(S, T)
def potential_temperature(s, t):
    return sw.ptmp(s, t, P)


@case(np.array([1.1, 1.05]))
def salinity(c):
    return sw.salt(c, T, P)
