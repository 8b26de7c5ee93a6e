"""Functions of arrays as native code, with their derivatives: a rule's kernels call them in compiled functions."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from wengert.api.closed_programs import result_without_effects, with_outer_inputs
from wengert.api.examples import MOST_BRANCHES, NotAloneError, program_of
from wengert.api.gradient import vjp_of_call
from wengert.api.tangents import jvp_of_call
from wengert.api.taping import trace
from wengert.batching.axes import Shared
from wengert.batching.example import Program, as_outer_variables
from wengert.compiling.native.callbacks import Callback, kernel
from wengert.compiling.native.values import UnsupportedOp
from wengert.compiling.watched.outer_reads import not_native
from wengert.compiling.watched.refusals import refuse_native
from wengert.errors import NoPathWarning, NotNativeError
from wengert.hooks.classes import as_traced
from wengert.hooks.solver_callbacks import unseen
from wengert.recording.recording import calling, silent
from wengert.recording.session import active_recording
from wengert.tape.ops import Call, Constant, Input, mkcall
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.kernel_cache import has_compiler
from wengert.values.specs import fresh, is_inexact

__all__ = ["NativeFunction", "TracedFunction", "kernel", "native_function", "not_native", "refuse_native"]

MOST_FUNCTIONS = 16
"""The most functions with different code that are compiled for one trace."""


class NativeFunction:
    """A function of numbers and arrays that returns a vector, as native code; its derivatives are made when needed.

    Its inputs are `count` arguments, and behind them what it reads from the traces around it. A Callback's x holds the
    arguments (for the pullback: the cotangent of the result, and these; for the pushforward: these, and their
    tangents), its parameters the others (for the pushforward: and their tangents). Each of its branches is a tape.
    """

    def __init__(self, tapes: list[Tape], count: int) -> None:
        self._branches = [_Branch(tape, count) for tape in tapes]
        self._count, self._callbacks = count, dict[str, Callback]()
        self._with_tangent: NativeFunction | None = None
        self.size = self._branches[0].size
        if any([branch.size != self.size for branch in self._branches]):
            raise NotNativeError("the function that it calls returns as many numbers as its branch decides")
        outer = self._branches[0].given[count:]
        self.outer_size: int = sum([np.size(value) for value in outer])

    @property
    def value(self) -> Callback:
        """The function."""
        return self._made("vector", lambda given: given, self._count)

    @property
    def pullback(self) -> Callback:
        """The function from a cotangent of the result to those of all inputs, one after the other."""
        return self._made("pull", lambda given: [np.ones(self.size), *given], 1 + self._count)

    @property
    def pushforward(self) -> Callback:
        """The function from tangents of all inputs to that of the result."""
        n = self._count
        return self._made("push", lambda given: [*2 * given[:n], *2 * given[n:]], 2 * n)

    @property
    def with_tangent(self) -> NativeFunction:
        """The function with its tangent behind it, of arguments of which the last has its tangent behind it.

        Its other inputs are those of the function, and behind them their tangents; other arguments have none.
        """
        if self._with_tangent is None:
            tapes = [self._traced(each.push_both, each.with_tangents(*each.given)) for each in self._branches]
            self._with_tangent = NativeFunction(tapes, self._count)
        return self._with_tangent

    def _made(self, name: str, example: Callable[[list[Any]], list[Any]], count: int) -> Callback:
        """Return the native code of a method of the branches, which is made for an example when first needed."""
        if name not in self._callbacks:
            try:
                with silent():
                    tapes = [self._traced(getattr(branch, name), example(branch.given)) for branch in self._branches]
                    self._callbacks[name] = Callback(tapes, count)
            except UnsupportedOp as error:
                raise NotNativeError(f"native code does not support {error}") from None
            except Exception as error:
                raise NotNativeError(f"compiling it raised {type(error).__name__}: {error!s:.200}") from error
        return self._callbacks[name]

    def _traced(self, f: Callable[..., Any], given: list[Any]) -> Any:
        with warnings.catch_warnings(action="ignore", category=NoPathWarning):
            _, tape = trace(f, *given)
        tape.delete(*tape.find(np.shares_memory))  # the inputs lie in memory of their own
        return tape.optimise()


class _Branch:
    """The tape of a branch, whose result is a list of parts, as functions of its inputs; `given` is an example.

    Complex inputs are vectors of real and imaginary parts in pairs.
    """

    def __init__(self, tape: Tape, count: int) -> None:
        self._tape, self._count = tape, count
        self._inputs = [op.val for op in tape if isinstance(op, Input) and not op.callee]
        self.given = [_in_pairs(value) if np.iscomplexobj(value) else value for value in self._inputs]
        found = self.vector(*self.given)
        if np.iscomplexobj(found):
            raise NotNativeError("the function that it calls returns complex numbers")
        self.size: int = found.size

    def vector(self, *inputs: Any) -> Any:
        """Return the result."""
        pairs = zip(inputs, self._inputs, strict=True)
        given = [_in_complex(x, value) if np.iscomplexobj(value) else x for x, value in pairs]
        return _joined(as_traced(self._tape.play)(*given))

    def pull(self, bar: Any, *inputs: Any) -> Any:
        """Return the cotangents of the inputs."""
        _, pullback, _ = vjp_of_call(self.vector, inputs, {}, tuple(range(len(inputs))), False, quiet=True)
        return _joined(pullback(bar))

    def push(self, *inputs: Any) -> Any:
        """Return the tangent of the result, for arguments, their tangents, other inputs and their tangents."""
        n, outer = self._count, inputs[2 * self._count :]
        middle = len(outer) // 2
        primals, dots = (*inputs[:n], *outer[:middle]), (*inputs[n : 2 * n], *outer[middle:])
        return jvp_of_call(self.vector, primals, {}, tuple(range(len(primals))), dots, quiet=True)[1]

    def with_tangents(self, *inputs: Any) -> list[Any]:
        """Return an example of the inputs of `push_both`."""
        n = self._count
        return [*inputs[: n - 1], np.concatenate([inputs[n - 1]] * 2), *2 * inputs[n:]]

    def push_both(self, *inputs: Any) -> list[Any]:
        """Return the result and its tangent, as the function `with_tangent` does."""
        call, n = calling(active_recording()), self._count
        *args, both = inputs[:n]
        size = np.size(both) // 2
        last, dot = (call(operator.getitem, both, part) for part in (slice(size), slice(size, None)))
        outer, middle = inputs[n:], (len(inputs) - n) // 2
        primals, dots = (*args, last, *outer[:middle]), (*[0.0 * arg for arg in args], dot, *outer[middle:])
        return list(jvp_of_call(self.vector, primals, {}, tuple(range(len(primals))), dots, quiet=True)[:2])


def _joined(parts: Any) -> Any:
    """Return numbers and arrays as one vector."""
    call = calling(active_recording())
    parts = [part if is_inexact(part) else np.asarray(part, float) for part in parts]
    return call(np.concatenate, [call(np.ravel, part) for part in parts])


def _in_pairs(value: Any) -> Any:
    """Return complex numbers as a vector of their real and imaginary parts, in pairs."""
    call = calling(active_recording())
    return call(np.ravel, call(np.stack, [call(np.real, value), call(np.imag, value)], axis=-1))


def _in_complex(pairs: Any, like: Any) -> Any:
    """Return a vector of pairs as complex numbers, in the shape of others."""
    call = calling(active_recording())
    real, imaginary = (call(operator.getitem, pairs, slice(begin, None, 2)) for begin in (0, 1))
    found = call(np.add, real, call(np.multiply, imaginary, 1j))
    if isinstance(like, np.ndarray):
        return call(np.reshape, found, like.shape)
    number = call(operator.getitem, found, 0)
    return call(complex, number) if type(like) is complex else number


class TracedFunction:
    """A function as native code, the `shape` of its result, and what it reads in the trace that is open now."""

    def __init__(self, f: Callable[..., Any], programs: list[Program], shape: tuple[int, ...]) -> None:
        self._f, self._programs, self.shape = f, programs, shape
        self._outer = {slot: op for program in reversed(programs) for op, slot in program.outer_slots.items()}
        self.native: NativeFunction = unseen(_native, programs, self._outer)

    def with_branch(self, *example: Any) -> TracedFunction:
        """Return the function with one more branch, which it takes for this example. Errors: NotNativeError."""
        if len(self._programs) == MOST_BRANCHES:
            raise NotNativeError(f"the function that it calls takes more than {MOST_BRANCHES} branches")
        return TracedFunction(self._f, [*self._programs, _program(self._f, example)], self.shape)

    def call(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return `f(*args, *outer, **kwargs)`, recorded as one call; `outer` are the values that the function reads."""
        watching = active_recording()
        with ExitStack() as stack:
            for program in self._programs:
                stack.enter_context(as_outer_variables(program, watching))
            outer = [_in_pairs(op.val) if np.iscomplexobj(op.val) else op.val for op in self._outer.values()]
            return calling(watching)(f, *args, *outer, **kwargs)


