"""Convert a graph to a tape of the nodes that the result, the guards and side effects need."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compiling.graphs.graph import Graph, Node
from wengert.compiling.graphs.order import readers_first
from wengert.compiling.graphs.ownership import own_results
from wengert.compiling.ops import info
from wengert.tape.arguments import current_arguments
from wengert.tape.interface import AnyTape
from wengert.tape.needed import stays
from wengert.tape.ops import Call, Constant, Input, Op, Variable, references, value_of, with_variables
from wengert.tape.tape import Tape

_ARRAY_METHODS = {np.reshape: np.ndarray.reshape, np.transpose: np.ndarray.transpose, np.copy: np.ndarray.copy}
"""Map from functions to the array methods that are faster."""



def to_tape(tape: AnyTape, graph: Graph, made: dict[Op, Any], new: Tape) -> Tape:
    """Fill the empty tape `new` with a graph; `made` maps the ops of `tape` to their nodes."""
    root = made[tape.result.op]  # type: ignore[index]
    written: dict[Node, Variable] = {}
    live = readers_first(_live(graph, root))
    computed = {*live}
    with np.errstate(all="ignore"):
        for node in live:
            value, cheaper = graph.alternatives.get(node, (None, node))
            written[node] = new.push(_op(cheaper if value in computed else node, written))
    new.result = written[root] if type(root) is Node else new.push(Constant(root))
    new.arguments = current_arguments(tape.arguments, list(tape)) and tape.arguments._replace(
        inputs=tuple([written[made[v.op]] for v in tape.arguments.inputs])
    )
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


def _op(node: Node, variables: dict[Node, Variable]) -> Op:
    """Make the op of a node."""
    if node.fn is None:
        assert node.op is not None
        return node.op.copy()
    fn, args, kwargs = (with_variables(tree, variables.get, Node) for tree in (node.fn, node.args, node.kwargs))
    origin = node.op
    if not node.in_vocabulary and isinstance(origin, Call):
        made = Call(fn, args, kwargs, origin.val, guard=origin.guard)
    else:
        of_numpy = any([isinstance(value_of(a), (np.ndarray, np.generic)) for a in args])
        written = _ARRAY_METHODS.get(fn, info(fn).sign or fn if of_numpy else fn)
        made = Call(written, args, kwargs, _value_of_call(written, args, kwargs))
    made.site, made.note = provenance(origin)
    return made


def provenance(op: Op | None) -> tuple[Any, str | None]:
    """Return the user's line behind an op, and its note: what the op is on a derivative tape."""
    words = ""
    while op is not None and isinstance(op.note, tuple) and isinstance(about := op.note[-1], Variable):
        words, op = f"{words}{op.note[0]} ", about.op
    site = None if op is None else op.site
    if words:
        place = f"{site.file.rpartition('/')[2]}:{site.line}" if site else getattr(op, "name", None)
        return site, f"{words}{place or ''}".rstrip()
    return site, op.note if op is not None and isinstance(op.note, str) else None


def _value_of_call(fn: Any, args: Any, kwargs: Any) -> Any:
    """Compute the value of a call that a rule made, from the recorded values."""
    return fn(*with_variables(args, value_of), **with_variables(kwargs, value_of))
