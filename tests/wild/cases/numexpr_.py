"""numexpr: compiled expressions."""

import numexpr
import numpy as np
from case import case


@case(np.array([1.0, 2.5, 0.3]))
def evaluated(x):
    return numexpr.evaluate("2 * x + sin(x)")
