"""Convert a tape to a graph.

Calls that NumPy spells in several ways become one call of the vocabulary. Rules ignore all others, which stay as
recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.graphs.graph import FLOAT, Graph, Node, Rules, ValueSpec
from wengert.compiling.graphs.vocabulary import translate_call
from wengert.compiling.ops import info
from wengert.tape.folding import is_pure
from wengert.tape.interface import AnyTape
from wengert.tape.liveness import is_atom
from wengert.tape.loops import Loop, calls_in
from wengert.tape.ops import Call, Constant, Input, Op, Variable, references, substituted
from wengert.values import functional

_CONTINUOUS = (np.dtype(np.float64), np.dtype(np.complex128))


def graph_of(tape: AnyTape, rules: Rules, exact: Rules, decides: DecidingOps) -> tuple[Graph, dict[Op, Any]]:
    """Return the graph of a tape, and a map from ops to their nodes or numbers.

    The ops on which a guard or a comparison depends are computed to the bit as recorded, since rounding could change
    the outcome: for those that decide only the rules `exact` apply.
    """
    ops = list(tape)
    graph, made = Graph(rules), dict[Op, Any]()
    for op in ops:
        graph.rules, graph.origin = exact if op in decides else rules, op
        made[op] = _node_of(graph, op, made)
    return graph, made


def looks_at_memory(ops: Sequence[Op]) -> bool:
    """Whether a tape asks for memory addresses or memory order, so that equal values cannot replace each other."""
    return any(map(asks_for_memory, calls_in(ops)))


def asks_for_memory(op: Call) -> bool:
    """Whether a call asks for memory addresses or strides, or names the memory order of an operand."""
    if op.fn is getattr and "strides" in op.args:
        return not isinstance(op.args[0].op, Input)  # rules replace no arguments
    row, args = info(op.fn), (*op.args, *op.kwargs.values()) if op.kwargs else op.args
    names_order = str in map(type, args) and any([type(a) is str and a in ("K", "A") for a in args])
    return row.name == "memory_query" or (names_order and not row.in_any_order)


class DecidingOps(set[Any]):
    """The ops on which guards and discontinuous functions depend; of calls of loops also which results."""

    def __init__(self, ops: Sequence[Op], seeds: Iterable[Op | None] = ()) -> None:
        super().__init__(seeds)
        self.results: dict[Any, set[int]] = {}
        for op in reversed(ops):
            if isinstance(op, Call) and type(op.fn) is Loop:
                decide = deciding_in_loop(op.fn, self.results_of(op))
                pairs = zip(op.fn.inputs, op.args, strict=True)
                self.update([a.op for v, a in pairs if v.op in decide and isinstance(a, Variable)])
            elif (op in self or has_steps(op)) and not _finds_largest(op):
                self.add_operands(op)

    def add_operands(self, op: Any) -> None:
        """Add the operands of an op that decides."""
        whole = op.args[0] if isinstance(op, Call) and op.fn is functional.getfield else None
        if isinstance(whole, Variable) and isinstance(whole.op, Call) and type(whole.op.fn) is Loop:
            self.results.setdefault(whole.op, set()).add(op.args[1])
        self.update([v.op for v in op.references()])

    def results_of(self, op: Call) -> frozenset[int]:
        """Return the numbers of the results of a loop that decide."""
        known = self.results.get(op)
        return frozenset(known if known is not None else range(len(op.fn.results)) if op in self else ())


def deciding_in_loop(loop: Loop, wanted: Iterable[int]) -> DecidingOps:
    """Return the ops of a loop's body that decide there, in a later iteration or by the results `wanted`."""
    ops = [op for op in loop.body if op is not loop.body.result.op]
    inputs, results = loop.inputs[len(loop.steps) :], loop.results
    known = set(wanted) | ({0} if loop.ending == "flag" else set())
    while True:
        found = DecidingOps(ops, [v.op for v in references([results[k] for k in known])])
        carried = {k for k in range(loop.carried) if inputs[k].op in found}
        if carried <= known:
            return found
        known |= carried


def _finds_largest(op: Op) -> bool:
    """Whether an op compares an array with its own extremum: some element equals it, whatever the rounding."""
    if not isinstance(op, Call) or info(op.fn).name != "equal" or len(op.args) != 2:
        return False
    x, y = (v.op if isinstance(v, Variable) else None for v in op.args)
    while isinstance(y, Call) and info(y.fn).name in ("broadcast_to", "expand_dims", "full"):
        y = next((v.op for v in y.references()), None)
    return isinstance(y, Call) and info(y.fn).name in ("max", "min") and next(y.references()).op is x


def has_steps(op: Op) -> bool:
    """Whether an op may be discontinuous in its arguments."""
    if not isinstance(op, Call):
        return False
    if isinstance(op.fn, Loop):
        return any(map(has_steps, op.fn.body))
    if op.guard or info(op.fn).has_steps:
        return True
    if op.fn in functional.DISPLAYS:
        return False
    return type(op.val) is not float and getattr(op.val, "dtype", None) not in _CONTINUOUS


def _node_of(graph: Graph, op: Op, made: dict[Op, Any]) -> Any:
    """Return the node of an op, or its value if it is a constant number."""
    if isinstance(op, Constant) and is_atom(op.val):
        return op.val
    if not isinstance(op, Call):
        return graph.leaf(op)
    fn, args, kwargs = substituted(op, lambda v: made[v.op])
    spec = ValueSpec.of(op.val)
    if op.guard:
        return graph.make(fn, args, kwargs, spec, shared=False)
    is_field = fn is functional.getfield and type(args[0]) is Node and args[0].fn is functional.make_tuple
    if is_field and type(args[1]) is int:
        return args[0].args[args[1]]
    if spec.dtype == FLOAT and graph.rules:
        found = translate_call(graph, fn, args, kwargs, spec)
        if found is not None and (found.spec if type(found) is Node else ValueSpec.of(found)) == spec:
            return found
    return graph.make(fn, args, kwargs, spec, bool(graph.rules) and is_shared(op))


def is_shared(op: Call) -> bool:
    """Whether equal calls may share one node: they have no side effects, and nobody writes to their results."""
    unchanging = is_atom(op.val) or type(op.val) in (np.ndarray, tuple)
    return is_pure(op.fn) and "out" not in op.kwargs and unchanging
