"""Calls of Python functions by native code, for operations that it does not support.

Native code copies the operands to memory that both sides share, calls, and reads the results there. So a program is
native around a sort or a large product. If the function raises an exception, the native function fails, and NumPy runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wengert.compiling.native.complex_numbers import as_pair, interleaved
from wengert.compiling.native.indices import EXACT, MOVES, check_elements
from wengert.compiling.native.nests import SourceText
from wengert.compiling.native.values import (
    Affine,
    ComplexPair,
    FlatMemory,
    KnownInts,
    RowList,
    Scalar,
    UnsupportedOp,
    View,
    is_known_whole,
    is_native_array,
    real_parts,
)
from wengert.compiling.numpy_source import compile_numpy
from wengert.compiling.ops import BOOL_KIND, FLOAT_KIND, info, is_item_store
from wengert.compiling.placement import Buffer, Pool
from wengert.errors import StaleTapeError
from wengert.tape.loops import Loop, calls_in
from wengert.tape.needed import only_computes
from wengert.tape.ops import Call, Input, Variable, value_of
from wengert.tape.tape import Tape
from wengert.values.identity_set import Functions

SHARED_TYPES = (np.float64, np.bool_, np.int64, np.int32, np.complex128)
MOST_SHOWN = 1 << 14  # elements of a result that has more than its operands have, such as a view of windows
CALLS_PER_CALLOUT = 5  # on a tape, or in the body of a loop; with fewer, NumPy runs it as fast
_OF_NUMBERS = Functions(bool, int, float, round, divmod, sum)


@dataclass(eq=False)
class Operand:
    """A value of native code that a function in Python gets: a number or array like `val`, at an offset."""

    val: Any
    at: int = 0


@dataclass(eq=False)
class Callout:
    """A call of `fn` by native code; `args`, `kwargs` and `results` have an Operand for each value of native code.

    The names of the object that native code calls, and of the memory of operands and results, are parameters. The
    `reason` tells what native code does not support.
    """

    fn: Callable[..., Any]
    args: Any
    kwargs: dict[str, Any]
    results: list[Operand]
    is_tuple: bool
    names: tuple[str, str, str]
    reason: str
    sizes: list[int] = field(default_factory=lambda: [0, 0])

    def bound(self, given: np.ndarray, made: np.ndarray) -> Callable[[], None]:
        """Return the function without arguments that native code calls, for its memory."""
        read = _read_function(self.args, given)
        words = _read_function(self.kwargs, given) if self.kwargs else dict
        stores = [
            (_memory_of(x, made), type(x.val), getattr(x.val, "shape", None), _dtype(x.val)) for x in self.results
        ]
        fn, is_tuple = self.fn, self.is_tuple

        def call() -> None:
            found = fn(*read(), **words())
            for (target, kind, shape, dtype), x in zip(stores, found if is_tuple else (found,), strict=True):
                is_alike = type(x) is kind or (shape == () and isinstance(x, np.generic))  # a trace records them alike
                if not is_alike or getattr(x, "shape", None) != shape or _dtype(x) != dtype:
                    raise TypeError(f"{fn} returned another type or shape than when it was recorded")
                target[...] = x

        return call

    def pool(self) -> Pool:
        """Return a pool of memory for runs, each with the function that native code calls."""
        return _CalloutPool(self)


class _CalloutPool(Pool):
    """Sets of a bound function, and the memory of its operands and results."""

    def __init__(self, callout: Callout) -> None:
        super().__init__([Buffer((size,), np.dtype(float)) for size in callout.sizes])
        self.callout = callout

    def take(self) -> list[Any]:
        """Return a set that no other run uses."""
        taken = super().take()
        return taken if len(taken) > len(self.buffers) else [self.callout.bound(*taken), *taken]


def _dtype(x: Any) -> np.dtype[Any]:
    return x.dtype if isinstance(x, np.ndarray) else np.asarray(x).dtype


def _size(x: Any) -> int:
    """Return the number of floats that hold a value."""
    return int(np.size(x)) * (2 if _dtype(x) == np.complex128 else 1)


def _memory_of(x: Operand, memory: np.ndarray) -> np.ndarray:
    """Return the memory of a value: floats, or complex numbers."""
    part = memory[x.at : x.at + _size(x.val)]
    return (part.view(np.complex128) if _dtype(x.val) == np.complex128 else part).reshape(np.shape(x.val))


def _read_function(x: Any, memory: np.ndarray) -> Callable[[], Any]:
    """Return a function that reads a value, or the values within tuples, lists and dictionaries, from memory."""
    if isinstance(x, Operand):
        shown, dtype, kind = _memory_of(x, memory), _dtype(x.val), type(x.val)
        if kind is not np.ndarray:
            return lambda: kind(shown[()])
        if dtype == shown.dtype:
            return lambda: shown
        return lambda: shown.astype(dtype)
    if type(x) in (list, tuple):
        parts, kind = [_read_function(part, memory) for part in x], type(x)
        return lambda: kind([part() for part in parts])
    if type(x) is dict:
        words = {name: _read_function(part, memory) for name, part in x.items()}
        return lambda: {name: part() for name, part in words.items()}
    return lambda: x


@dataclass(eq=False)
class CalloutBlock:
    """The call of a callout, between nests."""

    name: str
    made: View
    operands: list[View]

    def write(self, text: SourceText) -> None:
        text.line(f"if python({self.name}): return FAILED")


# -- emitting


def can_call_out(op: Call, in_loop: bool) -> bool:
    """Whether native code may call the function of a call: it only computes, and its results can be shared.

    In a loop that would copy all of an array for a part of it; a loop in it is not called either.
    """
    is_costly = in_loop and (is_item_store(op) or info(op.fn).name in MOVES or isinstance(op.fn, Loop))
    if is_costly or any(map(_asks_for_layout, calls_in([op]))) or not _is_pure(op):
        return False
    results = op.val if isinstance(op.val, tuple) else (op.val,)
    given, made = [sum([getattr(x, "size", 0) for x in xs]) for xs in (map(value_of, op.references()), results)]
    is_short = made <= max(given, MOST_SHOWN)
    return _is_branch(op) or (is_short and all(map(_is_shared, results)))


def _is_pure(op: Call) -> bool:
    """Whether a call, or each one in a loop, has no side effect: it computes something, by NumPy, SciPy or a rule."""
    if isinstance(op.fn, Loop):
        return all([_is_pure(each) for each in op.fn.body if isinstance(each, Call)])
    calls_back = any([callable(x) and not isinstance(x, type) for x in op.args])  # a type may be a dtype
    is_own_test = _is_branch(op) and (getattr(op.fn, "__module__", None) or "").startswith("wengert.")
    return (only_computes(op.fn) or is_own_test or _is_of_numerics(op.fn)) and not calls_back


def _function_of(op: Call) -> Callable[..., Any]:
    """Return the function of a call; for a guard one that compares the outcome, for a loop its NumPy code."""
    if _is_branch(op):
        return _only_as_recorded(op.fn, op.val)
    if not isinstance(op.fn, Loop):
        return op.fn
    tape = Tape()
    args = [tape.push(Input(value_of(x))) if isinstance(x, Variable) else x for x in op.args]
    tape.result = tape.push(Call(op.fn, args, val=op.val))
    made, known = compile_numpy(tape, "loop", exact=False), [isinstance(x, Variable) for x in op.args]
    return lambda *args: made(*itertools.compress(args, known))


def _is_branch(op: Call) -> bool:
    """Whether a call is a guard, of which native code reads no result: a function in Python compares the outcome."""
    return op.guard and isinstance(op.val, (int, str, bytes, np.integer)) and type(op.val) is not bool


def _only_as_recorded(fn: Callable[..., Any], outcome: Any) -> Callable[..., Any]:
    """Return a function that raises an error unless `fn` returns this."""
    kind = type(outcome)

    def call(*args: Any, **kwargs: Any) -> tuple[()]:
        found = fn(*args, **kwargs)
        if type(found) is not kind or found != outcome:
            raise StaleTapeError("another outcome than when it was recorded")
        return ()

    return call


def _is_of_numerics(fn: Any) -> bool:
    """Whether a function is one of numbers, of Python, NumPy, SciPy or a rule, and draws no random numbers."""
    root, *rest = (getattr(fn, "__module__", None) or "").split(".")
    if root in ("numpy", "scipy"):
        return not {"random", "stats"} & {*rest}
    is_method = getattr(fn, "__objclass__", None) in (np.ndarray, np.generic)
    return is_method or root in ("statistics", "wengert_rules") or fn in _OF_NUMBERS


def _asks_for_layout(op: Call) -> bool:
    """Whether a result may depend on where, or in which order, elements lie in memory: callouts get copies."""
    orders = {x for x in op.args if type(x) is str} & {"K", "A", "F"}
    return (
        info(op.fn).name in ("memory_query", "static") or "order" in op.kwargs or bool(orders) or op.fn is np.isfortran
    )


def _is_shared(x: Any) -> bool:
    is_number = type(x) in (float, int, bool, complex, *SHARED_TYPES)
    return is_number or (type(x) is np.ndarray and x.dtype in SHARED_TYPES)


def emit_callout(body: Any, op: Call, args: Sequence[Any], kwargs: dict[str, Any], reason: str) -> Any:
    """Emit the call of a function in Python."""
    number = 2 * len(body.program.callouts)
    names = f"c_{number}", f"x{number}", f"x{number + 1}"
    outcome = () if _is_branch(op) else op.val
    is_tuple = isinstance(outcome, tuple)
    call = Callout(_function_of(op), None, {}, [], is_tuple, names, reason)
    given = FlatMemory(0, names[1])
    call.args = [_passed(body, call, given, x, known) for x, known in zip(args, op.args, strict=True)]
    call.kwargs = {name: _passed(body, call, given, x, op.kwargs[name]) for name, x in kwargs.items()}
    for val in outcome if is_tuple else (outcome,):
        call.results.append(Operand(val, call.sizes[1]))
        call.sizes[1] += _size(val)
    given.size, made = call.sizes[0], FlatMemory(call.sizes[1], names[2])
    body.program.callouts.append(call)
    whole = [View.whole(memory, (memory.size,)) for memory in (given, made)]
    body.level.append_call(CalloutBlock(names[0], whole[1], whole[:1]))
    found = [_result(body, made, x) for x in call.results]
    return op.val if _is_branch(op) else tuple(found) if is_tuple else found[0]


def _passed(body: Any, call: Callout, memory: FlatMemory, x: Any, recorded: Any) -> Any:
    """Return an argument for the function: an Operand for a value of native code, which is copied to memory."""
    if type(x) in (list, tuple):
        parts = recorded if type(recorded) is type(x) else value_of(recorded)
        if len(parts) != len(x):
            raise UnsupportedOp("a list that changes its length")
        return type(x)([_passed(body, call, memory, part, known) for part, known in zip(x, parts, strict=True)])
    if is_known_whole(x):
        return x.array
    if isinstance(x, (slice, RowList)):
        raise UnsupportedOp("a slice or a list of rows as argument of a function in Python")
    if not isinstance(x, (Affine, ComplexPair, KnownInts, Scalar)) and not is_native_array(x):
        return x
    val = value_of(recorded)
    if not _is_shared(val):
        raise UnsupportedOp(f"values of type {getattr(val, 'dtype', type(val).__name__)}")
    operand = Operand(val, call.sizes[0])
    call.sizes[0] += _size(val)
    memory.size = call.sizes[0]
    view = replace(View.whole(memory, np.shape(val)), offset=Affine(operand.at))
    if _dtype(val) == np.complex128:
        pair = interleaved(View.whole(memory, np.shape(val)))
        targets = [replace(part, offset=part.offset + operand.at) for part in real_parts(pair)]
        parts = real_parts(as_pair(body, x))
    else:
        targets, parts = [view], (body.operand(x),)
    for target, part in zip(targets, parts, strict=True):
        body.level.store(target, "=", part)
    return operand


def _result(body: Any, memory: FlatMemory, x: Operand) -> Any:
    """Return a result as a value of native code."""
    view = View.whole(memory, np.shape(x.val))
    if _dtype(x.val) == np.complex128:
        pair = [replace(part, offset=part.offset + x.at) for part in real_parts(interleaved(view))]
        return ComplexPair(*[_taken(body, part, x.val) for part in pair])
    kind = BOOL_KIND if _dtype(x.val) == np.bool_ else FLOAT_KIND
    made = _taken(body, replace(view, offset=Affine(x.at), kind=kind), x.val)
    if _dtype(x.val) == np.int64:
        if isinstance(made, Scalar):
            body.level.guard(f"not {EXACT.format('', '{0}')}", made)
        else:
            check_elements(body, made, EXACT)
    return made


def _taken(body: Any, view: View, val: Any) -> Any:
    if isinstance(val, np.ndarray):
        return body.level.let("{0}", [view], view.shape, view.kind)
    return body.level.load(view)
