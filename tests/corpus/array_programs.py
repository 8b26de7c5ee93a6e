"""Programs over NumPy, and over libraries written in Python."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import colorsys
import math
import typing

import numpy as np
import scipy.integrate
import scipy.optimize
from program_table import A, V, W, Programs

program = Programs()

# -- NumPy


@program(V, W)
def ufuncs(a, b):
    total = np.exp(a) * np.sin(b) + np.log(a) / np.sqrt(a) - np.tanh(b) ** 2 + np.abs(b) + np.maximum(a, b)
    total += np.square(b) + np.reciprocal(a) + np.arctan2(a, b) + np.logaddexp(a, b) + np.power(a, 1.5) + np.negative(a)
    return np.sum(total * np.hypot(a, b) + np.minimum(a, 0.5) + np.clip(b, -1, 1))


@program(A)
def reductions(a):
    return (
        np.mean(a, axis=1)[0]
        + a.max() * a.min()
        + np.var(a)
        + np.cumsum(a)[3]
        + a.mean()
        + np.sum(a, 1, keepdims=True)[1, 0]
        + np.average(a[0])
        + np.median(a[0])
        + np.ptp(a)
    )


@program(A, V)
def shapes(a, v):
    b = a.reshape(3, 2).T + np.transpose(a.ravel().reshape(3, -1)) * np.expand_dims(v[:2], 1)
    c = np.concatenate([b, a], axis=0) * np.stack([v, v, v, v]) + np.vstack((a, a))
    d = np.hstack([c, np.ones((4, 1))]).flatten()[::2] + np.hstack((v, v, v[:2]))
    e = np.broadcast_to(v, (2, 3)) * np.swapaxes(np.atleast_2d(v).T @ np.ones((1, 2)), 0, 1) + np.roll(a, 1)
    return d.sum() * np.squeeze(v[None]).sum() + e.sum() + np.flip(v)[0] + a.T[1, 1] + np.array([v, v * 2])[1].sum()


@program(A, V)
def indexing(a, v):
    total = a[0] @ v + a[:, 1].sum() + a[..., -1] @ a[:, 0] + a[1, 2] * v[-1] + v[::-1][0]
    total += a[[0, 1, 0], [1, 2, 1]].sum() + a[a > 0.3].sum() + v[np.array([0, 0, 2])] @ v + a[None, :, 1:].sum()
    for row in a:
        for k, element in enumerate(row):
            total += element * k
    x, y, z = v
    first, *rest = a
    return total + x * y - z + first.sum() * len(rest) + np.take(v, [0, 2]).sum() + v[np.argmax(v)] * v.item(1)


@program(V)
def where_and_masks(v):
    w = np.where(v > 0.5, v**2, -v)
    mask = (v > 0.5) & ~(v > 1.0)
    if np.any(mask) and mask.sum() == 1 and (v > 0).all():
        w = w * 2
    return np.where(mask, w, 0.0).sum() + w[mask].sum() + np.select([v > 1, v > 0.5], [v, v * 2], 0.0).sum()


@program(A, V)
def matrix_products(a, v):
    square = a.T @ a + np.eye(3)
    return (
        np.dot(a, v).sum()
        + np.outer(v, v).sum()
        + np.inner(v, v)
        + square.sum()
        + np.tensordot(a, a, 2)
        + (a @ v) @ (a @ v)
        + np.vdot(v, v)
    )


@program(V)
def stores_and_views(v):
    out = np.zeros((2, 3))
    out[0] = v
    out[1, 1:] = v[:2] * 2
    view = out.T[1]
    view *= 3
    out += v
    np.multiply(out, 2.0, out=out)
    total = out.sum()
    out[:] = 0.0
    buffer = np.empty(3)
    for k in range(3):
        buffer[k] = v[k] * (buffer[k - 1] if k else 1.0)
    return total * buffer @ v


@program(V)
def lists_of_scalars_to_arrays(v):
    pieces = [math.sin(x) for x in v]
    a = np.array([[pieces[0], 2.0], [v[1], pieces[2]]])
    b = np.asarray([x * x for x in v.copy()])
    return (a @ a).sum() + b @ np.asarray(v) + np.sum(pieces) + np.stack(list(v))[0] + np.max([v[0], v[1]])


@program({"w": A.copy(), "b": [V[:2].copy(), 0.5]}, V)
def nested_arguments(parameters, x):
    hidden = np.tanh(parameters["w"] @ x + parameters["b"][0])
    return hidden.sum() * parameters["b"][1]


@program(V)
def numpy_scalars(v):
    s = v[0] * np.float64(2.0) + np.sin(v[1]) - 3 * v[2]
    s = s.item() + float(v[1]) + v.sum().item()
    return s * np.pi if s > 0 or s < -10 else s


@program(V, 0.3)
def gradient_descent_inside(v, rate):
    x = v.copy()
    for k in range(4):
        if np.linalg.norm(x) < 1e-3:
            break
        x = x - rate * (2 * x + np.cos(x))
    return x @ x


@program(V)
def numpy_functions_written_in_python(v):
    return np.linalg.norm(v, 1) + np.diff(v) @ v[1:] + np.trapezoid(v, dx=0.5) + np.cross(v, W)[1] + np.nan_to_num(v)[0]


# -- libraries


@program(
    np.array([1.3, 0.7, 0.8, 1.9, 1.2]),
    closed=(scipy.optimize.rosen_der(np.array([1.3, 0.7, 0.8, 1.9, 1.2])),),
)
def scipy_rosen(x):
    return scipy.optimize.rosen(x)


@program(0.7)
def scipy_solve_ivp(a):
    return scipy.integrate.solve_ivp(lambda t, y: -a * y, (0.0, 1.0), np.array([1.0]), rtol=1e-9, atol=1e-10).y[0, -1]


@program(0.2, 0.5, 0.9)
def colorsys_hls(r, g, b):
    hue, light, saturation = colorsys.rgb_to_hls(r, g, b)
    return hue * light + saturation


@program(1.5, 0.5)
def typing_helpers(x, y):
    return typing.cast(float, x) * y + typing.NamedTuple("Pair", [("a", float)])(x).a
