"""Lists that loops fill, in the hooks of a trace with symbolic integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compiling.watched.filled_lists import FILLABLE, ListStandIn, list_view, lists_here
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


def filled_item(container: Any, key: Any) -> Any:
    """Return the item of a list or dictionary whose items are in an array; None for other ones and keys."""
    view = list_view(container)
    if view is not None and type(key) in (int, SymbolicInt):
        return lists_here().read(view, key)  # type: ignore[union-attr]
    settle(container)
    return None


def settle(thing: Any) -> None:
    """Have the items of a list be numbers of its own, if the tape has them in an array."""
    lists = lists_here() if type(thing) in FILLABLE else None
    if lists is not None and id(thing) in lists.views:
        lists.settle(lists.views[id(thing)])


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
    """Return the arguments for a function; one that reads lists at once gets lists of items read from arrays."""
    if f not in _READERS and (primitive_of(f) is None or not is_of_library(f)):
        return args
    views = [list_view(a) if type(a) in (list, ListStandIn) else None for a in args]
    lists: Any = lists_here()
    return tuple([a if view is None else lists.copy(view) for a, view in zip(args, views, strict=True)])


def is_in_array(thing: Any) -> bool:
    """Whether a thing is a list whose items are in an array."""
    return type(thing) in FILLABLE and list_view(thing) is not None


def comparing_identity(hook: Any) -> Any:
    """Return the hook of `is` or `is not`, which refuses numbers if loops fill lists with them."""

    def call(right: Any, left: Any, site: Site | None) -> Any:
        if type(left) is type(right) and type(left) in (float, np.float64) and (lists := lists_here()) is not None:
            STATE.site = site
            lists.refuse_identity()
        return hook(right, left, site)

    return call
