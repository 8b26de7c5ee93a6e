"""The table of calls with selections: what each computes from whole arrays.

To support a function, write how it is computed, and enter it in the table.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.ops import info
from wengert.compiling.selections.keys import add_item, read_item, write_item
from wengert.compiling.selections.prefixes import (
    differences,
    interpolated,
    place_of,
    places_among,
    reversed_items,
    with_one_mask,
)
from wengert.compiling.selections.values import (
    ChosenPlaces,
    Mask,
    Selection,
    SelectionCode,
    Transposed,
    chosen_lines,
    maps_elements,
    mask_of,
)
from wengert.tape.ops import Call, Variable, value_of
from wengert.values import functional
from wengert.values.callables import TOLD_APART

SelectionHandler = Callable[..., Any]
"""(code, op, arguments) -> a Selection, ChosenPlaces, Transposed, Variable, or tuple of these; None to refuse."""


# -- elementwise


def _map(code: SelectionCode, op: Call, *args: Any) -> Any:
    given = with_one_mask(code, op, [code.as_selection(op, a) for a in args])
    mask, rest = mask_of(*given), np.ndim(op.val) - 1
    if mask is None:
        return None
    for a in given:
        if (a.rest != rest) if type(a) is Selection else not _is_of_each(a, mask, rest):
            return None
    whole = code.push_call(op, op.fn, *[a.whole if type(a) is Selection else a for a in given])
    return Selection(whole, mask, chosen_lines(given))


def _is_of_each(a: Any, mask: Mask, rest: int) -> bool:
    """Whether an operand is the same for each chosen item."""
    shape = np.shape(value_of(a))
    return len(shape) <= rest or (len(shape) == 1 + rest and len(mask.shape) == 1 == shape[0])


def _map_one(place: int) -> SelectionHandler:
    """Return the handler of a function that is elementwise in its argument at this place."""

    def handle(code: SelectionCode, op: Call, *args: Any) -> Any:
        given = [code.as_selection(op, a) for a in args]
        x = given[place] if place < len(given) else None
        if type(x) is not Selection or x.rest or any([a is not x and chosen_lines([a]) for a in given]):
            return None
        return x._replace(whole=code.push_call(op, op.fn, *[x.whole if a is x else a for a in given]))

    return handle


def _interpolated(code: SelectionCode, op: Call, x: Any, xp: Any, fp: Any, **kwargs: Any) -> Any:
    if kwargs or not chosen_lines([xp, fp]):
        return _map_one(0)(code, op, x, xp, fp, **kwargs)
    return interpolated(code, op, x, xp, fp)


def _searchsorted(code: SelectionCode, op: Call, x: Any, v: Any, side: Any = "left") -> Any:
    return (places_among if chosen_lines([x]) else _map_one(1))(code, op, x, v, side)


def _where_chosen(code: SelectionCode, op: Call, *args: Any) -> Any:
    return _chosen_places(code, op, *args) if len(args) == 1 else _map(code, op, *args)


# -- indices


def _chosen_places(code: SelectionCode, op: Call, mask: Any) -> Any:
    if type(mask) is not Mask:
        return None
    mask = code.with_places(op, mask)
    return tuple([ChosenPlaces(mask, axis, frozenset([op.site])) for axis in range(len(mask.shape))])


def _flatnonzero(code: SelectionCode, op: Call, mask: Any) -> Any:
    is_vector = type(mask) is Mask and len(mask.shape) == 1
    return ChosenPlaces(code.with_places(op, mask), 0, frozenset([op.site])) if is_vector else None


def _part_of_places(code: SelectionCode, op: Call, whole: Any, key: Any) -> Any:
    return whole[key] if type(whole) is tuple and type(key) is int else None


def _take(code: SelectionCode, op: Call, x: Any, indices: Any, axis: Any = None) -> Any:
    is_first = axis == 0 or (axis is None and op.args and np.ndim(value_of(op.args[0])) == 1)
    return read_item(code, op, x, indices) if is_first and chosen_lines([indices]) else None


def _chosen_length(code: SelectionCode, op: Call, x: Any) -> Any:
    return code.push_call(op, float, code.count(op, x.mask)) if type(x) in (Selection, ChosenPlaces) else None


# -- reductions


def _own_axis(x: Selection, axis: Any) -> int | None:
    """Return the axis of the whole array that is this one of the chosen items' own; None if it is no such axis."""
    k = axis % (1 + x.rest) if type(axis) is int else 0
    return len(x.mask.shape) + k - 1 if k else None


def _chosen_axes(x: Selection, axis: Any) -> Any:
    """Return the axes of the whole array for all axes of a selection, or for its first."""
    return None if axis is None else tuple(range(len(x.mask.shape)))


