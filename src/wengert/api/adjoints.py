"""`tape.generate_adjoints`: the backward graph of a tape as another tape, built once and cut for each call.

Source: nGraph's `generate_adjoints` and `deriv`.
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

InputReference = Variable | int


class Backward:
    """The backward graph of one value of a tape: `graph`, built when the tape had these `ops`.

    `cotangents` are the cotangents of all inputs: Variables of the graph, or zeros.
    """

    def __init__(self, tape: Tape, of: Op, delta: Any) -> None:
        self.ops = list(tape)
        part = tape.subtape(Variable(of))
        inputs = [value_of(v) for v in part.inputs]

        def with_adjoints(*primals: Any) -> Any:
            *primals, y_bar = (*primals, 1.0) if delta is None else primals  # type: ignore[assignment]
            y, pullback = vjp(part, *primals)
            return y, pullback(_full_seed(y, y_bar) if delta is None else y_bar)

        self.graph = tape_of(with_adjoints, (*inputs, *([] if delta is None else [delta])), part)
        self.count = len(inputs)
        for v, like in zip(self.graph.inputs[1:], part.inputs, strict=False):
            self.graph[v].name = part[like].name  # type: ignore[attr-defined]
        for v in self.graph.inputs[1 + self.count :]:
            self.graph[v].name = "delta"  # type: ignore[attr-defined]
        self.value, cotangents = self._call(self.graph.result).args
        self.cotangents = self._call(cotangents).args

    def _call(self, v: Variable) -> Call:
        call = self.graph[v]
        assert isinstance(call, Call)
        return call

    def cut(self, wanted: Sequence[int]) -> Tape:
        """Return the part of the graph that computes the value and the cotangents of the `wanted` inputs."""
        gradients = mkcall(make_tuple, *[self.cotangents[k] for k in wanted])
        gradients.note = "gradients"
        result = self.graph.push(mkcall(make_tuple, self.value, self.graph.push(gradients)))
        subtape = self.graph.subtape(result)
        self.graph.delete(result, Variable(gradients))
        return subtape


def generate_adjoints(
    tape: Tape, delta: Any = None, *, wrt: Sequence[InputReference] | None = None, of: InputReference | None = None
) -> Tape:
    """Return the tape of `(value, (x̄, …))`: every primitive of the reverse pass of `tape`, differentiable again.

    `delta` is the cotangent ȳ of the value, by default 1 for a scalar. If you pass it, it becomes one more input of the
    new tape, a keyword argument where that tape takes the arguments of a function. `wrt` lists Variables or positions
    of inputs, by default all. `of` is the value, by default the tape's result. The graph of a value is built once:
    calls for other inputs, or with another `delta` of that shape, cut their part out of it.

    >>> _, tape = wg.trace(lambda x: x * x * x, 2.0)
    >>> first = tape.generate_adjoints()
    >>> first.play(3.0)
    (27.0, (27.0,))
    >>> x_bar = first.find(where=lambda op: op.note == "gradients")[0]
    >>> first.generate_adjoints((1.0,), of=x_bar).play(3.0, 1.0)
    ((27.0,), (18.0,))

    Errors: NonScalarOutputError if the value is not a scalar and `delta` is missing; ValueError for a `delta` of
    another structure or shape; those of `grad`.
    """
    op = tape[tape.result if of is None else of]
    if delta is None and not (is_inexact(op.val) and np.size(op.val) == 1):
        raise NonScalarOutputError(
            f"%{op.id} is {type_text(op.val)}, not a scalar. Pass its cotangent: tape.generate_adjoints(delta=...)"
        )
    inputs = [tape[v] for v in tape.inputs if not getattr(tape[v], "callee", False)]
    wanted = range(len(inputs)) if wrt is None else _input_positions(wrt, tape, inputs)
    adjoints = _cached_backward(tape, op, delta).cut(wanted)
    _take_arguments_of(tape, adjoints, delta)
    return adjoints


def _input_positions(wrt: Any, tape: Tape, inputs: list[Op]) -> list[int]:
    """Return the positions of the inputs that `wrt` names. Errors: ArgumentError if one is not an input."""
    if not isinstance(wrt, (tuple, list)) or not all(
        [isinstance(v, InputReference) and tape[v] in inputs for v in wrt]
    ):
        raise ArgumentError(
            f"wrt={wrt!r:.60} must be a list of inputs of this tape, as Variables or positions; the inputs are "
            f"{', '.join([f'%{op.id}' for op in inputs])}."
        )
    return [inputs.index(tape[v]) for v in wrt]


def _cached_backward(tape: Tape, op: Op, delta: Any) -> Backward:
    """Return the backward graph of an op from the tape's cache; build it again if the tape was edited."""
    key = op, None if delta is None else type_text(delta)
    backward: Any = tape.graphs.get(key)
    if backward is None or backward.ops != list(tape):
        backward = tape.graphs[key] = Backward(tape, op, delta)
    return backward


def _take_arguments_of(tape: Tape, adjoints: Tape, delta: Any) -> None:
    """Have `adjoints` take the arguments of the function of `tape`, and delta as a keyword argument; set its value."""
    arguments, inputs = current_arguments(tape.arguments, list(tape)), tuple(adjoints.inputs)
    if delta is not None and is_inexact(delta):
        adjoints[inputs[-1]].val = delta
    if arguments is None or not (delta is None or is_inexact(delta)):
        return
    rows, keyword_only = arguments.rows, arguments.keyword_only
    if "delta" in (*arguments.names, *keyword_only):
        return
    if delta is not None:
        rows = (*rows, ArgumentRow(None, "", "delta", "delta", InputLeaf(len(inputs) - 1)))
        keyword_only = (*keyword_only, "delta")
    adjoints.arguments = arguments._replace(rows=rows, keyword_only=keyword_only, inputs=inputs)


def _full_seed(y: Any, seed: float) -> Any:
    return np.full(np.shape(y), seed, y.dtype) if isinstance(y, np.ndarray) else type(y)(seed)


__all__ = ["generate_adjoints"]
