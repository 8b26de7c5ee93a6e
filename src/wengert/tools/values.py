"""The values of a tape's ops as they were when they were made: a store leaves an array's last content in all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.tape.interface import AnyTape
from wengert.tape.liveness import is_store
from wengert.tape.ops import MISSING, Call, Op
from wengert.tape.play import run_call
from wengert.values.numeric_trees import leaf_values

MOST = 1 << 29  # bytes of arrays that are computed anew


def values_of(tape: AnyTape) -> dict[Op, Any]:
    """The values of the ops, as far as they are known.

    On a tape with stores, arrays are computed anew, each store into a copy. Where these would take too much memory, or
    a call fails, they are left out.
    """
    ops = list(tape)
    known = {op: op.val for op in ops if op.val is not MISSING}
    if not any(map(is_store, ops)):
        return known
    anew = [op for op in ops if isinstance(op, Call) and _holds_arrays(op.val)]
    if sum(map(_nbytes, anew)) > MOST or not _run(anew, known):
        for op in anew:
            known.pop(op, None)
    return known


def _run(anew: Sequence[Call], known: dict[Op, Any]) -> bool:
    """Compute these calls anew into `known`; whether they all went through."""
    try:
        with np.errstate(all="ignore"):
            for op in anew:
                known[op] = run_call(op, lambda v: known[v.op])
    except Exception:  # of a function of the user's: any
        return False
    return True


def _holds_arrays(value: Any) -> bool:
    return any(isinstance(leaf, np.ndarray) for leaf in leaf_values(value))


def _nbytes(op: Op) -> int:
    return sum(leaf.nbytes for leaf in leaf_values(op.val) if isinstance(leaf, np.ndarray))
