"""Find calls that can be computed a few rows at a time: elementwise functions, and sums along or over rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.ops import info, is_ufunc_call
from wengert.compiling.placement import accepts_out, is_numeric_call
from wengert.tape.ops import Call, Op, Variable, references, value_of
from wengert.values.keys import key_parts


class RowPlan(NamedTuple):
    """A plan to compute a call row by row: the variables read by rows, and whether it returns a view or a total."""

    read: Sequence[Variable]
    is_view: bool = False
    is_total: bool = False


def row_plan(op: Op, n: int, exact: bool) -> RowPlan | None:
    """Return a plan to compute a call on n rows row by row, with `exact` to the bit; None if there is none."""
    if not isinstance(op, Call) or op.guard or not op.args or not is_numeric_call(op) or n < 2:
        return None
    planner = (_EXACT_PLANNERS if exact else _PLANNERS).get(info(op.fn).name)
    planner = _rows_of_elementwise if is_ufunc_call(op) or _is_elementwise(op) else planner
    plan = planner(op, n) if planner else None
    return plan if plan is not None and (plan.is_view or op.val.flags.c_contiguous) else None


def _has_rows(v: Any, n: int) -> bool:
    """Whether an argument is a variable of n rows."""
    return isinstance(v, Variable) and _is_of_rows(value_of(v), n)


def _is_of_rows(x: Any, n: int) -> bool:
    return type(x) is np.ndarray and x.shape[:1] == (n,) and x.size > 0


def _is_elementwise(op: Call) -> bool:
    """Whether a call computes each element from those of its operands, all of them arrays and numbers."""
    plain = not op.kwargs and not any([isinstance(a, (list, tuple)) for a in op.args])
    return plain and info(op.fn).arity == len(op.args)


def _rows_of_elementwise(op: Call, n: int) -> RowPlan | None:
    """Compute element by element; operands with fewer axes or one row are read as a whole."""
    if not _is_of_rows(op.val, n) or not (accepts_out(op) or _is_elementwise(op)):
        return None
    read = [a for a in op.args if np.ndim(value_of(a)) == op.val.ndim and np.shape(value_of(a))[0] == n]
    return RowPlan(read) if read and all([isinstance(a, Variable) for a in read]) else None


def _rows_of_extremum(op: Call, n: int) -> RowPlan | None:
    """`np.max(x, axis=1)` and the like: the extremum along each row."""
    x, axis, *others = [*op.args, op.kwargs.get("axis")]
    plain = others in ([], [None]) and op.kwargs.keys() <= {"axis", "keepdims"} and type(axis) is int
    return RowPlan([x]) if plain and _has_rows(x, n) and axis % value_of(x).ndim and _is_of_rows(op.val, n) else None


def _rows_of_part(op: Call, n: int) -> RowPlan | None:
    """`x[:, 1]`: a part of each row."""
    x, key = op.args
    first, *rest = key_parts(key) or (key,)
    of_each = type(first) is slice and first == slice(None) and not any(references(key))
    plain = of_each and all([part is None or type(part) in (int, slice) for part in rest])
    return RowPlan([x], is_view=True) if plain and _has_rows(x, n) and _is_of_rows(op.val, n) else None


def _rows_of_reshape(op: Call, n: int) -> RowPlan | None:
    """`x.reshape((n, 3))`: each row by itself."""
    plain = len(op.args) == 2 and not op.kwargs and not any(references(op.args[1])) and _is_of_rows(op.val, n)
    return RowPlan([op.args[0]], is_view=True) if plain and _has_rows(op.args[0], n) else None


def _rows_of_sum(op: Call, n: int) -> RowPlan | None:
    """A sum over axes, all counted from the first."""
    plain = len(op.args) == 2 and not op.kwargs and type(op.args[1]) is tuple and min(op.args[1], default=-1) >= 0
    return _rows_of_total(op, n, [op.args[0]], 0 in op.args[1]) if plain else None


def _rows_of_dot(op: Call, n: int) -> RowPlan | None:
    return _rows_of_total(op, n, op.args, True) if not op.kwargs else None


def _rows_of_einsum(op: Call, n: int) -> RowPlan | None:
    """`np.einsum` within each row or over all rows; operands without the axis of rows are read as a whole."""
    form, args = op.args[0], op.args[1:]
    if op.kwargs or type(form) is not str or "->" not in form or not form.replace(",", "").replace("->", "").isalpha():
        return None
    *inputs, output = form.replace("->", ",").split(",")
    operands = list(zip(inputs, args, strict=True))
    row = next((letters[0] for letters, v in operands if letters and _has_rows(v, n)), None)
    if row is None or any([letters.count(row) > letters.startswith(row) for letters in (*inputs, output)]):
        return None
    plan = _rows_of_total(op, n, [v for letters, v in operands if row in letters], row not in output)
    whole = [v for letters, v in operands if row not in letters]
    return plan if plan is not None and {*references(whole)}.isdisjoint(plan.read) else None


def _rows_of_total(op: Call, n: int, read: Sequence[Any], total: bool) -> RowPlan | None:
    """Sums of floats or complex numbers, within each row or over all rows."""
    right = op.val.dtype.kind in "fc" and (total or _is_of_rows(op.val, n))
    return RowPlan(read, is_total=total) if right and all([_has_rows(v, n) for v in read]) else None


_EXACT_PLANNERS: dict[str, Callable[[Call, int], RowPlan | None]] = {
    "max": _rows_of_extremum, "min": _rows_of_extremum, "getitem": _rows_of_part, "reshape": _rows_of_reshape
}  # fmt: skip
_PLANNERS = {**_EXACT_PLANNERS, "add_reduce": _rows_of_sum, "vdot": _rows_of_dot, "einsum": _rows_of_einsum}
