"""Generated code of derivatives of small functions, for later runs of a function that make the same calls.

The function itself runs and is recorded each time. If the recorded calls have the key of earlier ones, code that was
generated for these computes the derivative from the numbers of this run, in place of the walks over the recording.
"""

from __future__ import annotations

import functools
import sys
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert.api.gradient import Args, are_arrays_at, vjp_of_call
from wengert.api.second_order import (
    WALKED_COLUMNS,
    WALKED_NUMBERS,
    UnsuitedError,
    hessian_of_calls,
    products_of_calls,
)
from wengert.api.tangents import DerivativeRequest, linearize_call
from wengert.errors import WengertError
from wengert.recording.primitives import INPUT, Bound
from wengert.recording.recording import STATE, Recording, calling, silent
from wengert.recording.session import SESSION, active_recording
from wengert.recording.shadow import SHADOW
from wengert.rulebook.registry import rules
from wengert.values.callables import unwrapped
from wengert.values.lazy_attribute import imported_when_read
from wengert.values.settings import SETTINGS

WARM_CALLS = 40
"""Small derivatives by walks before keys are looked up: generating code takes about as long as these.

Half as many of few numbers are taken once the modules of tapes are loaded, which is half of the work.
"""
OPTIMISED_CALLS = 1000
"""Small derivatives before code is optimised: to load the compiler takes about as long as these."""
COUNTED_TWICE = 1 << 10
"""A derivative of so many numbers counts as two such calls, one of more as more."""
MOST_KEYS, MOST_CALLS, MOST_NUMBERS = 8, 200, 1 << 12
"""The most keys that are noted for one derivative; the most recorded calls, and numbers in an array, of a key."""
MOST_INPUTS, MOST_RESULTS = 1 << 17, 1 << 20
"""The most numbers that a derivative by code has and gives: it keeps buffers for what it computes."""
NEVER = -1 << 62
"""The number of calls of a derivative for which no code can be made."""
_TAPING = "wengert.api.taping"
_TOLD_BY_VALUE = (int, bool, str, types.NoneType, types.EllipsisType, type)


class DerivativeCodes:
    """The codes of one derivative of a function, by the keys of the calls that the function makes.

    `make` is `jacobian` or its like, and `single` whether one argument was asked for, not a tuple. `walks` says whether
    the first calls may be walked as `second_order` does.
    """

    tape_of: Callable[..., Any] = imported_when_read(_TAPING, "tape_of")

    def __init__(self, make: Callable[..., Any], single: bool, walks: bool) -> None:
        self.make, self.single, self.walks, self.version, self.calls = make, single, walks, rules.version, 0
        self.codes: dict[Any, Callable[..., Any] | None] = {}
        self.noted: set[Any] = set()
        self.optimised: set[Any] = set()

    def learn(self, calls: RecordedCalls, directions: tuple[Any, ...], value: Any) -> None:
        """Generate the code for calls that are met again, if it reproduces the `value` of the walks."""
        if calls.key in self.codes:
            return
        if calls.key not in self.noted:
            self.noted.add(calls.key)
            self.calls = NEVER if len(self.noted) > MOST_KEYS else self.calls
            return
        self.codes[calls.key] = None
        if not calls.compute_alone():
            self.calls = NEVER
            return
        self.codes[calls.key] = self._code_of(calls, directions, value)

    def improve(self, calls: RecordedCalls, directions: tuple[Any, ...], value: Any) -> None:
        """Optimise the code that gave this `value`, once it has run so often that this pays."""
        if self.calls > OPTIMISED_CALLS and calls.key not in self.optimised:
            self.optimised.add(calls.key)
            code = self._code_of(calls, directions, value, optimises=True)
            self.codes[calls.key] = code or self.codes[calls.key]

    def _code_of(
        self, calls: RecordedCalls, directions: tuple[Any, ...], value: Any, optimises: bool = False
    ) -> Callable[..., Any] | None:
        """Return code that reproduces the `value` of a derivative; None if there is none."""
        given = [*map(np.array, calls.xs)], calls.constants, directions

        def derived(xs: Any, constants: Any, directions: Any) -> Any:
            call, f = calling(active_recording()), calls.played_on(constants)
            if directions:
                return call(self.make, f, tuple(xs), tuple(directions))
            return call(unwrapped(self.make(f, 0 if self.single else tuple(range(len(xs))))), *xs)

        try:
            tape = DerivativeCodes.tape_of(derived, given, derived)
            code: Callable[..., Any] = (tape.optimise(exact=True) if optimises else tape).compile()
        except WengertError:
            return None
        found = _run(code, *given)
        is_right = found is not None and _agree(found, value) and _is_general(code, derived, given)
        return code if is_right else None


