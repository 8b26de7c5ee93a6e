"""A function traced once, on one example, and then called on batches of examples, for solvers that call it often."""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from wengert.api.batch_calls import BatchCall, called_by_code
from wengert.api.example_code import Kept, ProgramCode, code_for
from wengert.api.example_products import JacobianProducts, PointProducts
from wengert.api.row_functions import RowFunction
from wengert.api.tangents import jvp_of_call
from wengert.batching.axes import Examples, as_batch
from wengert.batching.example import Program, ProgramInput, as_outer_variables, trace_program
from wengert.batching.play import DiffersError, play_batched
from wengert.errors import NoBatchingRuleWarning, NoPathWarning, WengertError
from wengert.hooks.reachable_state import State
from wengert.hooks.solver_callbacks import is_traced, order, unseen
from wengert.recording.recording import Recording, calling
from wengert.recording.session import active_recording
from wengert.sparse.colouring import greedy
from wengert.sparse.csr import Csr
from wengert.sparse.pattern import SparsityPattern
from wengert.sparse.recovery import seed_vectors
from wengert.tape.ops import Input
from wengert.tape.tape import Tape
from wengert.values.callables import callable_name
from wengert.values.frames import warn
from wengert.values.sealed import Sealed

LARGEST_CHUNK = 1 << 20
"""The most numbers of a tangent that are pushed at once."""


_patterns: list[SparsityPattern] = []
"""The last patterns, for tapes with the same calls."""
MOST_PATTERNS = 8
MOST_BRANCHES = 16
"""The most groups of examples that take the same branches."""


