"""Reads and writes of items by masks and by selected indices, and of the items of selections."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert.compiling.selections.prefixes import has_slice, item_of_first, sliced
from wengert.compiling.selections.values import (
    ChosenPlaces,
    Lines,
    Mask,
    Selection,
    SelectionCode,
    chosen_lines,
    mask_of,
    reads_item,
)
from wengert.tape.ops import Call, Variable, value_of
from wengert.values import functional


def read_item(code: SelectionCode, op: Call, x: Any, key: Any) -> Any:
    """`x[key]`."""
    if type(x) in (Selection, ChosenPlaces) and reads_item(op):
        return _one_item(code, op, x, key)
    if type(x) in (Selection, ChosenPlaces) and type(key) in (int, np.int64) and key < 0:
        return _item_from_end(code, op, x, int(key))
    if type(x) is Selection and type(key) is tuple and key and type(key[0]) is int and key[0] < 0:
        item = _item_from_end(code, op, x, key[0])
        return item and code.push_call(op, operator.getitem, item, key[1:])
    x = code.as_selection(op, x)
    if type(x) is Selection:
        return _item_of_selection(code, op, x, key)
    chosen = _chosen_by(op, key)
    if chosen is not None:
        mask, rest, lines = chosen
        if np.shape(value_of(x))[: len(mask.shape)] != mask.shape:
            return None
        if rest:
            x = code.push_call(op, operator.getitem, x, (*(slice(None),) * len(mask.shape), *rest))
        return code.select(op, x, mask, lines)
    key = _whole_key(code, op, key)
    return key and key._replace(whole=code.push_call(op, operator.getitem, x, key.whole))


def _chosen_by(op: Call, key: Any) -> tuple[Mask, tuple[Any, ...], Lines] | None:
    """Return the mask that a key begins with, the parts of the key after it, and the lines that have chosen."""
    parts = key if type(key) is tuple else (key,)
    if not parts or type(parts[0]) not in (Mask, ChosenPlaces):
        return None
    mask, taken, lines = parts[0], 1, frozenset([op.site])
    if type(parts[0]) is ChosenPlaces:
        mask, lines = parts[0].mask, parts[0].lines
        taken = len(mask.shape)
        axes = [part.axis for part in parts if type(part) is ChosenPlaces and part.mask.number == mask.number]
        if axes != [*range(taken)] or any([type(part) is not ChosenPlaces for part in parts[:taken]]):
            return None
    rest = parts[taken:]
    return (mask, rest, lines) if all([isinstance(part, (int, np.integer)) for part in rest]) else None


def _whole_key(code: SelectionCode, op: Call, key: Any) -> Any:
    """Return the key with whole arrays of indices in place of selected ones, as the whole of a selection."""
    parts = [code.as_selection(op, part) for part in (key if type(key) is tuple else (key,))]
    mask = mask_of(*parts)
    if mask is None or type(parts[0]) is not Selection:
        return None
    for part in parts:
        is_index = isinstance(part, (int, np.integer))
        if not is_index and (type(part) is not Selection or part.rest or part.kind != "i"):
            return None
    wholes = tuple([part.whole if type(part) is Selection else part for part in parts])
    return Selection(wholes if type(key) is tuple else wholes[0], mask, chosen_lines(parts))  # type: ignore[arg-type]


def _item_of_selection(code: SelectionCode, op: Call, x: Selection, key: Any) -> Any:
    if type(key) is Selection:
        if key.kind != "b" or key.rest or key.mask.number != x.mask.number:
            return None
        return code.select(op, x.whole, code.select_again(op, x.mask, key), chosen_lines([x, key]) | {op.site})
    parts = key if type(key) is tuple else (key,)
    if has_slice(parts):
        made = sliced(code, op, x, parts[0])
        rest = (slice(None), *parts[1:])
        if made is None or len(parts) == 1:
            return made
        return (
            _item_of_selection(code, op, made, rest)
            if type(made) is Selection
            else code.push_call(op, operator.getitem, made, rest)
        )
    if not parts or not all([part is None or part is Ellipsis or _is_plain_index(part) for part in parts]):
        return None
    if parts[0] is Ellipsis and sum([part is not None for part in parts[1:]]) <= x.rest:
        return x._replace(whole=code.push_call(op, operator.getitem, x.whole, parts))
    if parts[0] != slice(None):
        return None
    full = (slice(None),) * len(x.mask.shape)
    return x._replace(whole=code.push_call(op, operator.getitem, x.whole, (*full, *parts[1:])))


def _one_item(code: SelectionCode, op: Call, x: Any, key: Variable) -> Any:
    """The chosen item of a number that the tape computes; one that is negative or too large needs another trace."""
    counted = key.op.args[0] if isinstance(key.op, Call) and key.op.fn is functional.as_index else None
    if type(x) is Selection and len(x.mask.shape) == 1 and counted is None:
        return item_of_first(code, op, x, key)
    if x.mask.places is None or counted is None or value_of(counted) < 0.0:
        return None
    code.new.push(Call(operator.ge, [counted, 0.0], val=True, site=op.site, guard=True))
    place = code.push_call(op, operator.getitem, x.mask.places, key)
    if type(x) is Selection:
        return code.push_call(op, operator.getitem, x.whole, place)
    size = x.mask.shape[0]
    code.new.push(Call(operator.lt, [place, size], val=value_of(place) < size, site=op.site, guard=True))
    return place


def _item_from_end(code: SelectionCode, op: Call, x: Any, key: int) -> Any:
    """The chosen item at a constant negative index; fewer items need another trace.

    Items at other constant indices may be those of an iteration in C, which learns the number of items without a call.
    """
    if len(x.mask.shape) != 1:
        return None
    so_far = code.push_call(op, np.cumsum, code.push_call(op, np.where, x.mask.array, 1.0, 0.0))
    count = code.count(op, x.mask)
    code.new.push(Call(operator.ge, [count, float(-key)], val=True, site=op.site, guard=True))
    place = code.push_call(op, np.searchsorted, so_far, code.push_call(op, operator.add, count, key + 1.0))
    return place if type(x) is ChosenPlaces else code.push_call(op, operator.getitem, x.whole, place)


def _is_plain_index(part: Any) -> bool:
    bounds = (part.start, part.stop, part.step) if type(part) is slice else (part,)
    return all([bound is None or isinstance(bound, int) for bound in bounds])


def write_item(code: SelectionCode, op: Call, x: Any, key: Any, value: Any) -> Any:
    """`x[key] = value`."""
    x, value = code.as_selection(op, x), code.as_selection(op, value)
    if type(x) is Selection:
        if type(key) is not Selection or key.kind != "b" or key.rest or key.mask.number != x.mask.number:
            return None
        written = _with_written(code, op, x.whole, code.select_again(op, x.mask, key), value)
        return written and code.select(op, written, x.mask, chosen_lines([x, key, value]))
    chosen = _chosen_by(op, key)
    return None if chosen is None or chosen[1] else _with_written(code, op, x, chosen[0], value)


def _with_written(code: SelectionCode, op: Call, x: Variable, mask: Mask, value: Any) -> Variable | None:
    """Return an array after a value is written to the items that a mask chooses; None if that is not supported."""
    ndim, rest = np.ndim(value_of(x)), np.ndim(value_of(x)) - len(mask.shape)
    if np.shape(value_of(x))[: len(mask.shape)] != mask.shape:
        return None
    if type(value) is Selection:
        if value.mask.number != mask.number or value.rest != rest:
            return None
        value = value.whole
    elif np.ndim(value_of(value)) > rest:
        return None
    if np.result_type(value_of(value), value_of(x)) != value_of(x).dtype:
        return None
    return code.push_call(op, np.where, code.spread(op, mask, ndim), value, x)


def add_item(code: SelectionCode, op: Call, x: Any, key: Any, value: Any) -> Any:
    """`np.add.at(x, key, value)`."""
    value = code.as_selection(op, value)
    if type(x) is Selection or type(value) is not Selection or value.kind != "f":
        return None
    added = code.chosen_or(op, value, 0.0)
    chosen = _chosen_by(op, key)
    if chosen is not None:
        is_same = chosen[0].number == value.mask.number and not chosen[1]
        if not is_same or np.shape(value_of(x)) != np.shape(value_of(added)):
            return None
        return code.push_call(op, operator.add, x, added)
    key = _whole_key(code, op, key)
    if key is None or key.mask.number != value.mask.number:
        return None
    return code.push_call(op, functional.additem, x, key.whole, added)
