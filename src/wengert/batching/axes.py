"""The axes of examples in arguments and results, as in JAX's `in_axes` and `out_axes`: for a leaf or a container.

Containers are lists, tuples, dictionaries and objects of plain classes; the axes of an object are in a dictionary or an
object with its attributes. Any other argument without an axis is passed on unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import ArgumentError
from wengert.values.structures import is_plain_object, is_structure, keyed_parts, with_parts

Axis = int | None


class Examples(NamedTuple):
    """A mark for a leaf that differs between examples: the array of all of them, along its first axis."""

    batch: np.ndarray


class Shared(NamedTuple):
    """A mark for a value that all examples share: a leaf, or a whole structure."""

    value: Any


def map_leaves(change: Callable[[Any, Axis, str], Any], value: Any, axes: Any, path: str) -> Any:
    """Replace each leaf of `value` by `change(leaf, axis, path)`; a container without an axis is one leaf."""
    if axes is None or isinstance(value, Examples | Shared) or not is_structure(value):
        if axes is not None and (isinstance(axes, bool) or not isinstance(axes, int)):
            raise ArgumentError(f"{path}: an axis must be an integer or None, not {axes!r:.60}")
        return change(value, axes, path)
    if isinstance(axes, list | tuple | dict) and not is_plain_object(value) and len(axes) != len(value):
        raise ArgumentError(
            f"{path} has {len(value)} items, but there are axes for {len(axes)}: {axes!r}. Pass one for each"
        )
    return with_parts(
        value,
        [map_leaves(change, part, _axes_of_item(axes, key, path), path + at) for at, key, part in keyed_parts(value)],
    )


def _axes_of_item(axes: Any, key: Any, path: str) -> Any:
    """Return the axes of an item or attribute; a string in an object of axes, as a name, is that of all examples."""
    if not is_structure(axes):
        return axes
    try:
        found = getattr(axes, key) if is_plain_object(axes) else axes[key]
        return None if is_plain_object(axes) and isinstance(found, str) else found
    except (AttributeError, KeyError, IndexError, TypeError):
        raise ArgumentError(f"{path} has an item {key!r}, for which there is no axis in {axes!r}. Add one") from None


def split_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Any, names: list[str], call: Callable[..., Any]
) -> tuple[tuple[Any, ...], dict[str, Any], int]:
    """Replace the leaves of the arguments by Examples and Shared, and count the examples.

    Errors: ArgumentError if an array has no such axis, if lengths differ, or if no argument has an axis.
    """
    if not isinstance(in_axes, list | tuple):
        in_axes = (in_axes,) * len(args)
    if len(in_axes) != len(args):
        raise ArgumentError(
            f"in_axes has axes for {len(in_axes)} arguments, but the call has {len(args)} positional arguments. "
            "Pass one for each"
        )
    if not args and not kwargs:
        raise ArgumentError("vmap(f) was called without arguments. Pass the batches, as in vmap(f)(xs).")
    lengths: list[tuple[int, str]] = []

    def mark(leaf: Any, axis: Axis, path: str) -> Any:
        if axis is None or leaf is None or isinstance(leaf, str | bytes | bool) or callable(leaf):
            return Shared(leaf)
        batch = _examples_first(leaf, axis, path, call)
        lengths.append((len(batch), f"{path} has {len(batch)} on axis {axis}"))
        return Examples(batch)

    positional = [map_leaves(mark, value, axes, name) for value, axes, name in zip(args, in_axes, names, strict=True)]
    named = {name: map_leaves(mark, value, 0, f"{name}=") for name, value in kwargs.items()}
    if not lengths:
        raise ArgumentError("vmap has no axis of examples: all arguments are shared. Pass an array, and an int for it")
    if len({length for length, _ in lengths}) > 1:
        raise ArgumentError(
            f"the arguments have different numbers of examples: {', '.join([s for _, s in lengths])}. "
            "Use in_axes=None for an argument that all examples share."
        )
    return tuple(positional), named, lengths[0][0]


def _examples_first(leaf: Any, axis: int, path: str, call: Callable[..., Any]) -> np.ndarray:
    """Return the array of the examples, with their axis first."""
    if type(leaf) is not np.ndarray or leaf.dtype.kind not in "biufc":
        raise ArgumentError(
            f"{path} is {_describe_leaf(leaf)}, which has no axis of examples. If all examples share it, use "
            "in_axes=None for it. Keyword arguments have examples on axis 0; if all share one, use functools.partial."
        )
    if not -leaf.ndim <= axis < leaf.ndim:
        raise ArgumentError(f"{path} has shape {leaf.shape}, so it has no axis {axis}")
    made: np.ndarray = leaf if axis in (0, -leaf.ndim) else call(np.moveaxis, leaf, axis, 0)
    return made


def _describe_leaf(leaf: Any) -> str:
    return f"an array of {leaf.dtype}" if type(leaf) is np.ndarray else f"a {type(leaf).__name__}"


def replace_marks(value: Any, change: Callable[[Any], Any]) -> Any:
    """Replace each Examples and Shared in `value` by `change(mark)`."""
    return map_leaves(lambda leaf, _, __: change(leaf), value, 0, "")


def mark_leaves(value: Any) -> Any:
    """Mark the leaves of a result: its arrays have the examples on their first axis."""
    return map_leaves(
        lambda leaf, _, __: Examples(leaf) if isinstance(leaf, np.ndarray) else Shared(leaf), value, 0, ""
    )


def move_examples(value: Any, axes: Any, size: int, call: Callable[..., Any]) -> Any:
    """Move the examples of a result from the first axis of its marked leaves to the requested axes.

    A number that all examples share is repeated for each, unless its axis is None.
    """

    def moved(leaf: Any, axis: Axis, path: str) -> Any:
        if axis is None:
            return map_leaves(_shared_value, leaf, 0, path)
        if type(leaf) is Shared and not isinstance(leaf.value, np.ndarray | np.generic | Number):
            return leaf.value
        batch = leaf.batch if type(leaf) is Examples else repeat_for_examples(leaf.value, size, call)
        if not -batch.ndim <= axis < batch.ndim:
            raise ArgumentError(f"{path} has shape {batch.shape[1:]} for each example, so out_axes cannot be {axis}")
        return batch if axis in (0, -batch.ndim) else call(np.moveaxis, batch, 0, axis)

    return map_leaves(moved, value, axes, "the result")


def repeat_for_examples(value: Any, size: int, call: Callable[..., Any]) -> np.ndarray:
    """Repeat a value for each example, along a new first axis."""
    made: np.ndarray = call(np.copy, call(np.broadcast_to, value, (size, *np.shape(value))))
    return made


def as_batch(result: Any, size: int, call: Callable[..., Any]) -> np.ndarray:
    """Return a result of a program as one array, with an axis of examples, also where all share it or a part."""
    if type(result) is Examples:
        return result.batch
    if type(result) in (list, tuple):
        return call(np.stack, [as_batch(part, size, call) for part in result], 1)
    return repeat_for_examples(result.value, size, call)


def _shared_value(leaf: Any, _: Axis, path: str) -> Any:
    if type(leaf) is Shared:
        return leaf.value
    raise ArgumentError(f"{path} depends on the examples, so out_axes cannot be None for it. Pass an int")
