"""The program of a function: a tape of its run on one example, which may read variables of an outer trace.

It is traced on a recording of its own, with guards, as a tape needs. Variables of an open outer trace keep their slots
there: in the program they are constants, and the same objects as in the outer trace.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from wengert.batching.axes import Examples, Shared, replace_marks
from wengert.errors import ArgumentError, RefusedCallError
from wengert.hooks.code_swap import prepare
from wengert.hooks.solver_callbacks import unseen
from wengert.hooks.tracer import make_input, open_level, run
from wengert.mutation.residuals import materialise
from wengert.mutation.storage import memory_of
from wengert.mutation.versions import Storage
from wengert.recording.decisions import kinds_stay
from wengert.recording.inputs import Swaps
from wengert.recording.layout import kept_apart, views_or_copies
from wengert.recording.primitives import CONSTANT, INPUT
from wengert.recording.reachability import leads_to
from wengert.recording.recording import Level, Recording, Traced, silent
from wengert.recording.shadow import SHADOW, has_identity
from wengert.recording.slots import slot_of
from wengert.tape.entries import Slot
from wengert.tape.ops import Call, Constant, Variable, with_variables
from wengert.tape.tape import Tape
from wengert.values.callables import callable_name
from wengert.values.specs import fresh, is_inexact
from wengert.values.structures import is_structure, keyed_parts, with_parts


class OutsideWriteError(RefusedCallError):
    """A function under `vmap` writes into an array that it neither received nor made."""


class ProgramInput(NamedTuple):
    """An input of a program: its value, and whether the examples are on its first axis."""

    value: Any
    is_batch: bool


class Program(NamedTuple):
    """A function's tape, its ProgramInputs, and its result: a structure of Shared values and Variables.

    `outer_slots` maps the tape's constants that are variables of an outer trace to their slots there. `ran_unseen`:
    code ran whose results are constants, such as a solver.
    """

    tape: Tape
    sources: list[ProgramInput]
    result: Any
    outer_slots: dict[Constant, int]
    ran_unseen: bool = False


def trace_program(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    outer: Recording | None,
    is_mapped: bool = True,
) -> Program:
    """Trace the Program of `f(*args, **kwargs)`, on the first of the Examples in the arguments.

    `is_mapped`: f is mapped over the examples by `vmap`, and runs this once.
    Errors: OutsideWriteError if f writes into arrays from outside; where it is mapped, the outer trace refuses f.
    """
    with nullcontext() if outer is None else silent(), open_level(True) as (recording, here):
        if outer is not None:
            _share_variables(recording, here, outer)
            recording.reads, recording.enter = outer.reads, outer.enter
        recording.batched, recording.is_mapped = True, is_mapped
        start, sources = here.start, _ProgramInputs(recording, here)
        inputs = [replace_marks(a, sources.enter) for a in args]
        keywords = {name: replace_marks(a, sources.enter) for name, a in kwargs.items()}
        for cls in sources.swaps.classes:
            prepare(cls)
        try:
            result = run(f, tuple(inputs), keywords, recording)
        finally:
            sources.swaps.restore()
            del sources.swaps  # a cycle
        _record_layout_guards(recording)
        _refuse_writes(recording, outer, f, is_mapped)
        slots: list[Slot] = []
        form = _result_outline(recording, result, slots)
        materialise(recording, start, len(recording.entries), written_only=True, constants_only=True)
        early, late = _outer_constants(recording, start), recording.late_slots
        tape = Tape.from_entries(recording.entries, tuple(slots))
    variables = tape.result.op.args if isinstance(tape.result.op, Call) else ()
    constants = [op for op in tape if isinstance(op, Constant)]
    late_ids = {id(recording.value(slot)): outer_slot for slot, outer_slot in late.items()}
    outer_slots = dict(zip(constants, early, strict=False))
    outer_slots |= {op: late_ids[id(op.val)] for op in constants[len(early) :] if id(op.val) in late_ids}
    return Program(tape, sources.made, _slots_filled(form, iter(variables)), outer_slots, unseen in recording.caches)


def frozen_program(program: Program) -> Program:
    """Return a program for what it reads now: later writes into arrays do not reach it, and no outer trace does."""
    tape, moved = Tape(program.tape.ctx), dict[Variable, Variable]()
    for op in program.tape:
        made = op.copy(moved.__getitem__)
        if isinstance(made, Constant):
            made.val = copy.copy(made.val)
        elif isinstance(made, Call):
            made.args, made.kwargs = with_variables((made.args, made.kwargs), copy.copy, np.ndarray)
        moved[Variable(op)] = tape.push(made)
    tape.result = moved[program.tape.result]
    return Program(tape, program.sources, with_variables(program.result, moved.__getitem__), {})


class _ProgramInputs:
    """The inputs of the program: new read-only leaves, and the ProgramInput of each."""

    def __init__(self, recording: Recording, here: Level) -> None:
        self.recording, self.here = recording, here
        self.made: list[ProgramInput] = []
        self.swaps = here.swaps = Swaps(lambda leaf, _: self._input(_read_only(leaf), ProgramInput(leaf, False)))
        recording.owed.append(self.swaps.restore)

    def enter(self, mark: Examples | Shared) -> Any:
        """Return the first example of a batch, or a shared value, with its leaves replaced by inputs."""
        if isinstance(mark, Shared):
            return self.swaps.enter(mark.value)
        return self._input(first_example(mark.batch), ProgramInput(mark.batch, True))

    def _input(self, leaf: Any, source: ProgramInput) -> Any:
        self.made.append(source)
        value = make_input(self.recording, self.here, leaf)
        if not is_inexact(leaf):
            self.recording.inert.add(len(self.recording.entries) - 1)
        return value


def first_example(batch: np.ndarray) -> Any:
    """Return the first example of a batch, read-only; ones if the batch is empty."""
    made = batch[0] if len(batch) else np.ones(batch.shape[1:], batch.dtype)[()]
    return made if isinstance(made, np.number) else _read_only(np.array(made, order="C"))


def _read_only(leaf: Any) -> Any:
    """Return a read-only view of an array: a function that writes into its arguments runs on each example in turn."""
    if not isinstance(leaf, np.ndarray):
        return leaf
    made = leaf.view()
    made.flags.writeable = False
    return made


def _share_variables(recording: Recording, here: Level, outer: Recording) -> None:
    """Make the outer recording's variables known to a new one, by their slots there."""
    assert outer.saved_shadow is not None
    recording.entries.extend([None] * len(outer.entries))
    here.start = here.seen = len(outer.entries)
    recording.inert |= outer.inert
    SHADOW.update(outer.saved_shadow.shadow)
    memory = memory_of(recording)
    for key, storage in memory_of(outer).storages.items():
        memory.storages[key] = made = Storage(storage.owner, storage.slot, storage.spec)
        made.stamp, made.views = storage.stamp, dict(storage.views)


