"""Find where the ops of a tape repeat: runs of calls of equal functions on arguments of equal types and shapes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.constants import constant_key
from wengert.compiling.graphs.graph import ValueSpec
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Op, Variable
from wengert.values import functional

_INTEGERS = [np.dtype(code).type for code in np.typecodes["AllInteger"]]
VARYING = frozenset((int, float, complex, np.float32, np.float64, np.complex128, *_INTEGERS))
"""Types of constants that may differ between iterations."""
_MOVE_FUNCTIONS = (operator.getitem, np.ndarray.item, functional.getfield)
LEAST_OPS, LEAST_COUNT = 96, 6
"""The least number of ops and of iterations of a run: shorter ones are better written out."""


class Run(NamedTuple):
    """`count` iterations of `period` ops each, of equal signatures, from the position `start` on."""

    start: int
    period: int
    count: int  # type: ignore[assignment]

    @property
    def end(self) -> int:
        return self.start + self.period * self.count


def runs_of(ops: Sequence[Op], crossings: Any, shortest: int = 1) -> list[Run]:
    """Return the runs of at least the `shortest` period, in order; if several overlap, take that of the shortest one.

    `crossings(run)` returns for each op of an iteration how many values cross it: a run begins where these are fewest.
    """
    marks, taken = _signature_numbers(ops), np.zeros(len(ops), bool)
    work = np.cumsum([0, *map(_op_weight, ops)])
    found = []
    for period in _periods(marks, LEAST_COUNT if work[-1] > 2 * len(ops) else LEAST_OPS):
        if period < shortest or not all(
            [_may_repeat(marks[first:], period) for first in {0, period // 3, 2 * period // 3}]
        ):
            continue
        same = (marks[period:] == marks[:-period]) & ~taken[:-period] & ~taken[period:]
        edges = np.flatnonzero(np.diff(np.concatenate(([0], same.view(np.int8), [0])))).reshape(-1, 2)
        for start, end in edges[np.diff(edges)[:, 0] >= (LEAST_COUNT - 1) * period].tolist():
            length = end - start + period
            is_long = work[end + period] - work[start] >= 2 * LEAST_OPS
            enough = is_long and work[start + period] > work[start] + period
            if enough and not taken[start : end + period].any():
                run = _rotate_run(Run(start, period, length // period), length, crossings)
                taken[run.start : run.end] = True
                found.append(run)
    return sorted(found)


def _may_repeat(marks: np.ndarray, period: int) -> bool:
    """Whether there may be enough iterations of this period: every period-th op recurs, counted from the first.

    It takes n / period steps, so that all periods of a tape together take n log n.
    """
    same = marks[period::period] == marks[:-period:period]
    for _ in range(LEAST_COUNT - 2):
        same = same[1:] & same[:-1]
    return bool(same.any())


def _op_weight(op: Op) -> int:
    """Return the weight of an op: 1 if it only moves values, 2 for a call, that of a whole run for a loop."""
    if not isinstance(op, Call) or is_move(op):
        return 1
    return LEAST_OPS if type(op.fn) is Loop else 2


def is_move(op: Op) -> bool:
    """Whether an op only takes a part of a container or array, and is not a guard."""
    return isinstance(op, Call) and not op.guard and any([op.fn is fn for fn in _MOVE_FUNCTIONS])


def _periods(marks: np.ndarray, least: int) -> list[int]:
    """Return the distances, ascending, at which some op or sequence of ops recurs often enough."""
    found: set[int] = set()
    for shift in (1, 8, 64):  # for one op, for sequences of 8, of 64
        order = np.argsort(marks, kind="stable")
        equal = marks[order[1:]] == marks[order[:-1]]
        distances, times = np.unique((order[1:] - order[:-1])[equal], return_counts=True)
        often = (times >= LEAST_COUNT - 1) & ((times + 1) * distances >= least)
        found.update(distances[often].tolist())
        marks = _sequence_numbers(marks, shift)
    return sorted(found)


def _sequence_numbers(marks: np.ndarray, shift: int) -> np.ndarray:
    """Return one number for each eight marks that are `shift` apart, equal for equal marks."""
    for step in (shift, 2 * shift, 4 * shift):
        if len(marks) > step:
            _, marks = np.unique(marks[step:] * (marks.max() + 1 - marks.min()) + marks[:-step], return_inverse=True)
    return marks


def _rotate_run(run: Run, length: int, crossings: Any) -> Run:
    """Shift the run to begin where the fewest values pass from one iteration to the next."""
    counts = crossings(run)
    slack = length - run.period * run.count
    costs = [(counts[k], k > slack, k) for k in range(run.period)]
    first = min(costs)[-1]
    return Run(run.start + first, run.period, (length - first) // run.period)


def _signature_numbers(ops: Sequence[Op]) -> np.ndarray:
    """Return a number for each op, equal for calls of equal signatures, and unique for all other ops."""
    numbers: dict[Any, int] = {}
    found = np.empty(len(ops), np.int64)
    for k, op in enumerate(ops):
        key = call_signature(op) if isinstance(op, Call) else None
        found[k] = -k - 1 if key is None else numbers.setdefault(key, len(numbers))
    return found


def call_signature(op: Call) -> Any:
    """Return a key of a call that is equal in equal iterations: everything but its operands and numbers."""
    fn = op.fn
    if isinstance(fn, Variable):
        return None
    kwargs = tuple([(name, _argument_signature(tree)) for name, tree in op.kwargs.items()]) if op.kwargs else ()
    outcome = constant_key(op.val) if op.guard else None
    spec = int if fn is functional.as_index else static_spec(op.val)  # an index is another integer in each iteration
    return constant_key(fn), tuple([_argument_signature(tree) for tree in op.args]), kwargs, outcome, spec


def _argument_signature(tree: Any) -> Any:
    t = type(tree)
    if t is Variable:
        value = tree.op.val
        if type(value) is np.ndarray:
            return _argument_signature(value)
        return float if type(value) in (float, np.float64) else Variable
    if t in VARYING:
        return t
    if t is tuple or t is list:
        return (t, *[_argument_signature(part) for part in tree])
    if t is slice:
        return (t, _argument_signature(tree.start), _argument_signature(tree.stop), _argument_signature(tree.step))
    if t is dict:
        return (t, *[(key, _argument_signature(part)) for key, part in tree.items()])
    if t is np.ndarray:
        return (t, tree.shape, tree.dtype)
    if isinstance(tree, (tuple, list, dict)):
        return t, id(tree)
    return constant_key(tree)


def static_spec(value: Any) -> Any:
    """Return the ValueSpec of a value; for a tuple those of its parts, for an integer its value."""
    if type(value) is tuple:
        return tuple([static_spec(part) for part in value])
    if type(value) is int:
        return int, value
    return ValueSpec.of(value)
