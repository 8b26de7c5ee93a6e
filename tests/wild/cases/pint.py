"""pint: quantities made inside the function."""

import numpy as np
import pint
from case import case

u = pint.UnitRegistry()


@case(2.0, 3.0)
def kinetic_energy(m, v):
    return (0.5 * (m * u.kg) * (v * u.km / u.hour) ** 2).to(u.joule).magnitude


@case(np.array([1.0, 2.0, 3.0]))
def array_quantities(x):
    q = x * u.meter
    t = np.array([1.0, 2.0, 4.0]) * u.second
    return (np.sqrt(q * q + (1 * u.foot) ** 2) / t).to("m/s").magnitude


@case(np.array([1.0, 2.0, 3.0]))
def reductions(x):
    q = u.Quantity(x, "cm")
    return (np.mean(q) * np.sum(q)).to("m^2").magnitude


@case(20.0)
def temperature(t):
    return u.Quantity(t, "degC").to("kelvin").magnitude ** 2