def _record_layout_guards(recording: Recording) -> None:
    """Record the guards on memory layout and types, at the end of a run."""
    kept_apart(recording)
    views_or_copies(recording)
    kinds_stay(recording)


def _refuse_writes(recording: Recording, outer: Recording | None, f: Any, refuses: bool) -> None:
    """Raise an error if the function wrote into arrays from outside, since it ran on one example only."""
    before = {} if outer is None else memory_of(outer).storages
    for key, storage in memory_of(recording).storages.items():
        owner, storage_before = storage.owner(), before.get(key)
        if owner is None or (storage_before is not None and storage_before.stamp == storage.stamp):
            continue
        if storage_before is not None or _outer_follows(outer, key) or leads_to(f, owner, {}):
            error = OutsideWriteError(
                f"{callable_name(f)} writes into an array of shape {owner.shape} from outside, but vmap runs it only "
                "once for all examples. Return the value instead of writing it, or loop over the examples."
            )
            raise outer.refuse(error) if refuses and outer is not None else error


def _outer_follows(outer: Recording | None, key: int) -> bool:
    """Whether an outer trace follows the array with this id."""
    saved = None if outer is None else outer.saved_shadow
    return saved is not None and (key in saved.shadow or key in memory_of(outer).roots)  # type: ignore[arg-type]


