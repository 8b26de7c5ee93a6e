"""Convert a graph to a tape of the nodes that the result, the guards and side effects need."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compiling.graphs.graph import Graph, Node
from wengert.compiling.graphs.order import readers_first
from wengert.compiling.graphs.ownership import own_results, share_recorded_memory
from wengert.compiling.ops import info
from wengert.compiling.tape_rewriter import TapeRewriter, provenance
from wengert.rulebook.registry import rules
from wengert.tape.interface import AnyTape
from wengert.tape.needed import stays
from wengert.tape.ops import Call, Constant, Input, Op, Variable, mkcall, references, substituted, value_of
from wengert.tape.tape import Tape

_ARRAY_METHODS = {np.reshape: np.ndarray.reshape, np.transpose: np.ndarray.transpose, np.copy: np.ndarray.copy}
"""Map from functions to the array methods that are faster."""


class _GraphWriter(TapeRewriter):
    """Writes a graph on a tape; `nodes` maps the ops of the old tape to their nodes or numbers."""

    def __init__(self, tape: AnyTape, nodes: dict[Any, Any]) -> None:
        super().__init__(tape)
        self.nodes, self.written = nodes, dict[Node, Variable]()

    def variable(self, op: Op | None) -> Variable:
        node = self.nodes[op]
        return self.written[node] if type(node) is Node else self.new.push(Constant(node))


def to_tape(tape: AnyTape, graph: Graph, nodes: dict[Op, Any]) -> Tape:
    """Return the tape of a graph; `nodes` maps the ops of `tape` to their nodes or numbers."""
    writer, live = _GraphWriter(tape, nodes), readers_first(_live(graph, nodes[tape.result.op]))  # type: ignore[index]
    written, computed = writer.written, {*live}
    with np.errstate(all="ignore"):
        for node in live:
            value, cheaper = graph.alternatives.get(node, (None, node))
            written[node] = writer.new.push(_op(cheaper if value in computed else node, written))
    new: Tape = writer.finished()
    own_results(tape, new)
    return new


def _live(graph: Graph, root: Any) -> list[Node]:
    """Return the nodes that are not dead code: the root, inputs, guards, side effects, and what these read."""
    needed = {*references(root, Node)}
    for node in reversed(graph.nodes):
        if node in needed or _must_stay(node):
            needed.add(node)
            needed.update(node.reads)
    live = [node for node in graph.nodes if node in needed]
    return sorted(live, key=lambda node: not isinstance(node.op, Input) or node.fn is not None)


def _must_stay(node: Node) -> bool:
    if node.fn is None:
        return isinstance(node.op, Input)
    if not isinstance(node.op, Call) or node.op.fn is not node.fn:
        return False  # a rule made it
    return must_run(node.op)


def must_run(op: Op) -> bool:
    """Whether a call has to run although nobody reads its result."""
    return isinstance(op, Call) and stays(op) and (op.guard or not info(op.fn).never_raises)


def _was_a_view(op: Call) -> bool:
    """Whether the recorded value is a view of an argument: on the new tape it has to be one of the new argument."""
    rule = rules.get(op.fn)
    if op.guard or rule is None or not rule.view:
        return False
    return any([share_recorded_memory(op, v.op) for v in op.references()])


def _op(node: Node, variables: dict[Node, Variable]) -> Op:
    """Make the op of a node."""
    if node.fn is None:
        assert node.op is not None
        return node.op.copy()
    fn, args, kwargs = substituted(node, variables.get, Node)
    origin = node.op
    if not node.in_vocabulary and isinstance(origin, Call) and not _was_a_view(origin):
        made = Call(fn, args, kwargs, origin.val, guard=origin.guard)
    else:
        of_numpy = any([isinstance(value_of(a), (np.ndarray, np.generic)) for a in args])
        written = _ARRAY_METHODS.get(fn, info(fn).sign or fn if of_numpy else fn)
        made = mkcall(written, *args, **kwargs)
    made.site, made.note = provenance(origin)
    return made
