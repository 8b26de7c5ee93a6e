"""Lists that loops fill, in the hooks of a trace with symbolic integers."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from wengert.compiling.watched.filled_lists import FILLABLE, ListStandIn, list_view, lists_here
from wengert.compiling.watched.growing_lists import GrowingItems, GrowingTable
from wengert.compiling.watched.lifting import FILLED
from wengert.compiling.watched.symbolic_ints import SymbolicInt
from wengert.recording.primitives import primitive_of
from wengert.recording.recording import STATE
from wengert.values.identity_set import Functions
from wengert.values.names import is_of_library
from wengert.values.sites import Site

_READERS = Functions(sum, min, max, sorted, list, tuple)
"""Functions of Python that read the items of a list at once; those of libraries that have a rule do so, too."""


def has_filled(container: Any, key: Any, value: Any) -> bool:
    """Set an item of a list or dictionary that has an array, or gets one now; return whether that is done."""
    lists, is_index = lists_here(), type(key) is int or type(key) is SymbolicInt
    if lists is None:
        return False
    if id(container) not in lists.views and type(key) is SymbolicInt:
        lists.fill(container, lists.heads.loops_behind([key]), FILLED.get(type(value)))
    view = lists.views.get(id(container))
    if view is None:
        return False
    if is_index:
        return lists.write(view, key, value)
    lists.settle(view)
    return False


_FIXED_ENDS = {int, type(None)}


def filled_item(container: Any, key: Any) -> Any:
    """Return the item of a list or dictionary whose items are in an array; None for other ones and keys."""
    view = list_view(container)
    if view is not None and (type(key) in (int, SymbolicInt) or (type(key) is np.int64 and type(view) is GrowingTable)):
        return lists_here().read(view, key)  # type: ignore[union-attr]
    if (
        type(view) is GrowingTable
        and type(key) is slice
        and {*map(type, (key.start, key.stop, key.step))} <= _FIXED_ENDS
    ):
        return view.sliced(key)
    settle(container)
    return None


def settle(thing: Any) -> None:
    """Have the items of a list be numbers of its own, if the tape has them in an array."""
    lists = lists_here() if type(thing) in FILLABLE else None
    if lists is not None and id(thing) in lists.views:
        lists.settle(lists.views[id(thing)])


def iterating(hook: Any) -> Any:
    """Return the hook of `iter`, which returns an iterator of its own for a growing list."""

    def call(x: Any, site: Site | None) -> Any:
        view = list_view(x) if type(x) is list else None
        return GrowingItems(view) if type(view) is GrowingTable else hook(x, site)

    return call


def settling(hook: Any) -> Any:
    """Return a hook that may read the items of its operands."""

    def call(*things: Any) -> Any:
        for thing in things:
            if type(thing) in FILLABLE:
                STATE.site = things[-1]
                settle(thing)
        return hook(*things)

    return call


def with_items_read(f: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments for a function that reads lists at once: with lists of items, or arrays of growing lists."""
    if lists_here() is None or not any([type(a) in _WITH_GROWN for a in args]):
        return args
    reads_copies = f in _READERS or (primitive_of(f) is not None and is_of_library(f))
    takes_arrays = _is_of_arrays(f)
    return tuple([_argument_for(f, a, reads_copies, takes_arrays) for a in args])


_WITH_GROWN = {list, tuple, ListStandIn}


def _is_of_arrays(f: Any) -> bool:
    """Whether a function of NumPy or SciPy, or a method of an array, takes an array in place of a list."""
    home = getattr(f, "__module__", None) or ""
    return home.partition(".")[0] in ("numpy", "scipy") or type(getattr(f, "__self__", None)) is np.ndarray


def _argument_for(f: Any, a: Any, reads_copies: bool, takes_arrays: bool) -> Any:
    view = list_view(a) if type(a) in (list, ListStandIn) else None
    if type(view) is GrowingTable:
        if f is zip or f is enumerate:
            return GrowingItems(view)
        return view.items() if takes_arrays and not view.is_whole else a
    if view is not None:
        return lists_here().copy(view) if reads_copies else a  # type: ignore[union-attr]
    if takes_arrays and type(a) in (list, tuple) and any([type(list_view(part)) is GrowingTable for part in a]):
        return type(a)([_argument_for(f, part, False, True) for part in a])
    return a


def reduced_list(f: Any, args: tuple[Any, ...]) -> Any:
    """Return the sum, maximum or minimum of a growing list; None for other functions and arguments."""
    is_one = f in (sum, max, min) and len(args) == 1 and type(args[0]) is list
    view = list_view(args[0]) if is_one else None
    if type(view) is not GrowingTable:
        return None
    if f is not sum:
        return view.extremum(f)
    return view.total() if view.has_plain_sum else None


def appending(method: Any) -> Any:
    """Return what appends to a growing list in place of its method; None for other methods."""
    view = list_view(method.__self__) if method.__name__ in ("append", "extend") else None
    if type(view) is not GrowingTable:
        return None
    return view.append if method.__name__ == "append" else functools.partial(_append_all, view, method)


def _append_all(view: Any, method: Any, items: Any) -> None:
    if type(items) in (list, tuple) and list_view(items) is None:
        for item in items:
            view.append(item)
    else:
        settle(view.root)
        settle(items)
        method(items)


def extending(hook: Any) -> Any:
    """Return the hook of `+=`, which appends to a growing list."""

    def call(right: Any, left: Any, site: Site | None) -> Any:
        view = list_view(left) if type(left) is list and type(right) is list else None
        if type(view) is not GrowingTable:
            return hook(right, left, site)
        STATE.site = site
        _append_all(view, left.extend, right)
        return left

    return call


def length_of_grown(thing: Any) -> Any:
    """Return the number of items of a growing list; None for other things."""
    view = list_view(thing) if type(thing) is list else None
    return view.measured() if type(view) is GrowingTable else None


def is_in_array(thing: Any) -> bool:
    """Whether a thing is a list whose items are in an array."""
    return type(thing) in FILLABLE and list_view(thing) is not None


_HELD_ITEMS = {float, np.float64, np.ndarray, list, tuple}


def comparing_identity(hook: Any) -> Any:
    """Return the hook of `is` or `is not`, which refuses numbers if loops fill lists with them."""

    def call(right: Any, left: Any, site: Site | None) -> Any:
        lists = lists_here() if type(left) is type(right) and type(left) in _HELD_ITEMS else None
        if lists is not None:
            STATE.site = site
            lists.refuse_identity(type(left))
        return hook(right, left, site)

    return call
