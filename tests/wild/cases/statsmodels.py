"""statsmodels: likelihoods, estimates and tools."""

import numpy as np
import statsmodels.api as sm
from case import case
from statsmodels.stats.moment_helpers import cov2corr
from statsmodels.tsa.arima_process import arma2ma
from statsmodels.tsa.stattools import acf

rng = np.random.default_rng(0)
A = sm.add_constant(rng.normal(size=(12, 2)))
Y = A @ [0.5, 1.0, -0.7] + 0.1 * rng.normal(size=12)
B = (Y > 0.4).astype(float)


@case(np.array([0.4, 0.9, -0.6]))
def logit_loglike(beta):
    return sm.Logit(B, A).loglike(beta)


@case(np.array([0.4, 0.3, -0.2]))
def poisson_loglike(beta):
    return sm.Poisson(np.arange(12.0) % 4, A).loglike(beta)


@case(np.array([0.4, 0.9, -0.6]))
def glm_gaussian_loglike(beta):
    return sm.GLM(Y, A).loglike(beta)


@case(Y)
def ols_params(y):
    return sm.OLS(y, A).fit().params


@case(Y)
def ols_rsquared(y):
    return sm.OLS(y, A).fit().rsquared


@case(Y)
def autocorrelation(y):
    return acf(y, nlags=3, fft=False)


@case(0.5, -0.3)
def ma_representation(a, b):
    return arma2ma([1.0, -a], [1.0, b], 6)


@case(np.array([[2.0, 0.3], [0.3, 1.5]]))
def correlation_of(cov):
    return cov2corr(cov)


@case(np.array([0.3, 1.2, -0.4, 0.9, 2.0, -1.2, 0.6, 0.2]))
def huber_norm(r):
    return sm.robust.norms.HuberT().rho(r).sum() + sm.robust.norms.TukeyBiweight().rho(r).sum()
