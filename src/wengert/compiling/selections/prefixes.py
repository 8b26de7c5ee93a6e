"""Selections of the first items of an array: their slices, differences and interpolation.

The items that other masks choose are moved to the beginning of an array first.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from wengert.compiling.selections.values import Mask, Selection, SelectionCode, mask_of
from wengert.tape.ops import Call, Variable, value_of
from wengert.values import functional


def first_items(code: SelectionCode, op: Call, x: Selection) -> tuple[Selection, Variable]:
    """Return a selection of the same items that are the first ones of its array, and how many these are."""
    count = count_of(x.mask)
    if count is not None:
        return x, count
    size, count = x.mask.shape[0], code.count(op, x.mask)
    so_far = code.push_call(op, np.cumsum, code.push_call(op, np.where, x.mask.array, 1.0, 0.0))
    places = code.push_call(op, np.searchsorted, so_far, np.arange(1.0, size + 1.0))
    places = code.push_call(op, np.minimum, places, size - 1)
    moved = code.push_call(op, operator.getitem, x.whole, places)
    return code.select(op, moved, _first(code, op, size, count), x.lines), count


def with_one_mask(code: SelectionCode, op: Call, given: list[Any]) -> list[Any]:
    """Return operands in which selections of as many items have one mask, if that is so for all."""
    masks = [x.mask for x in given if type(x) is Selection]
    if len({mask.number for mask in masks}) < 2 or any([len(mask.shape) != 1 for mask in masks]):
        return given
    return [first_items(code, op, x)[0] if type(x) is Selection else x for x in given]


def _first(code: SelectionCode, op: Call, size: int, count: Variable) -> Mask:
    """Return the mask of so many first items of an array of this size."""
    return code.mask(code.push_call(op, np.less, np.arange(float(size)), count))


def count_of(mask: Mask) -> Variable | None:
    """Return how many first items a mask chooses; None if it may choose others."""
    made: Any = mask.array.op
    if not isinstance(made, Call) or made.fn is not np.less or type(made.args[1]) is not Variable:
        return None
    places = value_of(made.args[0])
    is_all = isinstance(places, np.ndarray) and np.array_equal(places, np.arange(float(mask.shape[0])))
    return made.args[1] if is_all else None


def has_slice(parts: tuple[Any, ...]) -> bool:
    """Whether a key begins with a slice that takes not all, with constant bounds."""
    first = parts[0] if parts else None
    return type(first) is slice and first != slice(None) and {type(first.start), type(first.stop)} <= _SLICE_ENDS


_SLICE_ENDS = {int, type(None)}


def sliced(code: SelectionCode, op: Call, x: Selection, part: slice) -> Any:
    """`x[start:stop]` with a start that counts from the begin, or `x[::-1]`; None for other slices."""
    start, stop = part.start or 0, part.stop
    if part == slice(None, None, -1):
        return reversed_items(code, op, x)
    if len(x.mask.shape) != 1 or start < 0 or part.step not in (None, 1):
        return None
    x, count = first_items(code, op, x)
    size = x.mask.shape[0]
    if stop is not None and stop >= 0:
        if stop > size:
            return None
        _guard_count(code, op, count, stop)
        return code.push_call(op, operator.getitem, x.whole, slice(start, stop))
    left, whole = code.push_call(op, operator.sub, count, float(start - (stop or 0))), x.whole
    if start:  # of the same size: a loop may have both in one variable
        parts = [code.push_call(op, operator.getitem, whole, part) for part in (slice(start, None), slice(start))]
        whole = code.push_call(op, np.concatenate, parts)
    return code.select(op, whole, _first(code, op, size, left), x.lines)


def reversed_items(code: SelectionCode, op: Call, x: Any, axis: Any = 0) -> Any:
    """The chosen items in reversed order."""
    if type(x) is not Selection or len(x.mask.shape) != 1 or axis not in ((0,) if x.rest else (0, None)):
        return None
    x, _ = first_items(code, op, x)
    last = code.push_call(op, operator.sub, code.push_call(op, np.sum, x.mask.array), 1)
    places = code.push_call(op, np.maximum, code.push_call(op, np.subtract, last, np.arange(x.mask.shape[0])), 0)
    return code.select(op, code.push_call(op, operator.getitem, x.whole, places), x.mask, x.lines)


def place_of(neutral: float) -> Any:
    """Return the handler of `np.argmax` or `np.argmin`, for which items with the `neutral` number do not count."""

    def handle(code: SelectionCode, op: Call, x: Any, axis: Any = None) -> Any:
        if type(x) is not Selection or x.rest or x.kind != "f" or len(x.mask.shape) != 1 or axis not in (None, 0, -1):
            return None
        x, _ = first_items(code, op, x)
        code.check_items(op, x)
        return code.push_call(op, op.fn, code.chosen_or(op, x, neutral))

    return handle


def places_among(code: SelectionCode, op: Call, x: Any, v: Any, side: Any = "left") -> Any:
    """`np.searchsorted` in chosen items."""
    is_vector = type(x) is Selection and not x.rest and x.kind == "f" and len(x.mask.shape) == 1
    if not is_vector or isinstance(v, Selection):
        return None
    x, _ = first_items(code, op, x)
    found = code.push_call(op, op.fn, code.chosen_or(op, x, math.inf), v, side)
    return code.push_call(op, np.minimum, found, code.push_call(op, np.sum, x.mask.array))


def item_of_first(code: SelectionCode, op: Call, x: Selection, key: Variable) -> Variable | None:
    """The item at an index that the tape computes; another index needs another trace."""
    x, count = first_items(code, op, x)
    if not 0 <= value_of(key) < value_of(count):
        return None
    code.new.push(Call(operator.ge, [key, 0], val=True, site=op.site, guard=True))
    code.new.push(Call(operator.lt, [key, count], val=True, site=op.site, guard=True))
    return code.push_call(op, operator.getitem, x.whole, key)


def _guard_count(code: SelectionCode, op: Call, count: Variable, least: int) -> None:
    """Guard that there are at least so many items."""
    made = Call(operator.ge, [count, float(least)], val=value_of(count) >= least, site=op.site, guard=True)
    code.new.push(made)


def differences(code: SelectionCode, op: Call, x: Any, n: Any = 1, axis: Any = -1) -> Any:
    """`np.diff` along the chosen items."""
    if type(x) is not Selection or n != 1 or axis not in ((0,) if x.rest else (0, -1)) or x.kind != "f":
        return None
    after, before = sliced(code, op, x, slice(1, None)), sliced(code, op, x, slice(None, -1))
    if after is None or before is None:
        return None
    return after._replace(whole=code.push_call(op, operator.sub, after.whole, before.whole))


def interpolated(code: SelectionCode, op: Call, x: Any, xp: Any, fp: Any) -> Any:
    """`np.interp` of numbers, between chosen points.

    Behind the last point there are more on the line through it and the one before, so that the slope there is as it
    was, and larger numbers are replaced by the last point.
    """
    xp, fp = with_one_mask(code, op, [xp, fp])
    is_known = type(xp) is type(fp) is Selection and mask_of(xp, fp) is not None and not isinstance(x, Selection)
    if not is_known or xp.rest or fp.rest or {xp.kind, fp.kind} != {"f"}:
        return None
    (xp, count), (fp, _) = first_items(code, op, xp), first_items(code, op, fp)
    _guard_count(code, op, count, 2)
    last = code.push_call(op, operator.getitem, xp.whole, _place_from_end(code, op, count, 1.0))
    width = code.push_call(
        op, operator.sub, last, code.push_call(op, operator.getitem, xp.whole, _place_from_end(code, op, count, 2.0))
    )
    if not value_of(width) > 0.0:
        return None
    code.new.push(Call(operator.gt, [width, 0.0], val=True, site=op.site, guard=True))
    ahead = code.push_call(
        op, operator.sub, np.arange(float(xp.mask.shape[0])), code.push_call(op, operator.sub, count, 1.0)
    )
    points, values = (_extended(code, op, each, count, ahead) for each in (xp, fp))
    given = code.push_call(op, np.where, code.push_call(op, np.greater, x, last), last, x)
    return code.push_call(op, np.interp, given, points, values)


def _place_from_end(code: SelectionCode, op: Call, count: Variable, back: float) -> Variable:
    """Return the index of an item that is so far from the end."""
    return code.push_call(op, functional.as_index, code.push_call(op, operator.sub, count, back))


def _extended(code: SelectionCode, op: Call, x: Selection, count: Variable, ahead: Variable) -> Variable:
    """Return an array of the chosen items, followed by numbers that go on as the last two do."""
    last, before = (
        code.push_call(op, operator.getitem, x.whole, _place_from_end(code, op, count, back)) for back in (1.0, 2.0)
    )
    step = code.push_call(op, operator.sub, last, before)
    more = code.push_call(op, operator.add, last, code.push_call(op, operator.mul, ahead, step))
    return code.push_call(op, np.where, x.mask.array, x.whole, code.push_call(op, functional.stopped, more))
