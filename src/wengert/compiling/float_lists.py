"""Lists: an array that loops only fill and read one float at a time is a list, which does both several times faster."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Op, Variable, value_of
from wengert.values import functional

Users = dict[Any, list[Any]]


class _NoList(Exception):
    """Something reads more of an array than a float, or writes more."""


def keep_in_lists(tape: Any) -> None:
    """Have the code of a tape keep in lists what it can; the tape, and the bodies of its loops, are changed."""
    users = _readers_of(tape)
    for op in list(tape):
        if isinstance(op, Call) and op.fn is np.zeros and op.val.ndim == 1 and op.val.dtype == np.float64:
            readers: list[Call] = []
            try:
                _follow(op, users, None, readers)
            except _NoList:
                continue
            op.fn, op.args, op.kwargs, op.val = operator.mul, ([0.0], op.val.size), {}, op.val.tolist()
            for reader in readers:
                reader.fn = operator.getitem


def _readers_of(tape: Any) -> Users:
    """For each op, those that read it, once for each time; the end of the tape reads its result."""
    found: Users = {tape.result.op: [tape.result]}
    for op in tape:
        for v in op.references():
            found.setdefault(v.op, []).append(op)
    return found


def _follow(op: Op, users: Users, end: Op | None, readers: list[Call]) -> list[int]:
    """Find who reads a float of an array, also in loops, and after floats were stored in it.

    It gives the places at which `end`, the tuple that a body gives, has the array then.
    """
    places: list[int] = []
    for user in users.get(op, ()):
        at = [k for k, a in enumerate(getattr(user, "args", ())) if type(a) is Variable and a.op is op]
        if user is end:
            places += at
        elif len(at) != 1 or user.kwargs or sum([v.op is op for v in user.references()]) != 1:
            raise _NoList
        elif type(user.fn) is Loop:
            places += _lists_through_loop(user, at[0], users, end, readers)
        elif at != [0] or [type(value_of(a)) for a in user.args[1:2]] != [int]:
            raise _NoList
        elif user.fn is np.ndarray.item:
            readers.append(user)
        elif user.fn is functional.setitem and type(value_of(user.args[2])) is float:
            places += _follow(user, users, end, readers)
        else:
            raise _NoList
    return places


def _lists_through_loop(call: Call, k: int, users: Users, end: Op | None, readers: list[Call]) -> list[int]:
    """The same of an array that a loop is given as its k-th argument, and of what the loop makes of it."""
    loop: Loop = call.fn
    mine = k - len(loop.steps)
    is_carried = mine < loop.carried
    found = _follow(loop.inputs[k].op, _readers_of(loop.body), loop.body.result.op, readers)  # type: ignore[arg-type]
    if found != [mine] * is_carried:
        raise _NoList
    places: list[int] = []
    for user in users.get(call, ()) if is_carried else ():
        if not isinstance(user, Call) or user.fn is not functional.getfield:
            raise _NoList
        if user.args[1] == mine:
            places += _follow(user, users, end, readers)
    return places
