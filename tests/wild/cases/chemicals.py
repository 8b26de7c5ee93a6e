"""chemicals: correlations for properties."""

import chemicals
import mpmath
import numpy as np
from case import case


@case(300.0)
def antoine(t):
    return chemicals.Antoine(t, 8.95894, 510.595, -15.95)


@case(150.0)
def wagner(t):
    return chemicals.Wagner(t, 190.53, 4596420.0, -6.00435, 1.1885, -0.834082, -1.22833)


@case(400.0)
def lee_kesler(t):
    return chemicals.Lee_Kesler(t, 617.1, 36e5, 0.299)


@case(300.0)
def rackett(t):
    return chemicals.Rackett(t, 369.83, 4248000.0, 0.2763) * 1e4


def of_the_iteration(z):
    """The differences of the iteration itself, in 60 digits: it stops where it differs from the solution's slope."""
    with mpmath.workdps(60):
        h = mpmath.mpf(10) ** -25
        moved = [[mpmath.mpf(a) + s * h * (k == i) for k, a in enumerate(z)] for i in range(len(z)) for s in (1, -1)]
        ends = [chemicals.Rachford_Rice_solution(at, [1.685, 0.742, 0.532])[0] for at in moved]
        return np.array([float((a - b) / (2 * h)) for a, b in zip(ends[::2], ends[1::2], strict=True)])


@case(np.array([0.2, 0.5, 0.3]), exact=of_the_iteration)
def rachford_rice(z):
    vf, _, _ = chemicals.Rachford_Rice_solution([*z], [1.685, 0.742, 0.532])
    return vf


@case(1.3, 0.4)
def viscosity_mixing(a, b):
    return chemicals.viscosity.Herning_Zipperer([0.5, 0.5], [a, b], [16.0, 44.0])
