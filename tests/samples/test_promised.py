"""What is promised by name: each called as users call it, its gradient against differences.

Functions of `math` and `cmath` and ufuncs have tests of their own (test_every_function, test_rules). float32 stays
float32; arrays of no element and of no dimension pass where the function takes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sampling import values

import wengert as wg
from wengert.values.callables import callable_name

X, Y, A, B = values(6), values(6, low=-1), values(3, 4), values(3, 4, low=-1)
S = values(4, 4) + 4 * np.eye(4)
T, C = values(2, 3, 4), values(2, 3)

FUNCTIONS: dict[str, list[tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "prod": [(np.prod, (X,)), (lambda a: np.prod(a, axis=0), (B,)), (lambda a: a.prod(1, keepdims=True), (A,))],
    "cumprod": [(np.cumprod, (X,)), (lambda a: a.cumprod(1), (B,))],
    "cumsum": [(np.cumsum, (A,)), (lambda a: a.cumsum(0), (B,))],
    "var": [(np.var, (X,)), (lambda a: np.var(a, axis=0, ddof=1), (B,)), (lambda a: a.var(1), (A,))],
    "std": [(np.std, (X,)), (lambda a: np.std(a, axis=-1, keepdims=True), (B,)), (lambda a: a.std(), (A,))],
    "ptp": [(np.ptp, (X,)), (lambda a: np.ptp(a, axis=0), (B,))],
    "average": [(np.average, (X,)), (lambda a, w: np.average(a, 0, w), (A, A * A))],
    "swapaxes": [(lambda a: np.swapaxes(a, 0, 2), (T,)), (lambda a: a.swapaxes(0, 1), (A,))],
    "moveaxis": [(lambda a: np.moveaxis(a, 0, -1), (T,)), (lambda a: np.moveaxis(a, [0, 1], [-1, 0]), (T,))],
    "squeeze": [(lambda a: np.squeeze(a[:, None]), (A,)), (lambda a: a[None].squeeze(0), (A,))],
    "expand_dims": [(lambda a: np.expand_dims(a, (0, -1)), (A,))],
    "hstack": [(lambda a, b: np.hstack([a, b]), (A, C.T)), (lambda x: np.hstack((x, 1.0, x)), (X,))],
    "vstack": [(lambda a, x: np.vstack([a, x[:4]]), (A, X))],
    "dstack": [(lambda a, b: np.dstack([a, b]), (A, B))],
    "column_stack": [(lambda a, x: np.column_stack([a, x[:3]]), (A, X))],
    "stack": [(lambda a, b: np.stack([a, b], axis=1), (A, B))],
    "concatenate": [(lambda a, b: np.concatenate([a, b], axis=None), (A, B))],
    "block": [(lambda a, b: np.block([[a, b], [b, a]]), (A, B))],
    "split": [(lambda x: np.split(x, 3)[1], (X,)), (lambda a: np.split(a, [1, 3], axis=1)[1], (A,))],
    "repeat": [(lambda x: np.repeat(x, 3), (X,)), (lambda a: a.repeat([1, 0, 2], axis=0), (A,))],
    "tile": [(lambda x: np.tile(x, 2), (X,)), (lambda a: np.tile(a, (2, 1, 3)), (A,))],
    "flip": [(np.flip, (A,)), (lambda a: np.fliplr(a) + np.flipud(a), (A,))],
    "roll": [(lambda x: np.roll(x, 2), (X,)), (lambda a: np.roll(a, (1, -1), (0, 1)), (A,))],
    "rot90": [(np.rot90, (A,))],
    "pad": [(lambda a: np.pad(a, 1), (A,)), (lambda a: np.pad(a, ((1, 2), (0, 1)), mode="reflect"), (A,))],
    "take": [(lambda a: np.take(a, [0, 2, 2]), (A,)), (lambda a: a.take([3, 0], axis=1), (A,))],
    "take_along_axis": [(lambda a: np.take_along_axis(a, np.argsort(a, 1), 1), (B,))],
    "clip": [(lambda x: np.clip(x, -0.3, 0.9), (Y,)), (lambda x: x.clip(0.2), (Y,)), (np.clip, (Y, X * 0.2, X))],
    "select": [(lambda x, y: np.select([x < 0.8, x < 1.4], [x * x, y], x[0]), (X, Y))],
    "piecewise": [(lambda x: np.piecewise(x, [x < 1, x >= 1], [np.sin, lambda t: t * t]), (X,))],
    "where": [(lambda x, y: np.where(x > 1, x, y), (X, Y))],
    "sort": [(np.sort, (A,)), (lambda a: np.sort(a, axis=0), (B,))],
    "median": [(np.median, (X,)), (lambda a: np.median(a, axis=1), (B,))],
    "quantile": [(lambda a: np.quantile(a, [0.1, 0.6], axis=1), (B,)), (lambda a: np.percentile(a, 40), (B,))],
    "einsum": [(lambda a, b: np.einsum("ij,kj->ik", a, b), (A, B)), (lambda s: np.einsum("ii", s), (S,))],
    "tensordot": [(lambda t, a: np.tensordot(t, a, axes=([1, 2], [0, 1])), (T, A)), (np.tensordot, (T, S[:3]))],
    "matmul": [(lambda t, s: t @ s, (T, S)), (np.matmul, (A, S))],
    "dot": [(np.dot, (X, Y)), (lambda a, s: a.dot(s), (A, S))],
    "inner": [(np.inner, (A, B))],
    "outer": [(np.outer, (X, Y))],
    "kron": [(np.kron, (C, A))],
    "cross": [(np.cross, (A.T[:2], C)), (np.cross, (C, C[0] * 1.5 + A[0, :3]))],
    "trace": [(np.trace, (S,)), (lambda a: a.trace(1), (A,))],
    "diag": [(np.diag, (S,)), (lambda x: np.diag(x, 1), (X,)), (lambda a: a.diagonal(), (A,))],
    "tril": [(np.tril, (A,)), (lambda t: np.tril(t, -1), (T,))],
    "triu": [(np.triu, (A,)), (lambda t: np.triu(t, 1), (T,))],
    "linalg.solve": [(np.linalg.solve, (S, X[:4])), (np.linalg.solve, (S, A.T))],
    "linalg.inv": [(np.linalg.inv, (S,))],
    "linalg.det": [(np.linalg.det, (S,)), (np.linalg.det, (S * np.array([1.0, 0.9]).reshape(2, 1, 1),))],
    "linalg.slogdet": [(lambda s: np.linalg.slogdet(s)[1], (S,)), (lambda s: np.linalg.slogdet(s).logabsdet, (S,))],
    "linalg.norm": [(np.linalg.norm, (X,)), (lambda a: np.linalg.norm(a, axis=1), (B,)), (np.linalg.norm, (A,))],
    "linalg.cholesky": [(lambda s: np.linalg.cholesky(s @ s.T), (S,))],
    "linalg.eigh": [(lambda s: np.linalg.eigh(s + s.T)[0], (S,)), (lambda s: np.linalg.eigvalsh(s + s.T), (S,))],
    "linalg.svd": [
        (lambda a: np.linalg.svd(a, full_matrices=False)[1], (B,)),
        (lambda a: (lambda u, s, v: (u * s**2) @ v)(*np.linalg.svd(a, full_matrices=False)), (B,)),
    ],
    "linalg.qr": [(lambda s: np.linalg.qr(s)[0] @ np.linalg.qr(s)[1] ** 2, (S,))],
    "linalg.pinv": [(np.linalg.pinv, (B,))],
    "linalg.lstsq": [(lambda a, b: np.linalg.lstsq(a, b)[0], (B.T, X[:4]))],
    "linalg.multi_dot": [(lambda a, s: np.linalg.multi_dot([a, s, a.T]), (A, S))],
    "linalg.matrix_power": [
        (lambda s: np.linalg.matrix_power(s, 3), (S,)), (lambda s: np.linalg.matrix_power(s, -2), (S,)),
    ],
}  # fmt: skip
METHODS: dict[str, Callable[..., Any]] = {
    "all": lambda a: a * a.all(), "argmax": lambda a: a.ravel()[a.argmax()], "argsort": lambda a: a[0, a[0].argsort()],
    "astype": lambda a: a.astype(a.dtype) * a, "clip": lambda a: a.clip(0.5, 1.5), "conj": lambda a: a.conj(),
    "copy": lambda a: a.copy(), "diagonal": lambda a: a.diagonal(1), "dot": lambda a: a.dot(a.T),
    "flatten": lambda a: a.flatten(), "item": lambda a: a.item(5), "max": lambda a: a.max(axis=1),
    "mean": lambda a: a.mean(0), "min": lambda a: a.min(), "nonzero": lambda a: a[a.nonzero()],
    "ravel": lambda a: a.ravel(), "reshape": lambda a: a.reshape(2, -1), "round": lambda a: a * a.round(1),
    "searchsorted": lambda a: a * a[0].searchsorted(0.5), "squeeze": lambda a: a[:1].squeeze(),
    "sum": lambda a: a.sum(axis=(0, 1)), "transpose": lambda a: a.transpose(1, 0), "T": lambda a: a.T,
    "flat": lambda a: a.flat[2:5], "real": lambda a: a.real + a.imag,
}  # fmt: skip
CALLS = [(name, f, args) for name, cases in FUNCTIONS.items() for f, args in cases]
CALLS += [(name, f, (A,)) for name, f in METHODS.items()]
each = pytest.mark.parametrize(("name", "f", "args"), CALLS, ids=[name for name, _, _ in CALLS])


def weighted(f: Callable[..., Any]) -> Callable[..., Any]:
    """One number made of the result of a function."""

    def total(*xs: Any) -> Any:
        y = f(*xs)
        return np.sum(y * np.cos(np.arange(np.size(y), dtype=np.float32)).reshape(np.shape(y)))

    return total


def check(f: Callable[..., Any], *args: Any) -> None:
    """The gradient against differences, as a function of each argument."""
    total, places = weighted(f), tuple(range(len(args)))
    value, bars = wg.value_and_grad(total, argnums=places)(*args)
    np.testing.assert_allclose(value, total(*args), rtol=1e-12)
    for x_bar, expected in zip(bars, wg.ngradient(total, *args), strict=True):
        np.testing.assert_allclose(x_bar, expected, rtol=1e-6, atol=1e-8)


@each
def test_functions(name: str, f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(f, *args)


@each
def test_float32_stays(name: str, f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    places, narrow = tuple(range(len(args))), [np.float32(x) for x in args]
    bars = wg.grad(weighted(f), argnums=places)(*narrow)
    for x_bar, expected in zip(bars, wg.grad(weighted(f), argnums=places)(*args), strict=True):
        assert x_bar.dtype == np.float32
        np.testing.assert_allclose(x_bar, expected, rtol=1e-2, atol=1e-3)


OF_NOTHING = [
    np.prod, np.cumprod, np.cumsum, np.squeeze, np.flip, np.sort, np.diag, np.sum, np.linalg.norm,
    np.multiply.reduce, np.multiply.accumulate, np.maximum.accumulate, np.ravel,
    lambda x: np.repeat(x, 2), lambda x: np.tile(x, 2), lambda x: np.roll(x, 1), lambda x: np.clip(x, 0, 1),
    lambda x: np.hstack([x, x]), lambda x: np.vstack([x, x]), lambda x: np.column_stack([x, x]),
    lambda x: np.pad(x, 1), lambda x: np.where(x > 0, x, -x), lambda x: np.einsum("i,i", x, x), lambda x: x @ x,
    lambda x: np.outer(x, x), lambda x: np.kron(x, x), lambda x: np.take(x, np.array([], int)),
    lambda x: np.expand_dims(x, 0), lambda x: np.split(x, 2)[0], lambda x: np.add.outer(x, x),
    lambda x: np.tensordot(x, x, 1), lambda x: np.inner(x, x),
]  # fmt: skip
OF_A_NUMBER = [
    np.prod, np.cumprod, np.var, np.std, np.ptp, np.average, np.sum, np.mean, np.max, np.median, np.ravel,
    np.squeeze, np.atleast_1d, np.sin, np.add.outer, np.outer, np.inner, np.dot, np.kron, np.linalg.norm,
    lambda x: np.expand_dims(x, 0), lambda x: np.repeat(x, 2), lambda x: np.tile(x, 2), lambda x: np.clip(x, 0, 3),
    lambda x: np.hstack([x, x]), lambda x: np.vstack([x, x]), lambda x: np.stack([x, x]), lambda x: np.take(x, [0, 0]),
    lambda x: np.where(x > 0, x * x, x), lambda x: np.einsum(",", x, x), lambda x: np.flip(x), lambda x: np.roll(x, 1),
    lambda x: np.pad(x, 1), lambda x: np.quantile(x, 0.3), lambda x: x.reshape(1, 1),
]  # fmt: skip


@pytest.mark.parametrize("f", OF_NOTHING, ids=callable_name)
def test_of_nothing(f: Callable[..., Any]) -> None:
    x = np.ones(0)
    assert np.array_equal(wg.grad(weighted(f))(x), x)
    assert wg.grad(weighted(f))(np.float32(x)).dtype == np.float32


@pytest.mark.parametrize("f", OF_A_NUMBER, ids=callable_name)
def test_of_a_number(f: Callable[..., Any]) -> None:
    if f in (np.add.outer, np.outer, np.inner, np.dot, np.kron):
        check(f, np.array(1.3), np.array(0.4))
        return
    check(f, np.array(1.3))
    check(f, np.float64(1.3))
    assert wg.grad(weighted(f))(np.array(1.3, np.float32)).dtype == np.float32


UFUNCS = [np.add, np.subtract, np.multiply, np.true_divide, np.maximum, np.minimum, np.logaddexp, np.hypot]


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_methods_of_ufuncs(ufunc: np.ufunc) -> None:
    if ufunc is not np.true_divide:
        check(ufunc.reduce, X)
        check(lambda a: ufunc.reduce(a, axis=1), B)
    check(ufunc.accumulate, X)
    check(lambda a: ufunc.accumulate(a, 1), A)
    check(ufunc.outer, X, Y)

    def at(x: Any, y: Any) -> Any:
        z = x * 1.0
        ufunc.at(z, [0, 2, 2, 5], y[:4])
        return z

    check(at, X, Y)
