"""Callees of an uncompiled function: those that only compute are compiled, each alone.

A function that has a line which cannot be compiled runs as it is. Each call of a callee is one entry of its recording:
the value comes from the code of the callee, the pullback from that of its vector-Jacobian product. The code takes the
numbers and arrays that it reads as they are at the call. Where a guard fails, or a number from outside is traced, the
callee is entered as ever, and its arguments are noted for another trace.
"""

from __future__ import annotations

import functools
import inspect
import re
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from wengert.api.custom import conjugate
from wengert.api.gradient import vjp_of_call
from wengert.compiling.compile import CompiledFunction
from wengert.compiling.entries import CompiledTrace
from wengert.compiling.watched.trusted import is_user_function
from wengert.errors import NoDerivativeError, StaleTapeError
from wengert.recording.primitives import Primitive
from wengert.recording.record import record_call
from wengert.recording.recording import STATE, Recording, silent
from wengert.recording.session import SESSION
from wengert.recording.slots import slot_of
from wengert.recording.trace_state import is_born, twins
from wengert.rulebook.rule import Carrier, Rule
from wengert.values.callables import callable_name, place
from wengert.values.cotangents import has_nan
from wengert.values.sealed import Sealed
from wengert.values.specs import is_inexact

FEWEST_ENTRIES = 16
"""A callee with fewer entries is not compiled: one call of its code takes as long."""
MOST_CALLEES = 256
"""The most callees that are kept for one function."""
MOST_LEARNT = 8
"""The most times that a callee is traced."""
_GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Callees:
    """The callees of a function, and those calls of the current run whose arguments a trace will take."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._compile = partial(CompiledFunction, **options, quiet=True, strict=True)
        self._known: dict[types.FunctionType, Callee] = {}

    @contextmanager
    def called(self) -> Iterator[None]:
        """Have the recordings that open in this context call the code of callees; then trace those that have none."""
        run, before = CalleesOfRun(self), STATE.callees
        STATE.callees = run
        try:
            yield
        finally:
            STATE.callees = before
        for callee, args, kwargs in () if SESSION.recordings else run.noted:
            callee.learn(args, kwargs)

    @property
    def compiled(self) -> list[str]:
        """The names of the callees that have code."""
        return [f.__qualname__ for f, callee in self._known.items() if callee.is_compiled]

    def of(self, f: types.FunctionType) -> Callee | None:
        """Return the callee of a function; None for further ones where there are many, as of generated functions."""
        known = self._known.get(f)
        if known is None and len(self._known) < MOST_CALLEES:
            known = self._known[f] = Callee(f, self._compile)
        return known


class CalleesOfRun:
    """The calls of callees in one run of the function."""

    def __init__(self, callees: Callees) -> None:
        self._callees = callees
        self.noted: list[tuple[Callee, tuple[Any, ...], dict[str, Any]]] = []

    def caller(self, f: types.FunctionType, enter: Callable[..., Any]) -> Callable[..., Any]:
        """Return what the hooks call for `f`: its code, if there is any, else `enter`."""
        root = None if STATE.recording is None or STATE.recording.roots is None else STATE.recording.roots[0]
        is_root = getattr(root, "__func__", root) is f
        if is_root or not is_user_function(f) or is_born(f) or f.__code__.co_flags & _GENERATORS:
            return enter
        callee = self._callees.of(f)
        return enter if callee is None or callee.is_refused else partial(self._call, callee, enter)

    def _call(self, callee: Callee, enter: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None or recording.callees is not self or not _is_gradient(recording):
            return enter(*args, **kwargs)
        # a text of a traced number is a constant of the code, though it may be parsed
        call = None if recording.texts else callee.bound(recording, args, kwargs)
        if call is not None:
            return record_call(_made_call(), (call, *call.arguments), {})
        start, recording.callees = len(recording.entries), None
        twins.clear()  # a recursion inside has no frames of this function, and goes as deep as untraced
        try:
            result = enter(*args, **kwargs)
        finally:
            recording.callees = self
            twins.clear()
        if len(recording.entries) - start >= FEWEST_ENTRIES:
            self.noted.append((callee, _with_own_arrays(args), _with_own_arrays(kwargs)))
        return result


def _is_gradient(recording: Recording) -> bool:
    """Whether a recording is that of a gradient alone: not for a tape, forward mode, or derivatives of derivatives.

    Its reverse pass follows at once: before that of a `vjp`, code outside may write into the arrays.
    """
    is_plain = recording.reruns and not (recording.keep or recording.keeps_results or recording.batched)
    return is_plain and len(recording.levels) == 1 and recording.context is recording.stream is None


def _with_own_arrays(value: Any) -> Any:
    """Return a value with copies of the arrays in it."""
    t = type(value)
    if t in (tuple, list):
        return t(map(_with_own_arrays, value))
    if t is dict:
        return {key: _with_own_arrays(part) for key, part in value.items()}
    return value.copy("K") if t is np.ndarray else value


class Callee:
    """A function, its code, and the code of its vector-Jacobian product for each choice of differentiated arguments."""

    def __init__(self, f: types.FunctionType, compiled: Callable[..., CompiledFunction]) -> None:
        self.is_refused = False
        self._f, self._compiled = f, compiled
        self._value: CompiledFunction | None = None
        self._products: dict[Any, CompiledFunction] = {}
        self._traces = 0

    @property
    def is_compiled(self) -> bool:
        """Whether it has code."""
        return self._value is not None and not self.is_refused

    def learn(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Trace it for arguments; refuse it if that fails, or is needed too often."""
        f, wanted = self._f, _wanted(args, kwargs)
        self._traces += 1
        self.is_refused |= not wanted or self._traces > MOST_LEARNT
        if self.is_refused:
            return
        self._value = self._value or self._compiled(f)
        product = self._products.get(wanted) or self._compiled(_function_of_product(f, wanted))
        try:
            with warnings.catch_warnings(record=True):  # the call has issued them
                value = self._value.learn(args, kwargs)
                product.learn((value, *args), kwargs)
        except Exception:  # any of the user's, too
            self.is_refused = True
        self._products[wanted] = product

    def bound(self, recording: Recording, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CompiledCall | None:
        """Return a call of the code; None if it has none for these arguments."""
        wanted, places = _wanted(args, kwargs), [*range(len(args)), *kwargs]
        product = self._products.get(wanted)
        if self._value is None or product is None:
            return None
        with silent():
            for entry, inputs in self._value.fitting(args, kwargs):
                if _reads_traced_elsewhere(recording, entry, inputs, places, wanted):
                    return None
                try:
                    value = entry.result_of(entry.names["run"](*inputs))
                except StaleTapeError:
                    continue
                except Exception:  # the callee raises it again
                    return None
                fitting = product.fitting((value, *args), kwargs)
                is_lost = not fitting or (entry.takes_derivative and has_nan(value))
                layouts = [_layout_of(each, places, wanted) for each, _ in fitting]
                return None if is_lost else CompiledCall(product, args, kwargs, value, fitting, layouts)
        return None


def _function_of_product(f: Any, wanted: Any) -> Any:
    """Return the function from ȳ and the arguments of f to ȳᵀJ for those wanted."""

    def product(y_bar: Any, /, *args: Any, **kwargs: Any) -> Any:
        return vjp_of_call(f, args, kwargs, wanted, False, quiet=True)[1](y_bar)

    product.__name__ = f.__name__
    return product


def _wanted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int | str, ...]:
    """Return the positions and names of the arguments that are numbers, arrays or containers of these."""
    given: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
    return tuple([place for place, value in given if _is_of_numbers(value)])


