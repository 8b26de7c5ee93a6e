"""py_vollib: option prices and Greeks."""

from case import case
from py_vollib.black_scholes import black_scholes
from py_vollib.black_scholes.greeks import analytical


@case(100.0, 0.2)
def price(s, sigma):
    return black_scholes("c", s, 105.0, 0.5, 0.02, sigma)


@case(100.0, exact=lambda s: analytical.delta("p", s, 105.0, 0.5, 0.02, 0.2))
def delta(s):
    return black_scholes("p", s, 105.0, 0.5, 0.02, 0.2)


@case(0.2)
def vega(sigma):
    return analytical.vega("c", 100.0, 105.0, 0.5, 0.02, sigma)
