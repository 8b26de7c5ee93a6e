"""patsy: design matrices of formulas."""

import numpy as np
from case import case
from patsy import dmatrix


@case(np.array([0.3, 1.2, 0.9]))
def design(x):
    return np.asarray(dmatrix("x + I(x ** 2)", {"x": x}))
