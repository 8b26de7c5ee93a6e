"""Random Python functions: read, run and differentiated, they are what a plain run and dual numbers give."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from tensor_scalars import plain_cost, plain_jvp
from tensor_sources import arguments, written

import wengert as wg

NIGHTLY = os.environ.get("WENGERT_TENSOR_EXAMPLES")
COUNT = int(NIGHTLY or 40)


def case(seed: int) -> tuple[Any, Any, str, tuple[Any, ...]]:
    """A tensor function that runs, the plain one, its source and arguments; the language has no negated existential."""
    (f, source), args = written(seed), arguments(seed)
    tensor = wg.tensor.function(f, backend="numpy")
    try:
        tensor(*args)
    except wg.TensorLanguageError as error:
        if "stays an existential" not in str(error):
            raise
        reject()
    return tensor, f, source, args


def leaves(value: Any) -> list[np.ndarray]:
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in leaves(part)]
    return [np.asarray(value, dtype=float)]


def close(mine: Any, plain: Any, source: str) -> None:
    for a, b in zip(leaves(mine), leaves(plain), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=source)


def inner(a: Any, b: Any) -> float:
    return float(sum(np.sum(p * q) for p, q in zip(leaves(a), leaves(b), strict=True)))


@settings(max_examples=COUNT, deadline=None, derandomize=not NIGHTLY)
@given(st.integers(0, 10**9))
def test_value_tangent_and_cotangents(seed: int) -> None:
    tensor, f, source, args = case(seed)
    numbers = args[1:]
    y = f(*args)
    close(tensor(*args), y, source)
    rng = np.random.default_rng(seed)
    tangents = tuple(rng.normal(size=np.shape(x)) for x in numbers)
    y_dot = plain_jvp(f, args, (None, *tangents))
    close(tensor.differential((1, 2, 3))(*args, *tangents), y_dot, source)
    y_bar = tuple(rng.normal(size=leaf.shape) for leaf in leaves(y_dot))
    bars = tensor.adjoint(*args, y_bar if isinstance(y, tuple) else y_bar[0])
    expected = inner(y_bar, y_dot)
    assert abs(inner(bars, tangents) - expected) <= 1e-8 * (1 + abs(expected)), source


@settings(max_examples=COUNT, deadline=None, derandomize=not NIGHTLY)
@given(st.integers(0, 10**9))
def test_costs(seed: int) -> None:
    """The model never counts less than a plain run: it looks for zeros in the text only, a run finds them all."""
    tensor, f, source, args = case(seed)
    cost, size = tensor.cost(*args), sum(leaf.size for leaf in leaves(tensor(*args)))
    assert cost >= plain_cost(f, *args), source
    y_bar = tuple(np.ones_like(leaf) for leaf in leaves(f(*args)))
    assert tensor.adjoint.cost(*args, y_bar) <= 4 * cost + size, source