_codes_by_function: weakref.WeakKeyDictionary[types.CodeType, dict[Any, DerivativeCodes]] = weakref.WeakKeyDictionary()


def warm_call(
    make: Callable[..., Any], f: Any, argnums: Any, args: Args, directions: tuple[Any, ...] = (), walks: bool = False
) -> CodedCall | None:
    """Return the call of a derivative that may have code, or `walks`; None if it is one of the first, or another."""
    places, function = argnums if type(argnums) is tuple else (argnums,), _function_behind(f)
    if function is None or function.__globals__ is globals() or not are_arrays_at(args, places):
        return None  # walks check new code
    given = sum([args[place].size for place in places])
    numbers = given if directions else given**2  # of the derivative
    if given > MOST_INPUTS or numbers > MOST_RESULTS or not SETTINGS.are_default or SESSION.recordings:
        return None  # a tape would have the numbers of the directions
    of_code = _codes_by_function.setdefault(function.__code__, {})
    codes = of_code.get((make, argnums))
    if codes is None or codes.version != rules.version:
        codes = of_code[make, argnums] = DerivativeCodes(make, type(argnums) is int, walks)
    codes.calls += 1 + numbers // COUNTED_TWICE
    by_walks = WARM_CALLS // 2 if _TAPING in sys.modules and numbers < COUNTED_TWICE else WARM_CALLS
    is_warm = codes.calls > by_walks
    may_walk = codes.walks and 0 < given <= (WALKED_NUMBERS if directions else WALKED_COLUMNS)
    return CodedCall(codes, f, places, directions, is_warm, may_walk) if is_warm or may_walk else None


def _function_behind(f: Any) -> types.FunctionType | None:
    """Return the Python function that a call of `f` runs, also behind methods and partial objects; else None."""
    while type(f) is not types.FunctionType:
        if type(f) is types.MethodType:
            f = f.__func__
        elif type(f) is functools.partial:
            f = f.func
        else:
            return None
    return f


class CodedCall:
    """A call of a derivative, which asks for generated code when the function has run."""

    def __init__(
        self,
        codes: DerivativeCodes,
        f: Callable[..., Any],
        places: tuple[int, ...],
        directions: tuple[Any, ...],
        is_warm: bool,
        may_walk: bool,
    ) -> None:
        self.codes, self.f, self.places, self.directions = codes, f, places, directions
        self.is_warm, self.may_walk = is_warm, may_walk
        self.calls: RecordedCalls | None = None
        self.value: Any = None
        self.has_code = False  # whether the value is that of code
        self.rows_of: Callable[..., Any] | None = None  # the rows of the Jacobian, if the function returns an array

    def linearize(self, traced: Callable[..., Any], args: Args, backward: bool = False) -> tuple[Any, Any, Any] | None:
        """Run `call_function` or `call_gradient`: return its result, pushforward, and pullback if `backward`.

        Return None if there is code for the calls that the function made, or if they are walked; then `value` is known.
        """

        @functools.wraps(self.f)
        def under_name(*args: Any) -> Any:
            return traced(*args)

        work = DerivativeRequest(under_name, args, {}, self.places, False, False)
        linear = linearize_call(work, backward, is_done=lambda: self.value is not None)
        if self.value is None:
            return linear[:3]
        if not self.has_code:
            self.learn(self.value)
            return None
        calls, self.calls = self.calls, None  # frees what the function computed
        assert calls is not None
        self.codes.improve(calls, self.directions, self.value)
        return None

    def call_function(self, *args: Any) -> Any:
        """Return the value of the function, or if there is code an argument."""
        y = calling(active_recording())(self.f, *args)
        return args[self.places[0]] if self._has_code([args[place] for place in self.places], y) else y

    def call_gradient(self, *args: Any) -> Any:
        """Return the gradient of the function, or if there is code an argument."""
        y, pullback, _ = vjp_of_call(self.f, args, {}, self.places, False, is_done=self._is_known)
        if self.value is not None:
            return args[self.places[0]]
        if type(y) is not float and type(y) is not np.float64:
            self.calls = None
            return calling(active_recording())(self.rows_of, args, y, pullback)
        gradients = pullback(type(y)(1.0))
        return gradients[0] if self.codes.single else gradients

    def _is_known(self, xs: Sequence[np.ndarray], y: Any) -> bool:
        """Whether the second derivative is known, by code or by a walk over what is recorded."""
        if (self.is_warm and self._has_code(xs, y)) or not self.may_walk:
            return self.has_code
        assert STATE.recording is not None
        try:
            if self.directions:
                self.value = products_of_calls(STATE.recording, xs, y, self.directions)
            else:
                self.value = hessian_of_calls(STATE.recording, xs, y, self.codes.single)
        except UnsuitedError:
            pass
        self.codes.walks = self.value is not None
        return self.codes.walks

    def _has_code(self, xs: Sequence[np.ndarray], y: Any) -> bool:
        recording = STATE.recording
        assert recording is not None
        try:
            self.calls = RecordedCalls(recording, xs, y)
        except _UnkeyedError:
            return False
        code = self.codes.codes.get(self.calls.key)
        if code is not None:
            self.value = _run(code, [*xs], self.calls.constants, self.directions)
        self.has_code = self.value is not None
        return self.has_code

    def learn(self, value: Any) -> Any:
        """Generate code for the next call, if that pays; return the `value` of the walks."""
        if not self.is_warm:
            return value
        if self.calls is None:  # no code can be made for such calls
            self.codes.calls = NEVER
        else:
            self.codes.learn(self.calls, self.directions, value)
            self.calls = None
        return value


