"""Checks of readers that no hook sees: C objects that return elements, and generators made before the trace."""

from __future__ import annotations

import gc
import itertools
import types
from collections.abc import Iterable, Iterator
from typing import Any

from wengert.errors import RefusedCallError
from wengert.hooks.classes import IMMUTABLE
from wengert.recording import rule_reads
from wengert.recording.aliases import PASSING, READERS, behind
from wengert.recording.recording import STATE, Recording, users_line
from wengert.recording.session import run_outside_turn
from wengert.recording.shadow import SHADOW
from wengert.recording.slots import slot_of
from wengert.values.codes import original
from wengert.values.frames import ENGINE
from wengert.values.names import is_heap_type
from wengert.values.specs import is_array, is_inexact
from wengert.values.trees import is_filled, load_cell

_EXHAUSTED = object()


def is_reader(thing: Any) -> bool:
    """Whether a step of an iterator may read an array untraced."""
    t = type(thing)
    return runs_unseen(thing) if t is types.GeneratorType else issubclass(t, _READER_TYPES)


_READER_TYPES = (*PASSING, *READERS)


def runs_unseen(generator: Any) -> bool:
    """Whether a generator of the user's was made before the trace, and is not instrumented."""
    code = generator.gi_code
    return STATE.recording is not None and original(code) is None and not code.co_filename.startswith(ENGINE)


def check_read(recording: Recording, thing: Any) -> None:
    """Refuse to read traced memory through a C object that returns its elements as new numbers."""
    _refuse_if_traced(recording, behind(thing), f"a {type(thing).__name__} reads", "Read the array itself.")


def checked_items(reader: Any) -> Iterator[Any]:
    """Yield the items of a reader; refuse if the arrays that it reads hold traced values."""
    items = iter(reader)
    while (item := read_next(items, _EXHAUSTED)) is not _EXHAUSTED:
        yield item


def read_next(reader: Any, *default: Any) -> Any:
    """Check a reader and return `next(reader)`; a generator may wait for other threads."""
    check_reader(reader)
    recording = STATE.recording if type(reader) is types.GeneratorType else None
    return next(reader, *default) if recording is None else run_outside_turn(recording, next, reader, *default)


def check_reader(reader: Any) -> None:
    """Refuse the next step of a reader that would read traced memory."""
    recording = STATE.recording
    if recording is not None and type(reader) is types.GeneratorType:
        read = [*_readable_by_generator(reader)]
        called = [thing for thing in read if type(thing) in (types.FunctionType, types.MethodType)]
        found = [value for thing in read for value in (thing, *behind(thing)) if is_inexact(value)]
        _refuse_if_traced(
            recording,
            found,
            "a generator that was made before the traced call reads",
            "Create the generator inside the function.",
            bool(called) and rule_reads.reads_traced(recording, called),
        )
    elif recording is not None:
        check_read(recording, reader)


_MAX_READ = 100
"""The number of objects, and of items of each container, that are checked before each step of a generator."""


def _readable_by_generator(generator: Any) -> Iterator[Any]:
    """Yield the objects that a generator can read: its variables, items of containers, and attributes that it names."""
    return readable_objects(generator.gi_code.co_names, _variables(generator))


def readable_objects(names: Iterable[str], variables: Iterable[Any]) -> Iterator[Any]:
    """Yield the objects that code can read from `variables`: items of containers, and attributes in `names`."""
    stack, seen = [*variables], set[int]()
    while stack and len(seen) < _MAX_READ:
        thing, t = stack[-1], type(stack.pop())
        yield thing
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if t is list or t is tuple or t is dict:
            items = itertools.islice(thing.values() if t is dict else thing, _MAX_READ)
            stack.extend([item for item in items if id(item) in SHADOW or type(item) not in IMMUTABLE])
        elif is_heap_type(t) and t.__dictoffset__:
            space = object.__getattribute__(thing, "__dict__")
            stack.extend([space[name] for name in names if name in space])


def _variables(generator: Any) -> Iterable[Any]:
    """Yield the values of a generator's local and global variables."""
    for thing in gc.get_referents(generator):
        is_cell = type(thing) is types.CellType
        if not is_cell or is_filled(thing, None, load_cell):
            yield load_cell(thing, None) if is_cell else thing
    if generator.gi_frame is not None:
        code, space = generator.gi_code, generator.gi_frame.f_globals
        yield from [space[name] for name in (original(code) or code).co_names if name in space]


def _refuse_if_traced(
    recording: Recording, values: Iterable[Any], who: str, remedy: str, is_read: bool = False
) -> None:
    if is_read or any([_is_traced_value(recording, value) for value in values]):
        raise recording.refuse(
            RefusedCallError(f"{users_line()}: {who} traced values, and returns numbers that are not traced. {remedy}")
        )


def _is_traced_value(recording: Recording, value: Any) -> bool:
    return recording.memory.is_traced(value) if is_array(value) else slot_of(recording, value) is not None
