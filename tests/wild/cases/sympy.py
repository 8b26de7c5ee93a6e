"""sympy: functions that lambdify makes."""

import numpy as np
import sympy as sp
from case import case

a, b = sp.symbols("a b")
expression = sp.sin(a) * sp.exp(-b) + sp.sqrt(a**2 + b**2) + sp.Piecewise((a, a > b), (b, True))
f = sp.lambdify((a, b), expression, "numpy")
scalar = sp.lambdify((a, b), expression.diff(a), "math")
special = sp.lambdify((a, b), sp.besselj(0, a) + sp.erf(b) + sp.gamma(a), "scipy")


@case(1.3, 0.4)
def lambdified(x, y):
    return f(x, y)


@case(np.array([1.3, 0.2]), np.array([0.4, 0.9]))
def lambdified_arrays(x, y):
    return f(x, y)


@case(1.3, 0.4)
def lambdified_math(x, y):
    return scalar(x, y)


@case(1.3, 0.4)
def lambdified_scipy(x, y):
    return special(x, y)


@case(1.3)
def matrix(x):
    t = sp.symbols("t")
    return sp.lambdify(t, sp.Matrix([[sp.cos(t), -sp.sin(t)], [sp.sin(t), t**2]]))(x)
