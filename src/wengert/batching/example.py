"""The program of a function: what it computes on one example, recorded, with the variables of an outer trace in it.

The recording is one of its own, with guards, as a tape needs. Where another one is open, its variables stay known by
their slots: they are constants of the program, and the very objects by which the outer trace knows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from wengert.batching.axes import CONTAINERS, Examples, Shared, like, parts_of, replaced
from wengert.errors import ArgumentError, RefusedCallError
from wengert.hooks.code_swap import prepare
from wengert.hooks.tracer import level, make_input, run
from wengert.mutation.residuals import materialise
from wengert.mutation.storage import Storage, memory_of
from wengert.recording.decisions import kinds_stay
from wengert.recording.inputs import Swaps
from wengert.recording.layout import kept_apart, views_or_copies
from wengert.recording.primitives import CONSTANT, INPUT
from wengert.recording.reachability import leads_to
from wengert.recording.recording import Level, Recording, Traced, silent
from wengert.recording.shadow import SHADOW, has_identity
from wengert.recording.slots import slot_of
from wengert.tape.entries import Slot
from wengert.tape.ops import Call, Constant
from wengert.tape.tape import Tape
from wengert.values.callables import callable_name
from wengert.values.specs import fresh, is_inexact


class OutsideWriteError(RefusedCallError):
    """A function under `vmap` writes into an array that it was not given and has not made."""


class Source(NamedTuple):
    """An input of a program: its value, and whether its first axis runs over the examples."""

    value: Any
    on: bool


class Program(NamedTuple):
    """A function's tape, the Sources of its inputs, and its result: a structure of Sources and Variables.

    `lent` are the constants of the tape that are variables of an outer trace: their slots there.
    """

    tape: Tape
    sources: list[Source]
    result: Any
    lent: dict[Constant, int]


def program_of(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], outer: Recording | None
) -> Program:
    """The program of `f(*args, **kwargs)`, run on the first of the Examples in the arguments."""
    with nullcontext() if outer is None else silent(), level(True) as (recording, here):
        if outer is not None:
            _look_through(recording, here, outer)
            recording.reads, recording.enter = outer.reads, outer.enter
        recording.batched = True
        start, sources = here.start, _Sources(recording, here)
        entered = [replaced(a, sources.enter) for a in args]
        words = {name: replaced(a, sources.enter) for name, a in kwargs.items()}
        for cls in sources.swaps.classes:
            prepare(cls)
        try:
            result = run(f, tuple(entered), words, recording)
        finally:
            sources.swaps.restore()
        _finish(recording)
        _refuse_writes(recording, outer, f)
        slots: list[Slot] = []
        form = _outlined(recording, result, slots)
        materialise(recording, start, len(recording.entries), written_only=True, constants_only=True)
        lent = _lend(recording, start)
        tape = Tape.from_entries(recording.entries, tuple(slots))
    variables = tape.result.op.args if isinstance(tape.result.op, Call) else ()
    constants = [op for op in tape if isinstance(op, Constant)][: len(lent)]
    return Program(tape, sources.made, _filled(form, variables), dict(zip(constants, lent, strict=True)))


class _Sources:
    """The inputs of the program: fresh leaves that cannot be written, and what stands for each when it is played."""

    def __init__(self, recording: Recording, here: Level) -> None:
        self.recording, self.here = recording, here
        self.made: list[Source] = []
        self.swaps = here.swaps = Swaps(lambda leaf, _: self._input(_read_only(leaf), Source(leaf, False)))
        recording.owed.append(self.swaps.restore)

    def enter(self, mark: Examples | Shared) -> Any:
        """The first example of a batch, or what all see, with inputs for its leaves."""
        if isinstance(mark, Shared):
            return self.swaps.enter(mark.value)
        return self._input(first_of(mark.batch), Source(mark.batch, True))

    def _input(self, leaf: Any, source: Source) -> Any:
        self.made.append(source)
        value = make_input(self.recording, self.here, leaf)
        if not is_inexact(leaf):
            self.recording.inert.add(len(self.recording.entries) - 1)
        return value


def first_of(batch: np.ndarray) -> Any:
    """The first example of a batch, an array that cannot be written; of an empty one, ones."""
    made = batch[0] if len(batch) else np.ones(batch.shape[1:], batch.dtype)[()]
    return made if isinstance(made, np.number) else _read_only(np.array(made, order="C"))


def _read_only(leaf: Any) -> Any:
    """A view of an array through which it cannot be written: a function that writes runs on each example by itself."""
    if not isinstance(leaf, np.ndarray):
        return leaf
    made = leaf.view()
    made.flags.writeable = False
    return made


def _look_through(recording: Recording, here: Level, outer: Recording) -> None:
    """Have a new recording know the variables of another one, by their slots there."""
    assert outer.aside is not None
    recording.entries.extend([None] * len(outer.entries))
    here.start = here.seen = len(outer.entries)
    recording.inert |= outer.inert
    SHADOW.update(outer.aside.shadow)
    memory = memory_of(recording)
    for key, storage in memory_of(outer).storages.items():
        memory.storages[key] = made = Storage(storage.owner, storage.slot, storage.spec)
        made.stamp, made.views = storage.stamp, dict(storage.views)


def _finish(recording: Recording) -> None:
    """Record the guards of a run as a whole."""
    kept_apart(recording)
    views_or_copies(recording)
    kinds_stay(recording)


def _refuse_writes(recording: Recording, outer: Recording | None, f: Any) -> None:
    """Refuse a function that has written arrays from outside: it ran on one example only."""
    before = {} if outer is None else memory_of(outer).storages
    for key, storage in memory_of(recording).storages.items():
        owner, known = storage.owner(), before.get(key)
        if owner is None or (known is not None and known.stamp == storage.stamp):
            continue
        if known is not None or _follows(outer, key) or leads_to(f, owner, {}):
            error = OutsideWriteError(
                f"{callable_name(f)} writes into an array of shape {owner.shape} from outside, and vmap runs it once "
                "for all examples. Return what is to be written, or call it on the examples one by one."
            )
            raise error if outer is None else outer.refuse(error)


def _follows(outer: Recording | None, key: int) -> bool:
    """Whether an outer trace follows an array, by its id."""
    return (
        outer is not None and outer.aside is not None and (key in outer.aside.shadow or key in memory_of(outer).roots)
    )


def _outlined(recording: Recording, result: Any, slots: list[Slot]) -> Any:
    """The structure of a result: Slots, which are collected, for what is traced, and Sources for what is constant."""
    if isinstance(result, CONTAINERS):
        return like(result, [_outlined(recording, part, slots) for _, _, part in parts_of(result)])
    slot = slot_of(recording, result) if has_identity(result) else None
    if slot is not None:
        slots.append(Slot(slot))
        return slots[-1]
    if result is None or isinstance(result, bool | int | str | bytes | np.bool_) or has_identity(result):
        return Shared(result)
    raise ArgumentError(
        f"vmap gives arrays, numbers, and tuples, lists and dictionaries of these; the function returned a "
        f"{type(result).__name__}"
    )


def _filled(form: Any, variables: Any) -> Any:
    """The structure with Variables in place of its Slots, in order."""
    left = iter(variables)

    def fill(part: Any) -> Any:
        if isinstance(part, Slot):
            return next(left)
        if isinstance(part, Shared) or not isinstance(part, CONTAINERS):
            return part
        return like(part, [fill(inner) for _, _, inner in parts_of(part)])

    return fill(form)


def _lend(recording: Recording, start: int) -> list[int]:
    """Put constants in the places of an outer trace's variables that are read; returns their slots, in order."""
    found: dict[int, Any] = {}
    for entry in recording.entries[start:]:
        if entry is not None:
            for slot, value in _read(entry):
                if slot < start:
                    found.setdefault(slot, value)
    for slot, value in found.items():
        recording.entries[slot] = CONSTANT, value, (), (), None, None
    return sorted(found)


