"""Checkpoints: calls of which only the inputs are kept, and which run again when the reverse pass comes to them.

The call is recorded like any other code, so all its reads and writes are known. When it returns, its stretch of the
recording is folded into one entry. The entry's inputs are the values that the stretch read from outside; its outputs
are the values that are still referenced. The reverse pass restores memory, containers and random states as they were at
the call. It then records the stretch again at the end of the recording, and walks back over it.
"""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from wengert.errors import ArgumentError, RecomputationError
from wengert.hooks.classes import as_traced
from wengert.mutation.storage import Memory, memory_of
from wengert.mutation.undo import EveryOwner, undo_write
from wengert.recording.digest import Trail
from wengert.recording.primitives import ruled
from wengert.recording.recording import STATE, Level, Recording
from wengert.recording.session import SESSION, active_recording
from wengert.recording.shadow import SHADOW, held
from wengert.reverse.accumulators import Cotangents
from wengert.values.callables import callable_name, unwrapped
from wengert.values.functional import getfield
from wengert.values.progress import Telling
from wengert.values.sites import Site
from wengert.values.snapshots import Reach
from wengert.values.specs import is_inexact
from wengert.values.transformed import transforms
from wengert.values.views import is_foreign, owner_of
from wengert.values.warned import repeating

F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S")
WalkBack = Callable[[Recording, Level, Cotangents, int], None]

_box = [object()]
ONCE = sys.getrefcount(_box[0])  # the count of an object that only one list refers to


def checkpoint(f: F) -> F:
    """Make a gradient keep only the inputs of `f`: the reverse pass runs f again. You can use this as a decorator.

    Value and gradient are those of f. Side effects, such as printing, happen twice. A checkpoint saves memory if f's
    residuals are large and its inputs small. On a tape, in a vjp, and in a gradient inside another one, f is recorded
    as if it were not decorated.

    Parameters:
        f (callable): The function. Its arguments and its result may be containers.
    Returns:
        callable: The same function, whose gradient keeps its inputs only.
    Raises:
        RecomputationError: f does something else when it runs again. Move random draws and other state out of f.
    See Also:
        checkpoint_loop, memory

    Examples:
        >>> wg.grad(wg.checkpoint(lambda x: x**2))(3.0)
        6.0
    """

    given, f = f, unwrapped(f)

    @transforms(checkpoint, given)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        recording = active_recording()
        if recording is None:
            return f(*args, **kwargs)
        if recording.reruns and len(recording.levels) == 1 and recording.nan_checker is None:
            return _run_and_fold(recording, f, args, kwargs)
        return recording.enter(f)(*args, **kwargs)

    return checkpointed  # type: ignore[return-value]


def checkpoint_loop(step: Callable[[S, int], S], state: S, n: int, length: int | None = None, quiet: bool = False) -> S:
    """Run `for i in range(n): state = step(state, i)` with a checkpoint every `length` steps; return the last state.

    With the default `length`, √n, a gradient keeps √n states and the residuals of √n steps, not those of all n. On a
    terminal the loop shows its progress, forward and backward.

    Parameters:
        step (callable): The step: `step(state, i)` returns the next state.
        state (float | array | container): The first state.
        n (int): The number of steps.
        length (int | None): The number of steps from one checkpoint to the next.
        quiet (bool): Show no progress.
    Returns:
        float | array | container: The last state.
    Raises:
        RecomputationError: A step does something else when it runs again.
        ArgumentError: `length` is below 1.
    See Also:
        checkpoint, memory

    Examples:
        >>> wg.grad(lambda x: wg.checkpoint_loop(lambda x, i: x * 2 + i, x, 10))(1.0)
        1024.0
    """
    length = max(1, math.isqrt(max(0, n))) if length is None else length
    if length < 1:
        raise ArgumentError(f"checkpoint_loop: length must be at least 1, not {length} (default: √n)")

    progress = Telling("loop", step, "steps", n, quiet)

    def stretch(state: Any, start: int) -> Any:
        if progress.is_over:
            _show_walk_back(progress, n - min(start + length, n))
        run = as_traced(step)
        for i in range(start, min(start + length, n)):
            state = run(state, i)
        return state

    stretch.progress = progress  # type: ignore[attr-defined]
    run_stretch = checkpoint(stretch)
    with progress:
        for start in range(0, n, length):
            progress.done = start
            state = run_stretch(state, start)
    return state


def _show_walk_back(progress: Telling, done: int) -> None:
    """Show the progress of the walk back, in which a stretch runs again."""
    recording: Any = STATE.recording
    if progress.back is None:
        progress.back = Telling("walk back over the loop", progress.f, progress.parts, progress.total, progress.quiet)
        progress.back.begin(lambda: recording.is_open)
    progress.back.done = done


