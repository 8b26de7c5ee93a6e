"""Dead code on a tape: which calls must run, and which may be moved or removed."""

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
    """Whether a function has no side effects, so that its calls may be moved, or removed if nothing reads them."""
    if isinstance(fn, np.ufunc) or ufunc_of(fn) is not None or is_functional(fn) or method_name(fn):
        return True
    return (
        isinstance(fn, types.BuiltinFunctionType) and getattr(fn, "__module__", "") in ("math", "cmath", "_operator")
    ) or fn is abs


def _may_raise(op: Call) -> bool:
    """Whether a call without side effects may raise an error on other values; the function might have caught it."""
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
    """Find the ops whose values the result, the guards and the calls with side effects need."""
    found = {result}
    for op in reversed(ops):
        if op.id in found or stays(op):
            found.add(op.id)
            found.update(v.id for v in op.references())
    return found


def stays(op: Op) -> bool:
    """Whether an op must run even if nothing reads its value: it is a guard, may have side effects, or may raise."""
    if isinstance(op, Call) and isinstance(op.fn, Loop):
        return any(map(stays, op.fn.body))
    return isinstance(op, Call) and (op.guard or not only_computes(op.fn) or _may_raise(op))
