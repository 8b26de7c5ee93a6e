"""One fit by five of SciPy's solvers, each given exact derivatives: the electron mobility of NIST's Thurber problem."""

from pathlib import Path

import numpy as np
from scipy.optimize import curve_fit, least_squares, minimize, root

import wengert as wg

density, mobility = np.loadtxt(Path(__file__).parent / "data" / "thurber.csv", delimiter=",", skiprows=1).T
start = np.array([1000, 1000, 400, 40, 0.7, 0.3, 0.03])  # NIST's first start, the one further away

# Source: NIST/ITL StRD, nonlinear regression, "Thurber" (of higher difficulty): parameters, their standard deviations.
CERTIFIED = [1288.1396800, 1491.0792535, 583.23836877, 75.416644291, 0.96629502864, 0.39797285797, 0.049727297349]
DEVIATIONS = [4.6647963344, 39.571156086, 28.698696102, 5.567537027, 0.031333340687, 0.014984928198, 0.0065842344623]


def model(x, *b):
    """The mobility, where x is the logarithm of the density."""
    return (b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3) / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3)


def residuals(b):
    return model(density, *b) - mobility


def squares(u):
    """Half the sum of squares; u holds the parameters in units of the start, which are numbers of one size."""
    return 0.5 * np.sum(residuals(u * start) ** 2)


def told(solver, b):
    print(f"{solver:27}", *[f"{x:.6g}" for x in b])
    np.testing.assert_allclose(b, CERTIFIED, rtol=1e-6)


fit = least_squares(residuals, start, wg.jacobian(residuals), x_scale="jac", ftol=1e-14)
told("least_squares(jac)", fit.x)

loss, ones = wg.value_and_grad(squares), np.ones(7)
fit = minimize(loss, ones, jac=True, method="BFGS", options={"gtol": 1e-3})
told("minimize(jac)", fit.x * start)

fit = minimize(loss, ones, jac=True, hessp=lambda u, v: wg.hvp(squares, u, v), method="trust-ncg")
told("minimize(jac, hessp)", fit.x * start)

fit = root(wg.grad(squares), fit.x, jac=wg.hessian(squares))
told("root(gradient, jac=hessian)", fit.x * start)


def rates(x, *b):
    return wg.jacobian(lambda b: model(x, *b))(np.array(b))


b, covariance = curve_fit(model, density, mobility, start, jac=rates, ftol=1e-14)
told("curve_fit(jac)", b)
deviations = np.sqrt(np.diag(covariance))
print(f"{'standard deviations':27}", *[f"{x:.6g}" for x in deviations])
np.testing.assert_allclose(deviations, DEVIATIONS, rtol=1e-5)
