"""Uses of a tape's values: find calls and readers, count uses, and list the values alive at each line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from keyword import iskeyword
from typing import Any, NamedTuple

import numpy as np

from wengert.tape.arguments import current_arguments
from wengert.tape.dump import line
from wengert.tape.interface import AnyTape
from wengert.tape.liveness import is_new_memory, is_store, last_readers, liveness
from wengert.tape.ops import Call, Input, Op, Variable
from wengert.values.names import display
from wengert.values.numeric_trees import leaf_values


def tape_signature(tape: AnyTape) -> inspect.Signature:
    """Return a tape's signature: its function's, or its inputs by position, with their names if these are unique."""
    arguments = current_arguments(tape.arguments, tape)
    if arguments is not None:
        return arguments.signature
    names = [op.name or "" for op in tape if isinstance(op, Input) and not op.callee]
    good = len(set(names)) == len(names) and all(name.isidentifier() and not iskeyword(name) for name in names)
    names = names if good else [f"x{k}" for k in range(1, len(names) + 1)]
    return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names])


def find(tape: AnyTape, what: Any = None, where: Callable[[Op], bool] | None = None) -> list[Variable]:
    """Find the ops that call the function `what`, or whose function or input has that name, and satisfy `where`."""
    return [Variable(op) for op in tape if (what is None or _matches(op, what)) and (where is None or where(op))]


def _matches(op: Op, what: Any) -> bool:
    if isinstance(op, Call):
        fn = op.fn.op.val if isinstance(op.fn, Variable) and op.fn.op is not None else op.fn
        return fn is what or (isinstance(what, str) and what in (display(fn), getattr(fn, "__name__", None)))
    return isinstance(op, Input) and (op.name == what if isinstance(what, str) else op.callee and op.val is what)


def uses(tape: AnyTape, v: Variable | int) -> list[Variable]:
    """List the ops that read `v`, each once."""
    used = tape[v]
    return [Variable(op) for op in tape if any(read.op is used for read in op.references())]


def readers_of(ops: Iterable[Op]) -> dict[Any, list[Any]]:
    """Map each op that is read to its readers, one for each read."""
    found: dict[Any, list[Any]] = {}
    for op in ops:
        for v in op.references():
            found.setdefault(v.op, []).append(op)
    return found


def use_counts(tape: AnyTape) -> dict[Variable, int]:
    """Count the reads of each value: `x * x` reads x twice. The tape's result counts as one reader."""
    counts = {Variable(op): 0 for op in tape}
    for op in tape:
        for v in op.references():
            counts[v] += 1
    if tape._result is not None:
        counts[tape._result] += 1
    return counts


class LiveValues(NamedTuple):
    """The values alive while an op runs, because it or a later op reads them, and the bytes of their arrays."""

    op: Op
    live: tuple[Variable, ...]
    nbytes: int


class LivenessTable(tuple[LiveValues, ...]):
    """One `LiveValues` for each op, in order; it prints as a table in which the peak is marked."""

    @property
    def peak(self) -> LiveValues:
        """The first op at which most memory is alive."""
        return max(self, key=lambda row: row.nbytes)

    def __str__(self) -> str:
        peak = self.peak if self else None
        rows = [(line(row.op), f"{row.nbytes:,}", ", ".join(map(repr, row.live)), row is peak) for row in self]
        wide = max((len(text) for text, *_ in rows), default=0)
        digits = max((len(size) for _, size, *_ in rows), default=0)
        return "\n".join(
            f"{text:<{wide}}  {size:>{digits}} bytes  {live}{'  <- peak' * top}" for text, size, live, top in rows
        )


def liveness_table(tape: AnyTape) -> LivenessTable:
    """List the values alive at each line while `play` runs the tape, which drops a value after its last reader.

    A view has no bytes of its own, and keeps its array alive.
    """
    ops = list(tape)
    return LivenessTable(_live_at_each_op(ops, last_readers(ops, tape.result), *bytes_held(ops, tape.result)))


def bytes_held(ops: Sequence[Op], result: Variable) -> tuple[list[int], list[int]]:
    """List the bytes of each op's value, 0 for a view, and the positions of the last ops that need these."""
    live = liveness(ops, result)
    viewed: list[set[int]] = [set() for _ in live.last]
    needed_until = list(live.last)
    for op in reversed(ops):
        for k in _shared_values(op, op.id in live.in_place):
            viewed[op.id].add(k)
            needed_until[k] = max(needed_until[k], needed_until[op.id])
    return [0 if viewed[op.id] else _nbytes(op.val) for op in ops], needed_until[1:]


def _live_at_each_op(
    ops: Sequence[Op], last: Sequence[int], own: Sequence[int], until: Sequence[int]
) -> Iterator[LiveValues]:
    alive: dict[int, Variable] = {}
    leaving = [0] * (len(ops) + 1)
    nbytes = 0
    for position, op in enumerate(ops, 1):
        alive[position] = Variable(op)
        nbytes += own[position - 1]
        yield LiveValues(op, tuple(alive.values()), nbytes)
        leaving[min(until[position - 1], len(ops))] += own[position - 1]
        nbytes -= leaving[position]
        alive = {k: v for k, v in alive.items() if last[k] > position}


def _shared_values(op: Op, in_place: bool) -> list[int]:
    """List the values in whose memory an op's value lies."""
    if not isinstance(op, Call) or op.guard or (not in_place and (is_store(op) or is_new_memory(op))):
        return []
    if in_place:
        return [op.args[0].id]
    return [v.id for v in op.references() if v.op is not None and _may_share(op.val, v.op.val)]


def _may_share(value: Any, other: Any) -> bool:
    return any(np.may_share_memory(a, b) for a in _arrays_in(value) for b in _arrays_in(other))


def _arrays_in(value: Any) -> list[np.ndarray]:
    return [leaf for leaf in leaf_values(value) if isinstance(leaf, np.ndarray)]


def _nbytes(value: Any) -> int:
    return sum(array.nbytes for array in _arrays_in(value))