class _Stretch:
    """A stretch at the end of the recording that will be dropped; while it is open, it has an undo log of its own."""

    def __init__(self, recording: Recording) -> None:
        self.recording, self.memory = recording, memory_of(recording)

    def __enter__(self) -> _Stretch:
        memory = self.memory
        self.start = len(self.recording.entries)
        self.outside = memory.undo, memory.finals, memory._captured, memory.captured_to, self.recording.specs
        memory.undo, memory.finals, memory._captured, memory.captured_to = [], None, EveryOwner(), self.start
        self.recording.specs = {}
        self.is_kept = False
        memory.unfinished += 1
        return self

    def __exit__(self, *error: object) -> None:
        memory = self.memory
        memory.undo, memory.finals, memory._captured, memory.captured_to, self.recording.specs = self.outside
        if error[0] is None or self.is_kept:
            memory.unfinished -= 1

    def mark(self) -> None:
        """Mark the end of the shadow table, so that `traced` finds the values traced after it."""
        SHADOW[id(self)] = -1

    def traced(self) -> dict[int, int]:
        """Remove the values traced since `mark` from the shadow table; return their slots by id."""
        found = {}
        while (item := SHADOW.popitem())[0] != id(self):
            found[item[0]] = item[1]
        return found

    def keep_entries(self) -> None:
        """Keep the stretch on the recording, and move its undo log to the recording's."""
        undo, finals, _, captured_to, specs = self.outside
        undo.extend(self.memory.undo)
        self.outside, self.is_kept = (undo, finals, EveryOwner(), captured_to, specs), True


class _RepeatableCall:
    """A call with everything needed to run it again: function, arguments, and a snapshot of all they refer to."""

    def __init__(self, recording: Recording, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]):
        self.f, self.args, self.kwargs = f, args, kwargs
        self.reach = Reach((f, *args, *kwargs.values()))
        self.caches = {key: memo.copy() for key, memo in recording.caches.items()}
        held = (*_cached_arguments(self.caches), *self.reach.arrays)
        self.traced = {id(a): SHADOW[id(a)] for a in held if id(a) in SHADOW}
        self.texts, self.fresh_objects = dict(recording.texts), dict(recording.fresh_objects)
        self.waiting = [(root, root.waiting.copy()) for _, root in memory_of(recording).roots.values()]
        self.versions: list[tuple[Any, int | None, Any]] = []
        for storage in recording.memory.storages.values():
            storage.views.clear()  # so that both runs read views of it again, at the same keys
            self.versions.append((storage.owner, storage.slot, storage.short_dtype))

    def run(self) -> Any:
        """Call the instrumented function."""
        return as_traced(self.f)(*self.args, **self.kwargs)


