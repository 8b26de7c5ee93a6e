"""Needed ops: which calls of a tape have to run, and which may move or go."""

from __future__ import annotations

import operator
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Op, Variable
from wengert.values import functional
from wengert.values.identity_set import Functions
from wengert.values.names import method_name, ufunc_of


def only_computes(fn: Any) -> bool:
    """Whether a function only computes on its arguments, so that its calls may move, or go where nobody reads them."""
    if isinstance(fn, np.ufunc) or ufunc_of(fn) is not None or is_functional(fn) or method_name(fn):
        return True
    return (
        isinstance(fn, types.BuiltinFunctionType) and getattr(fn, "__module__", "") in ("math", "cmath", "_operator")
    ) or fn is abs


def _may_raise(op: Call) -> bool:
    """Whether a call that only computes may raise on other numbers, which the traced function might have caught."""
    if getattr(op.fn, "__module__", "") in ("math", "cmath"):
        return True
    if op.fn is operator.getitem:
        return isinstance(op.args[1], Variable)
    return op.fn in _DIVIDING and type(op.val) in (float, int, complex, tuple)


_DIVIDING = Functions(operator.truediv, operator.floordiv, operator.mod, operator.pow, pow, divmod, functional.whole)


def is_functional(fn: Any) -> bool:
    """Whether a function is one of this package's functional primitives."""
    return isinstance(fn, types.FunctionType) and fn.__module__ == functional.__name__


def needed(ops: Sequence[Op], result: int) -> set[int]:
    """The ops whose values the result, the guards and the calls with unknown effects need."""
    found = {result}
    for op in reversed(ops):
        if op.id in found or stays(op):
            found.add(op.id)
            found.update(v.id for v in op.references())
    return found


def stays(op: Op) -> bool:
    """Whether an op has to run where nobody reads what it gives: it is a guard, may have effects, or may raise."""
    if isinstance(op, Call) and isinstance(op.fn, Loop):
        return any(map(stays, op.fn.body))
    return isinstance(op, Call) and (op.guard or not only_computes(op.fn) or _may_raise(op))
