"""Constant folding: call a pure function on constants once, and make its value a constant."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert.rulebook.registry import rules
from wengert.tape.ops import Call, Constant, Op, Variable, substituted, value_of
from wengert.tape.play import like_recorded, same_outcome
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.identity_set import Functions
from wengert.values.names import display
from wengert.values.views import read_only

_OF_MODULES = ("math", "cmath", "_operator")
_PURE_BUILTINS = Functions(abs, bool, complex, divmod, float, int, len, max, min, pow, round, sum)
_UNINITIALISED = Functions(np.empty, np.empty_like)
_METHOD_CLASSES = (np.ndarray, np.generic, float, complex, int)
_NUMPY_FUNCTIONS = (type(np.sum), type(np.where), types.FunctionType)
_RANDOM = ("numpy.random", "scipy.stats")


def fold_constants(tape: Tape, pure: Iterable[Callable[..., Any]] = ()) -> Tape:
    """Replace each call on `tape` that depends on constants only by the constant it returns; return the tape.

    Calls of operators and of functions in C, NumPy and SciPy that have a rule are folded. A call that raises stays.
    Folded arrays are read-only, because every run of the tape returns the same ones.

    Parameters:
        tape (Tape): The tape, which is changed.
        pure (Iterable[callable]): Python functions to fold too. Others may print or draw random numbers, and stay.
    Returns:
        Tape: The same tape.
    See Also:
        Tape, Constant, primitivize

    Examples:
        >>> tape = wg.Tape()
        >>> tape.inputs = [3.0]
        >>> half = tape.push(wg.mkcall(np.divide, tape.push(wg.Constant(1.0)), 2.0))
        >>> tape.result = tape.push(wg.mkcall(np.multiply, tape.inputs[0], half))
        >>> print(wg.fold_constants(tape))
        Tape(Context)
          inp %1::float
          const %2 = 0.5::float64  # folded from np.divide
          %3 = np.multiply(%1, %2)::float64
          return %3
    """
    ops, also = list(tape), tuple(pure)
    read = {v.op for op in ops for v in op.references()}
    for op in ops:
        if isinstance(op, Call) and all(isinstance(v.op, Constant) for v in op.references()):
            made = _fold_call(tape, op, op in read, also)
            read |= {made} if op in read else set()
    _delete_unread(tape, read)
    return tape


def _fold_call(tape: Tape, op: Call, is_read: bool, also: tuple[Any, ...]) -> Op | None:
    """Fold one call of constants, and return its Constant; None if the call stays, or is deleted."""
    fn, args, kwargs = substituted(op, value_of)
    if not (is_pure(fn) or any(fn is f for f in also)) or "out" in op.kwargs or fn in functional.DISPLAYS:
        return None
    try:
        with np.errstate(all="ignore"):
            value = fn(*map(_made_read_only, args), **kwargs)
    except Exception:
        return None
    if op.guard and not same_outcome(value, op.val):
        return None  # the tape is stale: playing it raises StaleTapeError
    if op.guard and not is_read:
        tape.delete(Variable(op))
        return None
    made = Constant(
        _made_read_only(like_recorded(op, value)), site=op.site, note=op.note or f"folded from {display(fn)}"
    )
    tape.replace(Variable(op), made)
    return made


def _made_read_only(value: Any) -> Any:
    """Make an array read-only, so that a call which writes into it raises and is not folded; return other values."""
    return read_only(value) if type(value) is np.ndarray else value


def _delete_unread(tape: Tape, read: set[Op | None]) -> None:
    """Delete the constants that only folded calls read."""
    ops = list(tape)
    still = {v.op for op in ops for v in op.references()} | {None if tape._result is None else tape._result.op}
    tape.delete(*(Variable(op) for op in ops if isinstance(op, Constant) and op in read and op not in still))


def is_pure(fn: Any) -> bool:
    """Whether a function has a rule, and is known to have no side effects."""
    if fn not in rules or fn in _UNINITIALISED:
        return False
    if isinstance(fn, np.ufunc) or fn in _PURE_BUILTINS:
        return True
    if isinstance(fn, types.MethodDescriptorType | types.WrapperDescriptorType):
        return issubclass(fn.__objclass__, _METHOD_CLASSES)
    module = getattr(fn, "__module__", None) or ""
    if isinstance(fn, types.BuiltinFunctionType) and module in _OF_MODULES:
        return True
    known = module == functional.__name__ or module.split(".")[0] in ("numpy", "scipy")
    is_of_fft = module.startswith("scipy.fft.") and type(fn).__module__ == "uarray"
    return (isinstance(fn, _NUMPY_FUNCTIONS) or is_of_fft) and known and not module.startswith(_RANDOM)


__all__ = ["fold_constants", "is_pure"]
