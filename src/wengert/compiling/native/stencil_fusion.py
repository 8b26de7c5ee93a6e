"""Pieces: what is put together of shifted arrays is computed piece by piece, in one go where all of them overlap.

In the pullback of u[1:] − u[:-1], say, zeros get one array at [1:] and add another one at [:-1]. Each piece of the
result is the sum of parts of these, and a part of what is computed element by element is computed of parts: again for
each, which costs less than to write an array and to read it.
"""

from __future__ import annotations

import functools
import itertools
import operator
from typing import Any

import numpy as np

from wengert.compiling.graphs.from_tape import looks_at_memory
from wengert.compiling.native.scalar_ops import word_of
from wengert.compiling.placement import ITEM_STORES
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.interface import AnyTape
from wengert.tape.ops import Call, Op, Variable, value_of, with_variables
from wengert.values import functional

LEAST_FUSED = 1 << 12  # elements of what is put together
MOST_RECOMPUTED = 24  # calls that are made again for a part


def by_pieces(tape: AnyTape) -> AnyTape:
    """A tape that computes the same by pieces; the tape itself where nothing is put together."""
    ops = list(tape)
    readers: dict[Op | None, list[Op | None]] = {tape.result.op: [None]}
    for op in ops:
        for v in op.references():
            readers.setdefault(v.op, []).append(op)
    ends = {op: stores for op in ops if (stores := _stores(op, readers)) is not None}
    return _Parting(tape, ends).tape() if ends and not looks_at_memory(ops) else tape


def _stores(op: Any, readers: dict[Op | None, list[Op | None]]) -> list[Call] | None:
    """The stores, first to last, by which an op ends what puts an array together."""
    found: list[Call] = []
    if any([_is_store(reader) and reader.args[0].op is op for reader in readers.get(op, ())]):  # type: ignore[union-attr]
        return None
    while _is_store(op) and (not found or len(readers[op]) == 1):
        found.append(op)
        op = op.args[0].op
    blank = isinstance(op, Call) and op.fn is np.zeros and len(readers.get(op, ())) == 1
    return found[::-1] if blank and len(found) > 1 else None


def _is_store(op: Any) -> bool:
    """Whether an op puts an array at a slice of another one, along the first axis."""
    if not isinstance(op, Call) or op.fn not in ITEM_STORES or type(op.args[0]) is not Variable or op.kwargs:
        return False
    whole, (_, key, value) = op.val, op.args
    if type(whole) is not np.ndarray or whole.dtype != np.float64 or whole.size < LEAST_FUSED or not _is_span(key):
        return False
    return type(value) is Variable and value_of(value).shape == (len(range(len(whole))[key]), *whole.shape[1:])


def _is_span(key: Any) -> bool:
    """Whether a key is a slice of neighbours, from front to end, whose bounds are known."""
    known = type(key) is slice and all([bound is None or type(bound) is int for bound in (key.start, key.stop)])
    return known and key.step in (None, 1)


class _Parting(TapeRewriter):
    """Copies a tape, on which each array that is put together becomes a concatenation of pieces."""

    def __init__(self, tape: AnyTape, ends: dict[Op, list[Call]]) -> None:
        super().__init__(tape)
        self.ends = ends
        self.parts: dict[Any, Variable] = {}
        self.left = 0

    def tape(self) -> AnyTape:
        with np.errstate(all="ignore"):
            for op in self.old:
                if op in self.ends:
                    self.table[op] = self.whole(op, self.ends[op])
                else:
                    self.push(op)
        return self.finished()

    def whole(self, op: Op, stores: list[Call]) -> Variable:
        """An array that is put together, as its pieces one after the other."""
        spans = [range(len(op.val))[store.args[1]] for store in stores]
        bounds = sorted({0, len(op.val), *[bound for span in spans if span for bound in (span.start, span.stop)]})
        pieces = [self.piece(op, stores, spans, first, end) for first, end in itertools.pairwise(bounds)]
        return self.call(op, np.concatenate, pieces)

    def piece(self, op: Op, stores: list[Call], spans: list[range], first: int, end: int) -> Variable:
        """Return the sum of what was added between two places since the last assignment there."""
        terms: list[Any] = [0.0]
        for store, span in zip(stores, spans, strict=True):
            if first in span:
                self.left = MOST_RECOMPUTED
                part = self.part(store.args[2], first - span.start, end - span.start)
                terms = [*terms, part] if store.fn is functional.additem else [part]
        if len(terms) == 1 and type(terms[0]) is float:
            return self.call(op, np.zeros, (end - first, *op.val.shape[1:]))
        return functools.reduce(lambda a, b: self.call(op, operator.add, a, b), terms)

    def part(self, v: Variable, first: int, end: int) -> Variable:
        """The elements from `first` to `end` of an array, computed of parts of what it is made of if that is cheap."""
        key = v.op, first, end
        if (first, end) == (0, len(value_of(v))):
            return self.table[v.op]
        if key not in self.parts:
            made = self.made(v.op, first, end)
            self.parts[key] = made or self.call(v.op, operator.getitem, self.table[v.op], slice(first, end))
        return self.parts[key]

    def made(self, op: Op | None, first: int, end: int) -> Variable | None:
        """The part of what an op gives, made of parts of what it reads; None where that is not worth while."""
        if not isinstance(op, Call) or op.kwargs or op.guard:
            return None
        if op.fn is operator.getitem and isinstance(op.args[0], Variable) and _is_span(op.args[1]):
            start = range(len(value_of(op.args[0])))[op.args[1]].start
            return self.part(op.args[0], start + first, start + end)
        word = word_of(op.fn, len(op.args))
        self.left -= 1
        if word is None or word.slow or self.left < 0:
            return None
        return self.call(op, op.fn, *[self.along(a, op.val, first, end) for a in op.args])

    def along(self, a: Any, x: np.ndarray, first: int, end: int) -> Any:
        """The part of an operand that a part of a result is made of."""
        if not isinstance(a, Variable):
            rows = type(a) is np.ndarray and a.ndim == x.ndim and len(a) > 1
            return a[first:end] if rows else a
        value = value_of(a)
        rows = type(value) is np.ndarray and value.ndim == x.ndim and len(value) > 1
        return self.part(a, first, end) if rows else self.table[a.op]

    def call(self, origin: Any, fn: Any, *args: Any) -> Variable:
        """Append a call; its value is that of the numbers recorded."""
        values = with_variables(args, value_of)
        return self.new.push(Call(fn, args, val=fn(*values), site=origin.site, note=origin.note))