def _run(code: Callable[..., Any], *args: Any) -> Any:
    """Run a code; return None if it is stale, or meets a number that is not finite."""
    try:
        with silent(), np.errstate(all="raise", under="ignore"):
            return _copied(code(*args))
    except (WengertError, FloatingPointError):
        return None


def _is_general(code: Callable[..., Any], derived: Callable[..., Any], given: Any) -> bool:
    """Whether a code gives the derivative at other numbers, too, or refuses them."""
    with np.errstate(all="ignore"):
        others = [type(part)(map(_moved, part)) for part in given]
        found = _run(code, *others)
        return found is None or _agree(found, derived(*others))


def _moved(a: Any) -> Any:
    moved = 1.001 * a + 1e-5
    return np.asarray(moved) if type(a) is np.ndarray else moved


def _copied(found: Any) -> Any:
    """Copy the arrays of a result, which may be constants of the code. Errors: FloatingPointError if not finite."""
    if type(found) is tuple:
        return tuple([_copied(part) for part in found])
    if not np.isfinite(found).all():
        raise FloatingPointError
    return np.array(found)


def _agree(found: Any, value: Any) -> bool:
    if type(found) is tuple:
        return type(value) is tuple and len(found) == len(value) and all(map(_agree, found, value))
    is_same = type(value) is np.ndarray and (found.shape, found.dtype) == (value.shape, value.dtype)
    return is_same and np.allclose(found, value, 1e-9, 1e-12 * float(np.max(np.abs(value), initial=0.0)))


class _UnkeyedError(Exception):
    """A recorded call that no key describes."""


