"""Values that stand for selections on a tape that computes with whole arrays, and the code that makes them."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.constants import constant_key
from wengert.compiling.ops import as_ufunc, info
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.ops import Call, Constant, Op, Variable, value_of
from wengert.values import functional
from wengert.values.sites import Site

Lines = frozenset[Site | None]
_NUMBERED_TYPES = {Variable, int, float, bool, np.float64, np.int64, np.ndarray}


def reads_item(op: Call) -> bool:
    """Whether a call reads an item of an array at an index that the tape computes."""
    is_read = info(op.fn).name == "getitem" and type(op.args[1]) is Variable
    return is_read and isinstance(value_of(op.args[1]), (int, np.integer))


class KeptAsRecordedError(Exception):
    """The selections made at these lines have to stay as recorded."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines


class Mask(NamedTuple):
    """An array of bools that chooses items; equal masks have the same `number`.

    `places` is the array of the indices of the chosen items, and then indices beyond the end; None if nothing reads
    chosen items one by one.
    """

    array: Variable
    number: int
    places: Variable | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return np.shape(value_of(self.array))


class ChosenPlaces(NamedTuple):
    """The indices along one axis of the items that a mask chooses, as np.nonzero returns them."""

    mask: Mask
    axis: int
    lines: Lines


class Selection(NamedTuple):
    """The items of a `whole` array that a mask chooses, in order; elsewhere, the array has copies of a chosen item.

    The first axis of the selection is in place of those of the mask. `lines` have chosen.
    """

    whole: Variable
    mask: Mask
    lines: Lines

    @property
    def rest(self) -> int:
        """The number of axes of each chosen item."""
        return int(np.ndim(value_of(self.whole))) - len(self.mask.shape)

    @property
    def kind(self) -> str:
        """The kind of dtype, such as "f"."""
        kind: str = value_of(self.whole).dtype.kind
        return kind


class Transposed(NamedTuple):
    """The transpose of a matrix whose rows are selected."""

    of: Selection

    @property
    def lines(self) -> Lines:
        """The lines that have chosen."""
        return self.of.lines


def maps_elements(op: Call) -> bool:
    """Whether a call is elementwise."""
    ufunc = as_ufunc(op.fn)
    return info(op.fn).arity > 0 or (isinstance(ufunc, np.ufunc) and ufunc.signature is None and ufunc.nout == 1)


def chosen_lines(things: Iterable[Any]) -> Lines:
    """Return the lines that have made the selections among these."""
    return frozenset().union(*[x.lines for x in things if isinstance(x, (Selection, ChosenPlaces, Transposed))])


def mask_of(*things: Any) -> Mask | None:
    """Return the mask of all selections among these; None if there is none, or several."""
    masks = [x.mask for x in things if type(x) is Selection]
    return masks[0] if len({mask.number for mask in masks}) == 1 else None


