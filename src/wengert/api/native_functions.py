"""Functions of arrays as native code, with their derivatives: a rule's kernels call them in compiled functions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.api.examples import State, program_of
from wengert.api.gradient import vjp_of_call
from wengert.api.tangents import jvp_of_call
from wengert.api.taping import trace
from wengert.batching.axes import Shared
from wengert.batching.example import Program, as_outer_variables
from wengert.compiling.native.callbacks import Callback
from wengert.compiling.native.values import UnsupportedOp
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.errors import NotNativeError, WengertError
from wengert.hooks.classes import as_traced
from wengert.hooks.solver_callbacks import unseen
from wengert.recording.recording import calling
from wengert.recording.session import active_recording
from wengert.tape.ops import Call, Input, mkcall
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.specs import fresh, is_inexact


class NativeFunction:
    """A function of numbers and arrays that returns a vector, as native code; its derivatives are made when needed.

    Its inputs are `count` arguments, and behind them what it reads from the traces around it. A Callback's x holds the
    arguments (for the pullback: the cotangent of the result, and these; for the pushforward: these, and their
    tangents), its parameters the others (for the pushforward: and their tangents).
    """

    def __init__(self, tape: Tape, count: int, given: list[Any]) -> None:
        self._tape, self.count, self._given = tape, count, given
        self.size: int = self._vector(*given).size
        self.outer_size: int = sum([np.size(value) for value in given[count:]])

    def _vector(self, *inputs: Any) -> Any:
        return _joined(as_traced(self._tape.play)(*inputs))

    @functools.cached_property
    def value(self) -> Callback:
        """The function."""
        return self._callback(self._vector, self._given, self.count)

    @functools.cached_property
    def pullback(self) -> Callback:
        """The function from a cotangent of the result to those of all inputs, one after the other."""

        def pull(bar: Any, *inputs: Any) -> Any:
            _, pullback, _ = vjp_of_call(self._vector, inputs, {}, tuple(range(len(inputs))), False, quiet=True)
            return _joined(pullback(bar))

        return self._callback(pull, [np.ones(self.size), *self._given], 1 + self.count)

    @functools.cached_property
    def pushforward(self) -> Callback:
        """The function from tangents of all inputs to that of the result."""
        n = self.count

        def push(*inputs: Any) -> Any:
            outer = inputs[2 * n :]
            middle = len(outer) // 2
            primals, dots = (*inputs[:n], *outer[:middle]), (*inputs[n : 2 * n], *outer[middle:])
            return jvp_of_call(self._vector, primals, {}, tuple(range(len(primals))), dots, quiet=True)[1]

        args, outer = self._given[:n], self._given[n:]
        return self._callback(push, [*args, *args, *outer, *outer], 2 * n)

    def _callback(self, f: Callable[..., Any], given: list[Any], count: int) -> Callback:
        try:
            _, tape = trace(f, *given)
            tape.delete(*tape.find(np.shares_memory))  # the inputs lie in memory of their own
            return Callback(tape.optimise(), count)
        except (UnsupportedOp, WengertError) as error:
            raise NotNativeError(f"native code does not support {error}") from None


def _joined(parts: Any) -> Any:
    """Return numbers and arrays as one vector."""
    call = calling(active_recording())
    return call(np.concatenate, [call(np.ravel, part if is_inexact(part) else np.asarray(part, float)) for part in parts])


class TracedFunction:
    """A NativeFunction, and the values that it reads in the trace that is open now."""

    def __init__(self, program: Program, native: NativeFunction) -> None:
        self.program, self.native = program, native

    def call(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return `f(*args, *outer, **kwargs)`, recorded as one call; `outer` are the values that the function reads."""
        watching = active_recording()
        with as_outer_variables(self.program, watching):
            outer = [op.val for op in self.program.outer_slots]
            return calling(watching)(f, *args, *outer, **kwargs)


def native_function(f: Callable[..., Any], *example: Any) -> TracedFunction:
    """Trace `f` on an example, and return it as native code.

    Errors: NotNativeError.
    """
    watching, before = active_recording(), State(f)
    effects = None if watching is None or watching.reads is None else watching.reads.effects.count
    as_traced(f)(*example)  # what it reads from outside becomes known to the trace
    if before.is_put_back() or (effects is not None and watching.reads.effects.count != effects):
        raise NotNativeError("the function that it calls changes something outside")
    program, _ = program_of(f, *example)
    if program is None:
        raise NotNativeError("the function that it calls cannot be traced alone")
    native = unseen(_native, program, len(example))
    return TracedFunction(program, native)


def _native(program: Program, count: int) -> NativeFunction:
    tape = program.tape
    given = [op.val for op in (*[op for op in tape if isinstance(op, Input)], *program.outer_slots)]
    for value in given:
        if type(value) not in (float, np.float64) and getattr(value, "dtype", None) != np.float64:
            raise NotNativeError(f"it reads a value of type {type(value).__name__}, which is not of floats")
    given = [value.copy() if isinstance(value, np.ndarray) else fresh(value) for value in given]
    return NativeFunction(_with_outer_inputs(program, given[count:]), count, given)


def _piecewise_linear(x: Any, xp: Any, fp: Any, *others: Any, **options: Any) -> Any:
    """Compute what `np.interp` does, as a sum over the parts of the table."""
    if any([option is not None for option in (*others, *options.values())]):
        raise NotNativeError("native code does not support np.interp with left=, right= or period=")
    call = calling(active_recording())
    rises, widths = call(np.diff, fp), call(np.diff, xp)
    beyond = call(np.subtract, call(np.expand_dims, x, -1), call(operator.getitem, xp, slice(-1)))
    parts = call(np.minimum, call(np.maximum, beyond, 0.0), widths)
    total = call(np.sum, call(np.multiply, parts, call(np.divide, rises, widths)), axis=-1)
    return call(np.add, call(operator.getitem, fp, 0), total)


def _with_outer_inputs(program: Program, outer: list[Any]) -> Tape:
    """Return the tape of a program with inputs for what it reads from outer traces; its result is a list of parts."""
    new = TapeRewriter(program.tape)
    for op in program.tape:
        if isinstance(op, Input):
            new.push(op)
    for constant, value in zip(program.outer_slots, outer, strict=True):
        new.table[constant] = new.new.push(Input(value))
    for op in program.tape:
        if not isinstance(op, Input) and op not in program.outer_slots and op is not program.tape.result.op:
            new.push(op)
            made = new.table[op].op
            if isinstance(made, Call) and made.fn is np.interp:
                made.fn = _piecewise_linear
    result = program.result
    parts = list(result) if isinstance(result, tuple | list) else [result]
    values = [part.value if isinstance(part, Shared) else new.value(part) for part in parts]
    new.new.result = new.new.push(mkcall(functional.make_list, *values))
    return new.new