def _reduced(reduce: Callable[[SelectionCode, Call, Selection, Any], Any]) -> SelectionHandler:
    """Return the handler of a reduction, along the first axis of a selection or all: `reduce(code, op, x, axes)`."""

    def handle(code: SelectionCode, op: Call, x: Any, axis: Any = None) -> Any:
        x = code.as_selection(op, x)
        if type(x) is not Selection or type(axis) not in (int, type(None)):
            return None
        own = _own_axis(x, axis)
        if own is not None:
            return x._replace(whole=code.push_call(op, op.fn, x.whole, axis=own))
        return reduce(code, op, x, _chosen_axes(x, axis))

    return handle


def _unmoved_by(neutral: Any, kinds: str) -> SelectionHandler:
    """Return the handler of a reduction that items with the `neutral` number do not change."""

    def reduce(code: SelectionCode, op: Call, x: Selection, axes: Any) -> Any:
        return code.push_call(op, op.fn, code.chosen_or(op, x, neutral), axis=axes) if x.kind in kinds else None

    return _reduced(reduce)


def _reduced_by_add(code: SelectionCode, op: Call, x: Any, axis: Any = 0) -> Any:
    return _NAMED_HANDLERS["sum"](code, op, x, axis)


def _extremum(neutral: float) -> SelectionHandler:
    def reduce(code: SelectionCode, op: Call, x: Selection, axes: Any) -> Any:
        if x.kind != "f":
            return None
        code.check_items(op, x)
        return code.push_call(op, op.fn, code.chosen_or(op, x, neutral), axis=axes)

    return _reduced(reduce)


@_reduced
def _chosen_mean(code: SelectionCode, op: Call, x: Selection, axes: Any) -> Any:
    return _mean_of(code, op, x, axes, 0)


def _mean_of(code: SelectionCode, op: Call, x: Selection, axes: Any, less: int) -> Variable:
    """Return the sum along axes by the number of items, `less` so many."""
    code.check_items(op, x)
    count = code.count(op, x.mask)
    if axes is None and x.rest:
        count = code.push_call(op, operator.mul, count, float(math.prod(np.shape(value_of(x.whole))[-x.rest :])))
    if less:
        count = code.push_call(op, np.maximum, code.push_call(op, operator.sub, count, float(less)), 0.0)
    total = code.push_call(op, np.sum, code.chosen_or(op, x, 0.0), axis=axes)
    return code.push_call(op, operator.truediv, total, count)


def _variance(code: SelectionCode, op: Call, x: Any, axis: Any = None, *, ddof: Any = 0) -> Any:
    x = code.as_selection(op, x)
    is_plain = type(x) is Selection and x.kind == "f" and type(ddof) is int and type(axis) in (int, type(None))
    if not is_plain or _own_axis(x, axis) is not None:
        return None
    axes = _chosen_axes(x, axis)
    distance = code.push_call(op, operator.sub, x.whole, _mean_of(code, op, x, axes, 0))
    squares = x._replace(whole=code.push_call(op, operator.mul, distance, distance))
    return _mean_of(code, op, squares, axes, ddof)


def _deviation(code: SelectionCode, op: Call, *args: Any, **kwargs: Any) -> Any:
    variance = _variance(code, op, *args, **kwargs)
    return variance and code.push_call(op, np.sqrt, variance)


def _test(is_all: bool) -> SelectionHandler:
    def test(code: SelectionCode, op: Call, x: Any) -> Any:
        is_test = type(x) is Selection and x.kind == "b"
        return code.push_call(op, op.fn, code.chosen_or(op, x, is_all)) if is_test else None

    return test


def _norm(code: SelectionCode, op: Call, x: Any, order: Any = None, axis: Any = None) -> Any:
    if type(x) is not Selection or order not in (None, 1, 2):
        return None
    if axis is not None:
        own = _own_axis(x, axis)
        return x._replace(whole=code.push_call(op, op.fn, x.whole, order, axis=own)) if own else None
    is_vector = order is None or np.ndim(value_of(x.whole)) == 1
    return code.push_call(op, op.fn, code.chosen_or(op, x, 0.0), order) if is_vector else None


def _running_total(code: SelectionCode, op: Call, x: Any, axis: Any = None) -> Any:
    x = code.as_selection(op, x)
    if type(x) is not Selection or np.ndim(value_of(x.whole)) != 1 or axis not in (None, 0, -1):
        return None
    return code.select(op, code.push_call(op, op.fn, code.chosen_or(op, x, 0)), x.mask, x.lines)


# -- products


def _product_of_rows(code: SelectionCode, op: Call, x: Any, y: Any) -> Any:
    """A product of matrices and vectors: of selected rows with a matrix, or a sum over all chosen items."""
    x, y = code.as_selection(op, x), code.as_selection(op, y)
    of = x.of if type(x) is Transposed else x
    mask = mask_of(of, y)
    if mask is None or len(mask.shape) > 1 or type(y) is Transposed:
        return None
    if type(y) is not Selection:
        if type(x) is not Selection or x.rest != 1 or np.ndim(value_of(y)) not in (1, 2):
            return None
        return x._replace(whole=code.push_call(op, op.fn, x.whole, y))
    if type(of) is not Selection or (type(x) is Selection and x.rest):
        return None
    left = code.chosen_or(op, of, 0.0)
    if type(x) is Transposed:
        left = code.push_call(op, np.transpose, left)
    return code.push_call(op, op.fn, left, code.chosen_or(op, y, 0.0))


