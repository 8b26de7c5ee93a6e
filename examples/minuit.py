"""Failures of an air conditioner by iminuit (pip install iminuit): a likelihood, its gradient, and uneven intervals."""

import numpy as np
from iminuit import Minuit
from scipy.optimize import brentq
from scipy.special import gammaln
from scipy.stats import gamma

import wengert as wg

# Source: F. Proschan (1963), "Theoretical explanation of observed decreasing failure rate", Technometrics 5: hours
# between failures in a Boeing 720. A. C. Davison and D. V. Hinkley (1997) fit a gamma distribution, of shape 0.71.
hours = np.array([3.0, 5, 7, 18, 43, 85, 91, 98, 100, 130, 230, 487])


def minus_log_likelihood(p):
    """Of a gamma distribution by its shape and its mean."""
    shape, rate = p[0], p[0] / p[1]
    return np.sum(gammaln(shape) - shape * np.log(rate) - (shape - 1) * np.log(hours) + rate * hours)


gradient = wg.grad(minus_log_likelihood)
fit = Minuit(minus_log_likelihood, np.array([1.0, 100.0]), grad=gradient, name=("shape", "mean"))
fit.errordef = Minuit.LIKELIHOOD
fit.limits = (1e-3, None)
fit.migrad()
fit.minos()
for name in fit.parameters:
    error = fit.merrors[name]
    print(f"{name:5} {fit.values[name]:6.2f} ± {fit.errors[name]:5.2f}, uneven {error.lower:+6.2f} {error.upper:+6.2f}")

# SciPy finds the same shape; the curvature is that which iminuit finds by differences; and whatever the shape is, the
# mean that fits is that of the hours, so that the ends of the interval are two roots.
best = np.array(fit.values)
assert fit.valid
assert np.allclose(best, [gamma.fit(hours, floc=0)[0], hours.mean()], rtol=1e-3)
assert np.allclose(fit.errors, np.sqrt(np.diag(np.linalg.inv(wg.hessian(minus_log_likelihood)(best)))), rtol=1e-2)


def above(shape):
    return minus_log_likelihood([shape, hours.mean()]) - fit.fval - 0.5


ends = [brentq(above, 0.1, best[0]), brentq(above, best[0], 3.0)]
assert np.allclose(fit.merrors["shape"].lower, ends[0] - best[0], atol=1e-3)
assert np.allclose(fit.merrors["shape"].upper, ends[1] - best[0], atol=1e-3)
print(f"by SciPy's root finder the shape is between {ends[0]:.3f} and {ends[1]:.3f}")
