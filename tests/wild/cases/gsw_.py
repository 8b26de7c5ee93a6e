"""gsw: TEOS-10 in C."""

import gsw
import numpy as np
from case import case


@case(np.array([35.0, 34.0]), np.array([10.0, 4.0]))
def density(sa, ct):
    return gsw.rho(sa, ct, 100.0)