def _result_outline(recording: Recording, result: Any, slots: list[Slot]) -> Any:
    """Return a result's structure with Slots for traced values, which are collected, and Shared for constants."""
    if isinstance(result, np.ndarray) and not issubclass(type(result), np.ndarray):
        result = np.asarray(result)  # an array of which the ends alone are known raises an error here
    if is_structure(result):
        return with_parts(result, [_result_outline(recording, part, slots) for _, _, part in keyed_parts(result)])
    slot = slot_of(recording, result) if has_identity(result) else None
    if slot is not None:
        slots.append(Slot(slot))
        return slots[-1]
    if result is None or isinstance(result, bool | int | str | bytes | np.bool_) or has_identity(result):
        return Shared(result)
    raise ArgumentError(
        "a function under vmap must return arrays, numbers, or tuples, lists, dictionaries and objects of these, "
        f"not a {type(result).__name__}"
    )


def _slots_filled(form: Any, variables: Iterator[Variable]) -> Any:
    """Replace the Slots of a structure by Variables, in order."""
    if isinstance(form, Slot):
        return next(variables)
    if isinstance(form, Shared) or not is_structure(form):
        return form
    return with_parts(form, [_slots_filled(inner, variables) for _, _, inner in keyed_parts(form)])


def _outer_constants(recording: Recording, start: int) -> list[int]:
    """Put constants into the slots of the outer trace's variables that are read; return these slots, in order."""
    found: dict[int, Any] = {}
    for entry in recording.entries[start:]:
        if entry is not None:
            for slot, value in _slots_read(entry):
                if slot < start:
                    found.setdefault(slot, value)
    for slot, value in found.items():
        recording.entries[slot] = CONSTANT, value, (), (), None, None
    return sorted(found)


def _slots_read(entry: Any) -> Iterator[tuple[int, Any]]:
    """Yield the slots that an entry reads, each with its value."""
    primitive, value, ins, args, kwargs, _ = entry
    if primitive is INPUT:
        yield from _slot_values(ins, (value,) * len(ins))
    else:
        yield from _slot_values(ins, args)
    for value in (kwargs or {}).values():
        yield from _traced_in(value)


def _slot_values(ins: Any, args: Any) -> Iterator[tuple[int, Any]]:
    for slot, value in zip(ins, args, strict=False):
        if isinstance(slot, tuple):
            yield from _slot_values(slot, value)
        elif slot is not None:
            yield slot, value


def _traced_in(value: Any) -> Iterator[tuple[int, Any]]:
    if isinstance(value, Traced):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _traced_in(part)


class as_outer_variables:
    """A context in which an outer trace knows a program's constants that are its own variables."""

    def __init__(self, program: Program, outer: Recording | None) -> None:
        self.outer, self.outer_slots = outer, program.outer_slots
        self.made: list[Any] = []

    def __enter__(self) -> None:
        if self.outer is None:
            return
        for op, slot in self.outer_slots.items():
            if slot_of(self.outer, op.val) != slot:
                op.val = op.val.copy("K") if isinstance(op.val, np.ndarray) else fresh(op.val)
                SHADOW[id(op.val)] = slot
                self.made.append(op.val)

    def __exit__(self, *error: object) -> None:
        for value in self.made:
            SHADOW.pop(id(value), None)


__all__ = ["OutsideWriteError", "Program", "ProgramInput", "as_outer_variables", "first_example", "trace_program"]
