"""Products with the Hessian of a small function, from one recording of it.

Tangents are pushed through the recorded calls, and then pulled back beside the cotangents. `jvp` of `grad` does this
while it records, for any function, but the tables that it keeps for that take most of its time if arrays are small.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.forward.step import ForwardStep
from wengert.recording.primitives import INPUT, Bound
from wengert.recording.recording import Recording, silent
from wengert.recording.shadow import SHADOW
from wengert.recording.variables import splat
from wengert.reverse.accumulators import is_plain
from wengert.reverse.moved_steps import bound_arguments, moved_parts
from wengert.rulebook.moved_pullbacks import UnsupportedError
from wengert.values.cotangents import has_nan
from wengert.values.functional import getfield, setitem
from wengert.values.keys import is_basic, key_parts, names_once
from wengert.values.projection import plainly
from wengert.values.specs import FLOATS

WALKED_CALLS, WALKED_NUMBERS, WALKED_COLUMNS = 400, 1 << 12, 64
"""The most calls of a function, numbers in an argument or cotangent, and columns of a Hessian to walk for."""


class UnsuitedError(Exception):
    """A recording with other entries than calls whose derivatives are derived from our own rules."""


def products_of_calls(
    recording: Recording, xs: Sequence[np.ndarray], y: Any, directions: Sequence[np.ndarray]
) -> tuple[np.ndarray, ...] | None:
    """Return the product of the Hessian of `y`, which is symmetric, with the directions, for each of the inputs.

    Return None if a number is not finite, or if all products are zero. Errors: UnsuitedError.
    """
    products = _products(recording, xs, y, directions, None)
    if products is None:
        return None
    return tuple([np.zeros(x.shape) if made is None else np.array(made) for x, made in zip(xs, products, strict=True)])


def hessian_of_calls(recording: Recording, xs: Sequence[np.ndarray], y: Any, single: bool) -> Any:
    """Return the Hessian of `y`, an array if `single`, else one for each pair of inputs.

    Return None as `products_of_calls`. Errors: UnsuitedError.
    """
    ends = [0, *itertools.accumulate([x.size for x in xs])]
    size, parts = ends[-1], [*itertools.pairwise(ends)]
    basis = np.eye(size)
    directions = [basis[:, a:b].reshape(size, *x.shape) for x, (a, b) in zip(xs, parts, strict=True)]
    products = _products(recording, xs, y, directions, size)
    if products is None:
        return None
    if single:
        return _block(products[0], xs[0], xs[0])
    return tuple(
        [
            tuple(
                [_block(None if made is None else made[a:b], x, other) for other, (a, b) in zip(xs, parts, strict=True)]
            )
            for x, made in zip(xs, products, strict=True)
        ]
    )


def _block(rows: Any, x: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the derivatives of the gradient by `x` with respect to `other`, whose directions the `rows` are of."""
    shape = x.shape + other.shape
    return np.zeros(shape) if rows is None else np.moveaxis(rows, 0, -1).reshape(shape).copy()


def _products(
    recording: Recording, xs: Sequence[np.ndarray], y: Any, directions: Sequence[np.ndarray], size: int | None
) -> list[Any] | None:
    """Return the products by input; None is zero. With `size`, directions and products are stacks of so many."""
    memory, inputs, last = recording.memory, [SHADOW[id(x)] for x in xs], SHADOW.get(id(y))
    if last is None or type(y) not in FLOATS or last - min(inputs) > WALKED_CALLS:
        raise UnsuitedError
    if memory.undo or memory.holds_objects or memory.has_outer_reads or recording.texts:
        raise UnsuitedError
    if any([recording.entries[slot][0] is not INPUT for slot in inputs]):  # type: ignore[index]
        raise UnsuitedError
    walk = _SecondWalk(recording, inputs, directions, size)
    try:
        with silent(), np.errstate(all="raise", under="ignore"):
            walk.push(last)
            products = walk.pull(last, type(y)(1.0))
    except (ArithmeticError, UnsupportedError):
        return None
    is_known = any([product is not None for product in products]) and not any(map(has_nan, products))
    return products if is_known else None


