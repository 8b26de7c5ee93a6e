"""Parameters in containers, taken whole: as one vector and back, and as constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from wengert.errors import ArgumentError
from wengert.rulebook.batching import batching
from wengert.rulebook.declare import non_differentiable
from wengert.values.specs import Spec, fresh, is_complex, is_inexact, spec_of
from wengert.values.trees import itself, rebuild

ENTERED = "It computes with parameters, also with those that a derivative watches."

X = TypeVar("X")

__all__ = ["ravel", "stop_gradient"]


class _Number(NamedTuple):
    """Stands in a form for the leaf of this number."""

    place: int


def ravel(params: X) -> tuple[np.ndarray, Callable[[Any], X]]:
    """All floats of `params` as one vector, and what makes such parameters of a vector: `(vector, unravel)`.

    `params` are numbers and arrays in lists, tuples, dictionaries, data classes and other objects, nested. What else
    they hold, whole numbers too, is no part of the vector; `unravel(vector)` has it as it was, and each float in its
    own shape and dtype. An array that they hold twice is in the vector once. Both may be differentiated.

    >>> vector, unravel = wg.ravel({"w": np.array([[1.0, 2.0]]), "b": 3.0, "name": "linear"})
    >>> vector
    array([1., 2., 3.])
    >>> unravel(2 * vector)
    {'w': array([[2., 4.]]), 'b': 6.0, 'name': 'linear'}

    Shapes: (n,); its dtype is the common one of all leaves.
    Errors: ArgumentError from `unravel` for another shape, or for complex numbers where all parameters are real.
    """
    form, held = _numbered(params)
    specs = [spec_of(leaf) for leaf in held]
    vector = np.concatenate([np.ravel(leaf) for leaf in held]) if held else np.zeros(0)
    shape, is_real = vector.shape, not is_complex(vector)

    def unravel(vector: Any) -> Any:
        if np.shape(vector) != shape:
            raise ArgumentError(f"unravel takes a vector of shape {shape}, not {np.shape(vector)}.")
        if is_real and is_complex(vector):
            raise ArgumentError("unravel is given complex numbers, but all parameters are real: take np.real of them.")
        return _filled(form, _parts(np.asarray(vector), specs))

    return vector, unravel


def _parts(vector: Any, specs: list[Spec]) -> list[Any]:
    """The parts of a vector, one after the other, in the shapes, dtypes and kinds of leaves."""
    made, start = [], 0
    for spec in specs:
        made.append(_like(vector[start : start + spec.size], spec))
        start += spec.size
    return made


def _like(numbers: Any, spec: Spec) -> Any:
    """The numbers of one leaf in its shape, dtype and kind."""
    numbers = numbers if spec.dtype.kind == "c" else np.real(numbers)
    whole = numbers.reshape(spec.shape).astype(spec.dtype)
    if issubclass(spec.pytype, np.ndarray):
        return whole
    kind: Any = spec.pytype
    return whole[()] if issubclass(kind, np.generic) else kind(whole[()])


def stop_gradient(x: X) -> X:
    """A copy of `x`, a number, an array or a container of these, that counts as a constant: its derivative is zero.

    >>> wg.grad(lambda x: x * wg.stop_gradient(x))(3.0)
    3.0
    """
    if is_inexact(x):
        return stopped(x)
    form, held = _numbered(x)
    return _filled(form, [stopped(leaf) for leaf in held])


def stopped(x: Any) -> Any:
    """A copy of a number or array `x`, which no derivative passes.

    >>> wg.grad(lambda x: x * wg.extend.stopped(x))(3.0)
    3.0
    """
    return x.copy() if isinstance(x, np.ndarray) else fresh(x)


non_differentiable(stopped)
batching(stopped)(lambda batch, x: stopped(x))


def _numbered(value: Any) -> tuple[Any, list[Any]]:
    """The form of a value, with a _Number for each leaf, and the leaves; an array that is held twice is one."""
    held: list[Any] = []

    def number(leaf: Any, _: Any) -> _Number:
        held.append(leaf)
        return _Number(len(held) - 1)

    return rebuild(value, number), held


def _filled(form: Any, made: list[Any]) -> Any:
    """A copy of a form with values in the places of its leaves."""
    return rebuild(form, itself, lambda held: made[held.place] if type(held) is _Number else held)
