"""Calls that can be computed some rows at a time: elementwise functions, and sums along rows or over all of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.graphs.graph import ADD_REDUCE
from wengert.compiling.placement import is_elementwise_call, is_of_numbers, takes_out
from wengert.tape.ops import Call, Op, Variable, references, value_of
from wengert.values.identity_set import Functions

RESHAPES = Functions(np.reshape, np.ndarray.reshape)
BY_ELEMENTS = Functions(
    np.where, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.pow, operator.abs,
)  # fmt: skip
EXTREMA = Functions(np.max, np.min, np.ndarray.max, np.ndarray.min)


class Rows(NamedTuple):
    """How a call is computed row by row: what it reads so; whether it gives a view, or a sum over the rows."""

    read: Sequence[Variable]
    view: bool = False
    total: bool = False


def row_plan(op: Op, n: int, exact: bool) -> Rows | None:
    """How a call is computed row by row of arrays of n rows, if it can be: with `exact`, to the bit."""
    if not isinstance(op, Call) or op.guard or not op.args or not is_of_numbers(op) or n < 2:
        return None
    readers = _EXACT if exact else (*_EXACT, *_SUMS)
    rows = next((read(op, n) for is_its, read in readers if is_its(op)), None)
    return rows if rows is not None and (rows.view or op.val.flags.c_contiguous) else None


def _has_rows(v: Any, n: int) -> bool:
    """Whether an argument is a value of n rows."""
    return isinstance(v, Variable) and _is_of_rows(value_of(v), n)


def _is_of_rows(x: Any, n: int) -> bool:
    return type(x) is np.ndarray and x.shape[:1] == (n,) and x.size > 0


def _by_elements(op: Call, n: int) -> Rows | None:
    """Element by element; what has fewer axes, or one row, is read as a whole."""
    if not _is_of_rows(op.val, n) or not (takes_out(op) or op.fn in BY_ELEMENTS):
        return None
    read = [a for a in op.args if np.ndim(value_of(a)) == op.val.ndim and np.shape(value_of(a))[0] == n]
    return Rows(read) if read and all([isinstance(a, Variable) for a in read]) else None


def _extremum(op: Call, n: int) -> Rows | None:
    """The largest of each row."""
    x, axis, *others = [*op.args, op.kwargs.get("axis")]
    plain = others in ([], [None]) and op.kwargs.keys() <= {"axis", "keepdims"} and type(axis) is int
    return Rows([x]) if plain and _has_rows(x, n) and axis % value_of(x).ndim and _is_of_rows(op.val, n) else None


def _rows_of_part(op: Call, n: int) -> Rows | None:
    """`x[:, 1]`: a part of each row."""
    x, key = op.args
    first, *others = key if type(key) is tuple and key else (key,)
    of_each = type(first) is slice and first == slice(None) and not any(references(key))
    plain = of_each and all([part is None or type(part) in (int, slice) for part in others])
    return Rows([x], view=True) if plain and _has_rows(x, n) and _is_of_rows(op.val, n) else None


def _reshaped(op: Call, n: int) -> Rows | None:
    """`x.reshape((n, 3))`: each row for itself."""
    plain = len(op.args) == 2 and not op.kwargs and not any(references(op.args[1])) and _is_of_rows(op.val, n)
    return Rows([op.args[0]], view=True) if plain and _has_rows(op.args[0], n) else None


def _rows_of_sum(op: Call, n: int) -> Rows | None:
    """A sum along axes that are counted from the first."""
    plain = len(op.args) == 2 and not op.kwargs and type(op.args[1]) is tuple and min(op.args[1], default=-1) >= 0
    return _rows_of_total(op, n, [op.args[0]], 0 in op.args[1]) if plain else None


def _rows_of_dot(op: Call, n: int) -> Rows | None:
    return _rows_of_total(op, n, op.args, True) if not op.kwargs else None


def _einsum(op: Call, n: int) -> Rows | None:
    """A sum of products, along the rows or of each; what it reads as a whole has no axis of rows."""
    form, args = op.args[0], op.args[1:]
    if op.kwargs or type(form) is not str or "->" not in form or not form.replace(",", "").replace("->", "").isalpha():
        return None
    *words, kept = form.replace("->", ",").split(",")
    letter = next((word[0] for word, v in zip(words, args, strict=True) if word and _has_rows(v, n)), None)
    if letter is None or any([word.count(letter) > word.startswith(letter) for word in (*words, kept)]):
        return None
    rows = _rows_of_total(op, n, [v for word, v in zip(words, args, strict=True) if letter in word], letter not in kept)
    whole = [v for word, v in zip(words, args, strict=True) if letter not in word]
    return rows if rows is not None and {*references(whole)}.isdisjoint(rows.read) else None


def _rows_of_total(op: Call, n: int, read: Sequence[Any], total: bool) -> Rows | None:
    """Sums of floats, or complex numbers: for each row, or over all."""
    right = op.val.dtype.kind in "fc" and (total or _is_of_rows(op.val, n))
    return Rows(read, total=total) if right and all([_has_rows(v, n) for v in read]) else None


_Readers = Sequence[tuple[Callable[[Call], bool], Callable[[Call, int], Rows | None]]]
_EXACT: _Readers = (
    (lambda op: is_elementwise_call(op) or op.fn in BY_ELEMENTS, _by_elements),
    (lambda op: op.fn in EXTREMA, _extremum),
    (lambda op: op.fn is operator.getitem, _rows_of_part),
    (lambda op: op.fn in RESHAPES, _reshaped),
)
_SUMS: _Readers = (
    (lambda op: op.fn == ADD_REDUCE, _rows_of_sum),
    (lambda op: op.fn is np.vdot, _rows_of_dot),
    (lambda op: op.fn is np.einsum, _einsum),
)