def native_function(f: Callable[..., Any], *example: Any) -> TracedFunction:
    """Trace `f` on an example, and return it as native code, for kernels.

    Parameters:
        f (callable): A function of numbers and arrays that returns an array, a number, or a list or tuple of these.
        *example (float | array): Its arguments.
    Returns:
        TracedFunction: The function. Its attribute `native` has the Callbacks `value`, `pullback` and `pushforward`,
            and `with_tangent`, the same of the function with its tangent;
            `call(g, *args)` returns `g(*args, *outer)`, with the values that f reads from the trace around it.
    Raises:
        NotNativeError: Native code does not support f, or f changes something outside.
    See Also:
        kernel, compiled_by, on_examples

    Examples:
        >>> f = wg.extend.native_function(lambda t, y: t * y, 2.0, np.ones(3))
        >>> f.call(lambda *args: len(args), 1.0)
        1
    """
    watching = active_recording()
    reads: Any = None if watching is None else watching.reads
    if reads is not None and not (has_compiler() and reads.may_be_native):
        raise NotNativeError("it needs native code, by numba")
    shape = np.shape(result_without_effects(f, *example))
    made = TracedFunction(f, [_program(f, example)], shape)
    if watching is not None:
        known = watching.caches.setdefault(native_function, {})
        known[made.native.value.source("f")] = made.native
        if len(known) > MOST_FUNCTIONS:
            raise NotNativeError(f"there are more than {MOST_FUNCTIONS} functions to compile")
    return made


