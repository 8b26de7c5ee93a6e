"""Split arrays of many short rows into columns: one array for each element of a row (AoS to SoA).

Operations on rows then share one loop nest, in which only results that other ops read need an array. Sums along rows
are written out, a part of a row is one of the columns, and stacks and stores cost nothing.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Container, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.graphs.from_tape import DecidingOps
from wengert.compiling.graphs.ownership import display_calls, read_by_result
from wengert.compiling.graphs.vocabulary import axes_of
from wengert.compiling.ops import info, is_allocation, scalar_op
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.folding import is_pure
from wengert.tape.interface import AnyTape
from wengert.tape.ops import Call, Constant, Op, Variable, references, value_of
from wengert.values import functional
from wengert.values.keys import key_parts
from wengert.values.specs import is_int_array

FEWEST_ROWS, MOST_COLUMNS, GAIN = 256, 8, 2
"""The fewest rows and most columns of an array that is split, and the calls that have to be gained per split."""


class Columns(NamedTuple):
    """An array of n rows, by columns: for each element of a row, in C order, an array of n or a number for all rows."""

    shape: tuple[int, ...]
    parts: tuple[Any, ...]

    @property
    def table(self) -> np.ndarray:
        """Return the indices into `parts` of the elements of a row."""
        return np.arange(len(self.parts)).reshape(self.shape[1:])

    def broadcast(self, row: tuple[int, ...]) -> tuple[Any, ...]:
        """Return the parts for rows that are broadcast to another shape."""
        return self.select(np.broadcast_to(self.table, row))

    def select(self, places: np.ndarray) -> tuple[Any, ...]:
        """Return the parts with these indices."""
        return tuple([self.parts[k] for k in places.flat])


def split_into_columns(tape: AnyTape, faithful: bool = False) -> AnyTape:
    """Return a tape that computes the same by columns; the tape itself if this does not pay.

    It pays if it turns more than GAIN calls for each split or stack into calls on columns. With `faithful`, for NumPy
    code, values that a branch depends on keep their rounding, and results keep sharing memory.
    """
    if not any([_is_tall(op.val) and op.val.ndim > 1 for op in tape]):
        return tape
    splitter = _ColumnSplitter(tape, _ops_to_preserve(tape) if faithful else set())
    made = splitter.tape()
    return made if splitter.n_gained > GAIN * splitter.n_moved else tape


def _ops_to_preserve(tape: AnyTape) -> set[Any]:
    """Return the ops that a branch depends on, and those from which the result is built."""
    return {*DecidingOps(list(tape)), *display_calls(tape.result.op), *read_by_result(tape)}


def _is_tall(x: Any) -> bool:
    """Whether a value is an array of many rows with a few elements each."""
    floats = type(x) is np.ndarray and x.dtype in (np.float64, np.bool_) and x.ndim > 0
    return floats and len(x) >= FEWEST_ROWS and 0 < math.prod(x.shape[1:]) <= MOST_COLUMNS


class _ColumnSplitter(TapeRewriter):
    """Copies a tape op by op and splits arrays into columns; `table` has those that are whole on the new tape."""

    def __init__(self, tape: AnyTape, preserved: Container[Any]) -> None:
        super().__init__(tape)
        self.preserved = preserved
        self.n_gained = self.n_moved = 0
        self.columns: dict[Op | None, Columns] = {}
        self.op: Any = None

    def tape(self) -> AnyTape:
        with np.errstate(all="ignore"):
            for op in self.old:
                self.op = op
                self.add(op)
            return self.finished()

    def add(self, op: Op) -> None:
        """Add an op, by columns or unchanged."""
        if isinstance(op, Call) and not op.guard:
            read = [value_of(v) for v in op.references()]
            if is_constant_int_call(op) and all([self.known_ints(v) is not None for v in op.references()]):
                self.table[op] = self.new.push(Constant(op.val, site=op.site))
                return
            if op not in self.preserved and any(map(_is_tall, [op.val, *read])) and self.split(op):
                self.n_gained += op.fn is not operator.getitem and not is_allocation(op.fn)
                return
        self.push(op)

    def split(self, op: Call) -> bool:
        """Add a call by columns; return False if no rule applies."""
        operation = scalar_op(op.fn, len(op.args)) if not op.kwargs else None
        power = info(op.fn).name == "power" and not op.kwargs and isinstance(op.args[-1], (int, float))
        rule = _elementwise_columns if operation is not None or power else _COLUMN_RULES.get(info(op.fn).name)
        try:
            found = None if rule is None else rule(self, op, *op.args, **op.kwargs)
        except TypeError:
            return False  # the call has other arguments than its rule
        if found is None:
            return False
        parts = [found] if isinstance(found, Variable) else found.parts
        if any([np.asarray(value_of(x)).dtype != op.val.dtype for x in parts]):
            return False
        if isinstance(found, Variable):
            self.table[op] = found
        else:
            self.columns[op] = found
        return True

    def call(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """Append a call for the op that is added now."""
        return self.push_call(self.op, fn, *args, **kwargs)

    # -- columns and whole arrays

    def columns_of(self, v: Any) -> Columns | None:
        """Return the columns of an argument; None if it has none."""
        if not isinstance(v, Variable) or not _is_tall(value_of(v)):
            return None
        if v.op not in self.columns:
            whole = self.table.get(v.op)
            if whole is None:
                return None
            shape = value_of(v).shape
            keys = [(slice(None), *at) for at in np.ndindex(shape[1:])]
            parts = [self.call(operator.getitem, whole, key) for key in keys] if len(shape) > 1 else [whole]
            self.n_moved += len(shape) > 1
            self.columns[v.op] = Columns(shape, tuple(parts))
        return self.columns[v.op]

    def elements(self, v: Any, shape: tuple[int, ...]) -> Sequence[Any] | None:
        """Return an argument broadcast to `shape` as one operand for each element of a row: an array or a number."""
        row, x = shape[1:], value_of(v) if isinstance(v, Variable) else v
        if isinstance(x, (list, tuple)):
            return None
        if isinstance(x, (bool, np.bool_, int, float, np.floating)) or np.ndim(x) == 0:
            number = self.table[v.op] if isinstance(v, Variable) else np.float64(x) if type(x) is float else x
            return [number] * math.prod(row)
        if x.ndim == len(shape) and len(x) == shape[0] > 1:
            mine = self.columns_of(v)
            return None if mine is None else mine.broadcast(row)
        rows = x.ndim == len(shape) and len(x) > 1
        if not isinstance(v, Variable) or v.op not in self.table or x.size > MOST_COLUMNS or rows:
            return None
        places = np.broadcast_to(np.arange(x.size).reshape(x.shape), (1, *row)).flat
        keys = [tuple(map(int, np.unravel_index(k, x.shape))) for k in places]
        return [self.call(operator.getitem, self.table[v.op], key) for key in keys]

    def variable(self, op: Any) -> Variable:
        """Return the variable for a whole array; stack its columns if it was split."""
        if op not in self.table:
            mine = self.columns[op]
            self.n_moved += len(mine.shape) > 1
            parts = [self.column(x, mine.shape[0]) for x in mine.parts]
            made = parts[0] if len(mine.shape) == 1 else self.call(np.stack, parts, axis=1)
            self.table[op] = made if len(mine.shape) <= 2 else self.call(np.reshape, made, mine.shape)
        return self.table[op]

    def column(self, x: Any, n: int) -> Variable:
        """Return a column as an array, also if it is one number."""
        return x if np.ndim(value_of(x)) else self.call(np.full, (n,), x)

    def as_floats(self, parts: Sequence[Any]) -> tuple[Any, ...]:
        """Convert columns to floats, as in an array of floats: sums of bools and quotients of ints differ."""
        made = []
        for x in parts:
            if np.asarray(value_of(x)).dtype != np.float64:
                x = self.call(operator.mul, x, 1.0) if isinstance(x, Variable) else np.float64(x)
            made.append(x)
        return tuple(made)

    def known_ints(self, x: Any) -> np.ndarray | None:
        """Return an integer array if it is constant, else None."""
        op = self.table[x.op].op if isinstance(x, Variable) and x.op in self.table else Constant(x)
        return op.val if isinstance(op, Constant) and is_int_array(op.val) else None


def is_constant_int_call(op: Call) -> bool:
    """Whether a call is a pure function of integer arrays that returns one."""
    arrays = [op.val, *references((op.args, op.kwargs), np.ndarray)]
    pure = type(op.fn) is not Variable and (op.fn is np.arange or is_pure(op.fn)) and "out" not in op.kwargs
    return pure and not is_allocation(op.fn) and all(map(is_int_array, arrays))


# -- rules: (splitter, op, arguments) -> the Columns, or a Variable of the new tape; None if the rule does not apply


def _elementwise_columns(splitter: _ColumnSplitter, op: Call, *args: Any) -> Columns | None:
    if not _is_tall(op.val):
        return None
    parts = [part for a in args if (part := splitter.elements(a, op.val.shape)) is not None]
    if len(parts) < len(args):
        return None
    return Columns(op.val.shape, tuple([splitter.call(op.fn, *row) for row in zip(*parts, strict=True)]))


def _getitem_columns(splitter: _ColumnSplitter, op: Call, x: Any, key: Any) -> Columns | None:
    mine, (first, *rest) = splitter.columns_of(x), key_parts(key)
    if splitter.known_ints(first) is not None:
        return _gather_columns(splitter, op, x, first, rest)
    basic = all([part is None or part is Ellipsis or type(part) in (int, slice) for part in rest])
    if mine is None or not basic or type(first) is not slice or first != slice(None):
        return None
    return Columns(op.val.shape, mine.select(mine.table[tuple(rest)])) if _is_tall(op.val) else None


def _gather_columns(splitter: _ColumnSplitter, op: Call, x: Any, places: Any, rest: list[Any]) -> Columns | None:
    """Rows at constant indices, or parts of these rows."""
    known, basic = splitter.known_ints(places), all([type(part) in (int, slice) for part in rest])
    if not isinstance(x, Variable) or known is None or known.ndim != 1 or not basic or not _is_tall(op.val):
        return None
    rows, at = splitter.variable(x.op), splitter.new.push(Constant(known))
    if rest:
        rows = splitter.call(operator.getitem, rows, (slice(None), *rest))
    keys = [(slice(None), *k) for k in np.ndindex(op.val.shape[1:])]
    read = [splitter.call(operator.getitem, rows, key) for key in keys] if len(keys[0]) > 1 else [rows]
    return Columns(op.val.shape, tuple([splitter.call(operator.getitem, column, at) for column in read]))


def _reshape_columns(splitter: _ColumnSplitter, op: Call, x: Any, *shape: Any) -> Columns | None:
    mine = splitter.columns_of(x)
    if mine is None or str in map(type, shape):  # in another memory order
        return None
    return Columns(op.val.shape, mine.parts) if _is_tall(op.val) and len(op.val) == mine.shape[0] else None


def _broadcast_columns(splitter: _ColumnSplitter, op: Call, x: Any, shape: Any) -> Columns | None:
    parts = splitter.elements(x, op.val.shape) if _is_tall(op.val) else None
    return None if parts is None else Columns(op.val.shape, tuple(parts))


def _uniform_columns(splitter: _ColumnSplitter, op: Call, *_: Any, **__: Any) -> Columns | None:
    row = math.prod(op.val.shape[1:])
    if not _is_tall(op.val) or op.val.ndim < 2 or op.val.dtype != np.float64:
        return None
    value: Any = splitter.elements(_[1], (1,)) if op.fn is np.full else [np.float64(op.fn is np.ones)]
    if value is None or np.ndim(value_of(value[0])):
        return None
    return Columns(op.val.shape, splitter.as_floats(value) * row)


def _stack_columns(splitter: _ColumnSplitter, op: Call, parts: Any, axis: Any = 0) -> Columns | None:
    """np.stack and np.concatenate along an axis other than the first."""
    if type(parts) not in (tuple, list) or type(axis) is not int or axis % op.val.ndim == 0 or not _is_tall(op.val):
        return None
    mine = [one for part in parts if (one := splitter.columns_of(part)) is not None and one.shape[0] == len(op.val)]
    if len(mine) < len(parts):
        return None
    starts = itertools.accumulate([len(one.parts) for one in mine], initial=0)
    tables = [one.table[None] + start for one, start in zip(mine, starts, strict=False)]
    parts = [part for one in mine for part in one.parts]
    every = splitter.as_floats(parts) if op.val.dtype == np.float64 else parts
    return Columns(op.val.shape, tuple([every[k] for k in op.fn(tables, axis=axis).flat]))


def _store_columns(splitter: _ColumnSplitter, op: Call, x: Any, key: Any, value: Any) -> Columns | None:
    """A store into the same elements of all rows."""
    first, *rest = key_parts(key)
    basic = all([part is None or part is Ellipsis or type(part) in (int, slice) for part in rest])
    is_of_columns = basic and type(first) is slice and first == slice(None) and op.val.dtype == np.float64
    mine = splitter.columns_of(x) if is_of_columns else None
    if mine is None:
        return None
    places = mine.table[tuple(rest)]
    given = splitter.elements(value, (mine.shape[0], *np.shape(places)))
    if given is None:
        return None
    parts = [*mine.parts]
    for k, part in zip(np.ravel(places), splitter.as_floats(given), strict=True):
        parts[k] = splitter.call(operator.add, parts[k], part) if op.fn is functional.additem else part
    return Columns(mine.shape, tuple(parts))


def _reduce_columns(
    fn: Any, splitter: _ColumnSplitter, op: Call, x: Any, axis: Any = None, keepdims: Any = False
) -> Any:
    """Reduce along rows by a function of two arguments."""
    mine, axes = splitter.columns_of(x), axes_of(axis, value_of(x).ndim)
    if mine is None or not axes or 0 in axes or value_of(x).dtype != np.float64:
        return None
    table = np.moveaxis(mine.table, [a - 1 for a in axes], range(-len(axes), 0))
    rows = table.reshape(-1, math.prod([mine.shape[a] for a in axes]))
    return Columns(op.val.shape, tuple([_fold_calls(splitter, fn, mine.select(row)) for row in rows]))


def _add_reduce_columns(splitter: _ColumnSplitter, op: Call, x: Any, axis: Any = 0, keepdims: Any = False) -> Any:
    return _reduce_columns(operator.add, splitter, op, x, axis, keepdims)


def _dot_of_columns(splitter: _ColumnSplitter, op: Call, a: Any, b: Any) -> Any:
    mine, other = splitter.columns_of(a), splitter.columns_of(b)
    if mine is None or other is None or mine.shape != other.shape or len(mine.shape) == 1:
        return None
    pairs = zip(mine.parts, other.parts, strict=True)
    arrays = [[splitter.column(x, mine.shape[0]) for x in pair] for pair in pairs]
    return _fold_calls(splitter, operator.add, [splitter.call(np.vdot, *pair) for pair in arrays])


def _fold_calls(splitter: _ColumnSplitter, fn: Any, parts: Sequence[Any]) -> Any:
    return functools.reduce(lambda p, q: splitter.call(fn, p, q), parts)


def _einsum_of_columns(splitter: _ColumnSplitter, op: Call, subscripts: Any, *operands: Any) -> Columns | None:
    if type(subscripts) is not str or "->" not in subscripts or "." in subscripts:
        return None
    inputs, output = subscripts.replace(" ", "").split("->")
    return _contract_columns(splitter, op, inputs.split(","), output, operands)


def _matmul_columns(splitter: _ColumnSplitter, op: Call, a: Any, b: Any) -> Columns | None:
    m, n = value_of(a).ndim, value_of(b).ndim
    if m == n == 3:
        return _contract_columns(splitter, op, ["nij", "njk"], "nik", (a, b))
    return _contract_columns(splitter, op, ["nj", "jk"[:n]], "nk"[:n], (a, b)) if m == 2 and n <= 2 else None


def _contract_columns(
    splitter: _ColumnSplitter, op: Call, words: list[str], output: str, operands: Sequence[Any]
) -> Columns | None:
    """A sum of products as in einsum, whose first output letter is the axis of rows."""
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
        parts = splitter.elements(x, (len(op.val), *[sizes[k] for k in tail]))
        if parts is None or value_of(x).shape[word[:1] == row :] != tuple([sizes[k] for k in tail]):
            return None
        read.append((tail, dict(zip(itertools.product(*[range(sizes[k]) for k in tail]), parts, strict=True))))
    found = []
    for outer in itertools.product(*[range(sizes[k]) for k in letters]):
        terms = []
        for at in itertools.product(*[range(sizes[k]) for k in inner]):
            place = dict(zip([*letters, *inner], (*outer, *at), strict=True))
            factors = [parts[tuple([place[k] for k in tail])] for tail, parts in read]
            terms.append(_fold_calls(splitter, operator.mul, factors))
        found.append(_fold_calls(splitter, operator.add, terms))
    return Columns(op.val.shape, tuple(found))


_COLUMN_RULES: dict[str, Callable[..., Any]] = {
    "getitem": _getitem_columns, "setitem": _store_columns, "additem": _store_columns,
    **dict.fromkeys(("reshape", "expand_dims", "squeeze", "ravel"), _reshape_columns),
    "broadcast_to": _broadcast_columns, "stack": _stack_columns, "concatenate": _stack_columns,
    "zeros": _uniform_columns, "ones": _uniform_columns, "full": _uniform_columns,
    "sum": functools.partial(_reduce_columns, operator.add), "add_reduce": _add_reduce_columns,
    "max": functools.partial(_reduce_columns, np.maximum), "min": functools.partial(_reduce_columns, np.minimum),
    "vdot": _dot_of_columns, "einsum": _einsum_of_columns, "matmul": _matmul_columns,
}  # fmt: skip
