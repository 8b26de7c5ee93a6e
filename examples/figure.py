"""A figure of a fit with error bars from its Hessian: a filter's transmittance; saved as figure.png by matplotlib."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import wengert as wg

plt.switch_backend("agg")  # into a file: no window is needed

# Source: NIST/ITL StRD, nonlinear regression, "Eckerle4" (of higher difficulty): parameters, their standard deviations.
CERTIFIED, DEVIATIONS = [1.5543827178, 4.0888321754, 451.54121844], [0.015408051163, 0.046803020753, 0.046800518816]
wavelength, transmittance = np.loadtxt(Path(__file__).parent / "data" / "eckerle4.csv", delimiter=",", skiprows=1).T
names = ("area", "width", "centre")


def model(b, x):
    return b[0] / b[1] * np.exp(-(((x - b[2]) / b[1]) ** 2) / 2)


def squares(b):
    return np.sum((transmittance - model(b, wavelength)) ** 2) / 2


loss, hessian = wg.value_and_grad(squares), wg.hessian(squares)
fit = minimize(loss, [1.5, 5.0, 450.0], jac=True, hess=hessian, method="trust-exact", tol=1e-9)
variance = 2 * fit.fun / (wavelength.size - 3)
covariance = variance * np.linalg.inv(hessian(fit.x))
deviations = np.sqrt(np.diag(covariance))
told = [f"{name} {b:.2f} ± {deviation:.2f}" for name, b, deviation in zip(names, fit.x, deviations, strict=True)]
print(*told, sep="\n")
assert np.allclose(fit.x, CERTIFIED, rtol=1e-5)
assert np.allclose(deviations, DEVIATIONS, rtol=0.02)  # NIST's are of JᵀJ, the Hessian without the model's curvature

x, error = np.linspace(428, 477, 400), 2 * np.sqrt(variance)
slopes = wg.jacobian(lambda b: model(b, x))(fit.x)
band = 2 * np.sqrt(np.einsum("ij,jk,ik->i", slopes, covariance, slopes))  # of the curve, by its parameters'
figure, (above, below) = plt.subplots(2, 1, sharex=True, height_ratios=[3, 1], figsize=(7, 5), layout="constrained")
above.plot(x, model(fit.x, x), label="fit")
above.fill_between(x, model(fit.x, x) - band, model(fit.x, x) + band, alpha=0.3, label="± 2 deviations of the curve")
above.errorbar(wavelength, transmittance, error, fmt="k.", capsize=2, label="± 2 deviations of a measurement")
below.fill_between(x, -band, band, alpha=0.3)
below.errorbar(wavelength, transmittance - model(fit.x, wavelength), error, fmt="k.", capsize=2)
above.set(xlim=(428, 477), ylabel="transmittance", title=", ".join(told))
below.set(xlabel="wavelength (nm)", ylabel="residual")
above.legend(loc="upper left", fontsize="small")
figure.savefig("figure.png", dpi=120)
