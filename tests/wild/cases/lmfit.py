"""lmfit: models and parameters."""

import numpy as np
from case import case
from lmfit import Parameters
from lmfit.lineshapes import breit_wigner, gaussian, lognormal, lorentzian, pvoigt, skewed_gaussian, voigt
from lmfit.models import ExponentialModel, GaussianModel

X = np.linspace(-1, 2, 9)


@case(2.0, 0.3, 0.7)
def gaussian_shape(a, c, s):
    return gaussian(X, a, c, s)


@case(2.0, 0.3, 0.7)
def lorentzian_shape(a, c, s):
    return lorentzian(X, a, c, s) + breit_wigner(X, a, c, s)


@case(2.0, 0.3, 0.7)
def voigt_shape(a, c, s):
    return voigt(X, a, c, s)


@case(2.0, 0.3, 0.7)
def pseudo_voigt(a, c, s):
    return pvoigt(X, a, c, s, 0.4)


@case(2.0, 0.3, 0.7)
def skewed(a, c, s):
    return skewed_gaussian(X, a, c, s, 0.5)


@case(1.2, 0.4)
def lognormal_shape(c, s):
    return lognormal(X + 2.0, 1.0, c, s)


@case(2.0, 0.3, 0.7)
def model_eval(a, c, s):
    return GaussianModel().eval(x=X, amplitude=a, center=c, sigma=s)


@case(2.0, 0.5)
def composite(a, d):
    m = GaussianModel(prefix="g_") + ExponentialModel(prefix="e_")
    return m.eval(x=X, g_amplitude=a, g_center=0.1, g_sigma=1.0, e_amplitude=1.0, e_decay=d)


@case(2.0, 0.5)
def parameters_residual(a, b):
    p = Parameters()
    p.add("a", value=a)
    p.add("b", value=b)
    return p["a"] * np.exp(-p["b"] * X) - 1.0
