"""windpowerlib: profiles of wind, density, power."""

import numpy as np
from case import case
from windpowerlib import density, power_output, wind_speed

V = np.array([4.0, 6.5, 9.0])


@case(V)
def logarithmic_profile(v):
    return wind_speed.logarithmic_profile(v, 10.0, 100.0, 0.15)


@case(V)
def hellman(v):
    return wind_speed.hellman(v, 10.0, 100.0, 0.15)


@case(np.array([280.0, 290.0]))
def air_density(t):
    return density.barometric(np.array([101300.0, 100900.0]), 2.0, 100.0, t)


@case(V)
def power_curve(v):
    return power_output.power_curve(v, np.array([0.0, 5, 10, 15]), np.array([0.0, 500, 2000, 2500]), 1.225)
