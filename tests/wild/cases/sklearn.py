"""scikit-learn: kernels, metrics, preprocessing, Gaussian processes."""

import numpy as np
from case import case
from sklearn.gaussian_process import GaussianProcessRegressor, kernels
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error, pairwise, r2_score
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler

rng = np.random.default_rng(1)
X = rng.normal(size=(6, 2))
Y = np.sin(X[:, 0]) + X[:, 1]


@case(X)
def rbf_kernel(x):
    return kernels.RBF(1.3)(x, X[:3] + 0.1)


@case(0.7)
def rbf_length(scale):
    return kernels.RBF(scale)(X[:4])


@case(X)
def matern_kernel(x):
    return kernels.Matern(1.1, nu=2.5)(x, X[:3] + 0.2)


@case(X)
def composed_kernel(x):
    k = kernels.ConstantKernel(2.0) * kernels.RationalQuadratic(1.0, 0.5) + kernels.DotProduct(0.3)
    return k(x, X[:2] + 0.3)


@case(np.array([0.2, -0.1]))
def gp_log_marginal_likelihood(theta):
    gp = GaussianProcessRegressor(kernels.ConstantKernel() * kernels.RBF(), alpha=0.1, optimizer=None).fit(X, Y)
    return gp.log_marginal_likelihood(theta)


@case(Y)
def mse(p):
    return mean_squared_error(np.cos(Y), p)


@case(Y)
def r2(p):
    return r2_score(Y + 0.1, p)


@case(X)
def pairwise_rbf(x):
    return pairwise.rbf_kernel(x, X + 0.1, gamma=0.4)


@case(X)
def pairwise_polynomial(x):
    return pairwise.polynomial_kernel(x, X, degree=2) + pairwise.cosine_similarity(x, X)


@case(X)
def pairwise_euclidean(x):
    return pairwise.euclidean_distances(x, X + 1.0)


@case(X)
def standard_scaler(x):
    return StandardScaler().fit_transform(x)


@case(X)
def min_max(x):
    return MinMaxScaler().fit_transform(x)


@case(X)
def polynomial_features(x):
    return PolynomialFeatures(2).fit_transform(x)


@case(Y)
def linear_regression(y):
    return LinearRegression().fit(X, y).coef_


@case(Y)
def ridge(y):
    return Ridge(0.5).fit(X, y).predict(X)


@case(np.array([0.2, 0.7, 0.4, 0.9]))
def logarithmic_loss(p):
    return log_loss([0, 1, 0, 1], p)
