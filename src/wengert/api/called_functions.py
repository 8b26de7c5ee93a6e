"""Functions that a solver calls, as compiled code that takes the values which they read from the trace around them."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from operator import is_not
from typing import Any, NamedTuple

import numpy as np

from wengert.api.closed_programs import result_without_effects, with_outer_inputs
from wengert.api.examples import MOST_BRANCHES, NotAloneError, marked_program
from wengert.api.gradient import vjp_of_call
from wengert.api.tangents import jvp_of_call
from wengert.api.taping import trace
from wengert.batching.axes import Shared
from wengert.batching.example import Program, as_outer_variables
from wengert.compiling.optimising import optimised
from wengert.errors import NoPathWarning, NotNativeError, StaleTapeError, WengertError
from wengert.hooks.classes import as_traced
from wengert.hooks.reachable_state import State
from wengert.recording.recording import silent
from wengert.recording.session import active_recording
from wengert.tape.ops import Constant, Variable, mkcall, value_of, with_variables
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.names import LIBRARIES
from wengert.values.sealed import Sealed
from wengert.values.specs import fresh, is_inexact
from wengert.values.structures import is_plain_object, keyed_parts, with_parts


class FormPart(NamedTuple):
    """A number or an array in a form: its position in the list of these, and what is the same in each call."""

    position: int
    type: type
    dtype: np.dtype[Any] | None
    shape: tuple[int, ...]


def split_parts(value: Any, parts: list[Any], of_other: Callable[[Any], Any] = lambda value: value) -> Any:
    """Return a structure with a FormPart for each number and array, which are appended to `parts`."""
    if is_inexact(value):
        parts.append(value)
        return FormPart(len(parts) - 1, type(value), getattr(value, "dtype", None), np.shape(value))
    if _is_followed(value):
        return with_parts(value, [split_parts(part, parts, of_other) for _, _, part in keyed_parts(value)])
    return of_other(value)


def _is_followed(value: Any) -> bool:
    """Whether a form has the structure of a value: it is a list, a tuple, a dictionary or an object with attributes."""
    t = type(value)
    return t in (tuple, list, dict) or (not callable(value) and t is not FormPart and is_plain_object(value))


def with_library_objects_copied(value: Any) -> Any:
    """Copy the objects of libraries in a structure, since solvers replace attributes of them."""
    if not _is_followed(value):
        return value
    parts = [part for _, _, part in keyed_parts(value)]
    made = [with_library_objects_copied(part) for part in parts]
    is_of_library = is_plain_object(value) and type(value).__module__.partition(".")[0] in LIBRARIES
    return with_parts(value, made) if is_of_library or any(map(is_not, made, parts)) else value


def join_parts(form: Any, parts: Sequence[Any], of_other: Callable[[Any], Any] = lambda value: value) -> Any:
    """Return a structure with the parts in place of each FormPart."""
    if type(form) is FormPart:
        return parts[form.position]
    if _is_followed(form):
        return with_parts(form, [join_parts(part, parts, of_other) for _, _, part in keyed_parts(form)])
    return of_other(form)


def is_same_form(a: Any, b: Any) -> bool:
    """Whether forms are the same: of the same types, with equal constants."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if _is_followed(a):
        parts, others = [[(key, part) for _, key, part in keyed_parts(value)] for value in (a, b)]
        return len(parts) == len(others) and all(
            [key == of and is_same_form(part, other) for (key, part), (of, other) in zip(parts, others, strict=True)]
        )
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return isinstance(a, FormPart | int | str | bytes | np.bool_ | np.integer) and bool(a == b)


