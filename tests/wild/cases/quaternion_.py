"""quaternion (numpy-quaternion) and xrft: dtypes in C and spectra of xarray."""

import numpy as np
import quaternion
from case import case


@case(np.array([1.0, 0.4, -0.3, 0.2]))
def product(q):
    return quaternion.as_float_array(quaternion.from_float_array(q) ** 2)
