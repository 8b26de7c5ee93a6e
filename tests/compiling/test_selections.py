"""Items that a mask chooses, whose number depends on the arguments: one trace serves each number of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

R = np.random.default_rng(0)
X, Y = R.normal(size=(40, 3)), R.normal(size=40)
POINTS = R.normal(size=(8, 3))


def huber(w, X, y):
    r = y - X @ w
    a = np.abs(r)
    big = a > 0.5
    return 0.5 * np.sum(r[~big] ** 2) + np.sum(0.5 * (a[big] - 0.25))


def mean_of_positive(w, X, y):
    z = X @ w
    p = z[z > 0]
    return p.mean() if len(p) > 1 else 0.0 * w[0]


def pieces(w, X, y):
    z = X @ w
    out, m = np.zeros_like(z), z > 0
    out[m] = np.log1p(z[m])
    out[~m] = z[~m] ** 2
    return out.sum()


def indices(w, X, y):
    z = X @ w
    k = np.where(z > 0)[0]
    j = np.flatnonzero(z > -0.5)
    j = j[j < 30]
    return np.sum(np.exp(0.1 * z[k])) / len(k) + np.sum(z[j + 1] * y[j])


def entropy(w, X, y):
    p = np.maximum(X @ w, 0)
    p = p / p.sum()
    q = p[p > 0]
    return -np.sum(q * np.log(q))


def moments(w, X, y):
    r = y - X @ w
    k = r[np.abs(r) < 1.5 * np.std(r)]
    c = (k - k.mean()) / k.std(ddof=1)
    return np.mean(c**3) + k.var() + np.sum(k**2) / (k.size - 1) + k.max() - k.min() + np.prod(1 + 0.01 * k)


def mask_of_a_mask(w, X, y):
    z = X @ w
    p = z[z > -1] + 1.0
    q = p[p < 2].copy()
    q[q < 1] = q[q < 1] ** 2
    return np.sum(q * (2.0 - q))


def rows(w, X, y):
    z = X @ w
    m = z > 0
    A, b = X[m], z[m]
    r = A @ w - y[m]
    step = np.linalg.solve(A.T @ A + np.eye(3), A.T @ b)
    return r @ r + step.sum() + A.mean(axis=0)[2] + np.mean(A**2) + np.sum(A[:, 0] * r) + np.linalg.norm(r)


def matrix(w, X, y):
    Z = X * w
    m = Z > 0
    P, Z2 = Z[m], Z.copy()
    Z2[m], Z2[~m] = P**2, 0.0
    i, j = np.nonzero(m)
    return np.sum(np.log(P)) + Z2.sum() + np.sum(Z[i, j] * w[j])


def both_parts(w, X, y):
    z = X @ w
    parts = np.concatenate([z[z > 0] ** 2, np.exp(z[z <= 0])])
    return np.sum(parts) + np.sum(np.cumsum(parts)) * 0.01


def elementwise(w, X, y):
    z = X @ w
    p = z[z > 0]
    q = np.where(p > 1, p, p**2) + np.clip(p, 0.2, 1.0) * np.interp(p, [0.0, 1.0, 2.0], [0.0, 2.0, 3.0])
    return np.sum(q) + (w[1] if np.any(p > 2) else w[0]) + np.sum(np.ones(len(p)) * p)


def histogram(w, X, y):
    z, h = X @ w, np.zeros(4)
    b, m = (np.abs(y) * 3).astype(int) % 4, z > 0
    np.add.at(h, b[m], z[m])
    return np.sum(h**2) + np.sum(z[m]) / np.count_nonzero(m)


def writes_in_a_loop(w, X, y):
    z = X @ w
    for _ in range(12):
        z[z > 1] *= 0.5
        z[z < -1] += 0.3 * w[1] ** 2
    return np.sum(z**2)


def groups_in_a_loop(w, X, y):
    z, t = X @ w, 0.0
    group = np.arange(40) % 4
    for k in range(4):
        p = z[(group == k) & (z > 0)]
        if p.size > 0:
            t = t + p.mean() ** 2
    return t


def until_none_is_left(w, X, y):
    z, k = X @ w, 0
    while np.any(z > 0.5) and k < 50:
        z[z > 0.5] -= 0.3 * np.abs(w[0]) + 0.1
        k += 1
    return np.sum(z**2)


def neighbours(w, X, y):
    t, x = 0.0, X[:, :2] * w[:2]
    for i in range(12):
        d = np.sqrt(np.sum((x - x[i]) ** 2, axis=1) + 0.01)
        t = t + np.sum((1.0 - d[d < 1.0]) ** 2)
    return t


def chosen_again_and_again(w, X, y):
    x = np.abs(X @ w)
    weight, t = np.ones(len(x)), 0.0
    for k in range(8):
        x = x + 0.2 * w[0] ** 2 + 0.05 * k
        alive = x < 3.0
        t = t + np.sum(weight[~alive] * (x[~alive] - 3.0) ** 2)
        x, weight = x[alive], weight[alive] * 0.9
    return t + np.sum((x - 3.0) ** 2)


def one_less_each_time(w, X, y):
    x, n = X @ w, 0
    while len(x) > 3 and n < 40:
        x = x[np.abs(x) < np.abs(x).max()] * 1.01
        n += 1
    return np.sum(x**2)


def bodies(w, X, y):
    pos, vel = X[:6] + 0.0, 0.1 * X[6:12] * w[0]
    for _ in range(4):
        for i in range(6):
            d = pos - pos[i]
            r2 = np.sum(d * d, axis=1)
            near = (r2 < 4.0) & (np.arange(6) != i)
            weight = w[1] * (4.0 - r2[near]) ** 2
            vel[i] += 0.01 * np.sum(weight[:, None] * d[near] / (r2[near] + 0.1)[:, None], axis=0)
        pos += 0.5 * vel
    return np.sum(pos**2)


def until_it_settles(w, X, y):
    r = y - X @ w
    scale = np.median(np.abs(r)) + w[0] ** 2
    for _ in range(20):
        weight, near = np.zeros_like(r), np.abs(r) < 4.0 * scale
        weight[near] = (1.0 - (r[near] / (4.0 * scale)) ** 2) ** 2
        new = np.sqrt(np.sum(weight * r**2) / np.sum(weight)) / 0.9
        done = abs(new - scale) < 1e-3 * scale
        scale = new
        if done:
            break
    lo, hi = np.quantile(r, [0.1, 0.9])
    return np.log(scale) + np.var(np.clip(r, lo, hi))


def pairs(w, X, y):
    x, e = X[:8] * w, 0.0
    for _ in range(6):
        d = x[:, None] - x[None, :]
        r2 = np.sum(d * d, axis=2)
        i, j = np.nonzero((r2 < 2.0) & (r2 > 0.0))
        push = (2.0 - r2[i, j])[:, None] * d[i, j]
        force = np.zeros_like(x)
        np.add.at(force, i, push)
        e = e + np.sum((2.0 - r2[i, j]) ** 2)
        x = x + 0.02 * force
    return e + np.sum(x**2)


def items(w, X, y):
    t, k, z = 0.0, 0, X @ w
    for v in z[z > 0]:
        t = t + v**2 if v < 1.0 else t * 0.9 + k * v
        k += 1
    return t / k


def each_place(w, X, y):
    t, z = 0.0, X @ w
    out = 2.0 * z
    for k in np.flatnonzero(z > 0.2):
        if z[k - 1] < t:
            t = t + z[k] * k
        out[k] = t + z[k]
    return t + np.sum(out)


def numbered_places(w, X, y):
    t, z = 0.0, X @ w
    for i in range(3):
        k = np.where(z > 0.1 * i)[0]
        for j in range(1, len(k)):
            t = t + z[k[j]] * z[k[j - 1]] + i
    for row in X[np.abs(z) < 1.0]:
        t = t + np.sin(row @ w)
    return t


def from_the_end(w, X, y):
    z, t = X @ w, 0.0
    for i in range(3):
        chosen = z[z > 0.1 * i]
        t = t + chosen[-2] * chosen[-1] - np.sin(chosen[-2]) * np.mean(chosen)
    rows, places = X[z > 0.0], np.flatnonzero(z > 0.0)
    return t + (rows[-3] @ w) * z[places[-1]] * (places[-1] - places[-2])


def slices(w, X, y):
    z = np.cumsum(np.abs(X @ w))
    p, q = z[y > w[0]], np.sin(z)[y > w[0]]
    return np.sum((p[1:] - p[:-1]) * q[1:]) + np.sum(p[1:-1] * (q[2:] - q[:-2])) + np.sum(p[::-1] * q) / len(p[1:])


def first_three(w, X, y):
    z = X @ w
    p = z[np.abs(z) > 0.1]
    return np.sum(p[1:4] ** 2) + np.sum(np.flip(p)[:2])


def steps_between(w, X, y):
    z = np.cumsum(np.abs(X @ w))
    p = z[y > w[0]]
    return np.sum(np.diff(p) ** 2) + np.trapezoid(np.sin(p), p) + np.trapezoid(p, dx=0.1)


def lines_between(w, X, y):
    z = np.cumsum(np.abs(X @ w))
    p, q = z[y > w[0]], np.sin(z)[y > w[0]]
    at_end = np.interp(p[-1], p, q) + np.interp(p[-1] * 1.01, p, q) + np.interp(p[-1] * 0.99, p, q)
    return np.sum(np.interp(np.linspace(0.0, 30.0, 11), p, q) ** 2) + at_end


def places_of_extrema(w, X, y):
    z = np.cumsum(np.abs(X @ w))
    p = z[y > w[0]]
    found = p[np.argmax(np.sin(p))] + p[np.cos(p).argmin()]
    return found + p[np.searchsorted(p, 0.5 * p[-1])] + np.sum(np.searchsorted(p, [-1.0, 5.0, np.inf], side="right"))


def outer_products(w, X, y):
    z = X @ w
    p, q = z[z > 0], np.exp(z)[z > 0]
    return np.sum(np.sum(p[:, None] * z[None, :3], axis=1) * q) + np.sum(np.exp(-((p[:, None] - z[None, :5]) ** 2)))


def side_by_side(w, X, y):
    z = X @ w
    p, q = z[z > 0], np.exp(z)[z > 0]
    total = 0.0
    for k, (a, b) in enumerate(zip(p, q, strict=True)):
        total = 0.9 * total + a * b * k
    return total


FUNCTIONS = [
    huber, mean_of_positive, pieces, indices, entropy, moments, mask_of_a_mask, rows, matrix, both_parts, elementwise,
    histogram, writes_in_a_loop, groups_in_a_loop, until_none_is_left, neighbours, chosen_again_and_again,
    one_less_each_time, bodies, pairs, until_it_settles, items, each_place, numbered_places,
    from_the_end, slices, first_three, steps_between, lines_between, places_of_extrema, outer_products, side_by_side,
]  # fmt: skip


def differences(f: Callable[..., Any], w: np.ndarray, *rest: Any) -> np.ndarray:
    """Return the gradient by central differences of two steps, extrapolated."""

    def slope(h: float) -> np.ndarray:
        steps = h * np.eye(len(w))
        return np.array([(f(w + e, *rest) - f(w - e, *rest)) / (2 * h) for e in steps])

    return (4 * slope(5e-6) - slope(1e-5)) / 3


def called(f: Callable[..., Any], native: bool = False, points: Any = POINTS) -> Any:
    """Return a compiled function, after it is checked at all points."""
    compiled = wg.compile(wg.value_and_grad(f), native=native)
    for w in points:
        value, slope = compiled(w.copy(), X, Y)
        expected = f(w.copy(), X, Y)
        assert np.isclose(value, expected, rtol=1e-12, atol=1e-12)
        assert type(value) is type(expected)
        np.testing.assert_allclose(slope, differences(f, w, X, Y), rtol=2e-5, atol=2e-6)
    return compiled


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_one_trace_serves_each_number_of_items(f):
    compiled = called(f)
    assert "not compiled" not in compiled.status
    traces = compiled.explain().splitlines()[0].rpartition(", ")[2]
    assert int(traces.split()[0]) <= 2


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_an_iterator_over_chosen_items_may_be_empty_in_the_trace():
    def total(items, a):
        t = 0.0
        for v in items:
            if v > 1.0:
                continue
            t = t + v * a
        return t

    compiled = wg.compile(wg.grad(lambda a, x: total(x[x > 0], a) + total(iter(x[x < 0]), a)), native=False, quiet=True)
    x = np.linspace(0.2, 1.4, 9)
    for n in (5, 3, 9, 0):
        y = np.where(np.arange(9) < n, x, -x)
        assert compiled(2.0, y) == pytest.approx(np.sum(y[y <= 1.0]))


def unsorted(w, X, y):
    z = X @ w
    return np.sum(np.sort(z[z > 0])[:2])


def gathered(w, X, y):
    z = X @ w
    return np.sum([v for v, _ in zip(z[z > 0], y, strict=False)])


def filled_by_c(w, X, y):
    z = X @ w
    p = z[z > 0]
    return np.sum(p * np.full_like(p, 2.0)) + np.sum(np.array([1.0] * len(p))) + p.nbytes * w[0]


def shape_only(w, X, y):
    z = X @ w
    p = z[z > 0]
    return w[0] * len(list(zip(p, y, strict=False))) + w[1] * sum(1 for _ in iter(p)) + np.sum(np.full_like(p, 2.0))


def returned(w, X, y):
    z = X @ w
    state.append(z[z > 0])
    return np.sum(z**2)


state: list[Any] = []


@pytest.mark.parametrize("f", [unsorted, gathered, filled_by_c, shape_only, returned], ids=lambda f: f.__name__)
def test_other_uses_are_guarded(f):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wg.NotCompiledWarning)
        called(f)


@pytest.mark.parametrize("empty", [0, 3, 7])
def test_a_selection_may_be_empty(empty):
    """The first trace, or a later one, has chosen no item."""

    def f(w, x):
        x = x * w
        for _ in range(4):
            x[x > 1.0] *= 0.5
        q = x[x < 0.0]
        return np.sum(x) + np.sum(np.sqrt(-q)) + (q.max() if len(q) else 0.0)

    points = [3.03, 0.53, 4.03, 2.03, 1.53, 9.03, 0.73, 5.03]
    points.insert(0, points.pop(empty))
    for x in (np.array([0.5, 1.1, 0.2]), np.array([-0.5, 1.1, 0.2])):
        compiled = wg.compile(wg.value_and_grad(f), native=False)
        for w in points:
            value, slope = compiled(w, x)
            assert np.isclose(value, f(w, x.copy()), rtol=1e-13)
            h = 1e-6
            assert np.isclose(slope, (f(w + h, x) - f(w - h, x)) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize("counts", [(7, 9, 12, 0, 10), (9, 7, 0, 2, 12), (0, 9, 8, 12)])
def test_a_loop_over_a_selection_of_any_length(counts):
    """The third item is missing in some calls, and a mean of no items is an error."""

    def f(w, x):
        total, n, chosen = 0.0, 0, np.flatnonzero(x > 0.0)
        for j in range(len(chosen)):
            total = total + w * x[chosen[j]] ** 2 * (chosen[j] + 1)
            n += 1
        for k in (0, 1, 2):
            total = total + w * x[chosen[k]]
        return total / n

    compiled = wg.compile(wg.value_and_grad(f), native=False)
    for n in counts:
        x = np.where(np.arange(12) < n, 1.0, -1.0) * np.linspace(0.5, 1.5, 12)
        if n < 3:
            with pytest.raises(IndexError):
                compiled(2.0, x)
            continue
        expected = (np.sum(x[:n] ** 2 * np.arange(1, n + 1)) + x[:3].sum()) / n
        np.testing.assert_allclose(compiled(2.0, x), (2.0 * expected, expected), rtol=1e-13)


def test_items_that_are_not_chosen_do_not_matter():
    def f(w, x):
        z = np.sqrt(x - w)
        ok = ~np.isnan(z)
        return np.mean(z[ok]) + np.sum(np.log(x[x > w] - w))

    x = np.arange(10.0)
    compiled = wg.compile(wg.value_and_grad(f), native=False)
    for w in (0.5, 3.5, 6.2, 8.1, 2.3):
        with np.errstate(all="ignore"):
            value, slope = compiled(w, x)
        y = x[x > w] - w
        assert np.isclose(value, np.mean(np.sqrt(y)) + np.sum(np.log(y)))
        assert np.isclose(slope, -np.mean(0.5 / np.sqrt(y)) - np.sum(1 / y))


def test_only_selections_of_varying_length_are_whole():
    """The others would cost more: each of these has a quarter of all items."""

    def f(w, x):
        t, group = 0.0, np.arange(x.size) % 4
        for k in range(4):
            t = t + np.sum((w * x[group == k]) ** 2)
        z = w * x
        return t + np.sum(z[z > 1.0] ** 3)

    x = np.linspace(0.1, 2.0, 20)
    compiled = wg.compile(f, native=False)
    for w in (1.0, 2.0, 3.0, 0.6):
        assert np.isclose(compiled(w, x), f(w, x), rtol=1e-13)
    assert "(5,)" in compiled.source()
    assert "not compiled" not in compiled.status


def test_a_length_is_an_integer():
    def f(w, x):
        p = x[x > w]
        n = len(p)
        words = f"{n} of {x.size}"
        return w * n, n / 2, n // 2, n > 3, words, p.shape == (n,), isinstance(n, int)

    x = np.arange(10.0)
    compiled = wg.compile(f, native=False, quiet=True)
    for w in (0.5, 3.5, 6.2, 8.1, 2.3):
        assert compiled(w, x) == f(w, x)
        assert [*map(type, compiled(w, x))] == [*map(type, f(w, x))]


def test_a_write_into_a_view_of_no_items():
    def f(w, x):
        chosen = (x * w)[x[:, 0] * w > 1.0]
        first = chosen[:, 0]
        first *= 3.0
        return np.sum(chosen)

    x = np.array([[0.5, 1.0], [1.1, 2.0], [0.2, 3.0]])
    compiled = wg.compile(wg.value_and_grad(f), native=False)
    for w in (1.0, 0.5, 3.0, 6.0, 0.7, 2.5):
        value, slope = compiled(w, x)
        assert np.isclose(value, f(w, x), rtol=1e-13)
        assert np.isclose(slope, f(w, x) / w, rtol=1e-13)


def joined_length(p, x):
    y = np.append(x[x > 0], 1.0)
    return p * np.sum(y) * (2.0 if len(y) > 3 else 1.0)


def caught_index(p, x):
    a = x[x > 0]
    try:
        return p * a[2]
    except IndexError:
        return 3.0 * p


def caught_update(p, x):
    a = p * x[x > 0]
    try:
        a += np.ones(3)
    except ValueError:
        return 5.0 * p
    return np.sum(a)


def summed_by_python(p, x):
    return p * sum(x[x > 0])


def squeezed(p, x):
    y = np.squeeze(x[x > 0])
    return p * (2.0 if y.ndim == 0 else np.sum(y))


def longest(p, x):
    return p * np.sum(max([x[x > 0], np.ones(2)], key=len))


def spread(p, x):
    return p * np.var(x[x > 0], ddof=2)


def counted(p, x):
    return p / np.count_nonzero(x > 0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize(
    "f",
    [joined_length, caught_index, caught_update, summed_by_python, squeezed, longest, spread, counted],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("counts", [(0, 1, 4), (2, 4, 3), (2, 1, 4), (1, 2, 4), (4, 0, 3, 1), (3, 2, 1)])
def test_a_length_that_code_learns_without_a_call_is_guarded(f, counts):
    compiled = wg.compile(wg.value_and_grad(f), native=False)
    for n in counts:
        x = np.where(np.arange(4) < n, 1.0, -1.0) * np.array([1.5, 0.7, 2.1, 0.4])
        value, slope = compiled(2.0, x)
        expected = f(2.0, x)
        assert type(value) is type(expected)
        np.testing.assert_allclose(value, expected, rtol=1e-13)
        if np.isfinite(expected):
            np.testing.assert_allclose(slope, (f(2.5, x) - f(1.5, x)), rtol=1e-12, atol=1e-14)