class Branch:
    """A function's code for arguments of a form, for as long as its guards hold.

    The inputs of its tape are the numbers and arrays in the arguments, and the values from outside at these `places`.
    """

    def __init__(self, form: Any, tape: Tape, places: list[int], result: Any) -> None:
        self.form, self.tape, self.places, self._result = form, tape, places, result

    @functools.cached_property
    def _code(self) -> Callable[..., list[Any]]:
        return optimised(self.tape, exact=True).compile("callback")

    def parts_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any] | None:
        """Return the numbers and arrays in arguments of this form; None if they have another one."""
        positional = self.form[0]
        if len(args) == len(positional) and not kwargs and all(map(_is_part_of, args, positional)):
            return args
        parts: list[Any] = []
        return parts if is_same_form(self.form, split_parts((args, kwargs), parts)) else None

    def __call__(self, parts: Sequence[Any], outer: Sequence[Any]) -> Any:
        """Return the result. Errors: StaleTapeError if a guard fails."""
        found = self._code(*parts, *[outer[place] for place in self.places])
        return _with_results(self._result, found)

    def gradient(self, parts: Sequence[Any], outer: Sequence[Any]) -> list[Any]:
        """Return the result, a number, and its derivatives by the parts and by all values from outside.

        Errors: StaleTapeError if a guard fails.
        """
        value, *slopes = self._gradient_code(*parts, *[outer[place] for place in self.places])
        by_place = dict(zip(self.places, slopes[len(parts) :], strict=True))
        return [value, *slopes[: len(parts)], *[by_place.get(k, np.zeros(np.shape(v))) for k, v in enumerate(outer)]]

    def curvature(
        self, parts: Sequence[Any], outer: Sequence[Any], of_parts: Sequence[Any], of_outer: Sequence[Any]
    ) -> list[Any]:
        """Return the products of the second derivatives with a direction, in the order of `gradient`.

        Errors: StaleTapeError if a guard fails.
        """
        directions = [np.asarray(x, float)[()] for x in (*of_parts, *[of_outer[place] for place in self.places])]
        slopes = self._curvature_code(*parts, *[outer[place] for place in self.places], *directions)
        by_place = dict(zip(self.places, slopes[len(parts) :], strict=True))
        return [*slopes[: len(parts)], *[by_place.get(k, np.zeros(np.shape(v))) for k, v in enumerate(outer)]]

    @functools.cached_property
    def _gradient_code(self) -> Callable[..., list[Any]]:
        return _derivative_code(self._gradient, self._inputs)

    @functools.cached_property
    def _curvature_code(self) -> Callable[..., list[Any]]:
        count = len(self._inputs)

        def curvature(*given: Any) -> Any:
            inputs, directions = given[:count], given[count:]
            return jvp_of_call(self._gradient, inputs, {}, tuple(range(count)), directions, quiet=True)[1][1:]

        return _derivative_code(curvature, [*self._inputs, *[np.ones(np.shape(x))[()] for x in self._inputs]])

    @property
    def _inputs(self) -> list[Any]:
        return [value_of(v) for v in self.tape.inputs]

    def _gradient(self, *inputs: Any) -> list[Any]:
        of_result = lambda *inputs: _as_float(_with_results(self._result, as_traced(self.tape.play)(*inputs)))  # noqa: E731
        if any(map(np.iscomplexobj, inputs)):
            raise NotNativeError("the function that it calls reads complex numbers")
        value, pullback, _ = vjp_of_call(of_result, inputs, {}, tuple(range(len(inputs))), False, quiet=True)
        if np.ndim(value) or np.iscomplexobj(value):
            raise NotNativeError(f"the function that it calls returns a {type(value).__name__}, and no number")
        return [value, *pullback(1.0)]


def _derivative_code(f: Callable[..., Any], inputs: Sequence[Any]) -> Callable[..., list[Any]]:
    """Return the code of a derivative. Errors: NotNativeError."""
    try:
        with silent(), warnings.catch_warnings(action="ignore", category=NoPathWarning):
            _, made = trace(f, *inputs)
    except WengertError as error:
        raise NotNativeError(f"its derivative cannot be traced: {error}") from error
    made.delete(*made.find(np.shares_memory))  # the inputs lie in memory of their own
    return optimised(made).compile(f.__name__.strip("_"))


def _as_float(value: Any) -> Any:
    return value if is_inexact(value) else np.asarray(value, float)[()]


def _is_part_of(value: Any, form: Any) -> bool:
    """Whether a number or array has the form of a FormPart."""
    if type(form) is not FormPart or type(value) is not form.type:
        return False
    return type(value) is not np.ndarray or (value.dtype == form.dtype and value.shape == form.shape)


