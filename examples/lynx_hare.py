"""Sensitivities of a differential equation, through SciPy's solver: the hares and the lynx of Hudson's Bay."""

from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

import wengert as wg

data = Path(__file__).parent / "data" / "lynx_hare.csv"  # thousands of pelts a year, 1900 to 1920
year, lynx, hares = np.loadtxt(data, delimiter=",", skiprows=1).T

NAMES = ("birth of hares", "hares caught", "death of lynx", "lynx fed", "hares in 1900", "lynx in 1900")
HOWARD = (0.55, 0.028, 0.84, 0.026, hares[0], lynx[0])  # P. Howard (2009), "Modeling Basics": where we start
IN_STAN = (0.55, 0.028, 0.80, 0.024)  # B. Carpenter (2018), Stan case studies 5: posterior means of the rates


def populations(p):
    """Lotka's and Volterra's equations: u' = (α - β v) u, v' = (δ u - γ) v."""

    def rates(_, y):
        return np.array([(p[0] - p[1] * y[1]) * y[0], (p[3] * y[0] - p[2]) * y[1]])

    return solve_ivp(rates, (1900, 1920), p[4:], t_eval=year, rtol=1e-7, atol=1e-7).y


def residuals(logarithms):
    """The error of a count grows with the count: that of its logarithm does not."""
    return np.ravel(np.log(populations(np.exp(logarithms)) / [hares, lynx]))


sensitivities = wg.jacobian(residuals)  # of 42 logarithms to 6: along the steps of the solver
fit = least_squares(residuals, np.log(HOWARD), sensitivities, xtol=1e-4)
variance = 2 * fit.cost / (fit.fun.size - fit.x.size)
relative = np.sqrt(np.diag(variance * np.linalg.inv(fit.jac.T @ fit.jac)))
for name, logarithm, deviation in zip(NAMES, fit.x, relative, strict=True):
    print(f"{name:14} {np.exp(logarithm):7.4f} ± {deviation:3.0%}")
print(f"a count errs by {np.sqrt(variance):.1%}")

step = 1e-4 * np.eye(6)
differences = np.stack([residuals(fit.x + h) - residuals(fit.x - h) for h in step], 1) / 2e-4
assert np.allclose(fit.jac, differences, atol=1e-4)
assert np.allclose(np.exp(fit.x[:4]), IN_STAN, rtol=0.04)
