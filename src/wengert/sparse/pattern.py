"""The pattern of a derivative: which elements of a tape's result depend on which elements of its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from wengert.sparse.csr import Csr
from wengert.sparse.dependences import Dependences, Whole
from wengert.sparse.ways import dependences
from wengert.tape.liveness import drops, liveness
from wengert.tape.ops import MISSING, Call, Op, Variable
from wengert.tape.tape import Tape
from wengert.values.nested import bits
from wengert.values.specs import is_inexact


class Pattern:
    """The pattern, `csr`, of the derivative of a tape's result by some of its inputs.

    Its rows are the elements of the result, those of a container part by part, its columns the elements of the inputs
    at the positions `inputs`. It is that of each tape to which `fits` says yes. It keeps the ops of the tape, and takes
    their values from them.
    """

    def __init__(self, tape: Tape, inputs: Sequence[int]) -> None:
        sizes = [np.size(tape[k].val) for k in inputs]
        of = Dependences(sum(sizes))
        for k, first, size in zip(inputs, np.cumsum([0, *sizes]), sizes, strict=False):
            of.of[k] = np.arange(first + 1, first + size + 1).reshape(np.shape(tape[k].val))
        _run(tape, of)
        rows = np.concatenate([[], *_rows(tape[tape.result].val, of.of.get(tape.result.id))]).astype(np.int64)
        indices, lengths = of.sets.gathered(rows)
        self.csr = Csr(np.concatenate([[0], np.cumsum(lengths)]), indices, of.sets.n)
        self._reads, self._free, self._result = of.reads, of.free, tape.result.id
        self._ops = [(op, _form(op.val)) for op in tape]
        for op, _ in self._ops:
            op.val = MISSING

    def fits(self, tape: Tape) -> bool:
        """Whether this is the pattern of another tape, too: one of the same calls, which choose the same elements."""
        return (
            len(self._ops) == len(tape)
            and self._result == tape.result.id
            and all(_same(value, tape[k].val) for k, value in self._reads.items())
            and all(_same_op(*known, op, op.id in self._free) for known, op in zip(self._ops, tape, strict=True))
        )


def _run(tape: Tape, of: Dependences) -> None:
    """Find the dependences of all that the result of a tape is made of."""
    ops, needed = list(tape), {tape.result.id}
    for op in reversed(ops):
        if op.id in needed:
            needed.update(v.id for v in op.references())
    live = liveness(ops, tape.result)
    for op, dead in zip(ops, drops(live, ops)[1:], strict=True):
        if isinstance(op, Call) and op.id in needed:
            found = dependences(of, op, op.id in live.in_place)
            if found is not None:
                of.of[op.id] = found
        for k in dead:
            of.of.pop(k, None)


def _rows(value: Any, known: Any) -> Iterator[np.ndarray]:
    """The sets of the elements of a result, part by part."""
    if is_inexact(value):
        whole = known.set if isinstance(known, Whole) else known
        yield np.broadcast_to(0 if whole is None else whole, np.shape(value)).ravel()
    elif isinstance(value, tuple | list | dict):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield from _rows(value[key], known if isinstance(known, Whole | None) else known[key])


def _same_op(a: Op, form: Any, b: Op, free: bool) -> bool:
    """Whether two ops depend on their arguments alike; `free` says that no value counts for that, but shapes do.

    `form` is that of the value of `a`.
    """
    if type(a) is not type(b) or form != _form(b.val):
        return False
    if not isinstance(a, Call) or not isinstance(b, Call):
        return True
    return _same((a.fn, a.args, a.kwargs), (b.fn, b.args, b.kwargs), free)


def _same(a: Any, b: Any, free: bool = False) -> bool:
    """Whether two arguments are the same; where they are `free`, whether their shapes are."""
    if a is b:
        return True
    if isinstance(a, Variable) or isinstance(b, Variable):
        return isinstance(a, Variable) and isinstance(b, Variable) and a.id == b.id
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(_same(x, y, free) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key], free) for key in a)
    if isinstance(a, slice):
        return _same((a.start, a.stop, a.step), (b.start, b.stop, b.step), free)
    if isinstance(a, np.ndarray | np.generic | float | complex):
        return _form(a) == _form(b) and (free or bits(a) == bits(b))
    return bool(a == b)


def _form(value: Any) -> Any:
    """What an array is, but for its numbers."""
    return (value.shape, value.dtype, value.strides) if isinstance(value, np.ndarray) else type(value)
