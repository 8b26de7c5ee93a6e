"""Columns: an array of many rows with a few elements each becomes an array for each of these, all of one shape.

What is computed of them row by row then goes into one nest of loops, in which nothing but what others read needs an
array: sums along rows are written out, a part of a row is one of the arrays, stacks and stores cost nothing.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Container, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.graphs.from_tape import deciding, looks_at_memory
from wengert.compiling.graphs.graph import ADD_REDUCE
from wengert.compiling.graphs.ownership import is_display
from wengert.compiling.graphs.vocabulary import axes_of
from wengert.compiling.native.scalar_ops import word_of
from wengert.compiling.native.values import is_whole
from wengert.compiling.placement import ALLOCATORS, has_known_memory_use
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.folding import is_pure
from wengert.tape.interface import AnyTape
from wengert.tape.ops import Call, Constant, Op, Variable, references, value_of
from wengert.values import functional

MOST_COLUMNS, FEWEST_ROWS, GAIN = 256, 8, 2
"""An array is split from so many rows on, of at most so many elements; NumPy code has to gain so many calls by it."""


class Columns(NamedTuple):
    """An array of n rows: for each element of a row, in their order, an array of n, or a number that stands in all."""

    shape: tuple[int, ...]
    parts: tuple[Any, ...]

    @property
    def table(self) -> np.ndarray:
        """The places in `parts` of the elements of a row."""
        return np.arange(len(self.parts)).reshape(self.shape[1:])

    def over(self, row: tuple[int, ...]) -> tuple[Any, ...]:
        """The parts for rows of another shape, to which these are broadcast."""
        return self.at(np.broadcast_to(self.table, row))

    def at(self, places: np.ndarray) -> tuple[Any, ...]:
        return tuple([self.parts[k] for k in places.flat])


def split_into_columns(tape: AnyTape, faithful: bool = False) -> AnyTape:
    """Return a tape that computes the same by columns; the tape itself where there is nothing to gain.

    With `faithful`, for NumPy code, values that decide a branch keep their rounding, and results keep sharing memory.
    Arrays are then split only where more than GAIN calls by columns pay for each array that is split or stacked.
    """
    ops = list(tape)
    some = any([_is_tall(op.val) and op.val.ndim > 1 for op in ops])
    if not some or looks_at_memory(ops) or (faithful and not has_known_memory_use(ops)):
        return tape
    taking = _ColumnSplitter(tape, _as_they_are(tape) if faithful else set())
    made = taking.tape()
    return tape if faithful and taking.gained <= GAIN * taking.moved else made


def _as_they_are(tape: AnyTape) -> set[Any]:
    """Return the ops that something decides by, and those that the result is built of."""
    found, parts = deciding(list(tape)), [tape.result.op]
    while parts:
        op = parts.pop()
        found.add(op)
        parts += [v.op for v in op.references()] if isinstance(op, Call) and is_display(op.fn) else []
    return found


def _is_tall(x: Any) -> bool:
    """Whether a value is an array of many rows with a few elements each."""
    floats = type(x) is np.ndarray and x.dtype in (np.float64, np.bool_) and x.ndim > 0
    return floats and len(x) >= MOST_COLUMNS and 0 < math.prod(x.shape[1:]) <= FEWEST_ROWS


class _ColumnSplitter(TapeRewriter):
    """Takes the arrays of a tape apart, op by op, on a new one; `table` has those that are there as they were."""

    def __init__(self, tape: AnyTape, as_they_are: Container[Any]) -> None:
        super().__init__(tape)
        self.as_they_are = as_they_are
        self.gained = self.moved = 0
        self.columns: dict[Op | None, Columns] = {}
        self.flat: dict[Op | None, Columns] = {}  # the columns of an array whose rows are written one after the other
        self.op: Any = None

    def tape(self) -> AnyTape:
        with np.errstate(all="ignore"):
            for op in self.old:
                self.op = op
                self.take(op)
            return self.finished()

    def take(self, op: Op) -> None:
        """Take in an op: by columns, or as it is."""
        if isinstance(op, Call) and not op.guard:
            read = [value_of(v) for v in op.references()]
            if _is_known(op) and all([self.known(v) is not None for v in op.references()]):
                self.table[op] = self.new.push(Constant(op.val, site=op.site))
                return
            if op not in self.as_they_are and any(map(_is_tall, [op.val, *read])) and self.by_rule(op):
                self.gained += op.fn is not operator.getitem and op.fn not in ALLOCATORS
                return
        self.push(op)

    def by_rule(self, op: Call) -> bool:
        """Take in a call by columns; False where nobody knows how."""
        word = word_of(op.fn, len(op.args)) if not op.kwargs else None
        try:
            power = op.fn in _POWER_FUNCTIONS and not op.kwargs and isinstance(op.args[-1], (int, float))
            rule = _elementwise if word is not None or power else _COLUMN_RULES.get(op.fn)
            found = None if rule is None else rule(self, op, *op.args, **op.kwargs)
        except TypeError:
            return False  # called in another way
        if found is None:
            return False
        parts = [found] if isinstance(found, Variable) else found.parts
        if any([np.asarray(_valued(x)).dtype != op.val.dtype for x in parts]):
            return False
        if isinstance(found, Variable):
            self.table[op] = found
        elif found.shape != op.val.shape:
            self.flat[op] = found
        else:
            self.columns[op] = found
        return True

    def call(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """Append a call; its value is that of the numbers recorded."""
        value = fn(*[_valued(a) for a in args], **kwargs)
        return self.new.push(Call(fn, list(args), kwargs, val=value, site=self.op.site, note=self.op.note))

    # -- what was taken apart, and what was not

    def of(self, v: Any) -> Columns | None:
        """The columns of an argument; None if it has none."""
        if not isinstance(v, Variable) or not _is_tall(value_of(v)):
            return None
        if v.op not in self.columns:
            whole = self.table.get(v.op)
            if whole is None:
                return None
            shape = value_of(v).shape
            keys = [(slice(None), *at) for at in np.ndindex(shape[1:])]
            parts = [self.call(operator.getitem, whole, key) for key in keys] if len(shape) > 1 else [whole]
            self.moved += len(shape) > 1
            self.columns[v.op] = Columns(shape, tuple(parts))
        return self.columns[v.op]

    def over(self, v: Any, shape: tuple[int, ...]) -> Sequence[Any] | None:
        """For each element of a row of a shape what is read of an argument: an array, or a number."""
        row, x = shape[1:], value_of(v) if isinstance(v, Variable) else v
        if isinstance(x, (bool, np.bool_, int, float, np.floating)) or np.ndim(x) == 0:
            number = self.table[v.op] if isinstance(v, Variable) else np.float64(x) if type(x) is float else x
            return [number] * math.prod(row)
        if x.ndim == len(shape) and len(x) == shape[0] > 1:
            mine = self.of(v)
            return None if mine is None else mine.over(row)
        rows = x.ndim == len(shape) and len(x) > 1
        if not isinstance(v, Variable) or v.op not in self.table or x.size > FEWEST_ROWS or rows:
            return None
        places = np.broadcast_to(np.arange(x.size).reshape(x.shape), (1, *row)).flat
        keys = [tuple(map(int, np.unravel_index(k, x.shape))) for k in places]
        return [self.call(operator.getitem, self.table[v.op], key) for key in keys]

    def at(self, op: Any) -> Variable:
        """An array as one, put together where it was taken apart."""
        if op not in self.table:
            mine = self.columns.get(op) or self.flat[op]
            self.moved += len(mine.shape) > 1
            parts = [self.column(x, mine.shape[0]) for x in mine.parts]
            made = parts[0] if len(mine.shape) == 1 else self.call(np.stack, parts, axis=1)
            shape = op.val.shape
            self.table[op] = made if value_of(made).shape == shape else self.call(np.reshape, made, shape)
        return self.table[op]

    def column(self, x: Any, n: int) -> Variable:
        """A part as an array."""
        return x if np.ndim(_valued(x)) else self.call(np.full, (n,), x)

    def floats(self, parts: Sequence[Any]) -> tuple[Any, ...]:
        """Parts as what an array of floats has of them: sums of bools, and quotients of ints, are others."""
        made = [x if np.asarray(_valued(x)).dtype == np.float64 else self.float(x) for x in parts]
        return tuple(made)

    def float(self, x: Any) -> Any:
        return self.call(operator.mul, x, 1.0) if isinstance(x, Variable) else np.float64(x)

    def known(self, x: Any) -> np.ndarray | None:
        """An array of whole numbers, if it is known."""
        op = self.table[x.op].op if isinstance(x, Variable) and x.op in self.table else Constant(x)
        return op.val if isinstance(op, Constant) and is_whole(op.val) else None


def _valued(x: Any) -> Any:
    return [_valued(v) for v in x] if type(x) is list else value_of(x) if isinstance(x, Variable) else x


def _is_known(op: Call) -> bool:
    """Whether what a call gives is whole numbers, as often as it is made of the same."""
    arrays = [op.val, *references((op.args, op.kwargs), np.ndarray)]
    pure = type(op.fn) is not Variable and (op.fn is np.arange or is_pure(op.fn)) and "out" not in op.kwargs
    return pure and all(map(is_whole, arrays))


# -- rules: (taking, op, arguments) -> the Columns, or a Variable of the new tape; None where they do not hold


def _elementwise(taking: _ColumnSplitter, op: Call, *args: Any) -> Columns | None:
    if not _is_tall(op.val):
        return None
    parts = [part for a in args if (part := taking.over(a, op.val.shape)) is not None]
    if len(parts) < len(args):
        return None
    return Columns(op.val.shape, tuple([taking.call(op.fn, *row) for row in zip(*parts, strict=True)]))


def _getitem(taking: _ColumnSplitter, op: Call, x: Any, key: Any) -> Columns | None:
    mine, (first, *rest) = taking.of(x), key if type(key) is tuple else (key,)
    if taking.known(first) is not None:
        return _gather_columns(taking, op, x, first, rest)
    basic = all([part is None or part is Ellipsis or type(part) in (int, slice) for part in rest])
    if mine is None or not basic or type(first) is not slice or first != slice(None):
        return None
    return Columns(op.val.shape, mine.at(mine.table[tuple(rest)])) if _is_tall(op.val) else None


def _gather_columns(taking: _ColumnSplitter, op: Call, x: Any, places: Any, rest: list[Any]) -> Columns | None:
    """Rows at places that are known, or parts of them."""
    known, basic = taking.known(places), all([type(part) in (int, slice) for part in rest])
    if not isinstance(x, Variable) or known is None or known.ndim != 1 or not basic or not _is_tall(op.val):
        return None
    rows, at = taking.at(x.op), taking.new.push(Constant(known))
    if rest:
        rows = taking.call(operator.getitem, rows, (slice(None), *rest))
    keys = [(slice(None), *k) for k in np.ndindex(op.val.shape[1:])]
    read = [taking.call(operator.getitem, rows, key) for key in keys] if len(keys[0]) > 1 else [rows]
    return Columns(op.val.shape, tuple([taking.call(operator.getitem, column, at) for column in read]))


def _scattered(taking: _ColumnSplitter, op: Call, x: Variable, places: Any, value: Any) -> Variable | None:
    """Rows that are added at places that are known."""
    known, n = taking.known(places), len(op.val)
    if known is None or known.ndim != 1 or not isinstance(x, Variable) or abs(known + 0.5).max(initial=0.0) > n:
        return None
    parts = taking.over(value, (known.size, *op.val.shape[1:])) if _is_tall(value_of(value)) else None
    if parts is None or op.val.ndim > 2:
        return None
    at = taking.new.push(Constant(known % n))
    made = [taking.call(np.bincount, at, taking.column(part, known.size), n) for part in parts]
    sums = made[0] if op.val.ndim == 1 else taking.call(np.stack, made, axis=1)
    blank = isinstance(x.op, Call) and x.op.fn is np.zeros
    found: Variable = sums if blank else taking.call(operator.add, taking.at(x.op), sums)
    return found


def _reshape_columns(taking: _ColumnSplitter, op: Call, x: Any, *_: Any) -> Columns | None:
    mine = taking.of(x)
    if mine is None or not _is_in_order(_):
        return None
    if _is_tall(op.val) and len(op.val) == mine.shape[0]:
        return Columns(op.val.shape, mine.parts)
    return mine if op.val.ndim == 1 and len(mine.parts) > 1 else None


def _is_in_order(args: Sequence[Any]) -> bool:
    return not any([type(a) is str for a in args])


def _broadcast_columns(taking: _ColumnSplitter, op: Call, x: Any, shape: Any) -> Columns | None:
    parts = taking.over(x, op.val.shape) if _is_tall(op.val) else None
    return None if parts is None else Columns(op.val.shape, tuple(parts))


def _uniform_columns(taking: _ColumnSplitter, op: Call, *_: Any, **__: Any) -> Columns | None:
    row = math.prod(op.val.shape[1:])
    if not _is_tall(op.val) or op.val.ndim < 2 or op.val.dtype != np.float64:
        return None
    value: Any = taking.over(_[1], (1,)) if op.fn is np.full else [np.float64(op.fn is np.ones)]
    return None if value is None or np.ndim(_valued(value[0])) else Columns(op.val.shape, taking.floats(value) * row)


def _stack_columns(taking: _ColumnSplitter, op: Call, parts: Any, axis: Any = 0) -> Columns | None:
    """np.stack and np.concatenate, along another axis than the first."""
    if type(parts) not in (tuple, list) or type(axis) is not int or axis % op.val.ndim == 0 or not _is_tall(op.val):
        return None
    mine = [one for part in parts if (one := taking.of(part)) is not None and one.shape[0] == len(op.val)]
    if len(mine) < len(parts):
        return None
    starts = itertools.accumulate([len(one.parts) for one in mine], initial=0)
    tables = [one.table[None] + start for one, start in zip(mine, starts, strict=False)]
    parts = [part for one in mine for part in one.parts]
    every = taking.floats(parts) if op.val.dtype == np.float64 else parts
    return Columns(op.val.shape, tuple([every[k] for k in op.fn(tables, axis=axis).flat]))


def _store_columns(taking: _ColumnSplitter, op: Call, x: Any, key: Any, value: Any) -> Columns | Variable | None:
    """A store into the same places of all rows."""
    if op.fn is functional.additem and taking.known(key) is not None:
        return _scattered(taking, op, x, key, value)
    mine, (first, *rest) = taking.of(x), key if type(key) is tuple else (key,)
    basic = all([part is None or part is Ellipsis or type(part) in (int, slice) for part in rest])
    if mine is None or not basic or type(first) is not slice or first != slice(None) or op.val.dtype != np.float64:
        return None
    places = mine.table[tuple(rest)]
    given = taking.over(value, (mine.shape[0], *np.shape(places)))
    if given is None:
        return None
    parts = [*mine.parts]
    for k, part in zip(np.ravel(places), taking.floats(given), strict=True):
        parts[k] = taking.call(operator.add, parts[k], part) if op.fn is functional.additem else part
    return Columns(mine.shape, tuple(parts))


def _reduce_columns(fn: Any, taking: _ColumnSplitter, op: Call, x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Reduce along rows by a function of two arguments."""
    mine, axes = taking.of(x), axes_of(axis, value_of(x).ndim)
    if mine is None or not axes or 0 in axes or value_of(x).dtype != np.float64:
        return None
    table = np.moveaxis(mine.table, [a - 1 for a in axes], range(-len(axes), 0))
    rows = table.reshape(-1, math.prod([mine.shape[a] for a in axes]))
    return Columns(op.val.shape, tuple([_combined(taking, fn, mine.at(row)) for row in rows]))


