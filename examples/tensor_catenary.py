"""A hanging chain: its forces and its Hessian-vector products are derived, and cost a fixed multiple of its energy."""

import numpy as np

import wengert as wg


@wg.tensor.function
def energy(points, rest, stiffness, weight):
    """Springs between neighbours, and height."""
    n = len(points)
    stretched = [length(points[i], points[i + 1]) - rest for i in range(n - 1)]
    return stiffness / 2 * sum(s * s for s in stretched) + weight * sum(points[i, 1] for i in range(n))


def length(p, q):
    return np.sqrt((p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2)


slope, system = energy.grad(), (0.2, 1000.0, 0.05)  # rest, stiffness, weight of a link
hessian_times = slope.differential()
start = np.stack([np.linspace(0.0, 2.0, 13), np.zeros(13)], axis=1)
free = np.ones((13, 2))
free[[0, -1]] = 0.0  # the ends are held


def solve(times, b):
    """times(x) = b by conjugate gradients, among the positions that can move."""
    x, r = np.zeros_like(b), b * free
    p, size = r, np.sum(r * r)
    while size > 1e-24:
        q = times(p) * free
        x, r = x + size / np.sum(p * q) * p, r - size / np.sum(p * q) * q
        size, before = np.sum(r * r), size
        p = r + size / before * p
    return x


for step, count in ((0.1, 60), (0.01, 600)):
    points, velocity = start, np.zeros_like(start)
    for _ in range(count):
        velocity = velocity - step * slope(points, *system) * free
        points = points + step * velocity
    away = "flies off" if np.max(np.abs(points)) > 10 else f"is at {points[6, 1]:.4f}"
    print(f"Euler's method, {count} steps of {step}: the middle {away}")

points, velocity = start, np.zeros_like(start)
for _ in range(60):
    times = lambda v, at=points: v + 0.01 * hessian_times(at, *system, v)  # noqa: E731
    velocity = solve(times, velocity - 0.1 * slope(points, *system))
    points = points + 0.1 * velocity
print(f"with the forces after the step, 60 steps of 0.1: the middle is at {points[6, 1]:.4f}")

for _ in range(12):
    points = points - solve(lambda v, at=points: hessian_times(at, *system, v), slope(points, *system))
print(f"at rest, by Newton's method: the middle is at {points[6, 1]:.4f}")
print("operations: energy", energy.cost(points, *system), "gradient", slope.cost(points, *system), end=" ")
print("Hessian times a vector", hessian_times.cost(points, *system, start))
