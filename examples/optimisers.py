"""Gradient descent, Adam, and Newton with products H v in place of H, on a logistic regression of real data."""

from pathlib import Path

import numpy as np

import wengert as wg

data = Path(__file__).parent / "data" / "challenger.csv"  # Dalal, Fowlkes & Hoadley (1989)
temperature, distress = np.loadtxt(data, delimiter=",", skiprows=1).T
mean, deviation = temperature.mean(), temperature.std()


def score(p, temperature):
    return p["intercept"] + p["slope"] * (temperature - mean) / deviation


def loss(x):
    """Minus the log-likelihood of damage to the O-rings of 23 shuttles; x is the vector of the parameters."""
    s = score(unravel(x), temperature)
    return np.sum(np.logaddexp(0.0, s) - distress * s)


def gradient_descent(x, gradient, rate=0.1):
    return x - rate * gradient


def adam(x, gradient, state, rate=0.1, decay=(0.9, 0.999)):
    state["steps"] += 1
    state["mean"] += (1 - decay[0]) * (gradient - state["mean"])
    state["square"] += (1 - decay[1]) * (gradient**2 - state["square"])
    unbiased = [state[key] / (1 - d ** state["steps"]) for key, d in zip(("mean", "square"), decay, strict=True)]
    return x - rate * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8)


def newton(x, gradient):
    """x - H⁻¹ g, by conjugate gradients: each step needs one product with the Hessian H."""
    solution, residual, direction = np.zeros_like(x), gradient, gradient
    for _ in x:
        image = wg.hvp(loss, x, direction)
        step = residual @ residual / (direction @ image)
        solution, smaller = solution + step * direction, residual - step * image
        residual, direction = smaller, smaller + smaller @ smaller / (residual @ residual) * direction
    return x - solution


start, unravel = wg.ravel({"intercept": 0.0, "slope": 0.0})
for method, *state in [(gradient_descent,), (adam, {"steps": 0, "mean": 0 * start, "square": 0 * start}), (newton,)]:
    x, steps = start, 0
    value, gradient = wg.value_and_grad(loss)(x)
    while np.linalg.norm(gradient) > 1e-6:
        x, steps = method(x, gradient, *state), steps + 1
        value, gradient = wg.value_and_grad(loss)(x)
    at = [score(unravel(x), t) for t in (0.0, 1.0)]
    print(f"{method.__name__:16} {steps:3} steps, log-likelihood {-value:.4f}: {at[0]:.3f} - {at[0] - at[1]:.4f} t")
print(f"Probability of damage at 31 °F, on 28 January 1986: {1 / (1 + np.exp(-score(unravel(x), 31))):.4f}")
