"""Sparsity patterns of derivatives: which elements of a tape's result depend on which elements of its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from wengert.rulebook.registry import rules
from wengert.sparse.colouring import greedy
from wengert.sparse.csr import Csr
from wengert.sparse.dependences import Dependences, UniformDependence
from wengert.sparse.sparsity_rules import dependences
from wengert.tape.liveness import liveness, values_to_free
from wengert.tape.ops import Call, Constant, Op, Variable, references
from wengert.tape.tape import Tape
from wengert.values.numeric_trees import bits
from wengert.values.specs import is_inexact


class SparsityPattern:
    """The pattern, `csr`, of the derivative of a tape's result by some of its inputs.

    The rows are the elements of the result, for a container part by part; the columns are the elements of the inputs at
    the positions `inputs`. The pattern also holds for each tape of which `fits` is true. That is none if a user's
    function moves elements, for it may read more than its arguments. The pattern copies what it keeps of calls, since
    users may write into constant arrays. `densest` is the call that makes the pattern densest because its dependences
    are not known; None if there is none. `holds_for_examples`: no value that inputs determine selects elements, so the
    pattern is the same for all inputs for which the tape's guards hold. `reads_floats`: it depends on constant floats.
    """

    def __init__(self, tape: Tape, inputs: Sequence[int]) -> None:
        sizes = [np.size(tape[k].val) for k in inputs]
        deps = Dependences(sum(sizes))
        for k, first, size in zip(inputs, np.cumsum([0, *sizes]), sizes, strict=False):
            deps.by_id[k] = np.arange(first + 1, first + size + 1).reshape(np.shape(tape[k].val))
        _find_dependences(tape, deps)
        sets = _element_sets(tape[tape.result].val, deps.by_id.get(tape.result.id))
        rows = np.concatenate([[], *sets]).astype(np.int64)
        indices, lengths = deps.sets.concatenated(rows)
        self.csr = Csr(np.concatenate([[0], np.cumsum(lengths)]), indices, deps.sets.n)
        self.densest = _densest(deps)
        self._free, self._result = deps.free, tape.result.id
        self.holds_for_examples = not deps.may_change and all(isinstance(tape[k], Constant) for k in deps.reads)
        self._is_lasting, self._rules = not deps.may_change, rules.version
        self._reads = {k: _comparison_key(value) for k, value in deps.reads.items()}
        self._ops = [_op_key(op, op.id in deps.free) for op in tape]
        given = [(op.args, op.kwargs) for op in tape if isinstance(op, Call) and op.id not in deps.free]
        read = [*deps.reads.values(), *references(given, np.ndarray)]
        self.reads_floats = not self._is_lasting or any(map(is_inexact, read))

    @cached_property
    def colours(self) -> np.ndarray:
        """The colours of the columns: columns of one colour have no row in common."""
        return greedy(*self.csr.transposed())

    def fits(self, tape: Tape) -> bool:
        """Whether this is also the pattern of another tape: one with the same calls, which select the same elements."""
        return (
            self._is_lasting
            and self._rules == rules.version
            and len(self._ops) == len(tape)
            and self._result == tape.result.id
            and all(key == _comparison_key(tape[k].val) for k, key in self._reads.items())
            and all(key == _op_key(op, op.id in self._free) for key, op in zip(self._ops, tape, strict=True))
        )


def _find_dependences(tape: Tape, deps: Dependences) -> None:
    """Find the dependences of the values from which a tape's result is computed."""
    ops, needed = list(tape), {tape.result.id}
    for op in reversed(ops):
        if op.id in needed:
            needed.update(v.id for v in op.references())
    live = liveness(ops, tape.result)
    for op, dead in zip(ops, values_to_free(live, ops)[1:], strict=True):
        if isinstance(op, Call) and op.id in needed:
            found = dependences(deps, op, op.id in live.in_place)
            if found is not None:
                deps.by_id[op.id] = found
        for k in dead:
            deps.by_id.pop(k, None)


def _densest(deps: Dependences) -> Call | None:
    """Return the first of the `dense` calls that depend on most columns."""
    calls = [op for op, _ in deps.dense]
    lengths = deps.sets.concatenated(np.array([union for _, union in deps.dense], np.int64))[1]
    return calls[int(np.argmax(lengths))] if calls else None


def _element_sets(value: Any, known: Any) -> Iterator[np.ndarray]:
    """Yield the sets of the elements of a result, part by part."""
    if is_inexact(value):
        whole = known.set if isinstance(known, UniformDependence) else known
        yield np.broadcast_to(0 if whole is None else whole, np.shape(value)).ravel()
    elif isinstance(value, tuple | list | dict):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield from _element_sets(value[key], known if isinstance(known, UniformDependence | None) else known[key])


def _op_key(op: Op, free: bool) -> Any:
    """Return a key that is equal for ops with the same dependences; if the op is `free`, ignore numbers."""
    call = _comparison_key((op.fn, op.args, op.kwargs), free) if isinstance(op, Call) else None
    return type(op), _value_form(op.val), call


def _comparison_key(arg: Any, free: bool = False) -> Any:
    """Return a key that is equal for equal arguments; if `free`, for arguments of equal shapes."""
    if isinstance(arg, Variable):
        return Variable, arg.id
    if isinstance(arg, tuple | list):
        return type(arg), [_comparison_key(part, free) for part in arg]
    if isinstance(arg, dict):
        return {key: _comparison_key(part, free) for key, part in arg.items()}
    if isinstance(arg, slice):
        return slice, _comparison_key((arg.start, arg.stop, arg.step), free)
    if isinstance(arg, np.ndarray | np.generic | float | complex):
        return _value_form(arg), None if free else bits(arg)
    return type(arg), arg


def _value_form(value: Any) -> Any:
    """Return shape, dtype and strides of an array, or the type of any other value."""
    return (value.shape, value.dtype, value.strides) if isinstance(value, np.ndarray) else type(value)
