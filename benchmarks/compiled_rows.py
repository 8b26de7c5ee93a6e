"""The rows of `compiled.py`: objectives as plain NumPy, and their gradients written by hand beside them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

RNG = np.random.default_rng(0)


class Row(NamedTuple):
    """An objective, its arguments, which of them have gradients, and the gradients of these written by hand."""

    f: Callable[..., Any]
    by_hand: Callable[..., Any]
    args: tuple[Any, ...]
    wrt: tuple[int, ...] = (0,)


def rosenbrock(x: np.ndarray) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_by_hand(x: np.ndarray) -> Any:
    x0 = x[:-1]
    u = x[1:] - x0 * x0
    w = 1 - x0
    value = 100 * (u @ u) + w @ w
    g = np.empty_like(x)
    u *= 200
    np.multiply(u, x0, out=g[:-1])
    g[:-1] += w
    g[:-1] *= -2
    g[-1] = 0
    g[1:] += u
    return value, g


def mlp(p: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> Any:
    h = np.tanh(x @ p[0] + p[1])
    h = np.tanh(h @ p[2] + p[3])
    return np.mean((h @ p[4] + p[5] - y) ** 2)


def mlp_by_hand(p: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> Any:
    a, b, c, d, e, f = p
    h = x @ a
    h += b
    np.tanh(h, out=h)
    k = h @ c
    k += d
    np.tanh(k, out=k)
    r = k @ e
    r += f
    r -= y
    value = np.vdot(r, r) / r.size
    r *= 2 / r.size
    k_bar = r @ e.T
    e_bar = k.T @ r
    k *= k
    np.subtract(1, k, out=k)
    k_bar *= k
    h_bar = k_bar @ c.T
    c_bar = h.T @ k_bar
    h *= h
    np.subtract(1, h, out=h)
    h_bar *= h
    return value, [x.T @ h_bar, h_bar.sum(0), c_bar, k_bar.sum(0), e_bar, r.sum(0)]


def mixture(alpha: np.ndarray, mean: np.ndarray, q: np.ndarray, x: np.ndarray) -> Any:
    """Minus the log likelihood of points under Gaussians with diagonal precisions exp(2q)."""
    z = (x[:, None, :] - mean) * np.exp(q)
    e = alpha + np.sum(q, axis=1) - 0.5 * np.sum(z**2, axis=2)
    top = np.max(e, axis=1, keepdims=True)
    per_point = np.log(np.sum(np.exp(e - top), axis=1)) + top[:, 0]
    largest = np.max(alpha)
    return len(x) * (np.log(np.sum(np.exp(alpha - largest))) + largest) - np.sum(per_point)


def mixture_by_hand(alpha: np.ndarray, mean: np.ndarray, q: np.ndarray, x: np.ndarray) -> Any:
    scale = np.exp(q)
    z = x[:, None, :] - mean
    z *= scale
    e = np.einsum("nkd,nkd->nk", z, z)
    e *= -0.5
    e += alpha + q.sum(1)
    top = e.max(1)
    e -= top[:, None]
    np.exp(e, out=e)
    total = e.sum(1)
    e /= total[:, None]
    weights = np.exp(alpha - alpha.max())
    value = len(x) * (np.log(weights.sum()) + alpha.max()) - (np.log(total).sum() + top.sum())
    mass = e.sum(0)
    alpha_bar = len(x) / weights.sum() * weights - mass
    mean_bar = np.einsum("nk,nkd->kd", e, z)
    mean_bar *= -scale
    z *= z
    q_bar = np.einsum("nk,nkd->kd", e, z)
    q_bar -= mass[:, None]
    return value, (alpha_bar, mean_bar, q_bar)


def bundle(
    cameras: np.ndarray, points: np.ndarray, weights: np.ndarray, seen: np.ndarray, which: Any, what: Any
) -> Any:
    """Weighted squares of reprojection errors; a camera is (rotation, centre, focal length, distortion)."""
    c = cameras[which]
    turn, p = c[:, :3], points[what] - c[:, 3:6]
    angle = np.sqrt(np.sum(turn**2, axis=1))[:, None]
    axis = turn / angle
    cos, sin = np.cos(angle), np.sin(angle)
    along = np.sum(axis * p, axis=1)[:, None]
    across = np.stack(
        [
            axis[:, 1] * p[:, 2] - axis[:, 2] * p[:, 1],
            axis[:, 2] * p[:, 0] - axis[:, 0] * p[:, 2],
            axis[:, 0] * p[:, 1] - axis[:, 1] * p[:, 0],
        ],
        axis=1,
    )
    r = p * cos + across * sin + axis * (along * (1 - cos))
    flat = r[:, :2] / r[:, 2:]
    bent = 1 + c[:, 7:8] * np.sum(flat**2, axis=1)[:, None]
    error = weights[:, None] * (c[:, 6:7] * bent * flat - seen)
    return 0.5 * np.sum(error**2)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    c = np.empty_like(a)
    c[:, 0] = a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1]
    c[:, 1] = a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2]
    c[:, 2] = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    return c


def dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", a, b)[:, None]


def bundle_by_hand(
    cameras: np.ndarray, points: np.ndarray, weights: np.ndarray, seen: np.ndarray, which: Any, what: Any
) -> Any:
    c = cameras[which]
    turn, p, focal, bend = c[:, :3], points[what] - c[:, 3:6], c[:, 6:7], c[:, 7:8]
    angle = np.sqrt(dots(turn, turn))
    axis = turn / angle
    cos, sin = np.cos(angle), np.sin(angle)
    along, across = dots(axis, p), cross(axis, p)
    r = p * cos + across * sin + axis * (along * (1 - cos))
    flat = r[:, :2] / r[:, 2:]
    square = dots(flat, flat)
    bent = 1 + bend * square
    w = weights[:, None]
    error = w * (focal * bent * flat - seen)
    value = 0.5 * np.vdot(error, error)
    error *= w
    c_bar = np.empty_like(c)
    inner = dots(error, flat)
    c_bar[:, 6:7] = bent * inner
    bent_bar = focal * inner
    c_bar[:, 7:8] = square * bent_bar
    flat_bar = focal * bent * error + 2 * bend * bent_bar * flat
    r_bar = np.empty_like(r)
    r_bar[:, :2] = flat_bar / r[:, 2:]
    r_bar[:, 2:] = -dots(r_bar[:, :2], flat)
    on_axis = dots(r_bar, axis)
    p_bar = r_bar * cos + cross(r_bar, axis) * sin + axis * (on_axis * (1 - cos))
    axis_bar = sin * cross(p, r_bar) + (1 - cos) * (along * r_bar + on_axis * p)
    angle_bar = -sin * dots(r_bar, p) + cos * dots(r_bar, across) + sin * along * on_axis
    c_bar[:, :3] = (axis_bar - axis * dots(axis, axis_bar)) / angle + axis * angle_bar
    c_bar[:, 3:6] = -p_bar
    return value, (_gathered(c_bar, which, len(cameras)), _gathered(p_bar, what, len(points)))


def _gathered(rows: np.ndarray, places: np.ndarray, n: int) -> np.ndarray:
    return np.stack([np.bincount(places, column, n) for column in rows.T], axis=1)


def options(spot: np.ndarray, sigma: np.ndarray, rate: float, strike: np.ndarray, time: np.ndarray) -> Any:
    """The sum of the prices of calls, after Black and Scholes."""
    root = sigma * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * sigma**2) * time) / root
    d2 = d1 - root
    return np.sum(spot * normal(d1) - strike * np.exp(-rate * time) * normal(d2))


def normal(x: np.ndarray) -> np.ndarray:
    """The normal distribution by the logistic function of a cubic."""
    return 1 / (1 + np.exp(-(1.5976 * x + 0.070566 * x**3)))


def options_by_hand(spot: np.ndarray, sigma: np.ndarray, rate: float, strike: np.ndarray, time: np.ndarray) -> Any:
    root_time = np.sqrt(time)
    root = sigma * root_time
    d1 = (np.log(spot / strike) + (rate + 0.5 * sigma**2) * time) / root
    d2 = d1 - root
    n1, n2 = normal(d1), normal(d2)
    discounted = strike * np.exp(-rate * time)
    value = np.vdot(spot, n1) - np.vdot(discounted, n2)
    d1_bar = spot * n1 * (1 - n1) * (1.5976 + 0.211698 * d1**2)
    d2_bar = discounted * n2 * (1 - n2) * (1.5976 + 0.211698 * d2**2)
    both = (d1_bar - d2_bar) / root
    spot_bar = n1 + both / spot
    sigma_bar = (d2_bar + both * (sigma * root_time - d1)) * root_time
    rate_bar = np.vdot(time, both) + np.vdot(time * discounted, n2)
    return value, (spot_bar, sigma_bar, rate_bar)


def trace_of_outer(a: np.ndarray, b: np.ndarray) -> Any:
    return np.trace(np.outer(a, b))


def sum_of_outer(a: np.ndarray, b: np.ndarray) -> Any:
    return np.sum(np.outer(a, b))


def sum_of_outer_by_hand(a: np.ndarray, b: np.ndarray) -> Any:
    s, t = np.sum(a), np.sum(b)
    return s * t, (np.full(a.shape, t), np.full(b.shape, s))


def trace_of_diagonal(v: np.ndarray) -> Any:
    return np.trace(np.diag(v))


def softmax(scale: np.ndarray, x: np.ndarray) -> Any:
    """The sum of squares of the probabilities of classes; arrays of too many columns to be taken apart."""
    e = np.exp(x * scale - np.max(x * scale, axis=1)[:, None])
    p = e / np.sum(e, axis=1)[:, None]
    return np.sum(p * p)


def softmax_by_hand(scale: np.ndarray, x: np.ndarray) -> Any:
    p = x * scale
    p -= p.max(1)[:, None]
    np.exp(p, out=p)
    p /= p.sum(1)[:, None]
    squares = p * p
    per_row = squares.sum(1)
    p *= per_row[:, None]
    squares -= p
    squares *= 2
    return per_row.sum(), np.einsum("nk,nk->k", squares, x)


def bundle_arguments(cameras: int = 49, points: int = 7776, seen: int = 31843) -> tuple[Any, ...]:
    places = RNG.normal(size=(points, 3)) + [0, 0, 5]
    camera = np.concatenate([RNG.normal(size=(cameras, 6)) * 0.1, np.full((cameras, 2), [1.0, 0.01])], axis=1)
    which, what = RNG.integers(0, cameras, seen), RNG.integers(0, points, seen)
    return camera, places, RNG.uniform(0.5, 1, seen), RNG.normal(size=(seen, 2)), which, what


def mixture_arguments(n: int, d: int, k: int) -> tuple[Any, ...]:
    return RNG.normal(size=k), RNG.normal(size=(k, d)), RNG.normal(size=(k, d)) * 0.1, RNG.normal(size=(n, d))


def mlp_arguments(batch: int, *widths: int) -> tuple[Any, ...]:
    layers = itertools.pairwise(widths)
    p = [part for m, n in layers for part in (RNG.normal(size=(m, n)) / np.sqrt(m), np.zeros(n))]
    return p, RNG.normal(size=(batch, widths[0])), RNG.normal(size=(batch, widths[-1]))


def option_arguments(n: int) -> tuple[Any, ...]:
    uniform = RNG.uniform
    return uniform(80, 120, n), uniform(0.1, 0.4, n), 0.03, uniform(80, 120, n), uniform(0.25, 2, n)


def two(n: int) -> tuple[Any, ...]:
    return RNG.normal(size=n), RNG.normal(size=n)


ROWS: dict[str, Callable[[], Row]] = {
    "Rosenbrock, 100": lambda: Row(rosenbrock, rosenbrock_by_hand, (RNG.normal(size=100),)),
    "Rosenbrock, 1e5": lambda: Row(rosenbrock, rosenbrock_by_hand, (RNG.normal(size=100_000),)),
    "MLP, 2 of 256": lambda: Row(mlp, mlp_by_hand, mlp_arguments(256, 64, 256, 256, 10)),
    "mixture, d=10 k=25": lambda: Row(mixture, mixture_by_hand, mixture_arguments(1000, 10, 25), (0, 1, 2)),
    "mixture, d=64 k=50": lambda: Row(mixture, mixture_by_hand, mixture_arguments(1000, 64, 50), (0, 1, 2)),
    "bundle adjustment": lambda: Row(bundle, bundle_by_hand, bundle_arguments(), (0, 1)),
    "softmax, 5000 x 24": lambda: Row(softmax, softmax_by_hand, (RNG.normal(size=24), RNG.normal(size=(5000, 24)))),
    "options, 1e6": lambda: Row(options, options_by_hand, option_arguments(1_000_000), (0, 1, 2)),
    "trace(outer), 1000": lambda: Row(trace_of_outer, lambda a, b: (a @ b, (b.copy(), a.copy())), two(1000), (0, 1)),
    "sum(outer), 1000": lambda: Row(sum_of_outer, sum_of_outer_by_hand, two(1000), (0, 1)),
    "trace(diag), 2000": lambda: Row(trace_of_diagonal, lambda v: (np.sum(v), np.ones(len(v))), two(2000)[:1]),
}
