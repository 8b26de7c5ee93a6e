"""The tracer runs a function and records it: levels, inputs and cleanup."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks import advice, calls, escape_monitor, generated
from wengert.hooks.code_swap import prepare, prepare_value
from wengert.hooks.search import refuse_object_results
from wengert.mutation.storage import Memory
from wengert.recording import nans, rule_reads
from wengert.recording.inputs import Leaves, Swaps
from wengert.recording.primitives import INPUT
from wengert.recording.recording import STATE, Level, Recording, flat_slots
from wengert.recording.session import SESSION, active_recording
from wengert.recording.shadow import SHADOW
from wengert.recording.subclasses import renewed
from wengert.rulebook.registry import rules
from wengert.values.argnums import Part, Place, argument_at, place_name
from wengert.values.callables import callable_name
from wengert.values.frames import users_frames as _users_frames
from wengert.values.settings import SETTINGS
from wengert.values.specs import as_float


class open_level:
    """A context that opens a Level on this thread's recording; the outermost opens and closes the recording.

    `keep`: an outermost recording is for a tape, under `context` if that is given. It is a class because
    `contextmanager` costs 2 µs more, of the 30 that the fastest gradient takes.
    """

    __slots__ = ("context", "depth", "here", "keep", "outermost", "owed", "recording", "site")

    def __init__(self, keep: bool = False, context: Any = None) -> None:
        self.keep, self.context = keep, context

    def __enter__(self) -> tuple[Recording, Level]:
        recording = None if STATE.recording is None else active_recording()
        self.outermost, self.site = recording is None, STATE.site
        if recording is None:
            recording = Recording(self.keep) if self.context is None else self.context.new_recording(self.keep)
            recording.memory = Memory(recording)
            recording.enter, recording.callees = calls.resolve_plain, STATE.callees
            SESSION.open(recording, sys._getframe(1))
            if recording.saved_state is None:
                if rules.made.get(generated.bind_hooks) != len(sys.modules):
                    rules.ready(generated.bind_hooks)
                if escape_monitor.Monitor.needs_restart:
                    escape_monitor.turn_reports_on()
            STATE.recording, STATE.fast = recording, recording if self.context is None else None
            if SETTINGS.debug_nans:
                nans.check_every_call(recording)
        else:
            recording.inner += 1
        here = self.here = Level(len(recording.entries))
        self.recording, self.depth, self.owed = recording, len(recording.levels), len(recording.owed)
        recording.levels.append(here)
        return recording, here

    def __exit__(self, *error: object) -> None:
        recording = self.recording
        STATE.site = self.site
        self.here.swaps = None  # no cycle for the collector, which would hold what was computed
        if self.outermost:
            SESSION.close(recording)
            return
        recording.inner -= 1
        recording.owed.pay(self.owed)
        del recording.levels[self.depth :]
        if not recording.keep:
            _release(recording, self.here.start)


def _release(recording: Recording, start: int) -> None:
    """Forget the values that depend only on an inner level's inputs; when the level has ended, they are constant."""
    live: set[int] = set()
    dead: set[int] = set()
    stream = recording.stream
    tangents, value_at = ({}, recording.value) if stream is None else (stream.tangents, stream.value)
    for slot in range(start, len(recording.entries)):
        entry = recording.entries[slot]
        depends = entry is not None and any(s < start or s in live for s in flat_slots(entry[2]))
        if depends or tangents.get(slot) is not None:  # a stream has dropped entries, but not the tangents
            live.add(slot)
            continue
        dead.add(slot)
        value = value_at(slot)
        if SHADOW.get(id(value)) == slot:
            del SHADOW[id(value)]
    for storage in recording.memory.storages.values():
        if storage.slot in dead:
            storage.slot = None
            storage.stamp += 1


def make_input(recording: Recording, here: Level, leaf: Any, path: Any = None) -> Any:
    """Make a fresh object for a leaf of an input, and register it as a variable of this level."""
    memory, entries = recording.memory, recording.entries
    if len(recording.levels) == 1:
        value = renewed(leaf)
        if isinstance(value, np.ndarray):
            memory.arguments.append((value, len(entries), None))
            if recording.keep:
                memory.capture(value)  # the tape prints its value on entry
        ins: tuple[int, ...] = ()
    else:
        outer = memory.slot(leaf) if isinstance(leaf, np.ndarray) else SHADOW.get(id(leaf))
        if outer is None and recording.keep:
            outer = recording.constant(leaf.copy("K") if isinstance(leaf, np.ndarray) else leaf)
        value, ins = renewed(leaf), () if outer is None else (outer,)
    slot = len(entries)
    entries.append((INPUT, value, ins, (), None, None))
    here.inputs.add(slot)
    SHADOW[id(value)] = slot
    if len(recording.levels) > 1 and isinstance(value, np.ndarray):
        memory.arguments.append((value, slot, recording.levels[-1]))
        if memory.storages:
            memory.add_view(value, slot)
    return value


