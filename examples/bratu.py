"""Newton's method with sparse Jacobians: a body that heats itself, -Δu = λ eᵘ on a square, u = 0 around it."""

import numpy as np
from scipy.sparse.linalg import splu

import wengert as wg

N = 63  # points inside, along a side


def residual(u, strength):
    v = np.zeros((N + 2, N + 2))
    v[1:-1, 1:-1] = u.reshape(N, N)
    around = v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2]
    return ((4 * v[1:-1, 1:-1] - around) * (N + 1) ** 2 - strength * np.exp(v[1:-1, 1:-1])).ravel()


jacobian = wg.sparse_jacobian(residual)


def solved(u, strength):
    """The solution near u, and how many steps it took."""
    for step in range(1, 20):
        change = splu(jacobian(u, strength).tocsc()).solve(residual(u, strength))
        u = u - change
        if np.max(abs(change)) < 1e-10:
            return u, step
    raise ArithmeticError(f"no solution near λ = {strength}")


u = np.zeros(N * N)
print("    λ   hottest   steps   d hottest/dλ")
for strength in [1.0, 2.0, 4.0, 6.0, 6.5, 6.7, 6.78, 6.8]:
    u, steps = solved(u, strength)
    _, rate = wg.jvp(residual, (u, strength), (None, 1.0))
    slope = splu(jacobian(u, strength).tocsc()).solve(-rate)  # J du/dλ + ∂r/∂λ = 0
    print(f"{strength:5.2f}  {u.max():8.4f}  {steps:5}   {slope[np.argmax(u)]:10.4f}")

print(f"\nThe Jacobian has {jacobian(u, 6.8).nnz} entries in {u.size} rows: {jacobian.passes} passes.")
