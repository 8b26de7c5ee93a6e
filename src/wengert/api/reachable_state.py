"""The state that functions can reach and change, as it was at some time, and its restoration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.solver_callbacks import reaches_traced
from wengert.recording.pullback_reads import FarReach
from wengert.values.snapshots import Reach, identical
from wengert.values.undo_stack import Owed

WRITEABLE = 0x400
"""The bit of writeable arrays in `flags.num`; `flags.writeable` warns for arrays of `np.broadcast_arrays`."""


class State:
    """The state that a function, or other things, can reach and change, as it was before a call."""

    def __init__(self, f: Any) -> None:
        far = FarReach((f,))
        self.reaches = far, Reach((f,))
        self.contents = [(array, array.tobytes()) for array in far.arrays if array.flags.num & WRITEABLE]

    def is_changed(self, same: Callable[[list[Any], list[Any]], bool] = identical) -> bool:
        """Return whether anything is not the `same` any more."""
        kept = all([reach.is_unchanged(same) for reach in self.reaches])
        return not kept or any([array.tobytes() != was for array, was in self.contents])

    def changed(self) -> list[Any]:
        """Return what has come into containers since then, and the arrays whose contents are others."""
        arrays = [array for array, was in self.contents if array.tobytes() != was]
        return [part for reach in self.reaches for part in reach.added()] + arrays

    def is_put_back(self, same: Callable[[list[Any], list[Any]], bool] = identical) -> bool:
        """Put back what is not the `same` any more; return whether anything was not."""
        changed = [(array, was) for array, was in self.contents if array.tobytes() != was]
        for array, was in changed:
            array[...] = np.frombuffer(was, array.dtype).reshape(array.shape)
        kept = all([reach.is_unchanged(same) for reach in self.reaches])
        if not kept:
            for reach in self.reaches:
                reach.put_back(Owed(), same)
        return bool(changed) or not kept


def undoing(*things: Any) -> Callable[[], bool]:
    """Return a function that undoes all later changes of what these things reach, unless that holds traced values.

    Parameters:
        *things (Any): Functions and what they read.
    Returns:
        callable: The function, without parameters. It returns False if it undoes nothing because of traced values.
    See Also:
        on_examples, unseen

    Examples:
        >>> calls = []
        >>> undo = wg.extend.undoing(calls)
        >>> calls.append(1)
        >>> undo()
        True
        >>> calls
        []
    """
    state = State(things)

    def undo() -> bool:
        if reaches_traced(state.changed()):
            return False
        state.is_put_back()
        return True

    return undo