def _dot_of_columns(taking: _ColumnSplitter, op: Call, a: Any, b: Any) -> Any:
    mine, other = taking.of(a), taking.of(b)
    if mine is None or other is None or mine.shape != other.shape or len(mine.shape) == 1:
        return None
    pairs = zip(mine.parts, other.parts, strict=True)
    arrays = [[taking.column(x, mine.shape[0]) for x in pair] for pair in pairs]
    return _combined(taking, operator.add, [taking.call(np.vdot, *pair) for pair in arrays])


def _combined(taking: _ColumnSplitter, fn: Any, parts: Sequence[Any]) -> Any:
    return functools.reduce(lambda p, q: taking.call(fn, p, q), parts)


def _einsum_of_columns(taking: _ColumnSplitter, op: Call, subscripts: Any, *operands: Any) -> Columns | None:
    if type(subscripts) is not str or "->" not in subscripts or "." in subscripts:
        return None
    inputs, output = subscripts.replace(" ", "").split("->")
    return _contracted(taking, op, inputs.split(","), output, operands)


def _matmul(taking: _ColumnSplitter, op: Call, a: Any, b: Any) -> Columns | None:
    m, n = value_of(a).ndim, value_of(b).ndim
    if m == n == 3:
        return _contracted(taking, op, ["nij", "njk"], "nik", (a, b))
    return _contracted(taking, op, ["nj", "jk"[:n]], "nk"[:n], (a, b)) if m == 2 and n <= 2 else None


