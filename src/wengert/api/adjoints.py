"""`tape.generate_adjoints`: the backward graph of a tape, as a tape; made once, and cut to what is asked of it.

Source: the seed "Autodiff" (nGraph): `generate_adjoints`, `deriv`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.api.gradient import vjp
from wengert.api.taping import tape_of
from wengert.errors import ArgumentError, NonScalarOutputError
from wengert.tape.arguments import ArgumentRow, InputLeaf, current_arguments
from wengert.tape.dump import type_text
from wengert.tape.ops import Call, Op, Variable, mkcall, value_of
from wengert.tape.tape import Tape
from wengert.values.functional import make_tuple
from wengert.values.specs import is_inexact

Which = Variable | int


class Backward:
    """The backward graph of one value of a tape: its `graph`, made of the `ops` that the tape had then.

    `cotangents` are the cotangents of all inputs: Variables of the graph, or zeros.
    """

    def __init__(self, tape: Tape, of: Op, delta: Any) -> None:
        self.ops = list(tape)
        part = tape.subtape(Variable(of))
        inputs = [value_of(v) for v in part.inputs]

        def with_adjoints(*given: Any) -> Any:
            *given, y_bar = (*given, 1.0) if delta is None else given  # type: ignore[assignment]
            y, pullback = vjp(part, *given)
            return y, pullback(_like(y, y_bar) if delta is None else y_bar)

        self.graph = tape_of(with_adjoints, (*inputs, *([] if delta is None else [delta])), part)
        self.count = len(inputs)
        for v, like in zip(self.graph.inputs[1:], part.inputs, strict=False):
            self.graph[v].name = part[like].name  # type: ignore[attr-defined]
        for v in self.graph.inputs[1 + self.count :]:
            self.graph[v].name = "delta"  # type: ignore[attr-defined]
        self.value, made = self._call(self.graph.result).args
        self.cotangents = self._call(made).args

    def _call(self, v: Variable) -> Call:
        call = self.graph[v]
        assert isinstance(call, Call)
        return call

    def cut(self, wanted: Sequence[int]) -> Tape:
        """The part of the graph that computes the value, and the cotangents of some of the inputs."""
        gradients = mkcall(make_tuple, *[self.cotangents[k] for k in wanted])
        gradients.note = "gradients"
        result = self.graph.push(mkcall(make_tuple, self.value, self.graph.push(gradients)))
        made = self.graph.subtape(result)
        self.graph.delete(result, Variable(gradients))
        return made


def generate_adjoints(
    tape: Tape, delta: Any = None, *, wrt: Sequence[Which] | None = None, of: Which | None = None
) -> Tape:
    """The tape of `(value, (x̄, …))` of a `tape`: all primitives of its reverse pass, which can be differentiated again.

    `delta` is the cotangent ȳ of the value; by default 1, for a number. A `delta` that is given is a further input of
    the new tape, by keyword where this takes the arguments of a function. `wrt` are Variables or positions of inputs;
    by default all. `of` is the value, by default the tape's result. The graph of a value is made once: calls for other
    inputs, or another `delta` of that shape, cut what they need from it.

    >>> _, tape = wg.trace(lambda x: x * x * x, 2.0)
    >>> first = tape.generate_adjoints()
    >>> first.play(3.0)
    (27.0, (27.0,))
    >>> x_bar = first.find(where=lambda op: op.note == "gradients")[0]
    >>> first.generate_adjoints((1.0,), of=x_bar).play(3.0, 1.0)
    ((27.0,), (18.0,))

    Errors: NonScalarOutputError for a value that is not one number, without `delta`; ValueError for a `delta` of
    another structure or shape; those of `grad`.
    """
    op = tape[tape.result if of is None else of]
    if delta is None and not (is_inexact(op.val) and np.size(op.val) == 1):
        raise NonScalarOutputError(
            f"%{op.id} is {type_text(op.val)}, no number: give its cotangent, generate_adjoints(delta)"
        )
    places = [tape[v] for v in tape.inputs if not getattr(tape[v], "callee", False)]
    wanted = range(len(places)) if wrt is None else _places_of(wrt, tape, places)
    made = _backward(tape, op, delta).cut(wanted)
    _taking_arguments(tape, made, delta)
    return made


def _places_of(wrt: Any, tape: Tape, inputs: list[Op]) -> list[int]:
    """The positions, among the inputs of a tape, of those that `wrt` names."""
    if not isinstance(wrt, (tuple, list)) or not all([isinstance(v, Which) and tape[v] in inputs for v in wrt]):
        raise ArgumentError(
            f"wrt={wrt!r:.60} names no inputs of this tape: it is a list of Variables or positions, of "
            f"{', '.join([f'%{op.id}' for op in inputs])}."
        )
    return [inputs.index(tape[v]) for v in wrt]


def _backward(tape: Tape, op: Op, delta: Any) -> Backward:
    """The backward graph of an op, made anew where the tape was edited."""
    key = op, None if delta is None else type_text(delta)
    found: Any = tape.graphs.get(key)
    if found is None or found.ops != list(tape):
        found = tape.graphs[key] = Backward(tape, op, delta)
    return found


def _taking_arguments(tape: Tape, made: Tape, delta: Any) -> None:
    """Have a tape take what the function of `tape` takes, and delta by keyword; and have delta as its value there."""
    arguments, inputs = current_arguments(tape.arguments, list(tape)), tuple(made.inputs)
    if delta is not None and is_inexact(delta):
        made[inputs[-1]].val = delta
    if arguments is None or not (delta is None or is_inexact(delta)):
        return
    rows, keyword_only = arguments.rows, arguments.keyword_only
    if "delta" in (*arguments.names, *keyword_only):
        return
    if delta is not None:
        rows = (*rows, ArgumentRow(None, "", "delta", "delta", InputLeaf(len(inputs) - 1)))
        keyword_only = (*keyword_only, "delta")
    made.arguments = arguments._replace(rows=rows, keyword_only=keyword_only, inputs=inputs)


def _like(y: Any, seed: float) -> Any:
    return np.full(np.shape(y), seed, y.dtype) if isinstance(y, np.ndarray) else type(y)(seed)


Tape.generate_adjoints = generate_adjoints

__all__ = ["generate_adjoints"]
