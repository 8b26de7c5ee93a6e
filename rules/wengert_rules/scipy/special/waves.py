"""Mathieu's and spheroidal functions in their variable, by their equations, and Mathieu's characteristic values."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from wengert.extend import computes, jvp_rule, partials, vjp_rule
from wengert_rules.scipy.special.refusals import PARAMETER, WHOLE, refused

DEGREE = math.pi / 180
ANGLES = 512  # of the mean over a turn
SECOND = "this function has no second derivative here. Use finite differences for it"


@computes
def mean_of_square(wave, m, q):
    """4⟨f² cos 2t⟩ over a turn of a Mathieu function f whose square has the mean ½: the slope of its value in q."""
    t = np.arange(ANGLES) * (360.0 / ANGLES)
    f = wave(np.expand_dims(m, -1), np.expand_dims(q, -1), t)[0]
    return 4 * np.mean(f * f * np.cos(2 * DEGREE * t), axis=-1)


@computes
def even_slope(m, q):
    """The slope of the characteristic value of an even Mathieu function."""
    return mean_of_square(special.mathieu_cem, m, q)


@computes
def odd_slope(m, q):
    return mean_of_square(special.mathieu_sem, m, q)


@partials(even_slope, odd_slope)
def second_slope(y, m, q):
    return refused(WHOLE), refused(SECOND)


@partials(special.mathieu_a)
def mathieu_a(a, m, q):
    return refused(WHOLE), even_slope(m, q)


@partials(special.mathieu_b)
def mathieu_b(b, m, q):
    return refused(WHOLE), odd_slope(m, q)


def around(y, a, q, x):
    """(f, f')' = (f', -(a - 2q cos 2x) f), by degrees."""
    return DEGREE * y[1], -DEGREE * (a - 2 * q * np.cos(2 * DEGREE * x)) * y[0]


def outwards(y, a, q, x):
    """(f, f')' = (f', (a - 2q cosh 2x) f)."""
    return y[1], (a - 2 * q * np.cosh(2 * x)) * y[0]


@vjp_rule(special.mathieu_cem, broadcasts=True)
def mathieu_cem(y_bar, y, m, q, x):
    first, second = around(y, special.mathieu_a(m, q), q, x)
    return refused(WHOLE), refused(PARAMETER), y_bar[0] * first + y_bar[1] * second


@jvp_rule(special.mathieu_cem, broadcasts=True)
def push_mathieu_cem(tangents, y, m, q, x):
    return moved(tangents, around(y, special.mathieu_a(m, q), q, x))


@vjp_rule(special.mathieu_sem, broadcasts=True)
def mathieu_sem(y_bar, y, m, q, x):
    first, second = around(y, special.mathieu_b(m, q), q, x)
    return refused(WHOLE), refused(PARAMETER), y_bar[0] * first + y_bar[1] * second


@jvp_rule(special.mathieu_sem, broadcasts=True)
def push_mathieu_sem(tangents, y, m, q, x):
    return moved(tangents, around(y, special.mathieu_b(m, q), q, x))


@vjp_rule(special.mathieu_modcem1, special.mathieu_modcem2, broadcasts=True)
def mathieu_modcem(y_bar, y, m, q, x):
    first, second = outwards(y, special.mathieu_a(m, q), q, x)
    return refused(WHOLE), refused(PARAMETER), y_bar[0] * first + y_bar[1] * second


@jvp_rule(special.mathieu_modcem1, special.mathieu_modcem2, broadcasts=True)
def push_mathieu_modcem(tangents, y, m, q, x):
    return moved(tangents, outwards(y, special.mathieu_a(m, q), q, x))


@vjp_rule(special.mathieu_modsem1, special.mathieu_modsem2, broadcasts=True)
def mathieu_modsem(y_bar, y, m, q, x):
    first, second = outwards(y, special.mathieu_b(m, q), q, x)
    return refused(WHOLE), refused(PARAMETER), y_bar[0] * first + y_bar[1] * second


@jvp_rule(special.mathieu_modsem1, special.mathieu_modsem2, broadcasts=True)
def push_mathieu_modsem(tangents, y, m, q, x):
    return moved(tangents, outwards(y, special.mathieu_b(m, q), q, x))


def moved(tangents, slopes):
    """The slopes times the tangent of the variable, where only that has one."""
    alone = all([tangent is None for tangent in tangents[:-1]])
    return tuple([tangents[-1] * slope for slope in slopes]) if alone else refused(PARAMETER)


def prolate(y, m, value, c, x):
    """((1 - x²) f')' = -(λ - c²x² - m²/(1 - x²)) f, inside and outside of the interval."""
    beside = 1 - x * x
    return y[1], (2 * x * y[1] - (value - (c * x) ** 2 - m * m / beside) * y[0]) / beside


def oblate(y, m, value, c, x):
    """((1 - x²) f')' = -(λ + c²x² - m²/(1 - x²)) f."""
    beside = 1 - x * x
    return y[1], (2 * x * y[1] - (value + (c * x) ** 2 - m * m / beside) * y[0]) / beside


def oblate_outwards(y, m, value, c, x):
    """((1 + x²) f')' = (λ - c²x² - m²/(1 + x²)) f."""
    beside = 1 + x * x
    return y[1], (-2 * x * y[1] + (value - (c * x) ** 2 - m * m / beside) * y[0]) / beside


@vjp_rule(special.pro_ang1, special.pro_rad1, special.pro_rad2, broadcasts=True)
def pro_wave(y_bar, y, m, n, c, x):
    first, second = prolate(y, m, special.pro_cv(m, n, c), c, x)
    return refused(WHOLE), refused(WHOLE), refused(PARAMETER), y_bar[0] * first + y_bar[1] * second


@jvp_rule(special.pro_ang1, special.pro_rad1, special.pro_rad2, broadcasts=True)
def push_pro_wave(tangents, y, m, n, c, x):
    return moved(tangents, prolate(y, m, special.pro_cv(m, n, c), c, x))


@vjp_rule(special.pro_ang1_cv, special.pro_rad1_cv, special.pro_rad2_cv, broadcasts=True)
def pro_wave_cv(y_bar, y, m, n, c, cv, x):
    first, second = prolate(y, m, cv, c, x)
    slope = y_bar[0] * first + y_bar[1] * second
    return refused(WHOLE), refused(WHOLE), refused(PARAMETER), refused(PARAMETER), slope


@jvp_rule(special.pro_ang1_cv, special.pro_rad1_cv, special.pro_rad2_cv, broadcasts=True)
def push_pro_wave_cv(tangents, y, m, n, c, cv, x):
    return moved(tangents, prolate(y, m, cv, c, x))


@vjp_rule(special.obl_ang1, broadcasts=True)
def obl_ang1(y_bar, y, m, n, c, x):
    first, second = oblate(y, m, special.obl_cv(m, n, c), c, x)
    return refused(WHOLE), refused(WHOLE), refused(PARAMETER), y_bar[0] * first + y_bar[1] * second


@jvp_rule(special.obl_ang1, broadcasts=True)
def push_obl_ang1(tangents, y, m, n, c, x):
    return moved(tangents, oblate(y, m, special.obl_cv(m, n, c), c, x))


@vjp_rule(special.obl_rad1, special.obl_rad2, broadcasts=True)
def obl_rad(y_bar, y, m, n, c, x):
    first, second = oblate_outwards(y, m, special.obl_cv(m, n, c), c, x)
    return refused(WHOLE), refused(WHOLE), refused(PARAMETER), y_bar[0] * first + y_bar[1] * second


@jvp_rule(special.obl_rad1, special.obl_rad2, broadcasts=True)
def push_obl_rad(tangents, y, m, n, c, x):
    return moved(tangents, oblate_outwards(y, m, special.obl_cv(m, n, c), c, x))


@vjp_rule(special.obl_ang1_cv, broadcasts=True)
def obl_ang1_cv(y_bar, y, m, n, c, cv, x):
    first, second = oblate(y, m, cv, c, x)
    slope = y_bar[0] * first + y_bar[1] * second
    return refused(WHOLE), refused(WHOLE), refused(PARAMETER), refused(PARAMETER), slope


@jvp_rule(special.obl_ang1_cv, broadcasts=True)
def push_obl_ang1_cv(tangents, y, m, n, c, cv, x):
    return moved(tangents, oblate(y, m, cv, c, x))


@vjp_rule(special.obl_rad1_cv, special.obl_rad2_cv, broadcasts=True)
def obl_rad_cv(y_bar, y, m, n, c, cv, x):
    first, second = oblate_outwards(y, m, cv, c, x)
    slope = y_bar[0] * first + y_bar[1] * second
    return refused(WHOLE), refused(WHOLE), refused(PARAMETER), refused(PARAMETER), slope


@jvp_rule(special.obl_rad1_cv, special.obl_rad2_cv, broadcasts=True)
def push_obl_rad_cv(tangents, y, m, n, c, cv, x):
    return moved(tangents, oblate_outwards(y, m, cv, c, x))


@partials(special.pro_cv, special.obl_cv)
def spheroidal_value(y, m, n, c):
    return refused(WHOLE), refused(WHOLE), refused(PARAMETER)
