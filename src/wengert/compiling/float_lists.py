"""Use a list for an array whose loops only write and read single floats: lists are several times faster at both."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert.tape.loops import Loop, calls_in
from wengert.tape.ops import Call, Op, Variable, value_of
from wengert.tape.usage import readers_of
from wengert.values import functional

Users = dict[Any, list[Any]]
MOST_EMPTY = 1 << 12
"""The most elements of a list whose elements a loop may not all write."""


class _NotOnlyFloats(Exception):
    """Something reads or writes more of an array than one float at a time."""


def keep_arrays_in_lists(tape: Any) -> bool:
    """Replace arrays by lists where possible, in place, on a tape and in its loops; return whether there are any."""
    users, found = _readers_on(tape), False
    for op in list(tape):
        if isinstance(op, Call) and _may_be_list(op) and op.val.ndim == 1 and op.val.dtype == np.float64:
            readers: list[Call] = []
            try:
                _follow_array(op, users, None, readers)
            except _NotOnlyFloats:
                continue
            op.fn, op.args, op.kwargs, op.val = operator.mul, ([0.0], op.val.size), {}, op.val.tolist()
            for reader in readers:
                reader.fn = list if reader.fn is np.ndarray.tolist else operator.getitem
            found = True
    return found


def _may_be_list(op: Call) -> bool:
    """Whether a call makes an array that may be a list. A list is filled, so rows that may stay empty must be few."""
    return op.fn is np.zeros or (op.fn is np.empty and op.val.size <= MOST_EMPTY)


def _readers_on(tape: Any) -> Users:
    """Map each op on a tape and in its loops to its readers, one for each read; the tape itself reads its result."""
    loops = dict.fromkeys([op.fn for op in calls_in(tape) if type(op.fn) is Loop])
    found: Users = {}
    for each in (tape, *[loop.body for loop in loops]):
        found |= readers_of(each)
        found.setdefault(each.result.op, []).append(each.result)
    return found


def _follow_array(op: Op, users: Users, end: Op | None, readers: list[Call]) -> list[int]:
    """Collect the `readers` of single floats of an array, or of all as a list, in loops too, and after stores into it.

    Return the positions of the array in `end`, the result tuple of a loop body.
    """
    places: list[int] = []
    for user in users.get(op, ()):
        at = [k for k, a in enumerate(getattr(user, "args", ())) if type(a) is Variable and a.op is op]
        if user is end:
            places += at
        elif len(at) != 1 or user.kwargs or sum([v.op is op for v in user.references()]) != 1:
            raise _NotOnlyFloats
        elif type(user.fn) is Loop:
            places += _follow_through_loop(user, at[0], users, end, readers)
        elif user.fn is np.ndarray.tolist:
            readers.append(user)
        elif at != [0] or [type(value_of(a)) for a in user.args[1:2]] != [int]:
            raise _NotOnlyFloats
        elif user.fn is np.ndarray.item:
            readers.append(user)
        elif user.fn is functional.setitem and type(value_of(user.args[2])) is float:
            places += _follow_array(user, users, end, readers)
        else:
            raise _NotOnlyFloats
    return places


def _follow_through_loop(call: Call, k: int, users: Users, end: Op | None, readers: list[Call]) -> list[int]:
    """Do the same for an array that is the k-th argument of a loop, inside it and after it."""
    loop: Loop = call.fn
    mine = k - len(loop.steps)
    is_carried = mine < loop.carried
    found = _follow_array(loop.inputs[k].op, users, loop.body.result.op, readers)  # type: ignore[arg-type]
    if found != [mine] * is_carried:
        raise _NotOnlyFloats
    places: list[int] = []
    for user in users.get(call, ()) if is_carried else ():
        if not isinstance(user, Call) or user.fn is not functional.getfield:
            raise _NotOnlyFloats
        if user.args[1] == mine:
            places += _follow_array(user, users, end, readers)
    return places