class RecordedCalls:
    """The calls that a recording holds of a function, and their `key`.

    Calls with equal keys compute the same from the inputs `xs` and the `constants`: the floats that are no parameters.
    Errors: _UnkeyedError if there is no key.
    """

    def __init__(self, recording: Recording, xs: Sequence[np.ndarray], y: Any) -> None:
        slots, result, memory = [SHADOW[id(x)] for x in xs], SHADOW.get(id(y)), recording.memory
        self.xs, self.constants, start = xs, list[Any](), min(slots)
        if memory.storages or memory.undo or memory.holds_objects or recording.texts or recording.keep:
            raise _UnkeyedError
        if result is None or len(recording.entries) - start > MOST_CALLS:
            raise _UnkeyedError
        self._entries: list[Any] = recording.entries[start:]
        self._start, self._result, self._inputs = start, result - start, {slot: k for k, slot in enumerate(slots)}
        calls = tuple([self._call_key(start + k, entry) for k, entry in enumerate(self._entries)])
        self.key = calls, self._result, tuple([x.shape for x in xs])

    def _call_key(self, slot: int, entry: Any) -> Any:
        if slot in self._inputs:
            return self._inputs[slot]
        if entry is None:
            raise _UnkeyedError
        op, _, ins, args, kwargs, _ = entry
        if op is INPUT and ins:  # of an inner derivative
            return INPUT, self._argument_key(False, None, ins[0])
        if type(op) is not Bound:
            raise _UnkeyedError
        if op.of_subclass or op.outer_state is not None or len(ins) != len(args):
            raise _UnkeyedError
        parts = [self._argument_key(_may_vary(op, args, k), args[k], slot) for k, slot in enumerate(ins)]
        named = kwargs and tuple([(name, self._argument_key(False, a, None)) for name, a in kwargs.items()])
        return op.fn, tuple(parts), named

    def _argument_key(self, may_vary: bool, a: Any, slot: Any) -> Any:
        """Return the key of an argument; a constant float or array that `may_vary` is an input of the code."""
        t = type(a)
        if type(slot) is int and slot >= self._start:
            return slot - self._start
        if type(slot) is tuple and (t is tuple or t is list):
            return t, tuple([self._argument_key(may_vary, *part) for part in zip(a, slot, strict=True)])
        if slot is not None:
            raise _UnkeyedError
        if t is float or t is np.float64 or (t is np.ndarray and a.dtype == np.float64):
            if not may_vary:
                return t, np.shape(a), a.tobytes() if t is np.ndarray else a.hex()
            self.constants.append(a)
            return t, np.shape(a)
        if t is np.ndarray and a.dtype.kind in "iub" and a.size <= MOST_NUMBERS:
            return t, a.shape, a.dtype.char, a.tobytes()
        if t is tuple or t is list:
            return t, tuple([self._argument_key(False, part, None) for part in a])
        if t is slice:
            return t, self._argument_key(False, (a.start, a.stop, a.step), None)
        if t in _TOLD_BY_VALUE or issubclass(t, (np.bool_, np.integer, np.dtype)):
            return t, a
        raise _UnkeyedError

    def compute_alone(self) -> bool:
        """Whether all calls are of functions of libraries that compute from their arguments, and from nothing else."""
        return all([type(entry[0]) is not Bound or _computes_alone(entry[0].primitive) for entry in self._entries])

    def played_on(self, constants: Sequence[Any]) -> Callable[..., Any]:
        """Return the function that makes these calls on other inputs, and on these constants."""

        def play(*xs: Any) -> Any:
            call, rest, values = calling(active_recording()), iter(constants), list[Any]()
            for slot, (op, _, ins, args, kwargs, _) in enumerate(self._entries, self._start):
                if slot in self._inputs:
                    values.append(xs[self._inputs[slot]])
                elif op is INPUT:
                    values.append(values[ins[0] - self._start])
                else:
                    values.append(call(op.fn, *self._given(op, ins, args, values, rest), **(kwargs or {})))
            return values[self._result]

        return play

    def _given(self, op: Any, ins: Any, args: Any, values: list[Any], constants: Iterator[Any]) -> Iterator[Any]:
        """Yield the arguments of a call."""
        for k, (a, slot) in enumerate(zip(args, ins, strict=True)):
            yield self._given_part(_may_vary(op, args, k), a, slot, values, constants)

    def _given_part(self, may_vary: bool, a: Any, slot: Any, values: list[Any], constants: Iterator[Any]) -> Any:
        if type(slot) is tuple:
            parts = zip(a, slot, strict=True)
            return type(a)([self._given_part(may_vary, *part, values, constants) for part in parts])
        if slot is not None:
            return values[slot - self._start]
        is_float = type(a) in (float, np.float64) or (type(a) is np.ndarray and a.dtype == float)
        return next(constants) if may_vary and is_float else a


def _may_vary(op: Bound, args: tuple[Any, ...], k: int) -> bool:
    """Whether argument `k` of a call is differentiable, or a sequence of arguments that are."""
    sequence = op.rule.sequence
    is_spread = sequence is not None and type(args[sequence]) in (list, tuple)  # then `positions` count its items
    return k == sequence if is_spread else k in op.positions


def _computes_alone(primitive: Any) -> bool:
    owner = getattr(primitive.fn, "__self__", None)
    has_formula = primitive.rule.kind in ("partials", "pullback")
    return primitive.is_trusted and has_formula and (owner is None or isinstance(owner, (types.ModuleType, np.ufunc)))