def _read(entry: Any) -> Iterator[tuple[int, Any]]:
    """The slots that an entry reads, each with the value there."""
    primitive, value, ins, args, kwargs, _ = entry
    if primitive is INPUT:
        yield from _pairs(ins, (value,) * len(ins))
    else:
        yield from _pairs(ins, args)
    for word in (kwargs or {}).values():
        yield from _traced(word)


def _pairs(ins: Any, args: Any) -> Iterator[tuple[int, Any]]:
    for slot, value in zip(ins, args, strict=False):
        if isinstance(slot, tuple):
            yield from _pairs(slot, value)
        elif slot is not None:
            yield slot, value


def _traced(word: Any) -> Iterator[tuple[int, Any]]:
    if isinstance(word, Traced):
        yield word
    elif isinstance(word, list | tuple):
        for part in word:
            yield from _traced(part)


class lending:
    """A context in which an outer trace knows the constants of a program that are variables of its own."""

    def __init__(self, program: Program, outer: Recording | None) -> None:
        self.outer, self.lent = outer, program.lent
        self.made: list[Any] = []

    def __enter__(self) -> None:
        if self.outer is None:
            return
        for op, slot in self.lent.items():
            if slot_of(self.outer, op.val) != slot:
                op.val = op.val.copy() if isinstance(op.val, np.ndarray) else fresh(op.val)
                SHADOW[id(op.val)] = slot
                self.made.append(op.val)

    def __exit__(self, *error: object) -> None:
        for value in self.made:
            SHADOW.pop(id(value), None)


__all__ = ["OutsideWriteError", "Program", "Source", "first_of", "lending", "program_of"]
