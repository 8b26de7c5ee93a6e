"""Patterns are exact where elements are moved, mapped and summed, whatever the code that does it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import ndimage, signal, sparse

import wengert as wg

X = np.random.default_rng(5).uniform(0.5, 1.5, 12)
PROGRAMS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {}
"""Functions whose Jacobian at the point has no entry that is zero by chance: it is its own pattern."""


def program(f: Callable[..., Any], x: np.ndarray = X) -> Callable[..., Any]:
    PROGRAMS[f.__name__] = f, x
    return f


@program
def stencil(x):
    return x[2:] * x[:-2] - np.sin(x[1:-1])


@program
def differences(x):
    return np.diff(x**2)


@program
def in_place(x):
    y = x * x
    for i in range(1, len(x) - 1):
        y[i] = x[i - 1] - 2 * x[i] + x[i + 1] ** 2
    return y


@program
def in_place_through_views(x):
    y = np.zeros((3, 4))
    column, corner = y[:, 1], y[1:, 2:]
    column[...] = x[:3]
    corner += np.exp(x[4:8].reshape(2, 2).T)
    y.T[0, 0] = x[11]
    return y + 0.0


@program
def gathered(x):
    return x[np.array([3, 0, 0, 7])] * x[[1, 1, 2, -1]]


@program
def scattered(x):
    y = np.zeros(5)
    np.add.at(y, [0, 1, 1, 4], x[:4] ** 2)
    y[[2, 3]] = x[4:6]
    return y


@program
def masked(x):
    y = x * 2.0
    y[x > 1.0] = 0.0
    return y[x < 1.0] ** 2


@program
def sorted_by_value(x):
    return x[np.argsort(x)] ** 2


@program
def taken(x):
    return np.take(x, [4, 2]) * np.take_along_axis(x, np.array([1, 1]), 0)


@program
def moved_about(x):
    a = x.reshape(3, 4)
    parts = [np.roll(a, 1, axis=1), np.flip(a, 0), np.pad(a, 1)[1:-1, :4], np.transpose(a).reshape(3, 4)]
    return np.concatenate(parts) + np.tile(a, (4, 1)) + np.stack([a] * 4).reshape(12, 4)


@program
def repeated(x):
    return np.repeat(x, 3) * np.broadcast_to(x, (3, 12)).ravel()


@program
def diagonals(x):
    return np.diag(np.tril(np.outer(x, x))) + np.diag(np.diag(x) + np.diag(x[1:], 1), 1).sum() * x


@program
def windows(x):
    return np.lib.stride_tricks.sliding_window_view(x, 3)[::2] ** 2


@program
def sums(x):
    a = x.reshape(3, 4)
    return a.sum(axis=0) ** 2, np.mean(a, axis=1, keepdims=True), np.max(np.exp(a), axis=(1,)), a.prod(axis=-1)


@program
def matrix_by_column(x):
    return np.einsum("ij,jk,k->ik", np.ones((2, 3)), x.reshape(3, 4), np.ones(4)) * x[:2, None]


@program
def stacked_products(x):
    return x[:8].reshape(2, 2, 2) @ x[4:].reshape(2, 2, 2)


@program
def banded_matrix(x):
    band = np.diag(np.ones(12)) - np.diag(np.ones(11), 1)
    return band @ x**2 + x @ band + np.dot(band.T, x[:, None])[:, 0]


@program
def neighbours_in_the_plane(x):
    u = np.zeros((5, 6))
    u[1:-1, 1:-1] = x.reshape(3, 4)
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * np.exp(u[1:-1, 1:-1])


@program
def by_columns_in_memory(x):
    y = np.zeros((4, 3), order="F")
    view = y.reshape(12, order="F")
    view[2:5] = x[2:5] ** 2
    y += 1.0
    return y.T * x.reshape(3, 4)


@program
def in_single_precision(x):
    y = x.astype(np.float32)
    return np.concatenate([y[::2], y[1::2]]) ** 2


@program
def single_numbers(x):
    a, b, *rest = x
    return [a * b, max(b, 9 * a), float(rest[0]) ** 2, sum(rest[1:3], rest[5])]


@program
def complex_on_the_way(x):
    z = x[:-1] + 1j * x[1:]
    return (z * z.conj()).real + np.imag(np.exp(z))


@program
def table(x):
    return np.interp(x, [0.0, 1.0, 2.0], [1.0, 3.0, 7.0])


@program
def branches(x):
    return np.array([x[i] * x[i - 1] if x[i] > 1.0 else 3 * x[i] for i in range(len(x))])


@program
def containers(x):
    parts = {"a": x[:2], "b": [x[3] ** 2]}
    return {"b": parts["b"][0] * parts["a"], "c": (parts["a"][0], x[::6])}


@program
def nothing_in_some(x):
    return np.concatenate([np.floor(x[:2]), x[2:4], np.ones(2)])


@program
def with_a_gradient_inside(x):
    return wg.grad(lambda z: np.sum(z[1:] ** 2 * z[:-1]))(x)


@program
def filtered(x):
    smooth = np.convolve(x, [1.0, 2.0, 1.0], "same") * np.correlate(x**2, np.array([1.0, 0.0, -1.0]), mode="same")
    return smooth, np.kron(np.eye(2), x[:2]), np.kron(x[:3], 2.0)


@program
def assembled(x):
    return np.bincount([0, 2, 2, 5], weights=x[3:7] ** 2, minlength=7)


def dense(f: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    """The Jacobian, by differences along each axis."""

    def flat(x: np.ndarray) -> np.ndarray:
        return np.concatenate([np.ravel(leaf) for _, leaf in wg.values.trees.leaves(f(x))]).astype(float)

    step = 1e-6
    units = np.eye(x.size).reshape(x.size, *x.shape)
    return np.stack([(flat(x + step * unit) - flat(x - step * unit)) / (2 * step) for unit in units], axis=1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_entries_and_pattern(name: str) -> None:
    f, x = PROGRAMS[name]
    expected = dense(f, x)
    found = wg.sparse_jacobian(f)(x)
    single = name == "in_single_precision"
    assert isinstance(found, sparse.csr_array)
    np.testing.assert_allclose(found.toarray(), expected, atol=0.2 if single else 1e-7, rtol=1e-6)
    pattern = wg.jacobian_pattern(f, x).toarray()
    if name not in WIDER:
        np.testing.assert_array_equal(pattern, abs(expected) > (0.3 if single else 1e-6))
    else:
        assert not (~pattern & (abs(expected) > 1e-6)).any()


WIDER = {"single_numbers", "sums", "masked"}  # a maximum has all arguments, whichever is the largest


def test_a_rule_that_lets_cotangents_through_a_step_has_entries() -> None:
    def binary(x):
        return (x > 0.9) * 1.0

    with wg.rules.scope():

        @wg.vjp_rule(binary)
        def binary_rule(y_bar, y, x):
            return y_bar

        found = wg.sparse_jacobian(binary)(X).toarray()
    np.testing.assert_array_equal(found, np.eye(12))


def test_a_rule_of_a_linear_function_that_says_so_is_exact() -> None:
    def every_second(x):
        return x[::2].copy()

    with wg.rules.scope():

        @wg.vjp_rule(every_second)
        def every_second_rule(y_bar, y, x):
            x_bar = np.zeros(np.shape(x))
            x_bar[::2] = y_bar
            return x_bar

        assert wg.jacobian_pattern(every_second, X).nnz == 6 * 12  # each may depend on each
        wg.extend.linear(every_second)
        assert wg.jacobian_pattern(every_second, X).nnz == 6


def test_rules_for_containers_objects_and_whole_functions() -> None:
    def spread(x):
        return {"low": x[:2] - 1.0, "high": [x * x]}

    with wg.rules.scope():

        @wg.rrule(spread)
        def spread_rule(x):
            def spread_pullback(bar):
                x_bar = bar["high"][0] * 2 * x
                x_bar[:2] += bar["low"]
                return x_bar

            return spread(x), spread_pullback

        @wg.custom_derivative
        def pairs(x):
            return x[::2], [x[1::2] ** 2]

        @pairs.vjp_rule
        def pairs_pullback(y_bar, y, x):
            x_bar = np.zeros(len(x))
            x_bar[::2], x_bar[1::2] = y_bar[0], y_bar[1][0] * 2 * x[1::2]
            return x_bar

        def f(x):
            made, (even, (odd,)) = spread(x), pairs(x)
            return made["low"] * made["high"][0][3:5], made, even[1:] * odd[:-1]

        np.testing.assert_allclose(wg.sparse_jacobian(f)(X).toarray(), dense(f, X), atol=1e-8)


# Filters of images, whose patterns are those of their Jacobians at numbers without a symmetry

IMAGE, KERNEL = np.random.default_rng(3).uniform(0.5, 1.5, (7, 9)), np.random.default_rng(4).normal(size=(3, 2))
KERNEL[1, 1] = 0.0
LINE = np.array([1.0, 0.0, -2.0, 0.5])
SECOND = sparse.diags_array([1.0, -2.0, 0.5], offsets=[-1, 0, 2], shape=(9, 9))


def scaled(matrix: Any, x: np.ndarray) -> Any:
    """Multiply the elements of a CSR matrix in order by the numbers x, again and again."""
    return sparse.csr_array((matrix.data * np.resize(x, matrix.nnz), matrix.indices, matrix.indptr), matrix.shape)


MODES = ("reflect", "constant", "nearest", "mirror", "wrap")
FILTERS: dict[str, Callable[[Any], Any]] = {
    "laplace": ndimage.laplace,
    "gaussian laplace": lambda x: ndimage.gaussian_laplace(x, 0.9, truncate=2.0),
    "gaussian": lambda x: ndimage.gaussian_filter(x, 0.9, truncate=2.0),
    "gaussian, derivative": lambda x: ndimage.gaussian_filter1d(x, 0.9, order=1, truncate=2.0),
    "gaussian magnitude": lambda x: ndimage.gaussian_gradient_magnitude(x + np.arange(9) ** 2, 0.9, truncate=2.0),
    "uniform": lambda x: ndimage.uniform_filter(x, 3),
    "uniform, one axis": lambda x: ndimage.uniform_filter1d(x, 4, axis=0, mode="constant", cval=2.0),
    "sobel": ndimage.sobel,
    "prewitt": lambda x: ndimage.prewitt(x, 0),
    "twice": lambda x: ndimage.convolve(ndimage.convolve1d(x, LINE), KERNEL) * x,
    "keywords": lambda x: ndimage.correlate(input=x, weights=KERNEL, mode="constant", cval=1.0, origin=(1, 0)),
    "a signal": lambda x: ndimage.convolve1d(x[0], LINE),
    "a large kernel": lambda x: ndimage.convolve(x, KERNEL[:, :1] * np.ones((1, 7)), mode="constant"),
    "cumulative sums": lambda x: np.cumsum(x, axis=1),
    "cumulative sums of a flattened array": lambda x: np.cumsum(x**2),
    "cumulative sums of a signal": lambda x: np.cumsum(x[0]),
    "rows of a sparse matrix": lambda x: SECOND.tocsr() @ x[0],
    "columns of a sparse matrix": lambda x: SECOND.tocsc() @ x[0] ** 2,
    "a sparse matrix and a dense one": lambda x: SECOND.tocsr() @ x.T,
    "a sparse matrix, transposed": lambda x: SECOND.tocsr().T @ x.T,
    "a sparse matrix whose elements move": lambda x: scaled(SECOND.tocsr(), x[0]) @ np.ones(9),
    "a filter with a finite response": lambda x: signal.lfilter([1.0, 0.0, 0.5], 2.0, x),
    "a recursive filter": lambda x: signal.lfilter([0.0, 0.5], [1.0, -0.9], x, axis=0),
    "a recursive filter from a state": lambda x: signal.lfilter([0.5, 1.0], [1.0, -0.9], x[0], zi=x[1, :1])[0],
    "the last state of a filter": lambda x: signal.lfilter([0.5, 1.0], [1.0, -0.9], x[0, :4], zi=x[1, :1])[1],
    **{f"convolve, {mode}": lambda x, mode=mode: ndimage.convolve(x, KERNEL, mode=mode) for mode in MODES},
    **{f"correlate, {mode}": lambda x, mode=mode: ndimage.correlate(x, KERNEL, mode=mode) for mode in MODES},
    **{f"correlate1d, {mode}": lambda x, mode=mode: ndimage.correlate1d(x, LINE, 0, mode=mode) for mode in MODES},
    **{f"uniform, {mode}": lambda x, mode=mode: ndimage.uniform_filter1d(x, 3, mode=mode) for mode in MODES},
}


def test_patterns_of_filters_are_exact() -> None:
    failed = []
    for name, f in FILTERS.items():
        jac, image = wg.sparse_jacobian(f), IMAGE
        by_hand = dense(lambda x, f=f: np.ravel(f(x.reshape(7, 9))), image.ravel())
        for _ in range(2):
            found = jac(image)
            is_exact = found.nnz <= np.count_nonzero(np.abs(by_hand) > 1e-7)
            if not is_exact or not np.allclose(found.toarray(), by_hand, atol=1e-6):
                failed.append((name, found.nnz, np.count_nonzero(np.abs(by_hand) > 1e-7)))
    assert not failed


def test_the_pattern_of_a_filter_follows_its_weights() -> None:
    weights = np.array([1.0, 0.0, 0.0])
    jac = wg.sparse_jacobian(lambda x: ndimage.convolve1d(x, weights, mode="constant") + ndimage.correlate(x, weights))
    for new in ([1.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 3.0, 0.0]):
        weights[:] = new
        np.testing.assert_allclose(jac(X).toarray(), dense(jac.__wrapped__, X), atol=1e-7)


DENSE = {
    "maximum filter": lambda x: ndimage.maximum_filter(x, 3),
    "minimum filter": lambda x: ndimage.minimum_filter(x, 3),
    "dilation": lambda x: ndimage.grey_dilation(x, 3),
    "gradient of morphology": lambda x: ndimage.morphological_gradient(x, 3),
    "sort": lambda x: np.sort(x.ravel()),
    "running maximum": lambda x: np.maximum.accumulate(x.ravel()),
}


@pytest.mark.parametrize("name", DENSE)
def test_a_pattern_that_grows_dense_along_axes_names_the_line(name: str) -> None:
    line = rf"test_pattern\.py:{DENSE[name].__code__.co_firstlineno}|ndimage"
    with pytest.warns(wg.DensePatternWarning, match=rf"takes 63 passes.* at \S*({line})"):
        wg.sparse_jacobian(DENSE[name])(IMAGE)
    with warnings.catch_warnings(action="error"):
        wg.sparse_jacobian(lambda x: np.sort(x, axis=1))(np.ones((40, 2)))


def test_a_pattern_that_is_dense_for_want_of_knowledge_names_the_call() -> None:
    jac = wg.sparse_jacobian(lambda x: ndimage.median_filter(x, 3) * 2.0)
    with pytest.warns(wg.DensePatternWarning, match=r"takes 63 passes.*in _rank_filter"):
        found = jac(IMAGE)
    np.testing.assert_allclose(found.toarray(), wg.jacobian(jac.__wrapped__)(IMAGE).reshape(63, 63))
    with warnings.catch_warnings(action="error"):
        jac(IMAGE + 1.0)  # it is told once
        wg.sparse_jacobian(lambda x: np.ones((60, 60)) @ x)(np.ones(60))  # it is dense
        wg.sparse_jacobian(lambda x: ndimage.median_filter(x, 3))(np.ones(9))
        wg.sparse_jacobian(lambda x: x * np.median(x[:2]))(np.arange(80.0))
