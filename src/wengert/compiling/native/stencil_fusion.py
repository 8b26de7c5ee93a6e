"""Fuse stencils: compute an array that is assembled from shifted arrays piece by piece, in one loop where all overlap.

The pullback of u[1:] − u[:-1], for example, stores one array into zeros at [1:] and adds another at [:-1]. Each piece
of the result is a sum of parts of these. Parts of elementwise results are recomputed for each piece, which costs less
than writing and reading an array.
"""

from __future__ import annotations

import functools
import itertools
import operator
from typing import Any

import numpy as np

from wengert.compiling.ops import is_item_store, scalar_op
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.interface import AnyTape
from wengert.tape.ops import Call, Op, Variable, value_of
from wengert.tape.usage import readers_of
from wengert.values import functional

LEAST_FUSED = 1 << 12  # elements of an array that is assembled
MOST_RECOMPUTED = 24  # calls to recompute a part


def fuse_stencils(tape: AnyTape) -> AnyTape:
    """Return a tape that computes assembled arrays piece by piece; the tape itself if there are none."""
    ops = list(tape)
    readers = readers_of(ops)
    readers.setdefault(tape.result.op, []).append(None)
    stored_arrays = {op: stores for op in ops if (stores := _stores_into_zeros(op, readers)) is not None}
    return _StencilFuser(tape, stored_arrays).tape() if stored_arrays else tape


def _stores_into_zeros(op: Any, readers: dict[Op | None, list[Op | None]]) -> list[Call] | None:
    """Return all stores into an array of zeros, in order, if an op is the last of several; else None."""
    found: list[Call] = []
    if any([_is_slice_store(reader) and reader.args[0].op is op for reader in readers.get(op, ())]):  # type: ignore[union-attr]
        return None
    while _is_slice_store(op) and (not found or len(readers[op]) == 1):
        found.append(op)
        op = op.args[0].op
    blank = isinstance(op, Call) and op.fn is np.zeros and len(readers.get(op, ())) == 1
    return found[::-1] if blank and len(found) > 1 else None


def _is_slice_store(op: Any) -> bool:
    """Whether an op stores an array into a slice of another one along the first axis."""
    if not isinstance(op, Call) or not is_item_store(op) or type(op.args[0]) is not Variable or op.kwargs:
        return False
    whole, (_, key, value) = op.val, op.args
    if type(whole) is not np.ndarray or whole.dtype != np.float64 or whole.size < LEAST_FUSED:
        return False
    if not _is_static_slice(key):
        return False
    return type(value) is Variable and value_of(value).shape == (len(range(len(whole))[key]), *whole.shape[1:])


def _is_static_slice(key: Any) -> bool:
    """Whether a key is a slice with constant bounds and step one."""
    known = type(key) is slice and all([bound is None or type(bound) is int for bound in (key.start, key.stop)])
    return known and key.step in (None, 1)


class _StencilFuser(TapeRewriter):
    """Copies a tape; each array that stores assemble becomes a concatenation of pieces."""

    def __init__(self, tape: AnyTape, stored_arrays: dict[Op, list[Call]]) -> None:
        super().__init__(tape)
        self.stored_arrays = stored_arrays
        self.parts: dict[Any, Variable] = {}
        self.calls_left = 0

    def tape(self) -> AnyTape:
        with np.errstate(all="ignore"):
            for op in self.old:
                if op in self.stored_arrays:
                    self.table[op] = self.concatenate_pieces(op, self.stored_arrays[op])
                else:
                    self.push(op)
        return self.finished()

    def concatenate_pieces(self, op: Op, stores: list[Call]) -> Variable:
        """Return an assembled array as the concatenation of its pieces."""
        spans = [range(len(op.val))[store.args[1]] for store in stores]
        bounds = sorted({0, len(op.val), *[bound for span in spans if span for bound in (span.start, span.stop)]})
        pieces = [self.piece(op, stores, spans, first, end) for first, end in itertools.pairwise(bounds)]
        return self.push_call(op, np.concatenate, pieces)

    def piece(self, op: Op, stores: list[Call], spans: list[range], first: int, end: int) -> Variable:
        """Return the sum of the values stored from `first` to `end`, since the last assignment there."""
        terms: list[Any] = [0.0]
        for store, span in zip(stores, spans, strict=True):
            if first in span:
                self.calls_left = MOST_RECOMPUTED
                part = self.part(store.args[2], first - span.start, end - span.start)
                terms = [*terms, part] if store.fn is functional.additem else [part]
        if len(terms) == 1 and type(terms[0]) is float:
            return self.push_call(op, np.zeros, (end - first, *op.val.shape[1:]))
        return functools.reduce(lambda a, b: self.push_call(op, operator.add, a, b), terms)

    def part(self, v: Variable, first: int, end: int) -> Variable:
        """Return the elements from `first` to `end` of an array, recomputed from parts of its operands if cheap."""
        key = v.op, first, end
        if (first, end) == (0, len(value_of(v))):
            return self.table[v.op]
        if key not in self.parts:
            made = self.recompute_part(v.op, first, end)
            self.parts[key] = made or self.push_call(v.op, operator.getitem, self.table[v.op], slice(first, end))
        return self.parts[key]

    def recompute_part(self, op: Op | None, first: int, end: int) -> Variable | None:
        """Recompute a part of an op's result from parts of its operands; return None if that does not pay."""
        if not isinstance(op, Call) or op.kwargs or op.guard:
            return None
        if op.fn is operator.getitem and isinstance(op.args[0], Variable) and _is_static_slice(op.args[1]):
            start = range(len(value_of(op.args[0])))[op.args[1]].start
            return self.part(op.args[0], start + first, start + end)
        operation = scalar_op(op.fn, len(op.args))
        self.calls_left -= 1
        if operation is None or operation.slow or self.calls_left < 0:
            return None
        return self.push_call(op, op.fn, *[self.part_of_operand(a, op.val, first, end) for a in op.args])

    def part_of_operand(self, a: Any, x: np.ndarray, first: int, end: int) -> Any:
        """Return the part of an operand that the part of the result `x` depends on."""
        if not isinstance(a, Variable):
            rows = type(a) is np.ndarray and a.ndim == x.ndim and len(a) > 1
            return a[first:end] if rows else a
        value = value_of(a)
        rows = type(value) is np.ndarray and value.ndim == x.ndim and len(value) > 1
        return self.part(a, first, end) if rows else self.table[a.op]
