"""PyDMD: dynamic modes."""

import numpy as np
from case import case
from pydmd import DMD

T = np.linspace(0, 3, 8)
X = np.array([np.sin(T), np.cos(T), np.sin(T + 0.4)])


@case(X, rtol=1e-4)
def reconstructed(x):
    return np.real(DMD(svd_rank=2).fit(x).reconstructed_data)