def _with_results(form: Any, parts: Sequence[Any]) -> Any:
    if type(form) is ComputedPart:
        return parts[form.position]
    if type(form) is Shared:
        return form.value.copy() if isinstance(form.value, np.ndarray) else form.value
    return with_parts(form, [_with_results(part, parts) for _, _, part in keyed_parts(form)])


class ComputedPart(NamedTuple):
    """A computed number or array in the result of a Branch: its position in the list of these."""

    position: int


class CalledFunction(Sealed):
    """A function among the arguments of a solver, and its code."""

    def __init__(self, f: Callable[..., Any], outer: dict[int, Any]) -> None:
        self.f: Any = f
        self._outer = outer
        self.branches, self.programs = list[Branch](), list[Program]()
        self._signature = _signature_of(f)

    def add_branch(self, args: Any, kwargs: Any) -> None:
        """Trace the function for arguments. Errors: NotNativeError."""
        if len(self.branches) == MOST_BRANCHES:
            raise NotNativeError(f"the function that it calls takes more than {MOST_BRANCHES} branches")
        result_without_effects(self.f, *args, **kwargs)
        parts: list[Any] = []
        form = split_parts((args, kwargs), parts)

        def of_parts(*parts: Any) -> Any:
            args, kwargs = join_parts(form, parts)
            return as_traced(self.f)(*args, **kwargs)

        try:
            program = marked_program(of_parts, [Shared(part) for part in parts], {}, State(self.f))
        except NotAloneError as error:
            raise NotNativeError(f"the function that it calls cannot be traced alone: {error}") from error
        reads: Any = getattr(active_recording(), "reads", None)
        if program.ran_unseen and (reads is None or reads.obstacle is not None):
            raise NotNativeError("the function that it calls calls a solver")
        for op, slot in program.outer_slots.items():
            self._outer.setdefault(slot, op)
        self.programs.append(program)
        self.branches.append(_branch(form, program, [*self._outer]))

    def forget_trace(self) -> None:
        """Drop what only the trace needs."""
        self.f = None
        self.programs = []

    def bound(self, outer: Sequence[Any], missed: list[Any], of_branch: Any = Branch.__call__) -> Any:
        """Return the function, or its gradient, for these values from outside.

        A call that no branch fits is appended to `missed`.
        """

        def call(*args: Any, **kwargs: Any) -> Any:
            for branch in self.branches:
                parts = branch.parts_of(args, kwargs)
                if parts is not None:
                    try:
                        return of_branch(branch, parts, outer)
                    except StaleTapeError:
                        pass
            missed.append((self, _own_copy((args, kwargs))))
            raise StaleTapeError("the function that a solver calls takes a new branch")

        if self._signature is not None:
            call.__signature__ = self._signature  # type: ignore[attr-defined]  # which some solvers read
        return call


@contextmanager
def known_outside(functions: Sequence[CalledFunction], outer: dict[int, Constant]) -> Iterator[list[Any]]:
    """Let the open trace know the values which the functions read from it; the value of the context is their list."""
    with ExitStack() as stack:
        for function in functions:
            for program in function.programs:
                stack.enter_context(as_outer_variables(program, active_recording()))
        yield [op.val for op in outer.values()]


def _signature_of(f: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(f)
    except (TypeError, ValueError):
        return None


def _own_copy(value: Any) -> Any:
    parts: list[Any] = []
    form = split_parts(value, parts)
    return join_parts(form, [part.copy("K") if isinstance(part, np.ndarray) else fresh(part) for part in parts])


def _branch(form: Any, program: Program, slots: list[int]) -> Branch:
    """Compile a program; `slots` are those of all values from outside."""
    outer = {slot: op.val.copy("K") if isinstance(op.val, np.ndarray) else fresh(op.val)
             for op, slot in program.outer_slots.items()}  # fmt: skip
    tape, result = with_outer_inputs(program, outer)
    computed: list[Any] = []

    def position(v: Any) -> ComputedPart:
        computed.append(v)
        return ComputedPart(len(computed) - 1)

    result = with_variables(result, position, Variable)
    tape.result = tape.push(mkcall(functional.make_list, *computed))
    return Branch(form, tape, [slots.index(slot) for slot in outer], result)
