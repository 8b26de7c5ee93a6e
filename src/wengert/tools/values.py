"""The values of a tape's ops before later stores: the recorded arrays hold their last content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.tape.interface import AnyTape
from wengert.tape.liveness import is_store
from wengert.tape.ops import MISSING, Call, Op
from wengert.tape.play import run_call
from wengert.values.numeric_trees import leaf_values

LARGEST_REPLAY = 1 << 29  # bytes of arrays up to which they are computed again


def values_of(tape: AnyTape) -> dict[Op, Any]:
    """Return the values of the ops, as far as they are known.

    On a tape with stores, arrays are computed again, each store into a copy. If they would take too much memory, or a
    call fails, they are left out.
    """
    ops = list(tape)
    known = {op: op.val for op in ops if op.val is not MISSING}
    if not any(map(is_store, ops)):
        return known
    replayed = [op for op in ops if isinstance(op, Call) and _holds_arrays(op.val)]
    if sum(map(_bytes_of_arrays, replayed)) > LARGEST_REPLAY or not _recompute(replayed, known):
        for op in replayed:
            known.pop(op, None)
    return known


def _recompute(replayed: Sequence[Call], known: dict[Op, Any]) -> bool:
    """Run these calls again and put their values into `known`; return whether all succeeded."""
    try:
        with np.errstate(all="ignore"):
            for op in replayed:
                known[op] = run_call(op, lambda v: known[v.op])
    except Exception:  # a user's function may raise any
        return False
    return True


def _holds_arrays(value: Any) -> bool:
    return any(isinstance(leaf, np.ndarray) for leaf in leaf_values(value))


def _bytes_of_arrays(op: Op) -> int:
    return sum(leaf.nbytes for leaf in leaf_values(op.val) if isinstance(leaf, np.ndarray))
