"""metpy: meteorology with units (pint)."""

import metpy.calc as mpcalc
import numpy as np
from case import case
from metpy.units import units


@case(20.0, 60.0)
def dewpoint(t, rh):
    return mpcalc.dewpoint_from_relative_humidity(t * units.degC, rh * units.percent).magnitude


@case(np.array([290.0, 280.0]))
def potential_temperature(t):
    return mpcalc.potential_temperature(np.array([900.0, 700.0]) * units.hPa, t * units.kelvin).magnitude


@case(5.0, 3.0)
def wind_speed(u, v):
    return mpcalc.wind_speed(u * units("m/s"), v * units("m/s")).magnitude


@case(20.0)
def saturation_vapor_pressure(t):
    return mpcalc.saturation_vapor_pressure(t * units.degC).to("Pa").magnitude


@case(np.array([1.0, 3.0, 2.0, 5.0]))
def first_derivative(f):
    return mpcalc.first_derivative(f * units.meter, delta=2.0 * units.second).magnitude
