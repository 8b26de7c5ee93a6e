"""A traced function at many points, with other values at each for what it reads from the trace around it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.api.closed_programs import with_outer_inputs
from wengert.api.example_code import block_size, code_for, filled, with_constants
from wengert.api.gradient import vjp_of_call
from wengert.api.tangents import jvp_of_call
from wengert.batching.axes import Shared, as_batch
from wengert.batching.example import Program, ProgramInput, as_outer_variables
from wengert.batching.play import DiffersError, play_batched
from wengert.errors import NoBatchingRuleWarning, NoPathWarning, NotNativeError, WengertError
from wengert.recording.recording import calling
from wengert.recording.session import active_recording
from wengert.tape.ops import mkcall
from wengert.values import functional
from wengert.values.sealed import Sealed


class RowFunction(Sealed):
    """A function of arrays that returns a vector, and its first derivatives, at many points.

    Its inputs are `count` arguments, each an array with a row for each point, and behind them the values that the
    function reads from the trace around it, each with a row for each point or a single one for all.
    Errors: NotNativeError if it cannot compute all points by the same code, as where they take different branches.
    """

    def __init__(self, program: Program) -> None:
        self._read, self._count = program, len(program.sources)
        examples = {slot: np.array(op.val) for op, slot in program.outer_slots.items()}
        if program.ran_unseen:
            raise NotNativeError("the function calls a solver")
        if any([value.dtype != float for value in examples.values()]):
            raise NotNativeError("the function reads other numbers than floats")
        tape, result = with_outer_inputs(program, examples)
        parts = result if isinstance(result, tuple | list) else [result]
        values = [part.value if isinstance(part, Shared) else part for part in parts]
        tape.result = tape.push(mkcall(functional.make_list, *values))
        self._shapes = [value.shape for value in examples.values()]
        self.outer_size = sum([value.size for value in examples.values()])
        sources = [*program.sources, *[ProgramInput(value[None], True) for value in examples.values()]]
        self._program = Program(tape, sources, result, {})
        code = code_for(self._program)
        if code is None:
            raise NotNativeError("the function holds objects that cannot be compared")
        self._code, self._constants = code, [np.copy(value) for value in code.constants_of(self._program)]
        self._made: dict[Any, Callable[..., Any]] = {}

    def passed_to(self, primitive: Callable[..., Any], *args: Any, **static: Any) -> Any:
        """Call a primitive with arguments, and behind them the values that the function reads now."""
        watching = active_recording()
        with as_outer_variables(self._read, watching):
            outer = [op.val for op in self._read.outer_slots]
            return calling(watching)(primitive, *args, *outer, **static)

    def values(self, *inputs: np.ndarray) -> np.ndarray:
        """Return the results, a row for each point."""
        return self._in_blocks("values", self._played, inputs, 1)

    def jacobians(self, *inputs: np.ndarray) -> np.ndarray:
        """Return the matrices of derivatives by the last argument, one for each point."""
        n = inputs[self._count - 1].shape[1]

        def rows(has_rows: Sequence[bool], *inputs: Any) -> Any:
            dots = np.repeat(np.eye(n)[:, None], len(inputs[0]), axis=1)
            made = self._pushed((self._count - 1,), (dots,), has_rows, inputs)
            return calling(active_recording())(np.moveaxis, made, 0, -1)

        return self._in_blocks("jacobians", rows, inputs, n)

    def pulled(self, bars: np.ndarray, *inputs: np.ndarray) -> np.ndarray:
        """Return the cotangents of the values that the function reads, a row for each point, for those of results."""
        if not self._shapes:
            return np.zeros((len(bars), 0))
        places = tuple(range(self._count, self._count + len(self._shapes)))

        def rows(has_rows: Sequence[bool], *given: Any) -> Any:
            call, (*inputs, bars) = calling(active_recording()), given
            with warnings.catch_warnings(action="ignore", category=NoPathWarning):
                pull = vjp_of_call(
                    lambda *args: self._played(has_rows, *args), tuple(inputs), {}, places, False, quiet=True
                )[1]
            return call(np.concatenate, [call(np.reshape, bar, (len(bars), -1)) for bar in pull(bars)], 1)

        every = [filled(part, len(bars)) if len(part) < len(bars) else part for part in inputs]
        return self._in_blocks("pulled", rows, every, 1, bars)

    def pushed(self, dots: np.ndarray, *inputs: np.ndarray) -> np.ndarray:
        """Return the tangents of the results, (points, directions, n), for those of the values that it reads."""
        count, places = dots.shape[1], tuple(range(self._count, self._count + len(self._shapes)))
        if not places:
            return np.zeros((len(dots), count, inputs[self._count - 1].shape[1]))

        def rows(has_rows: Sequence[bool], *given: Any) -> Any:
            call, (inputs, parts) = calling(active_recording()), (given[: len(every)], given[len(every) :])
            in_front = tuple([call(np.swapaxes, part, 0, 1) for part in parts])
            return call(np.swapaxes, self._pushed(places, in_front, has_rows, inputs), 0, 1)

        every = [filled(part, len(dots)) if len(part) < len(dots) else part for part in inputs]
        split = np.split(dots, np.cumsum([int(np.prod(shape)) for shape in self._shapes])[:-1], axis=2)
        parts = [part.reshape(*dots.shape[:2], *shape) for part, shape in zip(split, self._shapes, strict=True)]
        return self._in_blocks(("pushed", count), rows, every, count, *parts)

    def _pushed(self, places: Any, dots: Any, has_rows: Sequence[bool], inputs: Sequence[Any]) -> Any:
        """Return the tangents of the results, with directions in front."""
        with warnings.catch_warnings(action="ignore", category=NoPathWarning):
            return jvp_of_call(
                lambda *args: self._played(has_rows, *args),
                tuple(inputs),
                {},
                places,
                dots,
                size=len(dots[0]),
                quiet=True,
            )[1]

    def _played(self, has_rows: Sequence[bool], *inputs: Any) -> Any:
        """Interpret the program. Errors: DiffersError."""
        call, size = calling(active_recording()), len(inputs[0])
        sources = [ProgramInput(*pair) for pair in zip(inputs, has_rows, strict=True)]
        with warnings.catch_warnings(action="ignore", category=NoBatchingRuleWarning):
            found = play_batched(self._program._replace(sources=sources), size, call)
        return call(np.reshape, as_batch(found, size, call), (size, -1))

    def _in_blocks(
        self, kind: Any, f: Callable[..., Any], inputs: Sequence[np.ndarray], directions: int, *others: np.ndarray
    ) -> np.ndarray:
        """Return `f(has_rows, *inputs, *others)` by code, which is generated once for blocks of equal size."""
        size = len(inputs[0])
        has_rows = [k < self._count or len(part) > 1 for k, part in enumerate(inputs)]
        shaped = [part if k < self._count else part.reshape(len(part), *self._shapes[k - self._count])
                  for k, part in enumerate(inputs)]  # fmt: skip
        every = [*[part if rows else part[0] for part, rows in zip(shaped, has_rows, strict=True)], *others]
        sliced = [*has_rows, *[True] * len(others)]
        block = block_size(directions * (inputs[self._count - 1].shape[1] + self.outer_size), size)
        if size <= block:
            return self._run(kind, f, has_rows, every)
        blocks = []
        for start in range(0, size, block):
            some = [filled(part[start : start + block], block) if rows else part
                    for part, rows in zip(every, sliced, strict=True)]  # fmt: skip
            blocks.append(self._run(kind, f, has_rows, some))
        return np.concatenate(blocks)[:size]

    def _run(self, kind: Any, f: Callable[..., Any], has_rows: Sequence[bool], args: Sequence[Any]) -> np.ndarray:
        def with_them(constants: Sequence[Any], *args: Any) -> Any:
            with with_constants(self._program, constants):
                return f(has_rows, *args)

        key = kind, len(args[0]), tuple(has_rows)
        try:
            if key not in self._made:
                form = "rows", kind, key[2]
                self._made[key] = self._code.generated(with_them, form, (self._constants, *args))
            found: np.ndarray = self._made[key](self._constants, *args)
            if kind == "values" or np.isfinite(found).all():
                return found
        except (WengertError, DiffersError) as error:
            if kind == "values":
                raise NotNativeError(str(error)) from None
        try:  # without code, or for products of zero and infinity
            return with_them(self._constants, *args)
        except DiffersError as error:
            raise NotNativeError(str(error)) from None
