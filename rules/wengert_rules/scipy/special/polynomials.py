"""Orthogonal polynomials in their variable: the slope of each is one of a lower degree, of a family beside it."""

from __future__ import annotations

import numpy as np
from scipy import special

from wengert.extend import partials, vjp_rule
from wengert_rules.scipy.special.refusals import PARAMETER, refused

WHOLE_DEGREE = "a polynomial has no derivative with respect to its degree. Pass the degree as an integer"


def below(n):
    """The degree below n; that of a constant stays one."""
    return np.where(n == 0, 1, n) - 1


@partials(special.eval_jacobi)
def jacobi(y, n, a, b, x):
    slope = (n != 0) * (n + a + b + 1) / 2 * special.eval_jacobi(below(n), a + 1, b + 1, x)
    return refused(WHOLE_DEGREE), refused(PARAMETER), refused(PARAMETER), slope


@partials(special.eval_sh_jacobi)
def sh_jacobi(y, n, p, q, x):
    """P(n, p - q, q - 1) at 2x - 1 over a binomial coefficient."""
    slope = (n != 0) * (n + p) * special.eval_jacobi(below(n), p - q + 1, q, 2 * x - 1)
    slope = slope / special.binom(2 * n + p - 1, n)
    return refused(WHOLE_DEGREE), refused(PARAMETER), refused(PARAMETER), slope


@partials(special.eval_gegenbauer)
def gegenbauer(y, n, a, x):
    return refused(WHOLE_DEGREE), refused(PARAMETER), (n != 0) * 2 * a * special.eval_gegenbauer(below(n), a + 1, x)


@partials(special.eval_genlaguerre)
def genlaguerre(y, n, a, x):
    return refused(WHOLE_DEGREE), refused(PARAMETER), -1.0 * (n != 0) * special.eval_genlaguerre(below(n), a + 1, x)


@partials(special.eval_laguerre)
def laguerre(y, n, x):
    return refused(WHOLE_DEGREE), -1.0 * (n != 0) * special.eval_genlaguerre(below(n), 1.0, x)


@partials(special.eval_hermite)
def hermite(y, n, x):
    return refused(WHOLE_DEGREE), 2 * n * special.eval_hermite(below(n), x)


@partials(special.eval_hermitenorm)
def hermitenorm(y, n, x):
    return refused(WHOLE_DEGREE), n * special.eval_hermitenorm(below(n), x)


@partials(special.eval_legendre)
def legendre(y, n, x):
    return refused(WHOLE_DEGREE), (n != 0) * special.eval_gegenbauer(below(n), 1.5, x)


@partials(special.eval_sh_legendre)
def sh_legendre(y, n, x):
    return refused(WHOLE_DEGREE), (n != 0) * 2 * special.eval_gegenbauer(below(n), 1.5, 2 * x - 1)


@partials(special.eval_chebyt)
def chebyt(y, n, x):
    return refused(WHOLE_DEGREE), n * special.eval_gegenbauer(below(n), 1.0, x)


@partials(special.eval_chebyu)
def chebyu(y, n, x):
    return refused(WHOLE_DEGREE), (n != 0) * 2 * special.eval_gegenbauer(below(n), 2.0, x)


@partials(special.eval_chebyc)
def chebyc(y, n, x):
    """2 T(x/2)."""
    return refused(WHOLE_DEGREE), n * special.eval_gegenbauer(below(n), 1.0, x / 2)


@partials(special.eval_chebys)
def chebys(y, n, x):
    """U(x/2)."""
    return refused(WHOLE_DEGREE), (n != 0) * special.eval_gegenbauer(below(n), 2.0, x / 2)


@partials(special.eval_sh_chebyt)
def sh_chebyt(y, n, x):
    return refused(WHOLE_DEGREE), 2 * n * special.eval_gegenbauer(below(n), 1.0, 2 * x - 1)


@partials(special.eval_sh_chebyu)
def sh_chebyu(y, n, x):
    return refused(WHOLE_DEGREE), (n != 0) * 4 * special.eval_gegenbauer(below(n), 2.0, 2 * x - 1)


@partials(special.lpmv)
def lpmv(y, m, v, x):
    """(x² - 1) P' = v x P - (v + m) P of the degree v - 1."""
    return refused(WHOLE_DEGREE), refused(WHOLE_DEGREE), (v * x * y - (v + m) * special.lpmv(m, v - 1, x)) / (x * x - 1)


@vjp_rule(special.lqn, parts=True)
def lqn(y_bar, y, n, z):
    """Q′ is given beside Q, and Legendre's equation gives its slope: (1 - z²) Q″ = 2 z Q′ - k (k + 1) Q."""
    (q, slope), (q_bar, slope_bar) = y, y_bar
    k = np.reshape(np.arange(len(q)), (-1,) + (1,) * np.ndim(z))
    cotangent = 0.0 if q_bar is None else q_bar * np.conjugate(slope)
    if slope_bar is not None:
        cotangent = cotangent + slope_bar * np.conjugate((2 * z * slope - k * (k + 1) * q) / (1 - z * z))
    return None, np.sum(cotangent, axis=0)
