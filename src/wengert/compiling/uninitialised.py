"""Filling: arrays of zeros of which a loop writes each row before anything reads it need no zeros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Op, Variable
from wengert.values import functional


def filled(ops: Sequence[Op]) -> set[Op]:
    """The calls of np.zeros among these ops that give what a loop fills."""
    readers: dict[Any, list[Any]] = {}
    for op in ops:
        for v in op.references():
            readers.setdefault(v.op, []).append(op)
    return {
        op for op in ops
        if isinstance(op, Call) and op.fn is np.zeros and len(readers.get(op, ())) == 1 and _fills(readers[op][0], op)
    }  # fmt: skip


def _fills(call: Any, zeros: Op) -> bool:
    """Whether a call is of a loop that carries, and fills, the array that an op gives."""
    if type(call.fn) is not Loop:
        return False
    at = next(k for k, a in enumerate(call.args) if type(a) is Variable and a.op is zeros)
    return fills(call.fn, at - len(call.fn.steps), call.args)


def fills(loop: Loop, k: int, firsts: Sequence[Any]) -> bool:
    """Whether a loop writes each row of the k-th array that it carries, and reads none; places begin with `firsts`."""
    if k not in range(loop.carried):
        return False
    places = [v.op for v in loop.inputs[: len(loop.steps)]]
    mine, end = loop.inputs[len(places) + k].op, loop.results[k]
    op = end.op if isinstance(end, Variable) else None
    readers = [v for other in loop.body for v in other.references() if v.op is mine or v.op is op]
    if not isinstance(op, Call) or op.fn is not functional.setitem or len(readers) != 2:
        return False
    x, key, _ = op.args
    rows = isinstance(x, Variable) and x.op is mine and isinstance(key, Variable) and key.op in places
    if not rows or not isinstance(firsts[places.index(key.op)], int):
        return False
    first, step = firsts[places.index(key.op)], loop.steps[places.index(key.op)]
    return {first + step * n for n in range(loop.count)} == set(range(op.val.shape[0]))
