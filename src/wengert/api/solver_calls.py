"""Calls of solvers in compiled functions: the solver runs again, and calls the compiled code of its arguments."""

from __future__ import annotations

import operator
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from enum import Enum
from typing import Any

import numpy as np

from wengert.api.called_functions import (
    CalledFunction,
    is_same_form,
    join_parts,
    known_outside,
    split_parts,
    with_library_objects_copied,
)
from wengert.api.closed_programs import are_equal
from wengert.api.partial_results import partly_known
from wengert.compiling.watched.call_hooks import why_not_repeated
from wengert.compiling.watched.outer_reads import not_native
from wengert.compiling.watched.refused_calls import public_name
from wengert.compiling.watched.trusted import is_user_function
from wengert.errors import NotNativeError, StaleTapeError
from wengert.hooks.classes import as_traced
from wengert.hooks.reachable_state import State
from wengert.hooks.solver_callbacks import unseen
from wengert.recording.recording import calling
from wengert.recording.session import active_recording
from wengert.recording.slots import slot_of
from wengert.rulebook.declare import non_differentiable
from wengert.rulebook.others import compiled_by
from wengert.rulebook.registry import rules
from wengert.tape.ops import Constant
from wengert.values.functional import stopped
from wengert.values.sealed import Sealed
from wengert.values.trees import rebuild


class UnknownEntry(Enum):
    """A mark in the form of a result for an entry that may be another one in each call, such as a number of steps."""

    MARK = 0


