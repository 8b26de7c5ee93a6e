"""Extrapolate from the tapes of m, m + 1 and m + 2 iterations to the tape of all iterations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from wengert.compiling.loops.unrolling import CannotExtrapolate
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Op, Variable, sequence_like
from wengert.tape.tape import Tape


def extrapolate(
    base: Any, mores: Sequence[Any], further: Any, times: Sequence[int], tables: Sequence[tuple[Any, ...]]
) -> Any:
    """Return the tape that has `times` more iterations of each loop than `base`.

    Each of `mores` has one more iteration of one loop, and `further` has two more of each loop. The tapes may differ in
    integers, which are extrapolated linearly, and in constants that are parts of one of the `tables`.
    Errors: CannotExtrapolate if they differ otherwise.
    """
    return _Extrapolation(times, tables).tape(base, *mores, further)


class _Extrapolation:
    def __init__(self, times: Sequence[int], tables: Sequence[tuple[Any, ...]]) -> None:
        self.times, self.tables = times, tables

    def tape(self, base: Any, *mores: Any) -> Any:
        if any([len(more) != len(base) for more in mores]):
            raise CannotExtrapolate("the number of calls depends on the number of iterations")
        made, new = Tape(base.ctx), dict[Op, Variable]()
        for op, *others in zip(base, *mores, strict=True):
            copy = op.copy()
            if isinstance(op, Constant):
                copy.val = self.constant(op.val, *[other.val for other in others])
            else:
                copy.val = self.value(op.val, *[other.val for other in others])
            if isinstance(op, Call):
                if not all([isinstance(other, Call) and other.guard == op.guard for other in others]):
                    raise CannotExtrapolate("a call depends on the number of iterations")
                copy.fn = self.function(op.fn, *[other.fn for other in others])
                copy.args = self.tree(op.args, *[other.args for other in others])
                copy.kwargs = self.tree(op.kwargs, *[other.kwargs for other in others])
                copy.rewrite(lambda v: new[v.op])
                copy.note = op.note if type(op.note) is str else None
            new[op] = made.push(copy)
        made.result = new[base.result.op]
        return made

    def function(self, fn: Any, *others: Any) -> Any:
        if type(fn) is Loop:
            if any([(type(other), other.steps, other.carried) != (Loop, fn.steps, fn.carried) for other in others]):
                raise CannotExtrapolate("a loop depends on the number of iterations")
            body = self.tape(fn.body, *[other.body for other in others])
            return Loop(body, self.number(fn.count, *[other.count for other in others]), fn.steps, fn.carried)
        if any([other is not fn and other != fn for other in others]):
            raise CannotExtrapolate("a called function depends on the number of iterations")
        return fn

    def number(self, n: int, *others: int) -> int:
        *rises, last = [other - n for other in others]
        if last != 2 * sum(rises):
            raise CannotExtrapolate("an integer does not grow linearly with the number of iterations")
        return n + sum([rise * times for rise, times in zip(rises, self.times, strict=True)])

    def tree(self, a: Any, *others: Any) -> Any:
        """Extrapolate an argument."""
        t = type(a)
        if any([type(b) is not t for b in others]):
            raise CannotExtrapolate("the type of an argument depends on the number of iterations")
        if t is int:
            return self.number(a, *others)
        if t is Variable:
            if any([b.id != a.id for b in others]):
                raise CannotExtrapolate("an operand depends on the number of iterations")
            return a
        if isinstance(a, (tuple, list)):
            if any([len(b) != len(a) for b in others]):
                raise CannotExtrapolate("the length of an argument depends on the number of iterations")
            return sequence_like(a, [self.tree(*parts) for parts in zip(a, *others, strict=True)])
        if t is dict:
            return {key: self.tree(a[key], *[b[key] for b in others]) for key in a}
        if t is slice:
            bounds = [(part.start, part.stop, part.step) for part in (a, *others)]
            return slice(*self.tree(*bounds))
        return self.constant(a, *others)

    def constant(self, a: Any, *others: Any) -> Any:
        """Extrapolate a constant: it is the same on all tapes, or a part of a table."""
        if all([a is b or (type(a) is type(b) and _same_bits(a, b)) for b in others]):
            return a
        if type(a) is tuple:
            length = self.number(len(a), *map(len, others))
            for table in self.tables:
                for whole in _windows(table, length):
                    for order in (slice(None), slice(None, None, -1)):
                        if all([_starts_with(whole[order], b[order]) for b in (a, *others)]):
                            return whole
        raise CannotExtrapolate("a constant depends on the number of iterations")

    def value(self, a: Any, *others: Any) -> Any:
        """Return a recorded value, or zeros of the extrapolated shape."""
        if type(a) is np.ndarray and any([np.shape(b) != a.shape for b in others]):
            return np.zeros(
                [self.number(*lengths) for lengths in zip(a.shape, *map(np.shape, others), strict=True)], a.dtype
            )
        if type(a) is tuple and all([type(b) is tuple and len(b) == len(a) for b in others]):
            return tuple([self.value(*parts) for parts in zip(a, *others, strict=True)])
        return a


def _windows(table: tuple[Any, ...], length: int) -> Iterator[tuple[Any, ...]]:
    """Yield the windows of this length of a table, and of the reversed table."""
    for order in (table, table[::-1]):
        for start in range(len(order) - length + 1):
            yield order[start : start + length]


def _starts_with(whole: tuple[Any, ...], part: tuple[Any, ...]) -> bool:
    return all([type(a) is type(b) and _same_bits(a, b) for a, b in zip(whole, part, strict=False)])


def _same_bits(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, (float, complex, np.generic)):
        return np.asarray(a).tobytes() == np.asarray(b).tobytes()
    return bool(a == b)
