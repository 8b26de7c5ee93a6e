"""The rows of `compiled_loops.py`: loops as plain Python, their gradients by hand, and as `scan` for JAX."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

RNG = np.random.default_rng(0)
STEPS, CELLS, SIZE, HIDDEN = 1000, 100, 512, 14


class Row(NamedTuple):
    """An objective, its arguments, which have gradients, the gradients by hand, and the objective as JAX wants it."""

    f: Callable[..., Any]
    by_hand: Callable[..., Any]
    by_scan: Callable[..., Any] | None  # JAX has no gradient of a loop that a test ends
    args: tuple[Any, ...]
    wrt: tuple[int, ...] = (0,)


def pendulum(x: float, y: float) -> Any:
    for _ in range(STEPS):
        x, y = x + 0.01 * y, y - 0.01 * math.sin(x)
    return x * x + y * y


def pendulum_by_hand(x: float, y: float) -> Any:
    kept = []
    for _ in range(STEPS):
        kept.append(x)
        x, y = x + 0.01 * y, y - 0.01 * math.sin(x)
    a, b = 2 * x, 2 * y
    for z in reversed(kept):
        a, b = a - 0.01 * math.cos(z) * b, b + 0.01 * a
    return x * x + y * y, (a, b)


def pendulum_by_scan(x: Any, y: Any) -> Any:
    import jax

    def step(state: Any, _: Any) -> Any:
        x, y = state
        return (x + 0.01 * y, y - 0.01 * jax.numpy.sin(x)), None

    (x, y), _ = jax.lax.scan(step, (x, y), None, STEPS)
    return x * x + y * y


def adaptive(x: float) -> Any:
    t = 0.0
    while t < 20.0:
        h = 0.01 + 0.02 * abs(math.sin(x))
        x, t = x - h * math.cos(x) * x, t + h
    return x


def adaptive_by_hand(x: float) -> Any:
    t, kept = 0.0, []
    while t < 20.0:
        kept.append(x)
        h = 0.01 + 0.02 * abs(math.sin(x))
        x, t = x - h * math.cos(x) * x, t + h
    a = 1.0
    for z in reversed(kept):
        s, c = math.sin(z), math.cos(z)
        h, slope = 0.01 + 0.02 * abs(s), 0.02 * math.copysign(c, s * c)
        a = a - a * (h * (c - s * z) + slope * c * z)
    return x, (a,)


def neighbours(a: np.ndarray) -> Any:
    s = 0.0
    for i in range(1, len(a)):
        s = s + 0.5 * (a[i] - a[i - 1] ** 2) ** 2
    return s


def neighbours_by_hand(a: np.ndarray) -> Any:
    s, g = 0.0, np.zeros(len(a))
    for i in range(1, len(a)):
        r = a[i] - a[i - 1] ** 2
        s = s + 0.5 * r * r
        g[i] += r
        g[i - 1] -= 2 * r * a[i - 1]
    return s, (g,)


def neighbours_by_scan(a: Any) -> Any:
    import jax

    return jax.lax.fori_loop(1, len(a), lambda i, s: s + 0.5 * (a[i] - a[i - 1] ** 2) ** 2, 0.0)


def heat(u: np.ndarray, c: float) -> Any:
    u = u.copy()
    for _ in range(CELLS):
        v = u[1:-1, 1:-1]
        u[1:-1, 1:-1] = v + c * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * v)
    return np.sum(u * u)


def heat_by_hand(u: np.ndarray, c: float) -> Any:
    u, kept = u.copy(), np.empty((CELLS, SIZE - 2, SIZE - 2))
    t = np.empty((SIZE - 2, SIZE - 2))
    for k in range(CELLS):
        s, v = kept[k], u[1:-1, 1:-1]
        np.add(u[:-2, 1:-1], u[2:, 1:-1], out=s)
        s += u[1:-1, :-2]
        s += u[1:-1, 2:]
        np.multiply(v, 4.0, out=t)
        s -= t
        np.multiply(s, c, out=t)
        v += t
    value, g, c_bar = np.vdot(u, u), 2 * u, 0.0
    d = np.empty((SIZE - 2, SIZE - 2))
    for k in range(CELLS - 1, -1, -1):
        np.multiply(g[1:-1, 1:-1], c, out=d)
        c_bar += np.vdot(g[1:-1, 1:-1], kept[k])
        np.multiply(d, 4.0, out=t)
        g[1:-1, 1:-1] -= t
        g[:-2, 1:-1] += d
        g[2:, 1:-1] += d
        g[1:-1, :-2] += d
        g[1:-1, 2:] += d
    return value, (g, c_bar)


def heat_by_scan(u: Any, c: Any) -> Any:
    import jax

    def step(u: Any, _: Any) -> Any:
        v = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return u.at[1:-1, 1:-1].set(v + c * (around - 4.0 * v)), None

    u, _ = jax.lax.scan(step, u, None, CELLS)
    return jax.numpy.sum(u * u)


def recurrence(x: np.ndarray) -> Any:
    rows = np.zeros((len(x), len(x)))
    rows[0] = x
    for k in range(1, len(x)):
        rows[k] = 0.9 * np.tanh(rows[k - 1]) + 0.1 * rows[k - 1][::-1]
    return np.sum(rows * rows)


def recurrence_by_hand(x: np.ndarray) -> Any:
    rows, slopes = np.empty((len(x), len(x))), np.empty((len(x), len(x)))
    rows[0] = x
    for k in range(1, len(x)):
        t = np.tanh(rows[k - 1])
        slopes[k] = 0.9 * (1.0 - t * t)
        rows[k] = 0.9 * t + 0.1 * rows[k - 1][::-1]
    x_bar = 2.0 * rows[-1]
    for k in range(len(x) - 1, 0, -1):
        x_bar = slopes[k] * x_bar + 0.1 * x_bar[::-1] + 2.0 * rows[k - 1]
    return np.vdot(rows, rows), (x_bar,)


def recurrence_by_scan(x: Any) -> Any:
    import jax

    def step(row: Any, _: Any) -> Any:
        return 0.9 * jax.numpy.tanh(row) + 0.1 * row[::-1], row

    return jax.numpy.sum(jax.lax.scan(step, x, None, len(x))[1] ** 2)


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def lstm(weights: np.ndarray, biases: np.ndarray, data: np.ndarray) -> Any:
    n = HIDDEN
    h, c = [np.zeros(n), np.zeros(n)], [np.zeros(n), np.zeros(n)]
    loss = 0.0
    for t in range(len(data) - 1):
        x = data[t]
        for layer in range(2):
            z = weights[layer] @ np.concatenate((x, h[layer])) + biases[layer]
            i, f, o = sigmoid(z[:n]), sigmoid(z[n : 2 * n]), sigmoid(z[2 * n : 3 * n])
            c[layer] = f * c[layer] + i * np.tanh(z[3 * n :])
            x = h[layer] = o * np.tanh(c[layer])
        loss = loss + np.sum((x - data[t + 1]) ** 2)
    return loss


def lstm_by_hand(weights: np.ndarray, biases: np.ndarray, data: np.ndarray) -> Any:
    n, steps = HIDDEN, len(data) - 1
    inputs, gates = np.zeros((steps, 2, 2 * n)), np.empty((steps, 2, 4 * n))
    cells, tanhs = np.zeros((steps + 1, 2, n)), np.empty((steps, 2, n))
    h, residuals, loss = np.zeros((2, n)), np.empty((steps, n)), 0.0
    for t in range(steps):
        x = data[t]
        for k in range(2):
            inputs[t, k, :n], inputs[t, k, n:] = x, h[k]
            z = weights[k] @ inputs[t, k]
            z += biases[k]
            s = gates[t, k]
            s[: 3 * n] = 1.0 / (1.0 + np.exp(-z[: 3 * n]))
            np.tanh(z[3 * n :], out=s[3 * n :])
            c = cells[t + 1, k]
            np.multiply(s[n : 2 * n], cells[t, k], out=c)
            c += s[:n] * s[3 * n :]
            np.tanh(c, out=tanhs[t, k])
            x = h[k] = s[2 * n : 3 * n] * tanhs[t, k]
        residuals[t] = x - data[t + 1]
        loss += residuals[t] @ residuals[t]
    w_bar, b_bar = np.zeros_like(weights), np.zeros_like(biases)
    h_bar, c_bar, z_bar = np.zeros((2, n)), np.zeros((2, n)), np.empty(4 * n)
    for t in range(steps - 1, -1, -1):
        h_bar[1] += 2 * residuals[t]
        for k in (1, 0):
            s, th = gates[t, k], tanhs[t, k]
            i, f, o, g = s[:n], s[n : 2 * n], s[2 * n : 3 * n], s[3 * n :]
            d = c_bar[k] + h_bar[k] * o * (1 - th * th)
            z_bar[:n] = d * g * i * (1 - i)
            z_bar[n : 2 * n] = d * cells[t, k] * f * (1 - f)
            z_bar[2 * n : 3 * n] = h_bar[k] * th * o * (1 - o)
            z_bar[3 * n :] = d * i * (1 - g * g)
            w_bar[k] += np.multiply.outer(z_bar, inputs[t, k])
            b_bar[k] += z_bar
            x_bar = z_bar @ weights[k]
            c_bar[k], h_bar[k] = d * f, x_bar[n:]
            if k:
                h_bar[0] += x_bar[:n]
    return loss, (w_bar, b_bar)


def lstm_by_scan(weights: Any, biases: Any, data: Any) -> Any:
    import jax

    jnp, n = jax.numpy, HIDDEN

    def step(state: Any, pair: Any) -> Any:
        hs, cs = state
        x, after = pair
        new_h, new_c = [], []
        for layer in range(2):
            z = weights[layer] @ jnp.concatenate((x, hs[layer])) + biases[layer]
            i, f, o = (1.0 / (1.0 + jnp.exp(-z[k * n : (k + 1) * n])) for k in range(3))
            new_c.append(f * cs[layer] + i * jnp.tanh(z[3 * n :]))
            x = o * jnp.tanh(new_c[layer])
            new_h.append(x)
        return (tuple(new_h), tuple(new_c)), jnp.sum((x - after) ** 2)

    zeros = (jnp.zeros(n), jnp.zeros(n))
    _, losses = jax.lax.scan(step, (zeros, zeros), (data[:-1], data[1:]))
    return jnp.sum(losses)


def ode(first: np.ndarray, second: np.ndarray, y: np.ndarray) -> Any:
    def slope(y: np.ndarray) -> np.ndarray:
        return np.tanh(y @ first) @ second

    for _ in range(200):
        a = slope(y)
        b = slope(y + 0.005 * a)
        c = slope(y + 0.005 * b)
        d = slope(y + 0.01 * c)
        y = y + 0.01 / 6 * (a + 2 * b + 2 * c + d)
    return np.sum(y**2)


def ode_by_hand(first: np.ndarray, second: np.ndarray, y: np.ndarray) -> Any:
    steps, places = 200, np.empty((200, 4, *y.shape))
    hidden = np.empty((200, 4, len(y), first.shape[1]))
    for t in range(steps):
        slopes: list[Any] = []
        for k, size in enumerate((0.0, 0.005, 0.005, 0.01)):
            x = places[t, k]
            x[...] = y
            if k:
                x += size * slopes[-1]
            np.tanh(np.matmul(x, first, out=hidden[t, k]), out=hidden[t, k])
            slopes.append(hidden[t, k] @ second)
        a, b, c, d = slopes
        b += c
        b *= 2
        b += a
        b += d
        b *= 0.01 / 6
        y = y + b
    value, bar = np.vdot(y, y), 2 * y
    first_bar, second_bar = np.zeros_like(first), np.zeros_like(second)
    for t in range(steps - 1, -1, -1):
        total, onward = bar.copy(), np.zeros_like(bar)
        for k, share, size in ((3, 1, 0.0), (2, 2, 0.01), (1, 2, 0.005), (0, 1, 0.005)):
            slope_bar = 0.01 / 6 * share * bar
            slope_bar += size * onward
            h = hidden[t, k]
            second_bar += h.T @ slope_bar
            z_bar = slope_bar @ second.T
            z_bar -= z_bar * (h * h)
            first_bar += places[t, k].T @ z_bar
            onward = z_bar @ first.T
            total += onward
        bar = total
    return value, (first_bar, second_bar)


def ode_by_scan(first: Any, second: Any, y: Any) -> Any:
    import jax

    def slope(y: Any) -> Any:
        return jax.numpy.tanh(y @ first) @ second

    def step(y: Any, _: Any) -> Any:
        a = slope(y)
        b = slope(y + 0.005 * a)
        c = slope(y + 0.005 * b)
        d = slope(y + 0.01 * c)
        return y + 0.01 / 6 * (a + 2 * b + 2 * c + d), None

    y, _ = jax.lax.scan(step, y, None, 200)
    return jax.numpy.sum(y**2)


def lstm_arguments() -> tuple[Any, ...]:
    n = HIDDEN
    return 0.1 * RNG.normal(size=(2, 4 * n, 2 * n)), 0.1 * RNG.normal(size=(2, 4 * n)), RNG.normal(size=(STEPS + 1, n))


def ode_arguments() -> tuple[Any, ...]:
    return 0.3 * RNG.normal(size=(2, 64)), 0.3 * RNG.normal(size=(64, 2)), RNG.normal(size=(100, 2))


ROWS: dict[str, Callable[[], Row]] = {
    "floats, 1000": lambda: Row(pendulum, pendulum_by_hand, pendulum_by_scan, (0.5, 0.1), (0, 1)),
    "until t = 20": lambda: Row(adaptive, adaptive_by_hand, None, (0.7,)),
    "indices, 1000": lambda: Row(
        neighbours, neighbours_by_hand, neighbours_by_scan, (0.3 * RNG.normal(size=STEPS + 1),)
    ),
    "heat, 512² x 100": lambda: Row(heat, heat_by_hand, heat_by_scan, (RNG.normal(size=(SIZE, SIZE)), 0.1), (0, 1)),
    "rows, 400": lambda: Row(recurrence, recurrence_by_hand, recurrence_by_scan, (np.linspace(0.1, 1.0, 400),)),
    "LSTM, 1000": lambda: Row(lstm, lstm_by_hand, lstm_by_scan, lstm_arguments(), (0, 1)),
    "neural ODE, 200": lambda: Row(ode, ode_by_hand, ode_by_scan, ode_arguments(), (0, 1)),
}
