"""wengert in one file: a gradient, the tape, the derivative as code, and a fit of real data by SciPy."""

from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import wengert as wg


def f(x):
    """Plain NumPy: an in-place loop with an `if`."""
    y = x.copy()
    for i in range(1, len(y)):
        if y[i] > y[i - 1]:
            y[i] *= np.sin(y[i - 1])
    return np.sum(y * y)


x = np.array([0.5, 1.0, 0.3])
value, (_, gradient) = wg.grad(f, x)
(differences,) = wg.ngradient(f, x)
print(f"value     {value:.6f}\ngradient  {gradient}\nerror     {abs(gradient - differences).max():.0e}\n")

print("What ran, one primitive a line, with the line of this file that it came from:")
_, tape = wg.trace(f, x)
tape.show(sites=True)

print("\nThe derivative as plain NumPy, which runs without wengert:")
print(wg.gradtape(f, x).to_source("df"))


# Old Faithful: 272 eruptions, some short, some long. Fit a mixture of two normal distributions to them.

data = Path(__file__).parent / "data" / "faithful.csv"  # Härdle (1991); R's datasets::faithful
minutes = np.loadtxt(data, delimiter=",", skiprows=1, usecols=0)


def unpack(theta):
    return 1 / (1 + np.exp(-theta[0])), theta[1:3], np.exp(theta[3:])


def minus_log_likelihood(theta):
    weight, mean, deviation = unpack(theta)
    z = (minutes[:, None] - mean) / deviation
    density = np.exp(-z * z / 2) / (deviation * np.sqrt(2 * np.pi))
    return -np.sum(np.log(weight * density[:, 0] + (1 - weight) * density[:, 1]))


start = np.array([0.0, 2.0, 4.0, 0.0, 0.0])
fit = minimize(wg.value_and_grad(minus_log_likelihood), start, jac=True)
weight, mean, deviation = unpack(fit.x)
print(f"Old Faithful, {len(minutes)} eruptions: log-likelihood {-fit.fun:.2f} after {fit.nfev} gradients")
for share, m, s in zip((weight, 1 - weight), mean, deviation, strict=True):
    print(f"  {share:5.1%} last {m:.3f} ± {s:.3f} minutes")