def _contracted(
    taking: _ColumnSplitter, op: Call, words: list[str], output: str, operands: Sequence[Any]
) -> Columns | None:
    """A sum of products over letters, where the first letter counts rows."""
    if not _is_tall(op.val) or not all([value_of(x).dtype == np.float64 for x in operands]):
        return None
    row, letters = output[0], [*output[1:]]
    named = [zip(word, value_of(x).shape, strict=True) for word, x in zip(words, operands, strict=True)]
    sizes = dict(itertools.chain(*named))
    if any([row in word[1:] or len({*word}) < len(word) for word in words]):
        return None
    inner = [k for k in sizes if k not in output]
    read = []
    for word, x in zip(words, operands, strict=True):
        tail = [*word][word[:1] == row :]
        parts = taking.over(x, (len(op.val), *[sizes[k] for k in tail]))
        if parts is None or value_of(x).shape[word[:1] == row :] != tuple([sizes[k] for k in tail]):
            return None
        read.append((tail, dict(zip(itertools.product(*[range(sizes[k]) for k in tail]), parts, strict=True))))
    found = []
    for outer in itertools.product(*[range(sizes[k]) for k in letters]):
        terms = []
        for at in itertools.product(*[range(sizes[k]) for k in inner]):
            place = dict(zip([*letters, *inner], (*outer, *at), strict=True))
            factors = [parts[tuple([place[k] for k in tail])] for tail, parts in read]
            terms.append(_combined(taking, operator.mul, factors))
        found.append(_combined(taking, operator.add, terms))
    return Columns(op.val.shape, tuple(found))


