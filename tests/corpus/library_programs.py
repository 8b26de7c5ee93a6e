"""Programs of `programs.py` that run pure-Python library code, traced straight through."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import calendar
import cmath
import colorsys
import contextlib
import difflib
import functools
import itertools
import math
import random
import statistics
import textwrap
import warnings

import numpy as np
import scipy.integrate
import scipy.optimize
from program_table import LOG, Programs

program = Programs()

V = np.array([0.7, 1.3, 0.4])


@program(2.5, closed=(0.5 / math.sqrt(2.5),))
def optimize_newton_by_tangents(a):
    return scipy.optimize.newton(lambda x: x * x - a, 1.0, fprime=lambda x: 2 * x, tol=1e-14)


@program(2.5)
def optimize_newton_by_secants_and_halley(a):
    f = lambda x, c: x**3 - c
    secant = scipy.optimize.newton(f, 1.2, args=(a,), tol=1e-5)
    return secant * scipy.optimize.newton(
        f, 1.2, lambda x, c: 3 * x * x, args=(a,), fprime2=lambda x, c: 6 * x, tol=1e-14
    )


@program(np.array([2.5, 1.5]))
def optimize_newton_on_arrays(a):
    return np.sum(
        scipy.optimize.newton(lambda x: x * x - a, np.array([1.0, 1.0]), fprime=lambda x: 2 * x, tol=1e-14) * [1.0, 2.0]
    )


@program(np.array([1.3, 0.7, 0.8]))
def rosenbrock_and_its_derivatives(x):
    return (
        scipy.optimize.rosen_der(x) @ x
        + scipy.optimize.rosen_hess_prod(x, x**2).sum()
        + scipy.optimize.rosen_hess(x)[0, 1]
    )


@program(0.7, 1.1)
def solve_ivp_of_a_system(a, b):
    def lotka(t, y):
        return np.array([a * y[0] - y[0] * y[1], b * y[0] * y[1] - y[1]])

    fine = scipy.integrate.solve_ivp(lotka, (0.0, 1.5), [1.0, 0.8], rtol=1e-9, atol=1e-11)
    rough = scipy.integrate.solve_ivp(
        lotka, (0.0, 1.0), np.array([1.0, b]), method="RK23", t_eval=[0.5, 1.0], rtol=1e-8, atol=1e-10
    )
    return fine.y[0, -1] * fine.y[1, -1] + rough.y[0, 0] + len(fine.t)


@program(0.7)
def solve_ivp_with_arguments_and_dense_output(a):
    found = scipy.integrate.solve_ivp(
        lambda t, y, k: -k * y, (0.0, 1.0), [a], args=(a,), dense_output=True, max_step=0.25
    )
    return found.sol(0.37)[0] + found.y[0, -1]


@program(0.7)
def solve_ivp_of_high_order(a):
    return scipy.integrate.solve_ivp(lambda t, y: -a * y, (0.0, 1.0), [1.0], method="DOP853", rtol=1e-6).y[0, -1]


@program(0.2, 0.5, 0.9)
def colours(r, g, b):
    total = 0.0
    for there, back in (
        (colorsys.rgb_to_hls, colorsys.hls_to_rgb),
        (colorsys.rgb_to_hsv, colorsys.hsv_to_rgb),
        (colorsys.rgb_to_yiq, colorsys.yiq_to_rgb),
    ):
        p, q, s = there(r, g, b)
        u, v, w = back(p * 0.9, q, s)
        total += p * q + s + 2 * u + v * w
    return total


@program(1.25, 0.5, 0.75)
def recipes_of_statistics(x, y, z):
    data = [x, y, z, x * y]
    spread = statistics.variance(data) + statistics.pstdev(data) + statistics.harmonic_mean([1.0, 2.0])
    middle = (
        statistics.median(data)
        + statistics.median_low(data) * statistics.median_high(data)
        + statistics.geometric_mean(data)
    )
    line = statistics.linear_regression([1.0, 2.0, 3.0, 5.0], data)
    related = statistics.correlation(data, [1.0, 2.0, 2.5, 3.0]) + statistics.covariance(data, data)
    normal = statistics.NormalDist(x, y)
    return (
        spread
        + middle
        + line.slope * line.intercept
        + related
        + normal.zscore(z)
        + normal.pdf(1.0)
        + statistics.quantiles(data)[1]
    )


@program(1.3, 0.4)
def recipes_of_itertools(x, y):
    def sliding(items, n):
        window = list(itertools.islice(items, n))
        for item in items:
            yield tuple(window)
            window = [*window[1:], item]
        yield tuple(window)

    def polynomial(coefficients, at):
        return functools.reduce(lambda total, c: total * at + c, coefficients, 0.0)

    def convolve(signal, kernel):
        kernel = kernel[::-1]
        padded = itertools.chain([0.0] * (len(kernel) - 1), signal, [0.0] * (len(kernel) - 1))
        return [sum(map(lambda a, b: a * b, window, kernel)) for window in sliding(padded, len(kernel))]

    dotted = sum(itertools.starmap(lambda a, b: a * b, zip([x, y, 2.0], [y, x, x])))
    return polynomial([x, y, 1.0], y) * dotted + sum(k * v for k, v in enumerate(convolve([x, y, 2.0], [1.0, x])))


@program(0.8)
def numerical_recipes(a):
    def simpson(f, lo, hi, n):
        h = (hi - lo) / n
        return h / 3 * sum((1 if k in (0, n) else 4 if k % 2 else 2) * f(lo + k * h) for k in range(n + 1))

    def adaptive(f, lo, hi, eps, whole=None):
        whole = simpson(f, lo, hi, 2) if whole is None else whole
        mid = (lo + hi) / 2
        left, right = simpson(f, lo, mid, 2), simpson(f, mid, hi, 2)
        if abs(left + right - whole) < 15 * eps:
            return left + right + (left + right - whole) / 15
        return adaptive(f, lo, mid, eps / 2, left) + adaptive(f, mid, hi, eps / 2, right)

    def bisect(f, lo, hi):
        for _ in range(50):
            mid = (lo + hi) / 2
            lo, hi = (mid, hi) if f(mid) * f(lo) > 0 else (lo, mid)
        return lo - f(lo) / ((f(lo + 1e-3) - f(lo - 1e-3)) / 2e-3)

    def rk4(f, y, t, h):
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(t + h, y + h * k3))

    y = a
    for k in range(5):
        y = rk4(lambda t, v: -a * v + t, y, k * 0.1, 0.1)
    return simpson(lambda v: math.sin(a * v), 0.0, a, 6) + adaptive(lambda v: math.exp(a * v), 0.0, 1.0, 1e-4) + y


@program(0.8, 0.3)
def complex_recipes(x, y):
    z = complex(x, y)
    roots = [cmath.exp(2j * cmath.pi * k / 3) * z ** (1 / 3) for k in range(3)]
    r, phi = cmath.polar(z)
    w = cmath.rect(r * 2, phi / 2) + cmath.sqrt(z) * cmath.log(z) + cmath.sin(z) / cmath.cosh(z)

    def fft(a):
        if len(a) == 1:
            return a
        even, odd = fft(a[::2]), fft(a[1::2])
        turned = [cmath.exp(-2j * cmath.pi * k / len(a)) * v for k, v in enumerate(odd)]
        return [p + q for p, q in zip(even, turned)] + [p - q for p, q in zip(even, turned)]

    return abs(sum(k * root for k, root in enumerate(roots))) + w.real * w.imag + abs(fft([z, x, y * 1j, 1.0])[1]) ** 2


@program(0.8)
def library_code_beside_numbers(x):
    LOG.append(textwrap.fill(f"the value is {x:.2f}, " * 5, 30))
    LOG.extend(
        [np.array2string(np.array([x, 2.0]), precision=3), np.array_repr(np.array([x])), np.array_str(np.array(x))]
    )
    LOG.extend([np.format_float_positional(x, 2), np.format_float_scientific(np.float64(x))])
    LOG.append(calendar.month(2024, 2)[:8])
    matcher = difflib.SequenceMatcher(None, "abcd", "bcde")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("quiet", stacklevel=2)
        with contextlib.suppress(ZeroDivisionError):
            x / 0
    return x * matcher.ratio() + random.Random(1).gauss(x, x)
