"""Find arrays of zeros that need no zeros: a loop writes each row before anything reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Op, Variable
from wengert.tape.usage import readers_of
from wengert.values import functional


def zeros_filled_by_loops(ops: Sequence[Op]) -> set[Op]:
    """Return the calls of np.zeros whose array a loop overwrites as a whole."""
    zeros = [op for op in ops if isinstance(op, Call) and op.fn is np.zeros]
    readers = readers_of(ops) if zeros else {}
    return {op for op in zeros if len(readers.get(op, ())) == 1 and _is_filled_by(readers[op][0], op)}


def _is_filled_by(call: Any, zeros: Op) -> bool:
    """Whether a call runs a loop that carries the array of `zeros` and overwrites all of it."""
    if type(call.fn) is not Loop:
        return False
    at = next(k for k, a in enumerate(call.args) if type(a) is Variable and a.op is zeros)
    return fills_carried_array(call.fn, at - len(call.fn.steps), call.args)


def fills_carried_array(loop: Loop, k: int, firsts: Sequence[Any]) -> bool:
    """Whether a loop writes each row of the k-th carried array and reads none; `firsts` are the first loop indices."""
    if k not in range(loop.carried) or loop.ending != "count":
        return False
    indices = [v.op for v in loop.inputs[: len(loop.steps)]]
    mine, end = loop.inputs[len(indices) + k].op, loop.results[k]
    op = end.op if isinstance(end, Variable) else None
    readers = [v for other in loop.body for v in other.references() if v.op is mine or v.op is op]
    if not isinstance(op, Call) or op.fn is not functional.setitem or len(readers) != 2:
        return False
    x, key, _ = op.args
    rows = isinstance(x, Variable) and x.op is mine and isinstance(key, Variable) and key.op in indices
    if not rows or not isinstance(firsts[indices.index(key.op)], int):
        return False
    first, step = firsts[indices.index(key.op)], loop.steps[indices.index(key.op)]
    return {first + step * n for n in range(loop.count)} == set(range(op.val.shape[0]))
