"""fastdtw: approximate dynamic time warping."""

import numpy as np
from case import case
from fastdtw import fastdtw


@case(np.array([0.1, 0.52, 0.97, 0.43]))
def warped(a):
    return fastdtw(a, np.array([0.2, 0.83, 0.71]))[0]
