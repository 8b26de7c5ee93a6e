"""An ODE fitted by each kind of derivative: the hares and the lynx of Hudson's Bay. `lynx_hare.py fit.svg` draws it."""

import functools
import importlib.util
import sys

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares, minimize

import wengert as wg

year, lynx, hares = np.loadtxt(__file__.replace("lynx_hare.py", "data/lynx_hare.csv"), delimiter=",", skiprows=1).T
NAMES = ("birth of hares", "hares caught", "death of lynx", "lynx fed", "hares in 1900", "lynx in 1900")
HOWARD = (0.55, 0.028, 0.84, 0.026, hares[0], lynx[0])  # P. Howard (2009), "Modeling Basics": where we start


def populations(p, times=year):
    """Lotka's and Volterra's equations: u' = (α - β v) u, v' = (δ u - γ) v."""

    def rates(_, y):
        return np.array([(p[0] - p[1] * y[1]) * y[0], (p[3] * y[0] - p[2]) * y[1]])

    return solve_ivp(rates, (1900, 1920), p[4:], t_eval=times, rtol=1e-7, atol=1e-7).y


def residuals(logarithms):
    """The error of a count grows with the count: that of its logarithm does not."""
    return np.ravel(np.log(populations(np.exp(logarithms)) / [hares, lynx]))


both = functools.cache(lambda x: wg.value_and_jacobian(residuals)(np.frombuffer(x)))  # one solution for the two
ways = [(residuals, "2-point"), (lambda x: both(x.tobytes())[0], lambda x: both(x.tobytes())[1])]
if importlib.util.find_spec("numba"):
    ways.append((wg.compile(residuals), wg.compile(wg.jacobian(residuals))))
fits = [least_squares(f, np.log(HOWARD), jac, xtol=1e-4) for f, jac in ways]
for kind in ("forward", "continuous"):  # the gradient, by differential equations
    with wg.ode_adjoint(kind):
        fits += [minimize(wg.value_and_grad(lambda x: np.sum(residuals(x) ** 2)), np.log(HOWARD), jac=True, tol=1e-4)]
assert all(np.allclose(fit.x, fits[0].x, atol=1e-4) for fit in fits)
fit = fits[1]
covariance = (variance := 2 * fit.cost / (fit.fun.size - fit.x.size)) * np.linalg.inv(fit.jac.T @ fit.jac)
for name, logarithm, deviation in zip(NAMES, fit.x, np.sqrt(np.diag(covariance)), strict=True):
    print(f"{name:14} {np.exp(logarithm):7.4f} ± {deviation:3.0%}")
print(f"a count errs by {np.sqrt(variance):.1%}")
assert np.allclose(np.exp(fit.x[:4]), (0.55, 0.028, 0.80, 0.024), rtol=0.04)  # B. Carpenter (2018), Stan case studies 5
if len(sys.argv) > 1:
    import matplotlib.pyplot as plt

    times = np.linspace(1900, 1920, 101)
    curves, slopes = wg.value_and_jacobian(lambda x: np.log(populations(np.exp(x), times)))(fit.x)
    bands = 2 * np.sqrt(np.einsum("ati,ij,atj->at", slopes, covariance, slopes))
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for k, counts in enumerate((hares, lynx)):
        axes.plot(times, np.exp(curves[k]), f"C{k}", year, counts, f"C{k}o", markersize=4)
        axes.fill_between(times, *np.exp(curves[k] + np.outer((-1, 1), bands[k])), alpha=0.3, color=f"C{k}")
    axes.legend(axes.get_lines()[::2], ("hares", "lynx"))
    axes.set(xlim=(1900, 1920), xticks=range(1900, 1921, 5), xlabel="year", ylabel="thousands of pelts")
    figure.savefig(sys.argv[1])