class SelectionCode(TapeRewriter):
    """The code for selections on a new tape: each method appends calls for the op `origin` of the old one."""

    def __init__(self, old: Any) -> None:
        super().__init__(old)
        self.reads_items = any([reads_item(op) for op in old.calls])
        self._numbers: dict[Any, int] = {}  # of values, by keys that are equal for equal ones
        self._number_of: dict[Any, int] = {}  # the same, by the ops of the new tape

    def push(self, op: Op) -> None:
        super().push(op)
        self.note_number(self.table[op])

    def push_call(self, origin: Any, fn: Any, *args: Any, **kwargs: Any) -> Variable:
        made = super().push_call(origin, fn, *args, **kwargs)
        self.note_number(made)
        return made

    def note_number(self, made: Variable, key: Any = None) -> None:
        """Number a new value; equal elementwise calls and items of equal values have one number, and equal keys."""
        key = self._key(made.op) if key is None else key
        self._number_of[made.op] = self._numbers.setdefault(key, len(self._numbers))

    def _key(self, op: Any) -> Any:
        if not isinstance(op, Call) or op.guard or op.kwargs:
            return id(op)
        if not maps_elements(op) and info(op.fn).name not in ("getitem", "item"):
            return id(op)
        if not all([type(a) in _NUMBERED_TYPES for a in op.args]):
            return id(op)
        return op.fn, *[self._number_of[a.op] if type(a) is Variable else constant_key(a) for a in op.args]

    def mask(self, array: Variable) -> Mask:
        """Return the mask that an array of bools is."""
        return Mask(array, self._number_of[array.op])

    def spread(self, origin: Op, mask: Mask, ndim: int) -> Variable:
        """Return a mask with axes of length 1 at its end, so that it has so many axes."""
        more = ndim - len(mask.shape)
        return self.push_call(origin, operator.getitem, mask.array, (..., *(None,) * more)) if more else mask.array

    def select(self, origin: Op, whole: Any, mask: Mask, lines: Lines) -> Selection:
        """Return the selection by a mask from an array, with copies of the last chosen item in place of all others."""
        shape, size = mask.shape, math.prod(mask.shape)
        if not size or type(value_of(whole)) is not np.ndarray or value_of(whole).dtype.kind not in "fcib":
            raise KeptAsRecordedError(lines)
        rows, rest = whole, np.shape(value_of(whole))[len(shape) :]
        if len(shape) > 1:
            rows = self.push_call(origin, np.reshape, whole, (size, *rest))
        item = self.push_call(origin, operator.getitem, rows, self.place_of_last(origin, mask))
        item = self.push_call(origin, functional.stopped, item)
        chosen = self.spread(origin, mask, len(shape) + len(rest))
        number = self._number_of[whole.op] if type(whole) is Variable else id(whole)
        filled = self.push_call(origin, np.where, chosen, whole, item)
        mask = self.with_places(origin, mask)
        self.note_number(filled, ("select", number, mask.number))
        return Selection(filled, mask, lines)

    def place_of_last(self, origin: Op, mask: Mask) -> Variable:
        """Return the place of the last item that a mask chooses in the raveled array; 0 if there is none."""
        places = np.arange(float(math.prod(mask.shape))).reshape(mask.shape)
        last = self.push_call(origin, np.max, self.push_call(origin, np.where, mask.array, places, 0.0))
        return self.push_call(origin, functional.as_index, last)

    def with_places(self, origin: Op, mask: Mask) -> Mask:
        """Return a mask with the places of the items that it chooses, if something may read these one by one."""
        if not self.reads_items or len(mask.shape) != 1:
            return mask
        so_far = self.push_call(origin, np.cumsum, self.push_call(origin, np.where, mask.array, 1.0, 0.0))
        places = self.push_call(origin, np.searchsorted, so_far, np.arange(1.0, mask.shape[0] + 1.0))
        return mask._replace(places=places)

    def select_again(self, origin: Op, mask: Mask, by: Selection) -> Mask:
        """Return the mask of those chosen items that a selection of bools chooses."""
        return self.mask(self.push_call(origin, np.logical_and, mask.array, by.whole))

    def chosen_or(self, origin: Op, x: Selection, other: Any) -> Variable:
        """Return the whole array with `other` in place of all items that are not chosen."""
        chosen = self.spread(origin, x.mask, len(x.mask.shape) + x.rest)
        return self.push_call(origin, np.where, chosen, x.whole, other)

    def count(self, origin: Op, mask: Mask) -> Variable:
        """Return the number of chosen items."""
        made = self.push_call(origin, np.sum, mask.array, dtype=np.float64)
        self.note_number(made, ("count", mask.number))
        return made

    def check_items(self, origin: Op, x: Selection) -> None:
        """Guard that a selection has an item."""
        if not np.any(value_of(x.mask.array)):
            raise KeptAsRecordedError(x.lines)
        self.new.push(Call(np.any, [x.mask.array], val=True, site=origin.site, guard=True))

    def as_selection(self, origin: Op, x: Any) -> Any:
        """Return the Selection that ChosenPlaces are, and the array of a Mask; anything else unchanged."""
        if type(x) is not ChosenPlaces:
            return x.array if type(x) is Mask else x
        places = self.new.push(Constant(np.indices(x.mask.shape)[x.axis]))
        self.note_number(places, ("indices", x.mask.shape, x.axis))
        return self.select(origin, places, x.mask, x.lines)
