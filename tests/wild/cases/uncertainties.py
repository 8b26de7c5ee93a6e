"""uncertainties: numbers with errors whose nominal values are traced."""

import uncertainties.umath as um
from case import case
from uncertainties import ufloat


@case(1.5, 0.7)
def nominal(a, b):
    x, y = ufloat(a, 0.1), ufloat(b, 0.2)
    return (x * um.sin(y) + x**2).nominal_value


@case(1.5, 0.7)
def std_dev(a, b):
    x, y = ufloat(a, 0.1), ufloat(b, 0.2)
    return (x * y / (x + y)).std_dev


@case(0.1)
def propagated_from_sigma(s):
    x = ufloat(1.3, s)
    return um.exp(x).std_dev
