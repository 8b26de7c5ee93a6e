"""Stand-ins of the functions of `heapq` and `bisect`, which order items, in C."""

from __future__ import annotations

import bisect
import heapq
from typing import Any

from wengert.hooks.classes import as_traced
from wengert.hooks.code_swap import prepare
from wengert.hooks.lookups import kept_recording
from wengert.hooks.policy import stand_in_for
from wengert.hooks.standins.standard import shared


def _ordering(native: Any, text: Any) -> Any:
    """Make the stand-in of a function that orders items; on a tape each comparison is a guard."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if "key" in kwargs or kept_recording() is not None:
            return as_traced(text())(*args, **kwargs)
        for a in args:
            prepare(type(a))
        return native(*args, **kwargs)

    return call


def _on_heap(native: Any, text: Any) -> Any:
    """Make the stand-in of a `heapq` function.

    Like C, it takes only lists and bypasses methods of their class. It lets C raise where the Python version would not.
    """
    move = _ordering(native, text)

    def call(*args: Any, **kwargs: Any) -> Any:
        fits = not kwargs and len(args) == text().__code__.co_argcount
        if not fits or not isinstance(args[0], list) or not list.__len__(args[0]):
            return native(*args, **kwargs)  # it compares nothing
        if type(args[0]) is list or kept_recording() is None:
            return move(*args)
        heap, *rest = args
        items = list.copy(heap)
        result = move(items, *rest)
        list.__setitem__(heap, slice(None), items)
        return result

    return call


for _module, _moving in ((heapq, _on_heap), (bisect, _ordering)):
    for _native, _text in shared(_module):
        stand_in_for(_native)(_moving(_native, _text))