def _run_and_fold(recording: Recording, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a checkpointed call for the first time, and replace its recording by a CheckpointEntry."""
    site = STATE.site
    call = _RepeatableCall(recording, f, args, kwargs)
    with _Stretch(recording) as stretch:
        stretch.mark()
        try:
            result = call.run()
        except BaseException:  # the user's code may catch it and continue
            SHADOW.pop(id(stretch), None)
            stretch.keep_entries()
            raise
        recording.fresh_objects = call.fresh_objects  # else objects of the stretch would stay alive
        folded = CheckpointEntry(recording, call, stretch, site)
        allocated = _allocated_inside(stretch)
        values = _cut_off(stretch)
        writes = _outliving(stretch.memory, allocated)
        recording.memory.unfinished += 1
    folded.replace_stretch(values, writes)
    recording.memory.unfinished -= 1
    return result


def _cached_arguments(caches: dict[Any, dict[Any, Any]]) -> list[Any]:
    """List the arguments for which cached functions hold results."""
    memos = [kept for memo in caches.values() for kept in memo.values() if type(kept) is tuple]
    return [a for args, _ in memos for a in args]


def _allocated_inside(stretch: _Stretch) -> set[int]:
    """Return the ids of arrays allocated inside the checkpoint; their contents need not be saved."""
    values = [entry[1] for entry in stretch.recording.entries[stretch.start :] if entry is not None]
    arrays = [value() if type(value) is weakref.ref else value for value in values]
    return {id(array) for array in arrays if isinstance(array, np.ndarray) and array.base is None}


def _cut_off(stretch: _Stretch) -> dict[int, Any]:
    """Cut a stretch off the recording; return those of its values, by slot, to which other code refers."""
    entries, slot_by_id = stretch.recording.entries, stretch.traced()
    own = range(stretch.start, len(entries))  # the slot of a view of written memory may be gone: see _is_read_anew
    slots = sorted({slot for slot in slot_by_id.values() if slot in own and entries[slot] is not None})
    values = [entries[slot][1] for slot in slots]  # type: ignore[index]
    del entries[stretch.start :]
    for k in range(len(values) - 1, -1, -1):  # the last first, because a view refers to its array
        if type(values[k]) is weakref.ref:
            values[k] = values[k]()
        elif sys.getrefcount(values[k]) == ONCE:
            values[k] = None
    memory = stretch.memory
    return {
        slot: value
        for slot, value in zip(slots, values, strict=True)
        if slot_by_id.get(id(value)) == slot and not _is_read_anew(memory, value)
    }


def _is_read_anew(memory: Memory, value: Any) -> bool:
    """Whether a value is a view of written memory, which the recording finds by position, not by identity."""
    return isinstance(value, np.ndarray) and owner_of(value) is not value and memory.is_followed(value)


def _outliving(memory: Memory, allocated: set[int]) -> list[tuple[np.ndarray, Any, Any]]:
    """List a stretch's writes into arrays that are older and outlive it, as (array, key, old content)."""
    by_owner: dict[int, tuple[list[np.ndarray], list[Any]]] = {}
    for k in range(len(memory.undo)):  # by index, because a variable would hold a reference
        _group_by_owner(by_owner, memory.undo[k], allocated)
    memory.undo.clear()
    return [
        write
        for held, records in by_owner.values()
        if _outlives(held, records)
        for write in _content_before(memory.recording, held[0], records)
    ]


def _group_by_owner(
    by_owner: dict[int, tuple[list[np.ndarray], list[Any]]], record: list[Any], allocated: set[int]
) -> None:
    owner = owner_of(record[1])
    if id(owner) not in allocated:
        by_owner.setdefault(id(owner), ([owner], []))[1].append(record)


def _outlives(held: list[np.ndarray], records: list[Any]) -> bool:
    """Whether anything but the undo log refers to an array."""
    own = sum([record[1] is held[0] or record[1].base is held[0] for record in records])
    return sys.getrefcount(held[0]) > ONCE + own


def _content_before(recording: Recording, owner: np.ndarray, records: list[Any]) -> list[tuple[np.ndarray, Any, Any]]:
    """List an array's contents before the stretch wrote it, as (array, key, content); one copy if written often."""
    if sum([record[3].nbytes for record in records]) <= owner.nbytes:
        return [(record[1], record[2], record[3]) for record in records]
    owed = len(recording.owed)
    for record in reversed(records):
        undo_write(record, recording.owed)
    content = owner.copy()
    recording.owed.pay(owed)
    return [(owner.view(), ..., content)]


class CheckpointEntry:
    """A checkpoint on the recording, stored in an entry in place of a primitive."""

    is_simple, at_key, step = False, None, None
    kind = "call"
    __slots__ = ("call", "fn", "name", "outputs", "recording", "rule", "site", "start", "trail")

    def __init__(self, recording: Recording, call: _RepeatableCall, stretch: _Stretch, site: Site | None) -> None:
        self.fn, self.name, self.rule = call.f, "checkpoint", None
        self.recording, self.call, self.site, self.start = recording, call, site, stretch.start
        self.outputs: list[int] = []
        self.trail = Trail(recording, self.start)

    @property
    def digest(self) -> bytes:
        """The checkpoint's digest, for the digest of an enclosing checkpoint."""
        return self.trail.digest

    def replace_stretch(self, values: dict[int, Any], writes: list[Any]) -> None:
        """Replace the stretch by entries: one for the checkpoint, and one for each value that is still alive."""
        recording, memory, start = self.recording, memory_of(self.recording), self.start
        storages = [(s, s.slot) for s in memory.storages.values() if s.slot is not None and s.slot >= start]
        roots = [held for _, root in memory.roots.values() for held in (root, root.waiting)]
        parts = [slot for root in roots for _, slot, _ in root if slot >= start]
        self.outputs = sorted({*values, *parts, *[slot for _, slot in storages]})
        after = {old: start + 1 + k for k, old in enumerate(self.outputs)}
        for root in roots:
            root[:] = [(lens, after.get(slot, slot), level) for lens, slot, level in root]
        for storage in memory.storages.values():
            storage.stamp += 1  # the slots of its views were in the stretch
        recording.folds.append(start)
        memory.undo.extend([[start + bool(self.outputs), *write] for write in writes])
        if not self.outputs:
            return
        self.call.reach.drop_unused_random()
        self._capture(memory)
        recording.entries.append((self, None, tuple(self.trail.inputs), (), None, self.site))
        field = ruled(getfield).bound(2, (True, False), ())
        for k, (old, slot) in enumerate(after.items()):
            shown = held(values[old], False) if old in values else None
            recording.entries.append((field, shown, (start, None), (None, k), None, self.site))
            if old in values:
                SHADOW[id(values[old])] = slot
        for storage, old in storages:
            owner = storage.owner()
            if owner is not None:
                memory.written(storage, owner, after[old])

    def _capture(self, memory: Memory) -> None:
        """Log later writes into memory that the second run reads."""
        for owner in (*map(owner_of, self.call.reach.arrays), *[ref() for ref in self.trail.arrays]):
            if owner is not None and not is_foreign(owner):
                memory.capture(owner)

    def step_back(self, cotangents: Cotangents, y_bars: dict[int, Any], walk: WalkBack) -> None:
        """Take the step back: run the call again, and walk back over the entries that this records."""
        recording, memory, table = self.recording, self.recording.memory, cotangents.table
        base = len(recording.entries)
        with _Stretch(recording) as stretch:
            try:
                self._run_again(stretch)
                table.extend([None] * (len(recording.entries) - len(table)))
                for k, y_bar in y_bars.items():
                    table[self.outputs[k] - self.start + base] = y_bar
                walk(recording, Level(base), cotangents, len(recording.entries) - 1)
            except KeyboardInterrupt as error:
                progress = getattr(self.fn, "progress", None)
                error.add_note(
                    f"interrupted: {(progress and progress.back) or f'walk back over {callable_name(self.fn)}'}"
                )
                raise
            finally:
                memory.unwind(-1)
                cotangents.forget(base)
                del recording.entries[base:]

    def _run_again(self, stretch: _Stretch) -> None:
        """Record the stretch again, with everything as it was at the call, and compare it with the first run."""
        recording = self.recording
        recording.folds.append(stretch.start)
        with _RestoredRecording(self), repeating():
            owed = len(recording.owed)
            self.call.reach.put_back(recording.owed)
            try:
                self.call.run()
            except (MemoryError, RecursionError):
                raise
            except Exception as error:
                raise self._recomputation_error(f"raised {type(error).__name__}") from error
            finally:
                recording.owed.pay(owed)
        again = Trail(recording, stretch.start)
        if (again.inputs, again.digest) != (self.trail.inputs, self.trail.digest):
            raise self._recomputation_error("differed from the first run")

    def _recomputation_error(self, how: str) -> RecomputationError:
        return RecomputationError(
            f"{self.site}: the second run of {callable_name(self.fn)}, which wg.checkpoint makes in the reverse pass, "
            f"{how}. The function may depend only on its arguments, its closure and its object. If it reads anything "
            "else that changes between the runs (globals, files, the clock, random generators), pass it as an argument."
        )


class _RestoredRecording:
    """A context in which the recording is open, with its memory and caches as they were at a call that runs again."""

    def __init__(self, folded: CheckpointEntry) -> None:
        self.folded, self.recording = folded, folded.recording

    def __enter__(self) -> None:
        recording, memory, call = self.recording, memory_of(self.recording), self.folded.call
        self.waited = recording not in SESSION.turns
        SESSION.take_turn(recording)
        self.later = memory.storages, recording.caches, recording.texts, recording.fresh_objects, STATE.site
        recording.levels.append(Level(len(recording.entries)))
        STATE.recording, STATE.fast, STATE.site = recording, recording, self.folded.site
        SHADOW.clear()  # ids of freed values may be in use again; the values that the call read are among its inputs
        SHADOW.update(call.traced)
        for slot in self.folded.trail.inputs:
            value = recording.value(slot)
            if is_inexact(value):
                SHADOW[id(value)] = slot
        for copy, _, slot in [made for copies in memory.replaced for made in copies.values()]:
            if type(slot) is int and slot < self.folded.start:
                SHADOW[id(copy)] = slot
        memory.storages = {}
        for ref, version, short_dtype in call.versions:
            if (owner := ref()) is not None:
                memory.follow(owner, version).short_dtype = short_dtype
                if version is not None:
                    SHADOW[id(owner)] = version
        for root, waiting in call.waiting:
            root.waiting = waiting.copy()
        recording.caches = {key: memo.copy() for key, memo in call.caches.items()}
        recording.texts, recording.fresh_objects = dict(call.texts), dict(call.fresh_objects)

    def __exit__(self, *error: object) -> None:
        recording = self.recording
        recording.memory.storages, recording.caches, recording.texts, recording.fresh_objects, STATE.site = self.later
        recording.levels.pop()
        STATE.recording = STATE.fast = None
        SESSION.forget_values()
        if self.waited:
            SESSION.leave_turn(recording)
