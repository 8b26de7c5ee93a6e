"""Which axes of the arguments and results are those of the examples, as JAX says it: for each leaf, or for a container.

Containers are lists, tuples and dictionaries; what else an argument is that has no axis is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import ArgumentError

CONTAINERS = (list, tuple, dict)
Axis = int | None


class Examples(NamedTuple):
    """Stands for a leaf that each example has for itself: the array of them, along its first axis."""

    batch: np.ndarray


class Shared(NamedTuple):
    """Stands for what all examples see: a leaf, or a whole structure."""

    value: Any


def like(container: Any, parts: list[Any]) -> Any:
    """A container of the class of `container`, with other parts."""
    if isinstance(container, dict):
        return dict(zip(container, parts, strict=True))
    if isinstance(container, list):
        return parts
    made = tuple.__new__(type(container), parts)
    if hasattr(container, "__dict__"):
        made.__dict__.update(vars(container))
    return made


def parts_of(container: Any) -> Iterator[tuple[str, Any, Any]]:
    """The parts of a container: how a path writes the key, the key, and the part."""
    pairs = container.items() if isinstance(container, dict) else enumerate(container)
    return ((f"[{key!r}]", key, part) for key, part in pairs)


def mapped(change: Callable[[Any, Axis, str], Any], value: Any, axes: Any, path: str) -> Any:
    """`value` with `change(leaf, axis, path)` for each leaf; what has no axis is one leaf as a whole."""
    if axes is None or not isinstance(value, CONTAINERS) or isinstance(value, Examples | Shared):
        if axes is not None and (isinstance(axes, bool) or not isinstance(axes, int)):
            raise ArgumentError(f"{path}: an axis is a whole number or None, not {axes!r}")
        return change(value, axes, path)
    if isinstance(axes, CONTAINERS) and len(axes) != len(value):
        raise ArgumentError(f"{path} has {len(value)} parts, and there are axes for {len(axes)}: {axes!r}")
    return like(
        value, [mapped(change, part, _of_part(axes, key, path), path + at) for at, key, part in parts_of(value)]
    )


def _of_part(axes: Any, key: Any, path: str) -> Any:
    if not isinstance(axes, CONTAINERS):
        return axes
    try:
        return axes[key]
    except (KeyError, IndexError, TypeError):
        raise ArgumentError(f"{path} has a part {key!r}, for which there is no axis in {axes!r}") from None


def split(
    args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Any, names: list[str], call: Callable[..., Any]
) -> tuple[tuple[Any, ...], dict[str, Any], int]:
    """The arguments with Examples and Shared for their leaves, and how many examples there are.

    Errors: ArgumentError where an array has no such axis, where lengths differ, and where nothing has an axis.
    """
    if not isinstance(in_axes, list | tuple):
        in_axes = (in_axes,) * len(args)
    if len(in_axes) != len(args):
        raise ArgumentError(
            f"in_axes has axes for {len(in_axes)} arguments, and the call gives {len(args)} by position"
        )
    lengths: list[tuple[int, str]] = []

    def taken(leaf: Any, axis: Axis, path: str) -> Any:
        if axis is None or leaf is None:
            return Shared(leaf)
        batch = _examples(leaf, axis, path, call)
        lengths.append((len(batch), f"{path} has {len(batch)} on axis {axis}"))
        return Examples(batch)

    positional = [mapped(taken, value, axes, name) for value, axes, name in zip(args, in_axes, names, strict=True)]
    named = {name: mapped(taken, value, 0, f"{name}=") for name, value in kwargs.items()}
    if not lengths:
        raise ArgumentError("vmap has no axis of examples: in_axes gives none of the arguments one")
    if len({length for length, _ in lengths}) > 1:
        raise ArgumentError(
            f"the arguments have different numbers of examples: {', '.join([s for _, s in lengths])}. "
            "in_axes=None is for what all of them see."
        )
    return tuple(positional), named, lengths[0][0]


def _examples(leaf: Any, axis: int, path: str, call: Callable[..., Any]) -> np.ndarray:
    """The array of the examples, with their axis in front."""
    if type(leaf) is not np.ndarray or leaf.dtype.kind not in "biufc":
        raise ArgumentError(
            f"{path} is {_kind(leaf)}, which has no axis of examples. in_axes=None for it shows it to all of them; an "
            "argument by name has them on axis 0: give it by functools.partial where all see it."
        )
    if not -leaf.ndim <= axis < leaf.ndim:
        raise ArgumentError(f"{path} has shape {leaf.shape}, and no axis {axis}")
    made: np.ndarray = leaf if axis in (0, -leaf.ndim) else call(np.moveaxis, leaf, axis, 0)
    return made


def _kind(leaf: Any) -> str:
    return f"an array of {leaf.dtype}" if type(leaf) is np.ndarray else f"a {type(leaf).__name__}"


def replaced(value: Any, change: Callable[[Any], Any]) -> Any:
    """`value` with `change(mark)` for each Examples and Shared in it."""
    return mapped(lambda leaf, _, __: change(leaf), value, 0, "")


def marked(value: Any) -> Any:
    """A result whose arrays have the examples in front, with marks for its leaves."""
    return mapped(lambda leaf, _, __: Examples(leaf) if isinstance(leaf, np.ndarray) else Shared(leaf), value, 0, "")


def placed(value: Any, axes: Any, size: int, call: Callable[..., Any]) -> Any:
    """A result with the examples on the axes that are asked for: its leaves are marks, and have them in front.

    Of numbers that are the same for all, each example has one, but where the axis is None.
    """

    def moved(leaf: Any, axis: Axis, path: str) -> Any:
        if axis is None:
            return mapped(_shown_by_all, leaf, 0, path)
        if type(leaf) is Shared and not isinstance(leaf.value, np.ndarray | np.generic | Number):
            return leaf.value
        batch = leaf.batch if type(leaf) is Examples else repeated(leaf.value, size, call)
        if not -batch.ndim <= axis < batch.ndim:
            raise ArgumentError(
                f"{path} has shape {batch.shape[1:]} for each example: out_axes has no axis {axis} of it"
            )
        return batch if axis in (0, -batch.ndim) else call(np.moveaxis, batch, 0, axis)

    return mapped(moved, value, axes, "the result")


def repeated(value: Any, size: int, call: Callable[..., Any]) -> np.ndarray:
    """An array in which each example has the same value."""
    made: np.ndarray = call(np.copy, call(np.broadcast_to, value, (size, *np.shape(value))))
    return made


def _shown_by_all(leaf: Any, _: Axis, path: str) -> Any:
    if type(leaf) is Shared:
        return leaf.value
    raise ArgumentError(f"{path} depends on the examples: out_axes=None is for what is the same for all of them")
