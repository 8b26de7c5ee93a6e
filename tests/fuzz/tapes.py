"""Random tapes, and two plain ways to run one: the reference for play and for emitted source."""

from __future__ import annotations

import math
import operator
import random
from typing import Any

import numpy as np

from wengert.tape.loops import Loop
from wengert.tape.tape import Call, Input, Tape, Variable, mkcall, with_variables
from wengert.values import functional
from wengert.values.sites import Site
from wengert.values.trees import leaves

SITE = Site("program.py", 7, "f")


def plainly(tape: Tape, *inputs: Any) -> Any:
    """The result, every call run as it stands, nothing in place and nothing forgotten."""
    given = iter(inputs)
    values: dict[int, Any] = {}

    def at(v: Variable) -> Any:
        return values[v.id]

    for op in tape:
        if isinstance(op, Call):
            fn = at(op.fn) if isinstance(op.fn, Variable) else op.fn
            fn = iterated(fn) if isinstance(fn, Loop) else fn
            values[op.id] = fn(*with_variables(op.args, at), **with_variables(op.kwargs, at))
        elif isinstance(op, Input) and not op.callee and inputs:
            values[op.id] = next(given)
        else:
            values[op.id] = op.val
    return values[tape.result.id]


def iterated(loop: Loop) -> Any:
    """A loop as a plain function: each iteration on what the one before gave."""

    def run(*args: Any) -> Any:
        n = len(loop.steps)
        places, carried, same = args[:n], args[n : n + loop.carried], args[n + loop.carried :]
        for _ in range(loop.count):
            found = plainly(loop.body, *places, *carried, *same)
            places = [place + step for place, step in zip(places, loop.steps, strict=True)]
            carried = found[: loop.carried]
        return found

    return run


def same_bits(a: Any, b: Any) -> bool:
    """Whether two values have the same type and the same bits."""
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same_bits, a, b))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and (a.dtype, a.shape, a.tobytes()) == (
            b.dtype,
            b.shape,
            b.tobytes(),
        )
    return type(a) is type(b) and np.array(a).tobytes() == np.array(b).tobytes()


def numbers(value: Any) -> list[np.ndarray]:
    """The leaves of a value as arrays."""
    return [np.asarray(leaf) for _, leaf in leaves(value)]


def assert_close(found: Any, expected: Any, rtol: float, atol: float) -> None:
    found, expected = numbers(found), numbers(expected)
    assert [a.shape for a in found] == [b.shape for b in expected]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def scalar_tape(rng: random.Random, n: int = 30) -> Tape:
    """Operators on floats, used once and often, in all positions where parentheses matter."""
    tape = Tape()
    known: list[Any] = [tape.push(Input(rng.uniform(0.5, 2), name)) for name in ("a", "b")]
    two = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
    while len(tape) < n:
        chosen = [rng.choice(known[-4:]) if rng.random() < 0.8 else rng.uniform(-2, 2) for _ in range(2)]
        pick = rng.random()
        if pick < 0.7:
            call = (rng.choice(two), *chosen)
        elif pick < 0.9:
            call = (rng.choice([operator.neg, math.sin, abs, operator.pos]), chosen[0])
        else:
            call = (rng.choice([operator.lt, operator.ge]), *chosen)
        if not any(isinstance(x, Variable) for x in call[1:]):
            continue
        try:
            op = mkcall(*call)
        except (ArithmeticError, ValueError):
            continue
        if isinstance(op.val, bool):
            op.guard, op.site = True, SITE
            tape.push(op)
        elif isinstance(op.val, float) and abs(op.val) < 1e6:
            known.append(tape.push(op))
    tape.result = tape.push(mkcall(functional.make_tuple, *known[-3:]))
    return tape


def array_tape(rng: random.Random, n: int = 40) -> Tape:
    """Stores, views of what is stored to, reads before and after, in any order."""
    tape = Tape()
    arrays = [tape.push(Input(np.arange(6.0) + k, f"x{k}")) for k in range(2)]
    arrays.append(tape.push(mkcall(np.multiply, arrays[0], 2.0)))
    scalars = [tape.push(Input(1.5, "s"))]
    while len(tape) < n:
        x = arrays[-1] if rng.random() < 0.6 else rng.choice(arrays)
        call = rng.choice([_store, _store, _store, _view, _read, _new, _window])(rng, x, arrays, scalars)
        try:
            v = tape.push(mkcall(*call))
        except (ValueError, IndexError):
            continue
        (arrays if isinstance(tape[v].val, np.ndarray) else scalars).append(v)
    tape.result = tape.push(mkcall(functional.make_tuple, *rng.sample(arrays, 3), scalars[-1]))
    return tape


def _store(rng: random.Random, x: Variable, arrays: list[Variable], scalars: list[Variable]) -> tuple[Any, ...]:
    fn = rng.choice([functional.setitem, functional.additem])
    key = rng.choice([0, -1, slice(1, 3), slice(None, None, -1), np.array([1, 1, 0]), np.array([2, 0]), (slice(0, 2),)])
    one = isinstance(key, int) or rng.random() < 0.5
    return fn, x, key, rng.choice(scalars) if one else rng.choice(arrays)


def _view(rng: random.Random, x: Variable, arrays: list[Variable], scalars: list[Variable]) -> tuple[Any, ...]:
    return rng.choice(
        [
            (operator.getitem, x, slice(None, None, -1)),
            (operator.getitem, x, slice(0, 4)),
            (np.ndarray.reshape, x, (-1,)),
            (np.transpose, x),
            (np.reshape, x, (2, 3)),
            (np.ndarray.ravel, x),
            (np.asarray, x),
            (functional.getfield, x, slice(0, 3)),
            (np.broadcast_to, x, (2, 6)),
            (np.diag, x),
            (np.flip, x),
        ]
    )


def _read(rng: random.Random, x: Variable, arrays: list[Variable], scalars: list[Variable]) -> tuple[Any, ...]:
    return rng.choice(
        [
            (operator.getitem, x, 0),
            (np.sum, x),
            (np.ndarray.sum, x),
            (operator.mul, scalars[-1], 0.5),
            (np.sin, scalars[-1]),
        ]
    )


def _new(rng: random.Random, x: Variable, arrays: list[Variable], scalars: list[Variable]) -> tuple[Any, ...]:
    y = rng.choice(arrays)
    return rng.choice(
        [
            (np.add, x, y),
            (operator.mul, x, 0.5),
            (np.concatenate, [x, y]),
            (np.copy, x),
            (np.zeros_like, x),
            (np.ndarray.copy, x),
        ]
    )


def _window(rng: random.Random, x: Variable, arrays: list[Variable], scalars: list[Variable]) -> tuple[Any, ...]:
    window = rng.choice([(8, (2,), (8,)), (0, (2,), (16,)), (16, (3,), (-8,)), (0, (2, 2), (8, 8))])
    if rng.random() < 0.4:
        return functional.lens, x, *window
    fn = functional.addlens if rng.random() < 0.5 else functional.setlens
    return fn, x, *window, rng.choice(scalars)
