"""mpmath: its double-precision context, and what refuses."""

import mpmath
from case import case


@case(1.3)
def fp_functions(x):
    return mpmath.fp.sin(x) * mpmath.fp.exp(x)


@case(1.3)
def fp_quad(a):
    return mpmath.fp.quad(lambda t: a * t**2, [0, 1])


@case(1.3)
def multiprecision(x):
    return float(mpmath.mpf(x) ** 2)