def enter_arguments(
    recording: Recording,
    here: Level,
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    wanted: Iterable[Place],
    itself: bool = False,
    promote: bool = True,
) -> tuple[Swaps, Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """Replace the wanted leaves of the function and its arguments by fresh ones; return `(swaps, f, args, kwargs)`.

    `swaps` undoes it. `wanted` are positions and keywords. With `itself`, the values that the function holds are wanted
    too. With `promote`, a wanted integer becomes a float.
    """
    swaps = here.swaps = Swaps(partial(make_input, recording, here))
    recording.owed.append(swaps.restore)
    entered, named = list(args), dict(kwargs)
    wanted = list(wanted)
    if recording.reads is not None:
        recording.reads.parts([argument_at(args, kwargs, _argument_of(key)) for key in wanted])
        if itself:
            recording.reads.holder(f)
    if itself:
        if type(f) is not types.FunctionType and f in rules:
            swaps.enter(None, "f")  # not entered: its rule has the derivative
        else:
            f = swaps.enter_callable(f)
            recording.closure_slots = range(here.start, len(recording.entries))
    parts = []
    for key in wanted:
        if isinstance(key, Part):
            parts.append(key)
            continue
        holder: Any = named if isinstance(key, str) else entered
        value = as_float(holder[key]) if promote else holder[key]
        holder[key] = swaps.enter(value, key if isinstance(key, str) else f"argument {key + 1}")
    if parts:
        _enter_parts(swaps, entered, named, parts, wanted)
    for cls in swaps.classes:
        prepare(cls)
    for other, value in (*enumerate(args), *kwargs.items()):
        if other not in wanted:
            if isinstance(value, np.ndarray):
                recording.memory.note_argument(value)
            else:
                prepare_value(value)
    return swaps, f, tuple(entered), named


def _enter_parts(
    swaps: Swaps, entered: list[Any], named: dict[str, Any], parts: list[Part], wanted: list[Place]
) -> None:
    """Enter the wanted parts of arguments, after the others, and put all in the order of `wanted`."""
    order = [k for k, key in enumerate(wanted) if not isinstance(key, Part)]
    for argument in dict.fromkeys([part.argument for part in parts]):
        places = [k for k, key in enumerate(wanted) if isinstance(key, Part) and key.argument == argument]
        holder: Any = named if isinstance(argument, str) else entered
        holder[argument] = swaps.enter_parts(
            holder[argument], place_name(argument), [part.path for part in parts if part.argument == argument]
        )
        order += places
    swaps.put_in_order(order)


def _argument_of(place: Place) -> int | str:
    return place.argument if isinstance(place, Part) else place


def enter_leaves(recording: Recording, here: Level, args: tuple[Any, ...]) -> Leaves:
    """Do what `enter_arguments` does for arguments that are all wanted and all leaves, without a search."""
    entries, arguments = recording.entries, recording.memory.arguments
    if len(recording.levels) > 1:
        here.swaps = Leaves([make_input(recording, here, leaf) for leaf in args], args)
        return here.swaps
    made: list[Any] = []
    for slot, leaf in enumerate(args, len(entries)):
        if type(leaf) is np.ndarray:
            value: Any = leaf.view()
            arguments.append((value, slot, None))
        else:
            value = renewed(leaf)
        made.append(value)
        entries.append((INPUT, value, (), (), None, None))
        SHADOW[id(value)] = slot
        here.inputs.add(slot)
    here.leading = len(made)
    here.swaps = swaps = Leaves(made, args)
    return swaps


class without_innermost_level:
    """A context in which only outer derivatives record; if there is none, tracing is off and the shadow table empty.

    A gradient inside a pullback then has its own recording and
    shadow table, and a pullback of the user's may wait for other threads.
    """

    __slots__ = ("hidden", "recording")

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    def __enter__(self) -> None:
        self.hidden = self.recording.levels.pop()
        self.recording.walked += 1
        if not self.recording.levels:
            STATE.recording = STATE.fast = None
            SESSION.forget_values()
            if self.recording.memory.runs_others:
                SESSION.leave_turn(self.recording)

    def __exit__(self, *error: object) -> None:
        self.recording.walked -= 1
        self.recording.levels.append(self.hidden)


def run(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], recording: Recording) -> Any:
    """Call the twin of a function; re-raise a refusal from inside, even if the user's code caught it."""
    if recording.roots is None:
        recording.roots = f, args, kwargs
    memory, levels, context = recording.memory, recording.levels, recording.context
    begun = len(levels), len(recording.owed), memory.unfinished
    try:
        result = recording.enter(f)(*args, **kwargs)
        if recording.unsearched:
            rule_reads.search_rest(recording)
        if memory.holds_objects:
            refuse_object_results(recording, result)
        if recording.reads is not None:
            recording.reads.check_result(result)
    except BaseException as error:
        if recording.refusals and error is not recording.refusals[0]:
            raise _attach_trace(recording.refusals[0], f, recording) from None
        raise _attach_trace(error, f, recording).with_traceback(_users_frames(error.__traceback__)) from None
    if recording.refusals:
        raise _attach_trace(recording.refusals[0], f, recording)
    went_on = recording.context is context and STATE.recording is recording
    if (len(levels), len(recording.owed), memory.unfinished) != begun or not went_on:
        raise _attach_trace(recording.refuse(_interrupted_write(f)), f, recording)
    return result


def _interrupted_write(f: Callable[..., Any]) -> RefusedCallError:
    """Return the error for a function that caught an exception in the middle of a write."""
    return RefusedCallError(
        f"{callable_name(f)} caught an exception raised in the middle of a write (an interrupt, an exception from a "
        "signal handler, a floating-point error that NumPy raises after it has written), and went on. The contents of "
        "its arrays are unknown. Let such an exception leave the function."
    )


class LastTrace:
    """The recording when an exception left a function; the exception holds it, a pickled copy does not."""

    __slots__ = ("entries", "f")

    def __init__(self, f: Callable[..., Any] | None = None, entries: Sequence[Any] = ()) -> None:
        self.f, self.entries = f, entries

    def __reduce__(self) -> tuple[type[LastTrace], tuple[()]]:
        return LastTrace, ()


def _attach_trace(error: BaseException, f: Callable[..., Any], recording: Recording) -> BaseException:
    """Attach the recording so far to an exception, for `post_mortem`, and return the exception."""
    if len(recording.levels) == 1:
        vars(error)["__wengert__"] = LastTrace(f, recording.entries)
        advice.add_advice(error)
    return error