class OnExamples(Sealed):
    """A function of arrays, traced on one example, which computes a batch of examples at once.

    If examples take different branches, the function is traced for each of these, and computes the examples of each.
    """

    def __init__(self, f: Callable[..., Any], program: Program, outer: Recording | None, state: State) -> None:
        self._f, self._program, self._outer, self._state = f, program, outer, state
        self._code = code_for(program)
        self._groups: list[tuple[Program, np.ndarray]] | None = None

    def __call__(self, *batches: np.ndarray) -> Any:
        """Return the results for all examples, along the first axis. None if they cannot be computed together."""
        try:
            if self._groups is None:
                found = self._by_code(batches)
                return self._played(self._program, batches) if found is None else found
        except DiffersError as error:
            if active_recording() is not self._outer:  # in an unseen call, whose traces would lose outer variables
                return None
            differs = error
        call = calling(active_recording())
        try:
            if self._groups is None:
                self._groups = self._groups_of(batches, differs)
            parts = [self._played(program, [call(operator.getitem, b, rows) for b in batches])
                     for program, rows in self._groups]  # fmt: skip
        except DiffersError as error:
            calls_solver = "it calls a solver, which takes its own steps in each"
            warn_of_single_calls(self._f, calls_solver if self._program.ran_unseen else str(error))
            return None
        order = np.argsort(np.concatenate([rows for _, rows in self._groups]))
        return call(operator.getitem, call(np.concatenate, parts), order)

    def _by_code(self, batches: Sequence[np.ndarray]) -> Any:
        """Return the results by generated code, as constants or for a first derivative; None if there is none."""
        watching, code = active_recording(), self._code
        serves = watching is None or (watching is self._outer and order() == 1)
        if code is None or not serves or not len(batches[0]):
            return None
        program = self._program if watching is None else code.frozen(self._program)
        batch_call = BatchCall(code, program, len(batches), played)
        with as_outer_variables(self._program, watching):
            args = [*batches, *code.constants_of(self._program)]
            is_asked = watching is None or is_traced(args)
            return called_by_code(calling(watching), batch_call, args) if is_asked else None

    def products(self) -> PointProducts | None:
        """Return the products with the function's Jacobians by its arguments and what it reads; None without code."""
        if self._code is None:
            return None
        program = self._code.frozen(self._program)
        return PointProducts(BatchCall(self._code, program, len(program.sources), played_flat))

    def of_rows(self) -> RowFunction:
        """Return the function for points that read other values from outside. Errors: NotNativeError."""
        return RowFunction(self._program)

    def passed_to(self, primitive: Callable[..., Any], *args: Any, products: PointProducts, **static: Any) -> Any:
        """Call a primitive with arguments, the constants that the function reads, and its `products`."""
        watching, code = active_recording(), self._code
        assert code is not None  # since it has products
        with as_outer_variables(self._program, watching):
            constants = code.constants_of(self._program)
            return calling(watching)(primitive, *args, *constants, products=products, **static)

    def is_put_back(self) -> bool:
        """Put back what the function has changed outside since its trace; return whether it had changed anything."""
        return self._state.is_put_back()

    def _played(self, program: Program, batches: Sequence[np.ndarray]) -> Any:
        """Return the results of a program that may read variables of the outer trace. Errors: DiffersError."""
        watching = active_recording()
        with nullcontext() if watching is not self._outer else as_outer_variables(program, watching):
            return played(program, batches)

    def _groups_of(self, batches: Sequence[np.ndarray], differs: DiffersError) -> list[tuple[Program, np.ndarray]]:
        """Return a program for each group of examples that take the same branches.

        Errors: DiffersError if there is none for some; `differs` is that of the first program.
        """
        groups: list[tuple[Program, np.ndarray]] = []
        program, left = self._program, np.arange(len(batches[0]))
        while True:
            rows = self._agreeing(program, batches, left)
            if not rows.size:
                raise differs
            groups.append((program, rows))
            left = np.setdiff1d(left, rows)
            if not left.size:
                return groups
            if len(groups) == MOST_BRANCHES:
                raise DiffersError(f"there are more than {MOST_BRANCHES} ways through its branches", None)
            try:
                program = marked_program(self._f, [Examples(b[left]) for b in batches], {}, State(self._f))
            except NotAloneError as error:
                raise DiffersError(str(error), None) from error

    def _agreeing(self, program: Program, batches: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
        """Return those of some examples that run as the program does."""
        while rows.size:
            try:
                unseen(self._played, program, [batch[rows] for batch in batches])
                return rows
            except DiffersError as error:
                rows = rows[:0] if error.agree is None else rows[error.agree]
        return rows

    def slopes(self, *batches: np.ndarray) -> np.ndarray:
        """Return the Jacobians of the vectors of results by the vectors in the last batch, one for each example."""
        n = batches[-1].shape[1]
        return self._pushed(batches, np.eye(n), lambda made: np.moveaxis(made, 0, -1))

    def sparse_slopes(self, *batches: np.ndarray) -> tuple[Csr, np.ndarray] | None:
        """Return the common pattern of these Jacobians, and their entries, a row for each example.

        None if they have about as many entries as dense ones, or if their pattern is not known.
        """
        n = batches[-1].shape[1]
        coloured = self._pattern(n)
        if coloured is None:
            return None
        pattern, colours = coloured
        if 2 * int(colours.max(initial=-1) + 1) > n:
            return None
        rows, of_entries = pattern.rows, colours[pattern.indices]
        seeds = np.array([*seed_vectors(colours)]).reshape(-1, n)
        return pattern, self._pushed(batches, seeds, lambda made: made[of_entries, :, rows].T)

    def jacobian_products(self, *batches: np.ndarray) -> JacobianProducts | None:
        """Return the products with these Jacobians, for what the function reads now; None if there is no code."""
        groups = [(self._program, np.arange(len(batches[0])))] if self._groups is None else self._groups
        group_of, calls = np.empty(len(batches[0]), int), []
        for group, (program, rows) in enumerate(groups):
            code, group_of[rows] = code_for(program), group
            if code is None:
                return None
            calls.append(BatchCall(code, code.frozen(program), len(batches), played_flat))
        try:
            return JacobianProducts(calls, group_of, batches)
        except (WengertError, DiffersError):
            return None

    def _pattern(self, n: int) -> tuple[Csr, np.ndarray] | None:
        """Return the pattern of all Jacobians, and colours of its columns.

        None if it may differ between the examples of a program.
        """
        programs = [self._program] if self._groups is None else [program for program, _ in self._groups]
        keys = []
        for program in programs:
            pattern = _pattern_of(program.tape, self._code if program is self._program else None)
            if pattern.csr.shape != (n, n) or not pattern.holds_for_examples:
                return None
            if len(programs) == 1:
                return pattern.csr, pattern.colours
            keys.append(pattern.csr.rows * n + pattern.csr.indices)
        rows, columns = np.divmod(np.unique(np.concatenate(keys)), n)
        merged = Csr(np.searchsorted(rows, np.arange(n + 1)), columns, n)
        return merged, greedy(*merged.transposed())

    def _pushed(self, batches: Sequence[np.ndarray], directions: np.ndarray, keep: Kept) -> np.ndarray:
        """Push directions of the last batch's examples, the same for all, and `keep` a part, with examples in front."""
        if self._groups is None:
            return self._pushed_by_program(self._program, batches, directions, keep)
        order = np.argsort(np.concatenate([rows for _, rows in self._groups]))
        parts = [self._pushed_by_program(program, [batch[rows] for batch in batches], directions, keep)
                 for program, rows in self._groups]  # fmt: skip
        return np.concatenate(parts)[order]

    def _pushed_by_program(
        self, program: Program, batches: Sequence[np.ndarray], directions: np.ndarray, keep: Kept
    ) -> np.ndarray:
        """Push directions through a program: by its code, or interpreted on a few examples at a time."""
        code = self._code if program is self._program else code_for(program)
        made = None if code is None else code.pushed(self._push, program, batches, directions, keep)
        if made is not None:
            return made
        count, (size, n), kept = len(directions), batches[-1].shape, []
        for some in np.array_split(np.arange(size), min(-(-size * count * n // LARGEST_CHUNK), size)):
            tangent = np.repeat(directions[:, None, :], some.size, axis=1)
            kept.append(keep(self._push(program, [batch[some] for batch in batches], tangent)))
        return np.concatenate(kept)

    def _push(self, program: Program, batches: Sequence[np.ndarray], tangent: np.ndarray) -> Any:
        """Return the tangents of a program's results for tangents of the last batch. Errors: DiffersError."""
        *others, last = batches
        with warnings.catch_warnings(action="ignore", category=NoPathWarning):
            _, dots, _ = jvp_of_call(
                lambda y: self._played(program, [*others, y]), (last,), {}, (0,), (tangent,), size=len(tangent),
                quiet=True,
            )  # fmt: skip
        return calling(active_recording())(np.reshape, dots, tangent.shape)


def played(program: Program, batches: Sequence[np.ndarray]) -> Any:
    """Return the results of a program for batches of examples. Errors: DiffersError."""
    size, call = len(batches[0]), calling(active_recording())
    program = program._replace(sources=[ProgramInput(batch, True) for batch in batches])
    try:
        with warnings.catch_warnings(action="ignore", category=NoBatchingRuleWarning):
            return as_batch(play_batched(program, size, call), size, call)
    except (TypeError, ValueError) as error:
        if isinstance(error, WengertError):
            raise
        raise DiffersError(str(error), None) from None  # a shape or dtype is another one for some examples


def played_flat(program: Program, batches: Sequence[np.ndarray]) -> Any:
    """Return the results of a program in the shape of the last batch. Errors: DiffersError."""
    return calling(active_recording())(np.reshape, played(program, batches), batches[-1].shape)


def _pattern_of(tape: Tape, code: ProgramCode | None) -> SparsityPattern:
    """Return the pattern of a tape's derivative by its last input; it may be kept with the code of the tape's calls."""
    if code is None:
        return _known_pattern(tape)
    if code.pattern is None:
        pattern = _known_pattern(tape)
        code.pattern = None if pattern.reads_floats else pattern
        return pattern
    return code.pattern


def _known_pattern(tape: Tape) -> SparsityPattern:
    for pattern in [*_patterns]:
        if pattern.fits(tape):
            return pattern
    inputs = [op.id for op in tape if isinstance(op, Input) and not op.callee]
    made = SparsityPattern(tape, inputs[-1:])
    _patterns.insert(0, made)
    del _patterns[MOST_PATTERNS:]
    return made


def on_examples(f: Callable[..., Any], *example: Any) -> OnExamples | None:
    """Trace `f` on an example, for calls on batches of examples.

    Parameters:
        f (callable): A function of arrays that returns an array, a number, or a list or tuple of these.
        *example (float | array): Its arguments.
    Returns:
        callable | None: A function of batches, arrays with the examples along the first axis. It may read traced
            values as f does. It returns an array of the results, or None if they cannot be computed together. None
            instead of the function if f fails on the example, or changes something outside: then nothing is left
            changed.
    See Also:
        unseen

    Examples:
        >>> squares = wg.extend.on_examples(lambda x: x * x, np.ones(2))
        >>> squares(np.array([[1.0, 2.0], [3.0, 4.0]]))
        array([[ 1.,  4.],
               [ 9., 16.]])
    """
    try:
        program, state = program_of(f, *example)
    except NotAloneError:
        before = State(f)
        try:
            program, state = _program_of_second_call(f, *example)
        except NotAloneError as error:
            before.is_put_back()
            warn_of_single_calls(f, str(error))
            return None
    return OnExamples(f, program, active_recording(), state)


class NotAloneError(Exception):
    """A function cannot be traced alone, apart from the code that calls it."""


def program_of(f: Callable[..., Any], *example: Any) -> tuple[Program, State]:
    """Trace the program of a function on an example; return it with the state before. Errors: NotAloneError."""
    state = State(f)
    return marked_program(f, [Examples(np.array([part], float)) for part in example], {}, state), state


def _program_of_second_call(f: Callable[..., Any], *example: Any) -> tuple[Program, State]:
    """Trace the program of a function that keeps what its first call computes: that call is traced like the user's.

    Errors: NotAloneError.
    """
    call = calling(active_recording())
    try:
        call(f, *[call(np.copy, part) if isinstance(part, np.ndarray) else part for part in example])
    except Exception as error:
        raise _not_alone(error) from error
    return program_of(f, *example)


def marked_program(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], state: State) -> Program:
    """Trace a function on arguments with marks. Errors: NotAloneError if it fails, or changes its state."""
    outer = active_recording()
    try:
        program = trace_program(f, tuple(args), kwargs, outer, is_mapped=False)
    except Exception as error:
        state.is_put_back()
        if outer is not None and error in outer.refusals:
            raise
        raise _not_alone(error) from error
    if state.is_put_back():
        raise NotAloneError("it changes something outside, or draws random numbers")
    return program


def _not_alone(error: Exception) -> NotAloneError:
    return NotAloneError(f"it raises {type(error).__name__}: {error}")


def warn_of_single_calls(f: Callable[..., Any], why: str) -> None:
    """Warn that a solver's steps are traced one by one."""
    warn(
        f"wengert traces {callable_name(inspect.unwrap(f))} in each step of the solver, one by one, which is slow. It "
        f"cannot run it on all steps at once: {why}",
        NoBatchingRuleWarning,
    )
