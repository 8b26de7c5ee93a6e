"""Memory ownership of results: copy results of an optimised tape that share memory and did not as recorded.

If rules made two results one array, or a result the same array as an argument, one of them is copied.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.ops import info
from wengert.tape.entries import ContainerBuilder
from wengert.tape.interface import AnyTape
from wengert.tape.liveness import is_atom, is_new_memory, is_store, loop_memory
from wengert.tape.loops import Loop, with_bodies
from wengert.tape.ops import Call, Constant, Input, Op, Variable, mkcall, substituted, value_of
from wengert.tape.tape import Tape
from wengert.values import functional

MemoryRoots = frozenset[Any]


class ResultPart(NamedTuple):
    """A value in a result, and its op on the recorded tape: argument `place` of the `holder`, or the whole result."""

    op: Op
    before: Op
    holder: Call | None
    place: int


def own_results(recorded: AnyTape, tape: Tape) -> None:
    """Copy those results of `tape` that share memory with arguments, constants or others, and did not on `recorded`.

    Results that shared memory as recorded are views of one copy.
    """
    parts = list(_result_parts(tape.result, recorded.result))
    old, new = _Memory(recorded, [part.before for part in parts]), _Memory(tape, [part.op for part in parts])
    seen: list[tuple[ResultPart, MemoryRoots]] = []
    families: list[list[ResultPart]] = []  # the parts to copy, by their origin as recorded
    for part in parts:
        before, now = part.before, new[part.op]
        shared = [root for root in now if not isinstance(root, Call | tuple)]
        if (
            not all([root in old.outside and old.share(before, old.outside[root]) for root in shared])
            or _is_spread(part.op, before)
            or any([now & theirs and not _may_meet(old, new, part, other) for other, theirs in seen])
        ):
            families = _with_relative(families, part, old)
            now = frozenset([part.op])
        seen.append((part, now))
    following = dict(itertools.pairwise(tape)) if families else {}
    for family in families:
        _copy_family(tape, family, following)


def _may_meet(old: _Memory, new: _Memory, a: ResultPart, b: ResultPart) -> bool:
    """Whether two parts may have one origin: they shared memory as recorded, or they show other elements of it."""
    are_apart = old.are_apart(a.before, b.before) and new.are_apart(a.op, b.op)
    return are_apart or old.share(a.before, b.before)


def _result_parts(v: Variable, before: Variable) -> Iterator[ResultPart]:
    """Yield the parts of a result, each with its counterpart in the result before; numbers are left out."""
    stack = [ResultPart(v.op, before.op, None, 0)]  # type: ignore[arg-type]
    while stack:
        part = stack.pop()
        op, was = part.op, part.before
        if isinstance(op, Call) and isinstance(was, Call) and is_display(op.fn):
            for k, (a, b) in enumerate(zip(op.args, was.args, strict=True)):
                if isinstance(a, Variable) and isinstance(b, Variable) and a.op is not None and b.op is not None:
                    stack.append(ResultPart(a.op, b.op, op, k))
        elif not is_atom(op.val):
            yield part


def is_display(fn: Any) -> bool:
    """Whether a call of a function builds a container of its arguments."""
    return fn in functional.DISPLAYS or type(fn) is ContainerBuilder or hasattr(fn, "_fields")


def read_by_result(tape: AnyTape) -> list[Call]:
    """Return the calls from whose values the result of a tape is built."""
    displays = {*display_calls(tape.result.op)}
    read = [tape.result, *[v for op in tape if op in displays for v in op.references()]]
    return list(dict.fromkeys([v.op for v in read if isinstance(v.op, Call) and v.op not in displays]))


def display_calls(op: Op | None) -> Iterator[Op]:
    """Yield the calls that only build the result from values and from each other."""
    if isinstance(op, Call) and is_display(op.fn):
        yield op
        for v in op.references():
            yield from display_calls(v.op)


def _with_relative(families: list[list[ResultPart]], part: ResultPart, old: _Memory) -> list[list[ResultPart]]:
    """Add a part to the families of whose memory it was as recorded, which become one."""
    kin = [family for family in families if any([old[part.before] & old[each.before] for each in family])]
    return [*[family for family in families if family not in kin], [*[each for family in kin for each in family], part]]


def _copy_family(tape: Tape, family: list[ResultPart], following: dict[Op, Op]) -> None:
    """Replace parts of the result by views of a copy of their origin on the tape; without one copy each."""
    chains = {part.op: _views_of(part.op) for part in family}
    first, *others = chains.values()
    origin = next((op for op in first if all([op in chain for chain in others])), None)
    made = origin and _copied(origin, chains, family)
    if not made:
        for op in chains:
            _copy_family(tape, [part for part in family if part.op is op], following)
        return
    calls = itertools.dropwhile(lambda op: not isinstance(op, Call), tape)
    for op, new in made.items():
        at = next(calls, None) if isinstance(op, Input) else following.get(op)
        if at is None:
            tape.push(new)
        else:
            tape.insert(Variable(at), new)
    for part in family:
        _replace_part(tape, part, Variable(made[part.op]))
    assert origin is not None
    if made[origin].fn is np.full and not tape.uses(Variable(origin)):
        tape.delete(Variable(origin))


def _views_of(op: Op) -> list[Op]:
    """Return an op and the arrays of which it is a view, the nearest first."""
    chain = [op]
    while isinstance(op, Call) and isinstance(op.val, np.ndarray) and not _is_new(op):
        read = [v.op for v in op.references() if v.op is not None and not is_atom(v.op.val)]
        if len(read) != 1 or not isinstance(read[0].val, np.ndarray):
            break
        chain.append(op := read[0])
    return chain


def _copied(origin: Op, chains: dict[Op, list[Op]], family: list[ResultPart]) -> dict[Op, Call]:
    """Return a copy of an array, and views of the copy, by the ops that they replace; {} if one is no view."""
    made = {origin: _copy_of(origin, [part.before for part in family if part.op is origin])}
    for op, chain in chains.items():
        for each in reversed(chain[: chain.index(origin)]):
            if each not in made:
                fn, args, kwargs = substituted(each, lambda v: Variable(made.get(v.op, v.op)))
                made[each] = view = mkcall(fn, *args, **kwargs)
                view.site = each.site
        if not np.may_share_memory(made[op].val, made[origin].val):
            return {}
    return made


def _copy_of(op: Op, before: list[Op]) -> Call:
    """Make the copy of an op's value, in the memory order that it had before."""
    order = ("F",) if any([isinstance(each.val, np.ndarray) and each.val.flags.fnc for each in before]) else ()
    of_number = isinstance(op, Call) and op.fn is np.broadcast_to and is_atom(value_of(op.args[0]))
    fn, args = (np.full, op.args[::-1]) if of_number else (np.ndarray.copy, (Variable(op), *order))  # type: ignore[attr-defined]
    return Call(fn, args, val=op.val.copy(*order), site=op.site)