class NotedOutput:
    """A replacement of `sys.stdout` that writes to it, and notes that this thread does."""

    def __init__(self) -> None:
        self._stream, self._thread, self.is_written = sys.stdout, threading.get_ident(), False

    def write(self, text: str) -> int:
        self.is_written |= threading.get_ident() == self._thread
        return len(text) if self._stream is None else self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class SolverCall(Sealed):
    """A call of a solver: what it is called with, and the form of its result."""

    def __init__(self, solver: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.solver, self.parts = solver, list[Any]()
        self.outer, self.functions = dict[int, Constant](), list[CalledFunction]()
        self._form = split_parts((args, kwargs), self.parts, self._of_argument)
        self._count = len(self.parts)
        self._result: Any = None  # its form
        self._omitted = set[Any]()
        self.found: Any = None

    def _of_argument(self, value: Any) -> Any:
        """Return what stands in the form for an argument that is no number, array or container."""
        if callable(value) and not isinstance(value, type):
            self.functions.append(CalledFunction(value, self.outer))
            return self.functions[-1]
        if isinstance(value, np.ndarray):
            return value.copy()
        if value is None or isinstance(value, bool | int | str | bytes | np.generic | type):
            return value
        raise NotNativeError(f"it is called with a {type(value).__name__}")

    def forget_trace(self) -> None:
        """Drop what only the trace needs."""
        self.outer.clear()
        self.parts, self.found = [], None
        for function in self.functions:
            function.forget_trace()

    def run(self, values: Sequence[Any], missed: list[Any]) -> list[Any]:
        """Run the solver for values of its parts and of what its functions read; return the parts of its result.

        Errors: StaleTapeError if it calls a function in another way, or returns a result of another form.
        """
        given, outer = values[: self._count], values[self._count :]
        args, kwargs = join_parts(
            self._form, given, lambda f: f.bound(outer, missed) if type(f) is CalledFunction else f
        )
        found = self.solver(*args, **kwargs)
        form, parts = self.result_form(found)
        if missed:
            raise StaleTapeError("the function that a solver calls takes a new branch")
        if self._result is None:
            self._result, self.found = form, found
        if not is_same_form(self._result, form):
            raise StaleTapeError("the solver's result has another form")
        return [part.copy() if _may_be_of(part, values) else part for part in parts]

    def result_form(self, found: Any) -> tuple[Any, list[Any]]:
        """Return the form of a result, and its parts. Errors: NotNativeError if its type is not known."""
        parts: list[Any] = []
        return _result_form(found, parts, self._omitted), parts

    def omit_differing(self, observed: Any) -> bool:
        """Omit floats of a dictionary that differ from an observed result, such as times; return whether any do."""
        entries = observed.items() if isinstance(observed, dict) else ()
        found = {k for k, x in entries if type(x) is float and not are_equal([x], [self.found[k]])} - self._omitted
        self._omitted, self._result = self._omitted | found, None
        return bool(found)

    def result(self, parts: Sequence[Any]) -> Any:
        """Return the result with other parts."""
        return _with_parts(self.found, self._result, parts)


def _may_be_of(part: Any, values: Sequence[Any]) -> bool:
    return isinstance(part, np.ndarray) and any([np.may_share_memory(part, value) for value in values])


def _result_form(found: Any, parts: list[Any], omitted: set[Any]) -> Any:
    """Return the form of a solver's result without some entries. Errors: NotNativeError if its type is not known."""
    if isinstance(found, dict):
        return {key: UnknownEntry.MARK if key in omitted else split_parts(value, parts, _of_entry)
                for key, value in found.items()}  # fmt: skip
    if isinstance(found, tuple | list):
        return [_result_form(part, parts, omitted) for part in found]
    return split_parts(found, parts, _of_item)


def _of_entry(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | np.bool_) else UnknownEntry.MARK


def _of_item(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str | np.bool_ | np.integer | np.ndarray):
        return value
    raise NotNativeError(f"it returns a {type(value).__name__}")


def _with_parts(found: Any, form: Any, parts: Sequence[Any]) -> Any:
    if isinstance(found, dict):
        known = {key: join_parts(form[key], parts) for key in found if form[key] is not UnknownEntry.MARK}
        return partly_known(found, known)
    if isinstance(found, tuple | list):
        made = [_with_parts(part, of, parts) for part, of in zip(found, form, strict=True)]
        return made if type(found) is list else tuple(made)
    return join_parts(form, parts)


def solver_result(*values: Any, call: SolverCall) -> Any:
    """Return the numbers and arrays in the result of a solver, as a list, or the only one."""
    parts = unseen(call.run, values, [])
    return parts[0] if len(parts) == 1 else parts


rules.declare_lastingly(lambda: non_differentiable(solver_result))


def _observed(solver: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, str]:
    """Run a solver as it is; return its result, and why it cannot run again, an empty string if it can."""
    state, changes = State((solver, args, kwargs)), list[bool]()
    args, kwargs = with_library_objects_copied((args, kwargs))
    watching: Any = active_recording()

    def run(solver: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        found = solver(*args, **kwargs)
        changes.append(state.is_changed(are_equal))  # which are put back after the run
        return found

    with watching.reads.unwatched() as calls, redirect_stdout(NotedOutput()) as output:
        found = unseen(run, solver, args, kwargs)
    reasons = [
        f"a function that it calls {reason.removeprefix('it ')}" for f in calls if (reason := why_not_repeated(f))
    ]
    if changes[0]:
        reasons.append("the function that it calls changes something outside")
    if output.is_written:
        reasons.append("it prints")
    return found, reasons[0] if reasons else ""


def _solved_again(call: SolverCall, observed: Any) -> Any:
    """Record a call of `solver_result`, and return the result of the solver with its parts.

    Errors: NotNativeError, also if they are not those of the `observed` result.
    """
    record = calling(active_recording())
    while True:
        missed: list[Any] = []
        with known_outside(call.functions, call.outer) as outer:
            try:
                parts = unseen(call.run, [*call.parts, *outer], missed)
            except Exception as error:
                if not missed:
                    raise NotNativeError(f"in a second run it raises {type(error).__name__}: {error}") from None
            else:
                if not are_equal(parts, call.result_form(observed)[1]):
                    if call.omit_differing(observed):
                        continue
                    raise NotNativeError("in a second run it returns another result")
                found = record(solver_result, *call.parts, *outer, call=call)
                is_list = type(found) is list
                return call.result(
                    [record(operator.getitem, found, k) for k in range(len(found))] if is_list else [found]
                )
        function, (args, kwargs) = missed[0]
        function.add_branch(args, kwargs)


def _solve(solver: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Return what a solver finds, as numbers and arrays that the compiled function computes again in each call.

    If that is not possible, the trace gives up.
    """
    try:
        call = SolverCall(solver, args, kwargs)
    except NotNativeError as error:
        _give_up(solver, error)
        return unseen(solver, *args, **kwargs)
    try:
        found, effect = _observed(solver, args, kwargs)
    except Exception as error:  # the function may catch it
        _give_up(solver, f"it raises {type(error).__name__}")
        raise
    try:
        if effect:
            raise NotNativeError(effect)
        with warnings.catch_warnings(action="ignore"):  # the run before has shown them
            return _solved_again(call, found)
    except NotNativeError as error:
        _give_up(solver, error)
        return found
    finally:
        call.forget_trace()


def _give_up(solver: Any, reason: object) -> None:
    not_native(f"wg.compile does not support this call of {public_name(solver)}: {reason}")


@compiled_by(unseen)
def unseen_again(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Do what `unseen` does, so that the compiled function computes it again in each call."""
    if rules.standin_of(f) is not None:
        return _solve(f, args, kwargs)
    if is_user_function(f):
        found, effect = _observed(f, args, kwargs)
        if effect:
            _give_up(f, effect)
            return found
    watching = active_recording()
    call = calling(watching)

    def stop(leaf: Any, _: Any) -> Any:
        return leaf if watching is None or slot_of(watching, leaf) is None else call(stopped, leaf)

    return rebuild(as_traced(f)(*args, **kwargs), stop)
