"""astropy: models, cosmology, quantities, coordinates, statistics."""

import astropy.units as u
import numpy as np
from astropy.convolution import Gaussian1DKernel, convolve
from astropy.coordinates import angular_separation
from astropy.cosmology import FlatLambdaCDM
from astropy.modeling import models
from astropy.stats import biweight_location
from case import case

X = np.linspace(-1, 2, 7)


@case(1.2, 0.3, 0.7)
def gaussian_model(a, m, s):
    return models.Gaussian1D.evaluate(X, a, m, s)


@case(1.2, 0.3, 0.7)
def gaussian_model_called(a, m, s):
    return models.Gaussian1D(a, m, s)(X)


@case(np.array([1.0, 2.0, 3.0]))
def quantity_arithmetic(x):
    q = x * u.km
    return (q / (2 * u.hour)).to_value(u.m / u.s)


@case(0.3, 0.5)
def separation(a, b):
    return angular_separation(a, b, 0.9, -0.2)


@case(70.0, 0.3)
def hubble(h, m):
    return FlatLambdaCDM(h, m).H(0.5).value


@case(0.5)
def luminosity_distance(z):
    return FlatLambdaCDM(70.0, 0.3).luminosity_distance(z).value


@case(X**2)
def robust_location(x):
    return biweight_location(x)


@case(X**2)
def convolved(x):
    return convolve(x, Gaussian1DKernel(1.0))


@case(5000.0)
def black_body(t):
    return models.BlackBody(temperature=t * u.K)(5e14 * u.Hz).value * 1e5


@case(np.array([0.7, 1.3, 0.4]))
def functions_of_numpy_on_quantities(x):
    a = x * u.m
    joined = np.concatenate([a, a.to(u.cm)]).sum() + np.where(a > 0.5 * u.m, a, 2 * a).sum() + np.cumsum(a)[2]
    return (joined + np.mean(a) + np.std(a) + np.median(a) + np.diff(a).sum() + np.linalg.norm(a)).value


@case(np.array([0.7, 1.3, 0.4]))
def items_of_quantities(x):
    a = x * u.m
    b = a.copy()
    b[0] = 5 * u.km
    b[1:] *= 2
    return b.sum().value + a[0].value * a[1:].sum().value + sum(q.value for q in a)


@case(np.array([0.7, 1.3, 0.4]))
def equivalent_quantities(x):
    return (x * u.nm).to(u.eV, equivalencies=u.spectral()).sum().value + u.Magnitude(x * u.Jy).value.sum()