def _replace_part(tape: Tape, part: ResultPart, v: Variable) -> None:
    if part.holder is None:
        tape.result = v
    else:
        before = part.holder.args
        part.holder.args = (*before[: part.place], v, *before[part.place + 1 :])


class _Memory(dict[Op, MemoryRoots]):
    """Map from ops to the origins of their memory: a call, the number of an input, or "c" and the id of a constant.

    A pair of a loop and a number is a group of its results.
    """

    def __init__(self, tape: AnyTape, wanted: list[Op]) -> None:
        self.outside: dict[Any, Op] = {}
        self.parts: dict[Op, list[MemoryRoots]] = {}  # of loops
        ops, asked = list(tape), {*wanted}
        for op in reversed(ops):
            if op in asked and isinstance(op, Call) and (op.fn is functional.getfield or not _is_new(op)):
                asked.update([v.op for v in op.references() if v.op is not None])
        for op in ops:
            if isinstance(op, Call):
                if op in asked:
                    self[op] = _roots_of_call(op, self)
            else:
                root = len(self.outside) if isinstance(op, Input) else f"c{id(op.val)}"
                self[op] = frozenset([] if is_atom(op.val) else [root])
                self.outside[root] = op

    def share(self, a: Op, b: Op) -> bool:
        """Whether two values certainly shared memory when they were recorded."""
        return a is b or bool(self[a] & self[b] and share_recorded_memory(a, b))

    def are_apart(self, a: Op, b: Op) -> bool:
        """Whether two values are certainly views of other elements of one array."""
        ops: list[Any] = [a, b, *[self.outside.get(root, root) for root in self[a] & self[b]]]
        if not all([isinstance(op, Op) and isinstance(op.val, np.ndarray) for op in ops]):
            return False
        x, y, *origins = [op.val for op in ops]
        are_inside = all([np.may_share_memory(part, whole) for whole in origins for part in (x, y)])
        return are_inside and not np.may_share_memory(x, y)


def share_recorded_memory(a: Any, b: Any) -> bool:
    """Whether two ops have arrays that shared memory when they were recorded."""
    return isinstance(a.val, np.ndarray) and isinstance(b.val, np.ndarray) and np.may_share_memory(a.val, b.val)


def _is_new(op: Call) -> bool:
    """Whether a value is a number, or in memory that its call allocates."""
    return is_atom(op.val) or is_store(op) or is_new_memory(op) or info(op.fn).allocates


def _roots_of_call(op: Call, table: _Memory) -> MemoryRoots:
    if is_atom(op.val):
        return frozenset()
    if isinstance(op.fn, Loop):
        table.parts[op] = _parts_of_loop(op, table)
        return frozenset().union(*table.parts[op])
    if op.fn is functional.getfield and type(op.args[1]) is int and (parts := table.parts.get(op.args[0].op)):
        return parts[op.args[1]]
    if _is_new(op):
        return frozenset([op])
    read = [table[v.op] for v in op.references() if v.op is not None]
    return frozenset([op] * (not _shares_memory(op))).union(_roots_of_literals(op), *read)


def _roots_of_literals(op: Call) -> list[str]:
    """Return the roots of arrays that are literal arguments of a call."""
    return [f"c{id(a)}" for a in (*op.args, *op.kwargs.values()) if isinstance(a, np.ndarray)]


def _parts_of_loop(op: Call, table: _Memory) -> list[MemoryRoots]:
    """Return the roots of each result of a loop; a loop writes only into its own memory."""
    loop = loop_memory(op.fn)
    constants: set[Any] = set()
    for each in with_bodies(op.fn.body):
        constants.update(_roots_of_literals(each) if isinstance(each, Call) else ())
        constants.update([f"c{id(each.val)}"] if isinstance(each, Constant) else ())
    found: list[MemoryRoots] = []
    for part in loop.parts:
        args = [op.args[k] for k in part.arguments - loop.written]
        given = [table[a.op] if isinstance(a, Variable) else frozenset([f"c{id(a)}"]) for a in args]  # type: ignore[index]
        found.append(frozenset({(op, part.group)}).union(constants if part.pinned else (), *given))
    return found


def _shares_memory(op: Call) -> bool:
    """Whether a call is known to allocate no memory."""
    return op.fn is functional.getfield or is_display(op.fn)


def _is_spread(op: Op, before: Op) -> bool:
    """Whether elements of a value overlap in memory, and did not before."""
    x, was = op.val, before.val
    return isinstance(x, np.ndarray) and functional.overlaps(x) and not functional.overlaps(was)
