"""Native code for functions of stacks of matrices: a loop over the matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.compiling.native.blocks import BlockLevel
from wengert.compiling.native.values import Affine, Counter, Scalar, UnsupportedOp, View, is_native_array, row_major
from wengert.tape.ops import Call


def over_stacks(emit: Callable[..., Any]) -> Callable[..., Any]:
    """Return an emitter for stacks of matrices, from one for matrices; a vector belongs to all of the matrices."""

    def emit_stack(body: Any, op: Call, *args: Any, **kwargs: Any) -> Any:
        shapes = [x.shape[:-2] for x in args if is_native_array(x)]
        if not any(shapes):
            return emit(body, op, *args, **kwargs)
        stack = np.broadcast_shapes(*shapes)
        if 0 in stack:
            raise UnsupportedOp("linear algebra of no matrices")
        outer, inner = body.level, BlockLevel(body.level.names)
        counter = Counter(f"k{next(outer.names)}", math.prod(stack))
        given = [_matrix_of_iteration(body, x, stack, counter) if is_native_array(x) else x for x in args]
        is_tuple = isinstance(op.val, tuple)
        vals = [part[(0,) * len(stack)] for part in (op.val if is_tuple else (op.val,))]
        body.level = inner
        try:
            found = emit(
                body, Call(op.fn, op.args, op.kwargs, val=tuple(vals) if is_tuple else vals[0]), *given, **kwargs
            )
            made = [
                _stacked_results(body, outer, x, counter, stack, np.shape(val))
                for x, val in zip(found if is_tuple else (found,), vals, strict=True)
            ]
        finally:
            body.level = outer
        outer.append_loop([f"for {counter.name} in range({counter.count}):"], inner, [], [])
        return tuple(made) if is_tuple else made[0]

    return emit_stack


def _matrix_of_iteration(body: Any, x: Any, stack: tuple[int, ...], counter: Counter) -> View:
    """Return the matrix, or vector, of a stack that an iteration reads."""
    view: View = body.view(body.as_float(x))
    own, stride = view.shape[-2:], 0
    if len(view.shape) > 2:
        if len(stack) > 1 or view.places:
            view = body.view(body.level.let("{0}", [view.broadcast((*stack, *own))], (*stack, *own)))
        stride = view.strides[-3] if view.shape[-3] > 1 or len(stack) > 1 else 0
    steps = ((counter, stride),) if stride else ()
    return View(view.memory, view.offset + Affine(0, steps), view.strides[-len(own) :], own)


def _stacked_results(
    body: Any, outer: BlockLevel, x: Any, counter: Counter, stack: tuple[int, ...], shape: tuple[int, ...]
) -> View:
    """Store the result of an iteration, and return all of them."""
    made = outer.new_array((*stack, *shape))
    one = replace(made, offset=Affine(0, ((counter, math.prod(shape)),)), strides=row_major(shape), shape=shape)
    x = x if isinstance(x, Scalar) else body.operand(x)
    body.level.store(one if shape else replace(one, strides=(1,), shape=(1,)), "=", x)
    return made