def _program(f: Callable[..., Any], example: Sequence[Any]) -> Program:
    try:
        return program_of(f, *example)[0]
    except NotAloneError as error:
        raise NotNativeError(f"the function that it calls cannot be traced alone: {error}") from error


def _native(programs: list[Program], outer: dict[int, Constant]) -> NativeFunction:
    """Return the native code of programs, whose tapes get an input for each of the values from outside."""
    for op in [*[op for op in programs[0].tape if isinstance(op, Input)], *outer.values()]:
        if type(op.val) not in (float, complex) and getattr(op.val, "dtype", None) not in (np.float64, np.complex128):
            raise NotNativeError(
                f"the function that it calls reads a {type(op.val).__name__} of other numbers than floats"
            )
    values = {slot: op.val.copy() if isinstance(op.val, np.ndarray) else fresh(op.val) for slot, op in outer.items()}
    tapes = [_with_list(*with_outer_inputs(program, values)) for program in programs]
    return NativeFunction(tapes, len(programs[0].sources))


def _with_list(tape: Tape, result: Any) -> Tape:
    """Return a tape whose result is the list of the parts of a result, for native code."""
    parts = list(result) if isinstance(result, tuple | list) else [result]
    values = [part.value if isinstance(part, Shared) else part for part in parts]
    tape.result = tape.push(mkcall(functional.make_list, *values))
    for op in tape:
        if isinstance(op, Call) and op.fn is np.interp:
            op.fn = _piecewise_linear
    return tape


def _piecewise_linear(x: Any, xp: Any, fp: Any, *others: Any, **options: Any) -> Any:
    """Compute what `np.interp` does, as a sum over the parts of the table."""
    if any([option is not None for option in (*others, *options.values())]):
        raise NotNativeError("native code does not support np.interp with left=, right= or period=")
    call = calling(active_recording())
    xp, fp = (part if isinstance(part, np.ndarray) else np.asarray(part, float) for part in (xp, fp))
    (starts, ends), (before, after) = (
        [call(operator.getitem, part, some) for some in (slice(-1), slice(1, None))] for part in (xp, fp)
    )
    widths, rises = call(np.subtract, ends, starts), call(np.subtract, after, before)
    beyond = call(np.subtract, call(np.expand_dims, x, -1), starts)
    parts = call(np.minimum, call(np.maximum, beyond, 0.0), widths)
    total = call(np.sum, call(np.multiply, parts, call(np.divide, rises, widths)), axis=-1)
    return call(np.add, call(operator.getitem, fp, 0), total)
