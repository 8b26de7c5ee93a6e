"""quantecon: Markov chains, state spaces, Riccati."""

import numpy as np
import quantecon as qe
from case import case

P = np.array([[0.9, 0.1], [0.3, 0.7]])


@case(0.6)
def tauchen(rho):
    return qe.tauchen(4, rho, 1.0).P


@case(0.8)
def lyapunov(a):
    return qe.solve_discrete_lyapunov(np.array([[a, 0.1], [0.0, 0.5]]), np.eye(2))


@case(0.9)
def riccati(q):
    return qe.solve_discrete_riccati(
        np.array([[0.9, 0.1], [0.0, 0.8]]), np.array([[0.0], [1.0]]), q * np.eye(2), np.eye(1)
    )


@case(np.array([0.2, 1.0, 3.0, 0.7]))
def gini(y):
    return qe.gini_coefficient(y)


@case(0.5)
def lss_moments(a):
    s = qe.LinearStateSpace(np.array([[a]]), np.array([[1.0]]), np.array([[1.0]]), mu_0=np.array([1.0]))
    return s.impulse_response(4)[0][3]