def _count_columns(taking: _ColumnSplitter, op: Call, places: Any, weights: Any = None, n: Any = 0) -> Variable | None:
    """np.bincount with rows as weights, whose elements go to neighbouring places."""
    flat, known = taking.flat.get(weights.op) if isinstance(weights, Variable) else None, taking.known(places)
    if flat is None or known is None:
        return None
    width = len(flat.parts)
    rows = known.reshape(-1, width)
    if n % width or len(op.val) != n or (rows != rows[:, :1] + np.arange(width)).any() or (rows[:, 0] % width).any():
        return None
    at = taking.new.push(Constant(rows[:, 0] // width))
    columns = [taking.column(x, len(rows)) for x in flat.parts]
    made = [taking.call(np.bincount, at, column, n // width) for column in columns]
    found: Variable = taking.call(np.reshape, taking.call(np.stack, made, axis=1), (n,))
    return found


_POWER_FUNCTIONS = (operator.pow, np.power, pow)
_COLUMN_RULES: dict[Any, Callable[..., Any]] = {
    operator.getitem: _getitem, functional.setitem: _store_columns, functional.additem: _store_columns,
    **dict.fromkeys(
        [np.reshape, np.ndarray.reshape, np.expand_dims, np.squeeze, np.ravel, np.ndarray.ravel, np.ndarray.squeeze],
        _reshape_columns,
    ),
    np.broadcast_to: _broadcast_columns, np.stack: _stack_columns, np.concatenate: _stack_columns,
    np.zeros: _uniform_columns, np.ones: _uniform_columns, np.full: _uniform_columns,
    **dict.fromkeys([np.sum, np.ndarray.sum, ADD_REDUCE], functools.partial(_reduce_columns, operator.add)),
    **dict.fromkeys([np.max, np.ndarray.max], functools.partial(_reduce_columns, np.maximum)),
    **dict.fromkeys([np.min, np.ndarray.min], functools.partial(_reduce_columns, np.minimum)),
    np.vdot: _dot_of_columns, np.einsum: _einsum_of_columns, np.matmul: _matmul, operator.matmul: _matmul,
    np.bincount: _count_columns,
}  # fmt: skip