class _SecondWalk:
    """A walk over a recording: tangents forward, by slot, then cotangents and their tangents back."""

    def __init__(self, recording: Recording, inputs: list[int], directions: Sequence[Any], size: int | None) -> None:
        self.entries, self.inputs, self.size = recording.entries, inputs, size
        self.tangents: dict[int, Any] = dict(zip(inputs, directions, strict=True))
        self.step = ForwardStep(recording, plainly, 0, size)
        self.step.by_partials = True

    def push(self, last: int) -> None:
        """Compute the tangents up to slot `last`."""
        tangents = self.tangents
        for slot in range(min(self.inputs), last + 1):
            if slot in tangents:
                continue
            entry = self.entries[slot]
            if entry is None or (type(entry[0]) is not Bound and entry[0] is not INPUT):
                raise UnsuitedError
            if entry[0] is INPUT and not entry[2]:
                tangents[slot] = None
                continue
            given = tuple(map(self._tangent_at, entry[2]))
            tangents[slot] = None if not any([dot is not None for dot in given]) else self.step.push(entry, given)

    def _tangent_at(self, place: Any) -> Any:
        """Return the tangent at a slot, or a tuple of them for a sequence."""
        if type(place) is tuple:
            found = tuple(map(self._tangent_at, place))
            return found if any([dot is not None for dot in found]) else None
        if place is not None and place not in self.tangents:  # of an outer level
            raise UnsuitedError
        return None if place is None else self.tangents[place]

    def pull(self, last: int, seed: float) -> list[Any]:
        """Return the tangents of the cotangents of the inputs, from a constant seed at slot `last`."""
        cotangents: dict[int, tuple[Any, Any]] = {last: (seed, None)}
        for slot in range(last, min(self.inputs) - 1, -1):
            if slot in self.inputs or slot not in cotangents:
                continue
            y_bar, y_bar_dot = cotangents.pop(slot)
            for place, x_bar, x_dot in self._pulled(slot, y_bar, y_bar_dot):
                if place in cotangents:
                    bar, dot = cotangents[place]
                    x_bar, x_dot = bar + x_bar, dot if x_dot is None else x_dot if dot is None else dot + x_dot
                cotangents[place] = x_bar, x_dot
        return [cotangents.get(slot, (None, None))[1] for slot in self.inputs]

    def _pulled(self, slot: int, y_bar: Any, y_bar_dot: Any) -> list[tuple[int, Any, Any]]:
        """Return the slot of each argument of a call, with its cotangent and the tangent of that."""
        op, y, ins, args, kwargs, _ = self.entries[slot]  # type: ignore[misc]
        if op is INPUT:
            return [(ins[0], y_bar, y_bar_dot)] if ins and ins[0] is not None else []
        if op.variant is None:
            return []
        if op.fn is setitem:
            return self._pulled_store(ins, args, y_bar, y_bar_dot)
        if (
            op.primitive.has_users_rule
            or op.fn is getfield
            or (type(y_bar) is np.ndarray and y_bar.size > WALKED_NUMBERS)
        ):
            raise UnsuitedError
        primals, static = args, dict[str, Any]()
        if not op.is_simple:
            k = op.rule.sequence
            is_splat = k is not None and type(args[k]) in (list, tuple)
            if is_splat:
                args, ins = splat(k, args, args[k]), splat(k, ins, ins[k] or (None,) * len(args[k]))
            primals, static = bound_arguments(op, args, kwargs, ins, self.tangents.get, is_splat)
        if primals is None:
            raise UnsuitedError
        reads = zip(op.variant.reads, ins, strict=False)
        dots = [y_bar_dot, self.tangents[slot] if op.variant.reads_y == "value" else None]
        dots += [None if place is None or how != "value" else self.tangents[place] for how, place in reads]
        if not all([dot is None or is_plain(dot) for dot in dots]):
            raise UnsuitedError
        found = moved_parts(op, (y_bar, y, *primals), static, dots, self.size, plainly)
        if found is None:
            raise UnsuitedError
        return [(ins[k], x_bar, x_dot) for k, x_bar, x_dot in found]

    def _pulled_store(self, ins: Any, args: Any, y_bar: Any, y_bar_dot: Any) -> list[tuple[int, Any, Any]]:
        """Do `_pulled` for a store `array[key] = value`."""
        (place, _, value_place), (_, key, value) = ins, args
        if type(y_bar) is not np.ndarray or not (is_basic(key) or names_once(key)):  # without axes it is a number
            raise UnsuitedError
        axes = () if self.size is None else (slice(None),)  # before those of the array
        rest, part = _split(y_bar, (), key, value)
        rest_dot, part_dot = (None, None) if y_bar_dot is None else _split(y_bar_dot, axes, key, value)
        if np.shape(part) != np.shape(value):
            raise UnsuitedError
        found = [] if value_place is None else [(value_place, part, part_dot)]
        return found if place is None else [*found, (place, rest, rest_dot)]


def _split(y_bar: np.ndarray, axes: tuple[slice, ...], key: Any, value: Any) -> tuple[np.ndarray, Any]:
    """Return ȳ of a store with zeros at the key, and the part of it for the value, which may be one number."""
    key = (*axes, *key_parts(key))
    rest, part = y_bar.copy(), y_bar[key]
    rest[key] = 0.0
    return rest, part if np.shape(value) else np.sum(part, axis=tuple(range(len(axes), np.ndim(part))))


__all__ = ["WALKED_COLUMNS", "WALKED_NUMBERS", "UnsuitedError", "hessian_of_calls", "products_of_calls"]
