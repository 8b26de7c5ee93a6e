"""Parameters in containers: as one vector and back (`ravel`), and as constants (`stop_gradient`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from wengert.errors import ArgumentError
from wengert.values.functional import stopped
from wengert.values.specs import Spec, is_complex, is_inexact, spec_of
from wengert.values.trees import itself, rebuild

ENTERED = "It computes with parameters, also with those that a derivative traces."

X = TypeVar("X")

__all__ = ["ravel", "stop_gradient"]


class _LeafNumber(NamedTuple):
    """The number of a leaf, in its place in a form."""

    number: int


def ravel(params: X) -> tuple[np.ndarray, Callable[[Any], X]]:
    """Return all floats of `params` as one vector, and the function back from a vector: `(vector, unravel)`.

    Values that are not floats, integers included, are not in the vector. An array that `params` hold twice is in the
    vector once. You may differentiate both functions.

    Parameters:
        params (tree): Numbers and arrays in nested lists, tuples, dictionaries, data classes and other objects.
    Returns:
        tuple[array, callable]: `(vector, unravel)`. The vector has one axis and the common dtype of all leaves.
            `unravel(vector)` returns each float in its own shape and dtype, and the other values unchanged. It raises
            an ArgumentError for another shape, or for complex numbers if all parameters are real.
    See Also:
        tree_map, tree_leaves, jacobian

    Examples:
        >>> vector, unravel = wg.ravel({"w": np.array([[1.0, 2.0]]), "b": 3.0, "name": "linear"})
        >>> vector
        array([1., 2., 3.])
        >>> unravel(2 * vector)
        {'w': array([[2., 4.]]), 'b': 6.0, 'name': 'linear'}
    """
    form, leaves = _form_and_leaves(params)
    specs = [spec_of(leaf) for leaf in leaves]
    vector = np.concatenate([np.ravel(leaf) for leaf in leaves]) if leaves else np.zeros(0)
    shape, is_real = vector.shape, not is_complex(vector)

    def unravel(vector: Any) -> Any:
        if np.shape(vector) != shape:
            raise ArgumentError(f"unravel takes a vector of shape {shape}, not {np.shape(vector)}.")
        if is_real and is_complex(vector):
            raise ArgumentError("unravel got complex numbers, but all parameters are real: pass their np.real.")
        return _fill_form(form, _split_vector(np.asarray(vector), specs))

    return vector, unravel


def _split_vector(vector: Any, specs: list[Spec]) -> list[Any]:
    """Split a vector into leaves of these Specs."""
    leaves, start = [], 0
    for spec in specs:
        leaves.append(_as_leaf(vector[start : start + spec.size], spec))
        start += spec.size
    return leaves


def _as_leaf(numbers: Any, spec: Spec) -> Any:
    """Return the numbers of one leaf in its shape, dtype and type."""
    numbers = numbers if spec.dtype.kind == "c" else np.real(numbers)
    array = numbers.reshape(spec.shape).astype(spec.dtype)
    if issubclass(spec.pytype, np.ndarray):
        return array
    kind: Any = spec.pytype
    return array[()] if issubclass(kind, np.generic) else kind(array[()])


def stop_gradient(x: X) -> X:
    """Copy `x`, a number, an array or a container of these, as a constant: its derivative is zero.

    Parameters:
        x (float | array | container): The value.
    Returns:
        float | array | container: A copy that is a constant.
    See Also:
        non_differentiable, grad

    Examples:
        >>> wg.grad(lambda x: x * wg.stop_gradient(x))(3.0)
        3.0
    """
    if is_inexact(x):
        return stopped(x)
    form, leaves = _form_and_leaves(x)
    return _fill_form(form, [stopped(leaf) for leaf in leaves])


def _form_and_leaves(value: Any) -> tuple[Any, list[Any]]:
    """Return the form of a value, with a _LeafNumber for each leaf, and the leaves; an array held twice is one leaf."""
    leaves: list[Any] = []

    def number_of(leaf: Any, _: Any) -> _LeafNumber:
        leaves.append(leaf)
        return _LeafNumber(len(leaves) - 1)

    return rebuild(value, number_of), leaves


def _fill_form(form: Any, leaves: list[Any]) -> Any:
    """Return a copy of a form with these leaves."""
    return rebuild(form, itself, lambda part: leaves[part.number] if type(part) is _LeafNumber else part)