def _is_of_numbers(value: Any) -> bool:
    t = type(value)
    if t in (tuple, list, dict):
        parts = value.values() if t is dict else value
        return bool(value) and all(map(_is_of_numbers, parts))
    return is_inexact(value)


def _reads_traced_elsewhere(
    recording: Recording, entry: CompiledTrace, inputs: tuple[Any, ...], places: list[int | str], wanted: Any
) -> bool:
    """Whether a number or an array that the code reads elsewhere than in the wanted arguments is traced."""
    numbers = [_argument_and_path(accessor)[0] for accessor in entry.inputs]
    elsewhere = [k for k, number in enumerate(numbers) if number is None or places[number] not in wanted]
    return any([slot_of(recording, inputs[k]) is not None for k in elsewhere])


class CompiledCall(Sealed):
    """A call of a callee's code: its value, and the traces of its vector-Jacobian product that fit it.

    `arguments` are the numbers and arrays in the arguments of the callee.
    """

    def __init__(
        self, product: CompiledFunction, args: tuple[Any, ...], kwargs: dict[str, Any], value: Any,
        fitting: list[tuple[CompiledTrace, tuple[Any, ...]]], layouts: list[_Layout],
    ) -> None:  # fmt: skip
        self.value, self._product, self._given, self._fitting = value, product, (args, kwargs), fitting
        self._layouts = layouts
        self.arguments = [fitting[0][1][k] for k in layouts[0].arguments]

    def pullback(self, y_bar: Any) -> list[Any]:
        """Return a cotangent for the call itself, None, and for each of its arguments.

        Errors: NoDerivativeError if the product has no trace for this path, and what the callee reads has changed.
        """
        y_bar = conjugate(y_bar)  # a rule's cotangents are the conjugates of those of `vjp`
        for (entry, inputs), layout in zip(self._fitting, self._layouts, strict=True):
            given = [*inputs]
            for k, read in layout.of_result.items():
                given[k] = _in_form_of(inputs[k], read(y_bar))
            try:
                slopes = entry.result_of(entry.names["run"](*given))
            except StaleTapeError:
                continue
            if not has_nan(slopes):  # else perhaps 0·inf, which a reverse pass avoids
                break
        else:
            layout, slopes = self._layouts[0], self._entered(y_bar)
        return [None, *[conjugate(read(slopes)) for read in layout.slopes]]

    def _entered(self, y_bar: Any) -> Any:
        """Return the product by a reverse pass over the callee."""
        args, kwargs = self._given
        now = self._product.fitting((self.value, *args), kwargs)
        before, after = [
            [part for entry, inputs in found for part in (entry, *inputs)] for found in (self._fitting, now)
        ]
        if len(before) != len(after) or not all(map(_is_unchanged_input, before, after)):
            raise NoDerivativeError(
                f"{callable_name(self._product.wrapped)} reads a value from outside that changes after its call, and "
                "its gradient runs it again. Change the value before the call, or take the gradient without wg.compile."
            )
        return self._product.wrapped(y_bar, *args, **kwargs)


