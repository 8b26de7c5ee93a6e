"""The generated code of derivatives of programs, kept for later programs with the same calls.

A solver traces its function again in each call, and interprets the program on thousands of examples. The code runs on
blocks of examples that fit into the processor's cache; all blocks have the same size, so that one code serves them.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.api.taping import trace
from wengert.batching.axes import Shared
from wengert.batching.example import Program, frozen_program
from wengert.batching.play import DiffersError
from wengert.errors import WengertError
from wengert.rulebook.registry import rules
from wengert.tape.ops import Call, Constant, Variable, references, with_variables
from wengert.values.numeric_trees import bits
from wengert.values.specs import is_inexact

BLOCK = 1 << 15
"""About the most numbers in the tangents of a block."""
FEWEST = 16
"""The fewest examples of a block."""
MOST = 8
"""The most programs whose code is kept."""

Pushed = Callable[[Program, Sequence[np.ndarray], np.ndarray], np.ndarray]
"""A function from a program, batches and tangents of the last batch to the tangents of the results."""
Kept = Callable[[np.ndarray], np.ndarray]
"""A function from tangents, (directions, examples, n), to what is kept of them, with the examples in front."""


class ProgramCode:
    """The code of programs with equal calls, and of their derivatives; it is generated for the second of these.

    The first is interpreted on the same blocks, so its results have the same bits.
    """

    def __init__(self, key: Any, program: Program) -> None:
        self._key, self._rules, self.is_new = key, rules.version, True
        arrays = {op.id: _arrays_of(op) for op in program.tape}
        self._holders = [place for place, found in arrays.items() if any(map(is_inexact, found))]
        self._holds_integers = not all([is_inexact(array) for found in arrays.values() for array in found])
        self._codes: dict[Any, Callable[..., Any]] = {}
        self.pattern: Any = None  # of their Jacobians, if the calls determine it

    def constants_of(self, program: Program) -> list[Any]:
        """Return the constants of a program that are inputs of the code: those of floats, in order."""
        return [array for place in self._holders for array in _arrays_of(program.tape[place]) if is_inexact(array)]

    def frozen(self, program: Program) -> Program:
        """Return a program for the integers that it reads now; the constants of floats are inputs of the code."""
        return frozen_program(program) if self._holds_integers else program._replace(outer_slots={})

    def fits(self, key: Any) -> bool:
        """Whether this is the code of programs with this key."""
        return self._rules == rules.version and self._key == key

    def run(self, f: Callable[..., Any], kind: Any, args: Sequence[Any]) -> Any:
        """Return `f(*args)` by code for all arguments of these shapes; the `kind` tells the functions apart.

        Errors: WengertError, DiffersError.
        """
        return f(*args) if self.is_new else self.generated(f, kind, args)(*args)

    def generated(self, f: Callable[..., Any], kind: Any, args: Sequence[Any]) -> Callable[..., Any]:
        """Return the code of `f` for arguments of these shapes. Errors: as `run`."""
        form = kind, _shapes(args)
        if form not in self._codes:
            _, tape = trace(f, *args)
            self._codes[form] = tape.optimise(exact=True).compile()
        return self._codes[form]

    def pushed(
        self, push: Pushed, program: Program, batches: Sequence[np.ndarray], directions: np.ndarray, keep: Kept
    ) -> np.ndarray | None:
        """Push directions of the last batch's examples, and `keep` a part; None if there is no code for these."""
        if not len(batches[0]):
            return None
        count, (size, n) = len(directions), batches[-1].shape
        block = block_size(count * n, size)
        constants, found = self.constants_of(program), np.empty(0)

        def push_block(constants: Sequence[Any], *batches: np.ndarray) -> Any:
            with with_constants(program, constants):
                return push(program, batches, np.repeat(directions[:, None, :], block, axis=1))

        kind = "slopes", directions.tobytes()  # constants of the code: what it computes from them alone, it does once

        try:
            for start in range(0, size, block):
                some = [filled(batch[start : start + block], block) for batch in batches]
                made = np.reshape(self.run(push_block, kind, (constants, *some)), (count, block, n))
                kept = keep(made[:, : size - start])
                if not start:
                    found = np.empty((size, *kept.shape[1:]))
                found[start : start + block] = kept
        except (WengertError, DiffersError):
            return None
        return found if np.all(np.isfinite(found)) else None


def _shapes(args: Any) -> Any:
    """Return the shapes of arguments, also in tuples and lists."""
    return tuple([_shapes(arg) if isinstance(arg, tuple | list) else np.shape(arg) for arg in args])


_codes: list[ProgramCode] = []
"""The last codes, the latest first."""


