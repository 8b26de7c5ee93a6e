"""How many arrays of its own size a gradient allocates, by way of adding; and that the numbers do not depend on it.

The counts are those of the seed "Gradient Accumulation"; the seed cotangent is not among them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from allocations import allocations

import wengert as wg

WAYS = ("plus", "in place", "actions")
N, M, P = 96, 80, 7
RANDOM = np.random.default_rng(3)
B, C = RANDOM.normal(size=(M, P)), RANDOM.normal(size=(M, P))
LEFT, RIGHT = RANDOM.normal(size=(P, N)), RANDOM.normal(size=(P, N))
V = RANDOM.normal(size=M)
PLACES = np.array([3, 3, 50, -1])
MASK = np.arange(N) % 3 == 0


def two_entries(x: np.ndarray) -> Any:
    return x[0] + x[1]


def loop_over_entries(x: np.ndarray) -> Any:
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return total


def slices(x: np.ndarray) -> Any:
    return sum(np.sum(np.sin(x[2:9])) for _ in range(5))


def indices(x: np.ndarray) -> Any:
    return x[::-3].sum() + x[PLACES].sum() + x[MASK].sum() + x[..., 4] + x[-1] + np.take(x, PLACES).sum()


def products_on_the_right(a: np.ndarray) -> Any:
    return np.sum(a @ B) + np.sum(a @ C)


def products_on_the_left(a: np.ndarray) -> Any:
    return np.sum(LEFT @ a) + np.sum(np.dot(RIGHT, a))


def products_with_vectors(a: np.ndarray) -> Any:
    return np.sum(np.sin(a @ V)) + np.sum(a.dot(V)) + np.sum(LEFT[0] @ a)


def scalings(a: np.ndarray) -> Any:
    return np.sum(a * 2.0) + np.sum(3.0 * a) + np.sum(a)


def concatenations(x: np.ndarray) -> Any:
    return np.sum(np.concatenate([x, x])[3:9] ** 2) + np.sum(np.hstack([x, x[:4]])[-2:])


def traces(a: np.ndarray) -> Any:
    square = a[:M]
    return np.trace(square) + np.sum(np.diag(square) ** 2) + np.sum(np.diagonal(square, 2))


def stores(x: np.ndarray) -> Any:
    y = x.copy()
    for i in range(1, len(y)):
        y[i] *= y[i - 1]
    return y[-1]


VECTOR, MATRIX = np.linspace(0.5, 1.5, N), RANDOM.normal(size=(N, M))

# gradient-sized arrays with "plus", "in place" and "actions"
COUNTS: list[tuple[Callable[[Any], Any], np.ndarray, tuple[int, int, int]]] = [
    (two_entries, VECTOR, (3, 2, 1)),
    (loop_over_entries, VECTOR, (2 * N - 1, N, 1)),
    (slices, VECTOR, (9, 5, 1)),
    (indices, VECTOR, (11, 6, 1)),
    (products_on_the_right, MATRIX, (3, 2, 1)),
    (products_on_the_left, MATRIX, (3, 2, 1)),
    (products_with_vectors, MATRIX, (5, 3, 1)),
    (scalings, MATRIX, (4, 3, 1)),
]


@pytest.mark.parametrize(("f", "x", "counts"), COUNTS, ids=lambda p: getattr(p, "__name__", ""))
def test_counts(f: Callable[[Any], Any], x: np.ndarray, counts: tuple[int, int, int]) -> None:
    found = []
    for way in WAYS:
        with wg.accumulation_options(add=way):
            _, pullback = wg.vjp(f, x)
            pullback(1.0)  # what is made once, on the first call, is not counted
            with allocations(x.nbytes) as count:
                pullback(1.0)
        found.append(count.arrays)
    assert tuple(found) == counts


@pytest.mark.parametrize("f", [*dict.fromkeys(f for f, _, _ in COUNTS), traces, stores], ids=lambda f: f.__name__)
def test_ways_agree(f: Callable[[Any], Any]) -> None:
    x = next((x for known, x, _ in COUNTS if known is f), MATRIX if f is traces else VECTOR)
    direction = RANDOM.normal(size=x.shape)
    (expected,) = wg.ngradient(lambda t: f(x + t * direction), 0.0)
    found = []
    for way in WAYS:
        with wg.accumulation_options(add=way):
            found.append(wg.grad(f)(x))
        assert np.sum(found[-1] * direction) == pytest.approx(expected, rel=1e-8), way
    np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=1e-12, atol=1e-14)


def test_many_traces_of_one_matrix_add_to_one_buffer() -> None:
    def f(a: np.ndarray) -> Any:
        return sum(k * np.trace(a) for k in range(20))

    a = RANDOM.normal(size=(M, M))
    wg.grad(f)(a)
    with allocations(a.nbytes) as count:
        gradient = wg.grad(f)(a)
    assert count.arrays == 1
    np.testing.assert_array_equal(gradient, sum(range(20)) * np.eye(M))


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_products_of_every_layout(order: Any, dtype: Any) -> None:
    """The gradient of ½Σ|A B + A C|² is (A B + A C)(B + C)ᴴ."""
    a, b, c = (RANDOM.normal(size=(70, 70)).astype(dtype) for _ in range(3))
    if np.iscomplexobj(a):
        a, b, c = (m + 1j * m[::-1] for m in (a, b, c))
    a, b, c = np.asarray(a, order=order), np.asarray(b, order=order), np.asfortranarray(c)
    gradient = wg.grad(lambda a: 0.5 * np.sum(np.abs(a @ b + a @ c) ** 2))(a)
    expected = np.conj((a @ b + a @ c) @ (b + c).conj().T)
    tolerance = 1e-3 if a.dtype.itemsize // (1 + np.iscomplexobj(a)) == 4 else 1e-10
    np.testing.assert_allclose(gradient, expected, rtol=tolerance, atol=tolerance * np.max(np.abs(expected)))
    assert gradient.dtype == a.dtype


def test_what_others_can_read_is_not_added_to() -> None:
    """ȳ of a sum goes to both terms: a product must not add itself to the array that both have."""
    a = RANDOM.normal(size=(M, M))
    seed = RANDOM.normal(size=(M, M))
    held = seed.copy()
    _, pullback = wg.vjp(lambda a, b: a @ B2 + a + b, a, a.copy())
    a_bar, b_bar = pullback(seed)
    np.testing.assert_array_equal(seed, held)
    np.testing.assert_array_equal(b_bar, held)
    np.testing.assert_allclose(a_bar, held @ B2.T + held, rtol=1e-12)


B2 = RANDOM.normal(size=(M, M))


def test_words() -> None:
    with pytest.raises(ValueError, match="'plus'"), wg.accumulation_options(add="minus"):
        pass
    with pytest.raises(ValueError, match="'pass through'"), wg.accumulation_options(strategy="best"):
        pass
    with pytest.raises(KeyError), wg.accumulation_options(add="plus"):
        raise KeyError
    with allocations(VECTOR.nbytes) as count:
        wg.grad(two_entries)(VECTOR)
    assert count.arrays == 1