def _is_unchanged_input(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) is float and a == b)


def _in_form_of(like: Any, y_bar: Any) -> Any:
    """Return a cotangent as a number or array of the type, shape and dtype of another one."""
    y_bar = 0.0 if y_bar is None else y_bar
    if type(like) is np.ndarray:
        return np.broadcast_to(np.asarray(y_bar, like.dtype), like.shape)
    return type(like)(y_bar)


class _Layout(NamedTuple):
    """The places of a product's inputs: `of_result` are those in ȳ, with functions that read them there.

    `arguments` are those in the arguments of the callee, and `slopes` has functions that read their cotangents.
    """

    of_result: dict[int, Callable[[Any], Any]]
    arguments: list[int]
    slopes: list[Callable[[Any], Any]]


_layouts: weakref.WeakKeyDictionary[CompiledTrace, _Layout] = weakref.WeakKeyDictionary()


def _layout_of(entry: CompiledTrace, places: list[int | str], wanted: tuple[int | str, ...]) -> _Layout:
    """Return the layout of a product, of a callee whose arguments are at these places."""
    if entry not in _layouts:
        layout = _Layout({}, [], [])
        for accessor, k in sorted([(accessor, k) for k, accessor in enumerate(entry.inputs)]):
            number, path = _argument_and_path(accessor)
            if number == 0:
                layout.of_result[k] = _reader("value", path, entry)
            elif number is not None and places[number - 1] in wanted:
                layout.arguments.append(k)
                layout.slopes.append(_reader(f"value[{wanted.index(places[number - 1])}]", path, entry))
        _layouts[entry] = layout  # complete, since another thread may read it
    return _layouts[entry]


def _argument_and_path(accessor: str) -> tuple[int | None, str]:
    """Split an accessor into the number of an argument, None for values from outside, and the path in it."""
    found = re.match(r"a(\d+)(?!\w)", accessor)
    return (int(found[1]), accessor[found.end() :]) if found else (None, "")


def _reader(start: str, path: str, entry: CompiledTrace) -> Callable[[Any], Any]:
    """Return a function that reads the part of a value at a path."""
    made: Callable[[Any], Any] = eval(f"lambda value: {start}{path}", entry.names)
    return made


class _MadeCall(Carrier):
    """The primitive of calls that have been made: with a CompiledCall and its arguments it returns the value.

    Its rule is in no registry, where a new rule has all compiled functions traced again.
    """

    __name__ = "compiled_call"

    def __call__(self, call: CompiledCall, *arguments: Any) -> Any:
        return _with_own_arrays(call.value)

    @functools.cached_property
    def own_rule(self) -> Rule:
        """The rule: its pullback is that of the call."""
        return Rule("compiled_call", (self,), "rrule", _rule_of_made, place(_rule_of_made))


def _rule_of_made(call: CompiledCall, *arguments: Any) -> tuple[Any, Callable[..., Any]]:
    return _with_own_arrays(call.value), call.pullback


@functools.cache
def _made_call() -> Primitive:
    made = _MadeCall()
    return Primitive(made, made.own_rule)
