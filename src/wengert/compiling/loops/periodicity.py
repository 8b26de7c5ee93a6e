"""Where the ops of a tape repeat: runs of calls of the same functions on arguments of the same form."""

from __future__ import annotations

import operator
import types
from collections.abc import Container, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.graphs.graph import ValueSpec
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Op, Variable
from wengert.values import functional

INEXACT = frozenset((float, complex, np.float32, np.float64, np.complex128))
"""Types of floating-point constants."""
VARYING = frozenset((int, *INEXACT, *[np.dtype(code).type for code in np.typecodes["AllInteger"]]))
"""Types of constants that may be another one in each iteration."""
_MOVES = (operator.getitem, np.ndarray.item, functional.getfield)
LEAST_OPS, LEAST_COUNT = 96, 6
"""How many ops a run has at least, and how many iterations: what is shorter is better read, and run, as it is."""


class Run(NamedTuple):
    """`count` times `period` ops of equal signatures, from the position `start` on."""

    start: int
    period: int
    count: int  # type: ignore[assignment]

    @property
    def end(self) -> int:
        return self.start + self.period * self.count


def runs_of(ops: Sequence[Op], crossings: Any, cut: Container[int] = ()) -> list[Run]:
    """The runs, of the shortest periods first where they overlap, in order.

    `crossings(run)` tells for each op of an iteration how many values are read on both sides of it: a run begins where
    these are fewest. Runs of `cut` iterations stand for more: they are long enough.
    """
    marks, taken = _marks(ops), np.zeros(len(ops), bool)
    work = np.cumsum([0, *map(_work, ops)])
    found = []
    for period in _periods(marks, LEAST_COUNT if cut or work[-1] > 2 * len(ops) else LEAST_OPS):
        same = (marks[period:] == marks[:-period]) & ~taken[:-period] & ~taken[period:]
        edges = np.flatnonzero(np.diff(np.concatenate(([0], same.view(np.int8), [0]))))
        for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            length = end - start + period
            count = length // period
            is_long = count in cut or work[end + period] - work[start] >= 2 * LEAST_OPS
            enough = count >= LEAST_COUNT and is_long and work[start + period] > work[start] + period
            if enough and not taken[start : end + period].any():
                run = _turned(Run(start, period, count), length, crossings)
                taken[run.start : run.end] = True
                found.append(run)
    return sorted(found)


def _work(op: Op) -> int:
    """One for an op that only moves values, two for a call, and as many as a run has for a loop."""
    if not isinstance(op, Call) or is_move(op):
        return 1
    return LEAST_OPS if type(op.fn) is Loop else 2


def is_move(op: Op) -> bool:
    """Whether an op only takes a part of something, by which nothing is decided."""
    return isinstance(op, Call) and not op.guard and any([op.fn is fn for fn in _MOVES])


def _periods(marks: np.ndarray, least: int) -> list[int]:
    """The distances, in ascending order, at which some op, or some sequence of ops, is met again often enough."""
    found: set[int] = set()
    for shift in (1, 8, 64):  # one op, 8 in turn, 64
        order = np.argsort(marks, kind="stable")
        equal = marks[order[1:]] == marks[order[:-1]]
        distances, times = np.unique((order[1:] - order[:-1])[equal], return_counts=True)
        often = (times >= LEAST_COUNT - 1) & ((times + 1) * distances >= least)
        found.update(distances[often].tolist())
        marks = _in_turn(marks, shift)
    return sorted(found)


def _in_turn(marks: np.ndarray, shift: int) -> np.ndarray:
    """A number for each eight marks that stand `shift` apart."""
    for step in (shift, 2 * shift, 4 * shift):
        if len(marks) > step:
            _, marks = np.unique(marks[step:] * (marks.max() + 1 - marks.min()) + marks[:-step], return_inverse=True)
    return marks


def _turned(run: Run, length: int, crossings: Any) -> Run:
    """The run that begins where the fewest values go from one iteration to the next."""
    counts = crossings(run)
    slack = length - run.period * run.count
    costs = [(counts[k], k > slack, k) for k in range(run.period)]
    first = min(costs)[-1]
    return Run(run.start + first, run.period, (length - first) // run.period)


def _marks(ops: Sequence[Op]) -> np.ndarray:
    """A number for each op, equal for equal signatures; what is no call has one of its own."""
    numbers: dict[Any, int] = {}
    found = np.empty(len(ops), np.int64)
    for k, op in enumerate(ops):
        key = signature(op) if isinstance(op, Call) else None
        found[k] = -k - 1 if key is None else numbers.setdefault(key, len(numbers))
    return found


def signature(op: Call) -> Any:
    """Return a key of a call that is equal in equal iterations: all but its values and numbers."""
    fn = op.fn
    if isinstance(fn, Variable):
        return None
    of_fn = fn if isinstance(fn, (types.BuiltinMethodType, types.MethodType)) else id(fn)
    kwargs = tuple([(name, _form(tree)) for name, tree in op.kwargs.items()]) if op.kwargs else ()
    decided = constant_key(op.val) if op.guard else None
    return of_fn, tuple([_form(tree) for tree in op.args]), kwargs, decided, spec_of(op.val)


def _form(tree: Any) -> Any:
    t = type(tree)
    if t is Variable:
        value = tree.op.val
        t = type(value)
        return t if t is float else float if t is np.float64 else _form(value) if t is np.ndarray else Variable
    if t in VARYING:
        return t
    if t is tuple or t is list:
        return (t, *[_form(part) for part in tree])
    if t is slice:
        return (t, _form(tree.start), _form(tree.stop), _form(tree.step))
    if t is dict:
        return (t, *[(key, _form(part)) for key, part in tree.items()])
    if t is np.ndarray:
        return (t, tree.shape, tree.dtype)
    if isinstance(tree, (tuple, list, dict)):
        return t, id(tree)
    return constant_key(tree)


def constant_key(x: Any) -> Any:
    """Something to find an equal constant by, to the bit; that of what may change is its identity."""
    if isinstance(x, np.generic) and type(x) is not np.void:
        return type(x), x.tobytes()
    if isinstance(x, (float, complex)):
        return type(x), np.asarray(x).tobytes()
    return type(x), x if isinstance(x, (str, bytes, bool, int, type(None), np.dtype, type(...))) else id(x)


def spec_of(value: Any) -> Any:
    """The Spec of a value; of a tuple those of its parts."""
    if type(value) is tuple:
        return tuple([spec_of(part) for part in value])
    if type(value) is int:
        return int, value
    return ValueSpec.of(value)