def _transposed_rows(code: SelectionCode, op: Call, x: Any) -> Any:
    return Transposed(x) if type(x) is Selection and x.rest == len(x.mask.shape) == 1 else None


# -- copies


def _same_shape(code: SelectionCode, op: Call, x: Any, *args: Any, **kwargs: Any) -> Any:
    """A function that makes an array of the same shape."""
    x = code.as_selection(op, x)
    others = [*args, *[a for name, a in kwargs.items() if name != "shape"], *[()] * ("shape" in kwargs)]
    if type(x) is not Selection or any([isinstance(value_of(a), (tuple, list, np.ndarray)) for a in others]):
        return None
    return x._replace(whole=code.push_call(op, op.fn, x.whole, *args, **kwargs))


def _concatenate(code: SelectionCode, op: Call, parts: Any, axis: Any = 0) -> Any:
    if axis != 0 or type(parts) not in (list, tuple):
        return None
    given = [code.as_selection(op, part) for part in parts]
    shapes = [x.mask.shape if type(x) is Selection else np.shape(value_of(x))[:1] for x in given]
    if any([len(shape) != 1 for shape in shapes]):
        return None
    masks = [x.mask.array if type(x) is Selection else np.ones(n, bool) for x, (n,) in zip(given, shapes, strict=True)]
    numbers = [x.mask.number if type(x) is Selection else n for x, n in zip(given, shapes, strict=True)]
    joined = code.push_call(op, np.concatenate, masks)
    code.note_number(joined, ("concatenate", *numbers))
    wholes = [x.whole if type(x) is Selection else x for x in given]
    return code.select(op, code.push_call(op, np.concatenate, wholes), code.mask(joined), chosen_lines(given))


def _ravel(code: SelectionCode, op: Call, x: Any) -> Any:
    x = code.as_selection(op, x)
    return x if type(x) is Selection and not x.rest else None


def _same_rows(code: SelectionCode, op: Call, x: Any, shape: Any) -> Any:
    is_same = type(x) is Selection and shape == (-1, *np.shape(value_of(x.whole))[len(x.mask.shape) :])
    return x if is_same and len(x.mask.shape) == 1 else None


# -- how they are found

BEGINNING = {read_item, _where_chosen, _chosen_places, _flatnonzero}
"""The handlers of calls that make selections."""
TESTS = {_test(False): (np.any, np.ndarray.any), _test(True): (np.all, np.ndarray.all)}
"""The handlers of calls whose results may be guarded."""
_NAMED_HANDLERS: dict[str, SelectionHandler] = {
    "where": _where_chosen, "nonzero": _chosen_places, "flatnonzero": _flatnonzero, "getfield": _part_of_places,
    "getitem": read_item, "setitem": write_item, "additem": add_item,
    "take": _take, "sum": _unmoved_by(0, "fcib"), "add_reduce": _reduced_by_add,
    "mean": _chosen_mean, "norm": _norm, "max": _extremum(-math.inf), "min": _extremum(math.inf),
    "matmul": _product_of_rows, "dot": _product_of_rows, "vdot": _product_of_rows, "transpose": _transposed_rows,
    "ravel": _ravel, "reshape": _same_rows, "concatenate": _concatenate, "cumsum": _running_total,
    "searchsorted": _searchsorted, "flip": reversed_items,
    "argmax": place_of(-math.inf), "argmin": place_of(math.inf),
    **dict.fromkeys(("copy", "array", "astype", "zeros_like", "ones_like", "empty_like", "full_like"), _same_shape),
}  # fmt: skip
_HANDLERS_OF_FUNCTIONS: dict[Any, SelectionHandler] = {
    functional.length: _chosen_length, np.interp: _interpolated, np.digitize: _map_one(0),
    np.polyval: _map_one(1), np.diff: differences,
    np.prod: _unmoved_by(1, "fci"), np.ndarray.prod: _unmoved_by(1, "fci"), np.inner: _product_of_rows,
    np.var: _variance, np.ndarray.var: _variance, np.std: _deviation, np.ndarray.std: _deviation,
    **{fn: handler for handler, functions in TESTS.items() for fn in functions},
}  # fmt: skip


def handler_of(op: Call) -> SelectionHandler | None:
    """Return the handler of a call; None if it has none."""
    if type(op.fn) not in TOLD_APART:
        return None
    return (
        _NAMED_HANDLERS.get(info(op.fn).name)
        or _HANDLERS_OF_FUNCTIONS.get(op.fn)
        or (_map if maps_elements(op) else None)
    )
