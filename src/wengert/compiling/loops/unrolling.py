"""Unroll the loops of a tape, to all iterations or to the first few."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.loops.rolled_body import ROWS
from wengert.errors import TapeError
from wengert.tape.interface import AnyTape
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Op, Variable, value_of, with_variables
from wengert.tape.tape import Tape
from wengert.values import functional

_ITEM_GETTERS = (operator.getitem, functional.getfield)


class CannotExtrapolate(TapeError):
    """The derivative of a loop cannot be extrapolated from fewer iterations."""


class _Rows:
    """An array with one row for each of `count` iterations, of which only those in `rows` were run."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.rows: dict[int, Any] = {}

    def list(self) -> list[Any]:
        """Return the rows that were filled, in order."""
        return [self.rows[k] for k in sorted(self.rows)]

    def __getitem__(self, k: int) -> Any:
        ran = len(self.rows)
        if k >= ran and k >= self.count - ran > ran:
            k -= self.count - ran
        if k not in self.rows:
            raise CannotExtrapolate("a value of an iteration in the middle is read")
        return self.rows[k]


def unrolled(tape: AnyTape, count_of: Callable[[Loop], int] = lambda loop: loop.count) -> Tape:
    """Return the tape without loops: each outer loop runs `count_of(loop)` times, inner loops their own count."""
    made = Tape(tape.ctx)
    env: dict[Op, Any] = {}
    for op in tape:
        if isinstance(op, Call) and type(op.fn) is Loop:
            env[op] = _push_iterations(made, op.fn, [_substituted(a, env) for a in op.args], count_of(op.fn))
        else:
            _unroll_op(made, op, env)
    made.result = _as_variable(made, env[tape.result.op])  # type: ignore[index]
    return made


def _push_iterations(made: Tape, loop: Loop, args: list[Any], count: int) -> list[Any]:
    """Push the iterations of a loop; return its results."""
    n, m = len(loop.steps), len(loop.steps) + loop.carried
    counters, carried, invariant = args[:n], args[n:m], args[m:]
    body = list(loop.body)
    results: list[Any] = []
    for _ in range(count):
        env: dict[Op, Any] = dict(zip(body, [*counters, *carried, *invariant], strict=False))
        for op in body[len(args) :]:
            if isinstance(op, Call) and type(op.fn) is Loop:
                env[op] = _push_iterations(made, op.fn, [_substituted(a, env) for a in op.args], op.fn.count)
            elif op is loop.body.result.op:
                results = [_substituted(a, env) for a in op.args]  # type: ignore[attr-defined]
            else:
                _unroll_op(made, op, env)
        carried = results[: loop.carried]
        counters = [k + step for k, step in zip(counters, loop.steps, strict=True)]
    return results


def _unroll_op(made: Tape, op: Op, env: dict[Op, Any]) -> None:
    """Push an op, or compute its value from values that are on the tape already."""
    if not isinstance(op, Call):
        env[op] = op.val if isinstance(op, Constant) and type(op.val) is tuple else made.push(op.copy())
        return
    fn, args = op.fn, _substituted(op.args, env)
    first: Any = args[0] if args else None
    if op.note == ROWS:
        env[op] = _Rows(args[0][0])
    elif type(first) is _Rows and fn is functional.setitem:
        first.rows[args[1]] = args[2]
        env[op] = first
    elif type(first) is _Rows and fn in (list, np.ndarray.tolist):
        env[op] = first.list()
    elif type(first) is _Rows and fn is np.array:
        env[op] = _push_call(made, op, (first.list(),), env)
    elif type(first) is list and fn is operator.add and type(args[1]) is list:
        env[op] = first + args[1]
    elif type(first) is _Rows or (type(first) in (list, tuple) and fn in _ITEM_GETTERS and type(args[1]) is int):
        env[op] = first[args[1]]
    elif fn is functional.make_tuple:
        env[op] = args
    else:
        env[op] = _push_call(made, op, args, env)


def _push_call(made: Tape, op: Call, args: Any, env: dict[Op, Any]) -> Variable:
    call = op.copy()
    call.args, call.kwargs = args, _substituted(op.kwargs, env)
    return made.push(call)


def _as_variable(made: Tape, value: Any) -> Variable:
    """Return a value as a Variable; push the call that builds a tuple."""
    if type(value) is Variable:
        return value
    parts = [_as_variable(made, part) if type(part) in (tuple, list) else part for part in value]
    return made.push(Call(functional.make_tuple, parts, val=tuple([value_of(part) for part in parts])))


def _substituted(tree: Any, env: dict[Op, Any]) -> Any:
    """Substitute Variables by their values in `env`."""
    return with_variables(tree, lambda v: env[v.op])
