"""filterpy: filters, with noise and measurements traced."""

import numpy as np
from case import case
from filterpy.common import Q_discrete_white_noise
from filterpy.gh import GHFilter
from filterpy.kalman import ExtendedKalmanFilter, KalmanFilter, MerweScaledSigmaPoints, UnscentedKalmanFilter
from filterpy.stats import gaussian, mahalanobis, multivariate_multiply


def made(r):
    k = KalmanFilter(dim_x=2, dim_z=1)
    k.x = np.array([[0.0], [1.0]])
    k.F = np.array([[1.0, 1.0], [0.0, 1.0]])
    k.H = np.array([[1.0, 0.0]])
    k.P *= 10.0
    k.R = np.array([[r]])
    k.Q = Q_discrete_white_noise(2, 0.1, 0.05)
    return k


@case(np.array([1.1, 2.3, 2.9]), 0.5)
def kalman_states(z, r):
    k = made(r)
    for v in z:
        k.predict()
        k.update(v)
    return k.x


@case(np.array([1.1, 2.3, 2.9]), 0.5)
def kalman_log_likelihood(z, r):
    k, total = made(r), 0.0
    for v in z:
        k.predict()
        k.update(v)
        total += k.log_likelihood
    return total


@case(np.array([1.1, 2.3, 2.9]))
def rts_smoother(z):
    k = made(0.4)
    mu, cov, _, _ = k.batch_filter(list(z))
    return k.rts_smoother(mu, cov)[0]


@case(np.array([0.9, 1.7]))
def unscented(z):
    points = MerweScaledSigmaPoints(2, 0.1, 2.0, 1.0)
    k = UnscentedKalmanFilter(
        2, 1, 1.0, lambda x: x[:1] ** 2, lambda x, dt: x + dt * np.array([x[1], -0.1 * x[0]]), points
    )
    k.x = np.array([0.5, 0.3])
    for v in z:
        k.predict()
        k.update(np.array([v]))
    return k.x


@case(np.array([0.9, 1.7]))
def extended(z):
    k = ExtendedKalmanFilter(2, 1)
    k.x = np.array([[0.5], [0.3]])
    for v in z:
        k.predict()
        k.update(np.array([[v]]), lambda x: np.array([[2 * x[0, 0], 0.0]]), lambda x: x[:1] ** 2)
    return k.x


@case(np.array([1.0, 1.4, 2.2]))
def gh_filter(z):
    f = GHFilter(0.0, 0.1, 1.0, 0.8, 0.2)
    return f.batch_filter(z)[:, 0]


@case(1.2, 0.4, 0.9)
def gaussian_density(x, m, v):
    return gaussian(x, m, v)


@case(np.array([0.5, 1.0]))
def products_of_gaussians(m):
    mean, _ = multivariate_multiply(m, np.eye(2), np.array([0.2, 0.3]), np.array([[2.0, 0.1], [0.1, 1.0]]))
    return mean


@case(np.array([0.5, 1.0]))
def mahalanobis_distance(x):
    return mahalanobis(x, np.array([0.1, 0.2]), np.array([[2.0, 0.1], [0.1, 1.0]]))