def code_for(program: Program) -> ProgramCode | None:
    """Return the code for a program and others with its calls; None if it has arguments that cannot be compared."""
    try:
        key = _program_key(program)
    except _IncomparableError:
        return None
    for code in [*_codes]:
        if code.fits(key):
            code.is_new = False
            return code
    made = ProgramCode(key, program)
    _codes.insert(0, made)
    del _codes[MOST:]
    return made


def block_size(numbers: int, size: int) -> int:
    """Return the number of examples in a block, with so many numbers for each.

    Blocks hold up to a quarter more than the examples, so that a few sizes, each with its code, serve all calls.
    """
    count = -(-size // max(BLOCK // max(numbers, 1), FEWEST))
    needed = max(-(-size // count), FEWEST)
    unit = 1 << needed.bit_length() - 3
    return -(-needed // unit) * unit


def filled(batch: np.ndarray, size: int, axis: int = 0) -> np.ndarray:
    """Return a batch of this size, whose examples lie along `axis`: the last example is repeated."""
    if (missing := size - batch.shape[axis]) == 0:
        return batch
    return np.concatenate([batch, np.repeat(np.take(batch, [-1], axis), missing, axis)], axis)


class _IncomparableError(Exception):
    """An argument in a program that may differ although it compares equal."""


def _program_key(program: Program) -> Any:
    """Return a key that programs share if and only if they compute the same from their inputs and constants."""
    sources = [(np.shape(source.value)[1:], source.is_batch) for source in program.sources]
    return sources, [_op_key(op) for op in program.tape], _argument_key(program.result)


def _op_key(op: Any) -> Any:
    is_fixed = op.guard if isinstance(op, Call) else isinstance(op, Constant) and not is_inexact(op.val)
    form = _argument_key(op.val) if is_fixed else _form(op.val)
    if not isinstance(op, Call):
        return type(op), form
    if isinstance(op.fn, Variable | types.MethodType):
        raise _IncomparableError
    return op.fn, form, op.guard, _argument_key(op.args), _argument_key(op.kwargs)


def _form(value: Any) -> Any:
    return (value.shape, value.dtype, value.strides) if isinstance(value, np.ndarray) else type(value)


def _argument_key(arg: Any) -> Any:
    """Return the key of an argument; arrays of floats, which are inputs of the code, share it if their shapes agree."""
    if isinstance(arg, Variable):
        return Variable, arg.id
    if isinstance(arg, Shared) and is_inexact(arg.value):  # a part of the result, which is no input
        return Shared, _form(arg.value), bits(arg.value)
    if isinstance(arg, tuple | list):
        return type(arg), [_argument_key(part) for part in arg]
    if isinstance(arg, dict):
        return {key: _argument_key(part) for key, part in arg.items()}
    if isinstance(arg, slice):
        return slice, _argument_key((arg.start, arg.stop, arg.step))
    if type(arg) is np.ndarray and not arg.dtype.hasobject:
        return _form(arg), None if is_inexact(arg) else bits(arg)
    if isinstance(arg, np.generic | float | complex):
        return type(arg), bits(arg)
    if isinstance(arg, int | str | bytes | type | np.dtype | types.EllipsisType | None):
        return type(arg), arg
    raise _IncomparableError


def _arrays_of(op: Any) -> list[Any]:
    """Return the arrays, and the float, that an op of a program holds as constants."""
    if isinstance(op, Constant):
        return [op.val] if isinstance(op.val, np.ndarray) or is_inexact(op.val) else []
    return [*references((op.args, op.kwargs), np.ndarray)] if isinstance(op, Call) else []


class with_constants:
    """A context in which a program has other constants."""

    def __init__(self, program: Program, constants: Sequence[Any]) -> None:
        self._ops, self._given = list(program.tape), iter(constants)
        self._kept: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> None:
        for op in self._ops:
            if isinstance(op, Constant) and is_inexact(op.val):
                self._set(op, "val", next(self._given))
            elif isinstance(op, Call):
                self._set(op, "args", with_variables(op.args, self._other, np.ndarray))
                self._set(op, "kwargs", with_variables(op.kwargs, self._other, np.ndarray))

    def _other(self, array: np.ndarray) -> Any:
        """Return the next constant for an array of floats, and a copy of another array, into which users may write."""
        return next(self._given) if is_inexact(array) else array.copy()

    def _set(self, op: Any, name: str, value: Any) -> None:
        self._kept.append((op, name, getattr(op, name)))
        setattr(op, name, value)

    def __exit__(self, *_: object) -> None:
        for op, name, value in self._kept:
            setattr(op, name, value)
