"""What a solver finds has derivatives: a fitted rate, a time, and the result of a solver of your own."""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, least_squares

import wengert as wg

TIMES = np.linspace(0.5, 3.0, 6)
NOISE = 0.02 * np.cos(9 * TIMES)


def decay(rate, times):
    """y' = -rate y / (1 + y), from 1 on."""
    found = solve_ivp(lambda t, y: -rate * y / (1 + y), (0.0, 3.0), [1.0], "DOP853", times, rtol=1e-9, atol=1e-9)
    return found.y[0]


def fitted(measured):
    return least_squares(lambda rate: decay(rate[0], TIMES) - measured, [1.0], xtol=1e-12).x[0]


measured = decay(0.8, TIMES) + NOISE
rate, weights = wg.value_and_grad(fitted)(measured)
print(f"the rate that fits is {rate:.5f}; moved by 0.01, a measurement moves it by")
print(np.round(0.01 * weights, 5))


def half_life(rate):
    return brentq(lambda t: decay(rate, np.array([t]))[0] - 0.5, 0.1, 3.0)


time, slope = wg.value_and_grad(half_life)(float(rate))
print(f"half is left at t = {time:.5f}, and dt/drate = {slope:.5f}; in closed form {-(np.log(2) + 0.5) / rate**2:.5f}")


def balance(x, supply):
    return x * np.exp(x) - supply


@wg.implicit(balance)
def settled(supply):
    """By bisection, number by number: nothing that could be differentiated."""
    low, high = np.zeros_like(supply), np.ones_like(supply) * 5
    for _ in range(60):
        middle = (low + high) / 2
        is_low = balance(middle, supply) < 0
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    return middle


supply = np.array([0.5, 1.0, 2.0])
x = settled(supply)
print("settled at", np.round(x, 6), "with slopes", np.round(np.diag(wg.jacobian(settled)(supply)), 6))
print("in closed form                             ", np.round(np.exp(-x) / (1 + x), 6))
