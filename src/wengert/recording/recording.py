"""The recording: a list of entries, and the state needed to read it back.

An entry is `(op, value, ins, args, kwargs, site)`. `op` is a Bound, a PartUpdate, an RruleCall or a CheckpointEntry;
for inputs, constants and guards it is a Primitive. `ins` is aligned with `args`: a slot (an index in the list), None,
or a tuple of these where the argument is a list or tuple. The tape, the reverse pass and nested levels all read this
list.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert.errors import NoDerivativeError, RefusedCallError, WengertError
from wengert.recording.interface import WatchedReads, WrittenMemory
from wengert.recording.primitives import CONSTANT
from wengert.values.frames import is_at_caller
from wengert.values.late_modules import LateModule
from wengert.values.lazy_attribute import computed_once, made_when_read
from wengert.values.named_tuples import NamedTuple
from wengert.values.projection import plainly
from wengert.values.sites import Site
from wengert.values.specs import light
from wengert.values.undo_stack import Owed

Entry = tuple[Any, Any, tuple[Any, ...], tuple[Any, ...], Any, Site | None]


class Traced(NamedTuple):
    """A traced value inside the keyword arguments of an entry."""

    slot: int
    value: Any


def flat_slots(ins: tuple[Any, ...]) -> list[int]:
    """Flatten a nested tuple of slots into a list."""
    out: list[int] = []
    for part in ins:
        if type(part) is tuple:
            out.extend(flat_slots(part))
        elif part is not None:
            out.append(part)
    return out


class Level:
    """One open derivative: its first entry, and its inputs, of which the first `leading` are consecutive entries.

    Variables of this type are called `here`.
    """

    __slots__ = ("dependent", "inputs", "leading", "seen", "start", "swaps")

    def __init__(self, start: int) -> None:
        self.start = start
        self.leading = 0
        self.swaps: Any = None  # what stands in the caller's containers while the function runs
        self.seen = start
        self.inputs: set[int] = set()
        self.dependent: set[int] = set()


class SavedState(NamedTuple):
    """The state of a thread in the middle of which a recording was opened; it is restored when that is closed."""

    recording: Recording | None
    fast: Recording | None
    site: Site | None
    silenced: Recording | None


class SavedShadow(NamedTuple):
    """The shadow table of a suspended recording, saved while another recording's values are in the table."""

    shadow: dict[int, int]
    held: list[Any]  # arrays that the table does not hold itself: none may go meanwhile


class Survey(NamedTuple):
    """The calls that `wg.find_missing_rules` lists: without a rule, or with a constant result; where, and why.

    Those without a rule have the function's name in the user's code, and a rule to paste.
    """

    refused: list[tuple[Any, Site | None, str, str, str]]
    cut: list[tuple[Any, Site | None, str]]


NOTHING = range(0)
PUSHED = "pushforward of"
"""The note on what a forward step computes; a step back has "pullback of"."""
MOST_SEARCHED = 1000  # objects searched in each call of a rule; more are searched once, when the function ends

_Table = computed_once[dict[int, Any]]
_Caches = computed_once[dict[Any, dict[Any, Any]]]
_Notes = computed_once[list[tuple[int, str, int]]]


class Recording:
    """The recording of one thread: entries, levels, refusals, and the state of written memory.

    With `keep` it is for a tape, and keeps every value, guard and constant; without, it keeps residuals only.
    """

    __slots__ = (
        "__dict__",
        "batched",
        "callees",
        "checks_fp_errors",
        "closure_slots",
        "context",
        "displaced",
        "enter",
        "entries",
        "folds",
        "frame",
        "inert",
        "inner",
        "is_mapped",
        "is_open",
        "keep",
        "keeps_results",
        "last_nondifferentiable",
        "levels",
        "memory",
        "nan_checker",
        "owed",
        "pinned",
        "reads",
        "refusals",
        "reruns",
        "reverse",
        "roots",
        "rule_calls",
        "saved_shadow",
        "saved_state",
        "solver_effects",
        "specs",
        "stopped",
        "stream",
        "survey",
        "thread",
        "turn_lock",
        "unsearched",
        "walked",
    )

    texts: _Table = made_when_read(dict)  # texts made from traced values, by id
    origins: _Table = made_when_read(dict)  # of texts on a tape, by id: the call that made the text, or its slot
    late_slots: _Table = made_when_read(dict)  # of what the recording around it read after this one began: its slots
    caches: _Caches = made_when_read(dict)  # what functions with a cache have given in this trace
    fresh_objects: _Table = made_when_read(dict)  # new objects made for old ones, by id: the new and the old one
    notes: _Notes = made_when_read(list)  # (slot, what the entries from it on are, the slot it is about)
    rounded: _Table = made_when_read(dict)  # constants that were rounded from traced values, by id: keys of caches
    crowded: _Table = made_when_read(dict)  # large containers in which traced values were stored

    def __init__(self, keep: bool, context: Any = None) -> None:
        self.entries: list[Entry | None] = []
        self.specs: dict[int, Any] = {}  # by slot: the Specs of arrays that were read at keys
        self.levels: list[Level] = []
        self.inner = 0  # how many levels are open inside of the outermost, also where one is hidden from what runs
        self.walked = 0  # how many levels are hidden, since the pass over their entries is running
        self.keep = keep  # whether it is recorded for a tape
        self.keeps_results = keep  # whether entries keep all results and shapes of arrays, as forward mode needs
        self.pinned: int | None = None  # entries from here on are read by pullbacks that may be called later
        self.context = context
        self.refusals: list[WengertError] = []
        self.inert: set[int] = set()  # slots that a tape needs and no derivative passes through
        self.checks_fp_errors = False  # no short paths: each call is watched, or the code has set which errors raise
        self.nan_checker: Any = None  # checks the arguments and the result of each call
        self.batched = False  # whether its tape is for other values, too: bools are arrays, which it computes
        self.is_mapped = False  # whether its code is a function under vmap, which runs it once for all examples
        self.reruns = False  # whether the reverse pass follows at once, so that a checkpoint may run again in it
        self.last_nondifferentiable: tuple[int, str, Site | None] = (-1, "", None)  # entries before it, name, site
        self.closure_slots = NOTHING  # the slots of what the function itself holds
        self.solver_effects: Any = None  # of the functions given to the solver that a stand-in differentiates
        self.callees: Any = None  # what calls compiled code of functions inside of an uncompiled one
        self.reads: WatchedReads | None = None  # what the code reads from outside, where that is watched
        self.reverse: Any = None  # called in place of `reverse.walk.reverse`, to defer or to measure the reverse pass
        self.roots: Any = None  # the outermost function, and what it is given
        self.stopped = -1  # how many entries there were when a derivative was last stopped on purpose
        self.folds: list[int] = []  # where entries were dropped for a checkpoint's sake
        self.survey: Survey | None = None  # takes down what is refused for want of a rule, where the code goes on
        self.frame: types.FrameType | None = None  # the function that opened it, and closes it
        self.unsearched: dict[Any, Any] = {}  # functions with rules that reach too much to be searched in each call
        self.thread: int | None = None  # where it is open
        self.is_open = False
        self.saved_state: SavedState | None = None
        self.saved_shadow: SavedShadow | None = None
        self.displaced: tuple[Recording, SavedShadow | None] | None = None  # the one whose values its own displaced
        self.turn_lock: Any = None  # rung when its turn may have come, where it waits
        self.owed = Owed()
        self.stream: Any = None  # the entries, where each pushes its tangent as it comes
        self.memory: WrittenMemory = None  # type: ignore[assignment]
        # `enter(f)` returns the callable that traced code calls in place of `f`: the tracer sets `calls.resolve_plain`
        self.enter: Callable[[Any], Any] = None  # type: ignore[assignment]
        self.rule_calls: Any = None  # calls the rules of this package in a reverse pass, where reads are watched

    def is_for_tape(self, ins: tuple[Any, ...]) -> bool:
        """Whether a call with these slots is recorded for a tape alone, since no inner derivative depends on them."""
        return self.keep and self.innermost(ins) == 0

    @property
    def around(self) -> Recording | None:
        """The recording in whose code this one was opened, also while that is silenced."""
        state = self.saved_state
        return None if state is None else state.recording or state.silenced

    def append(self, entry: Entry) -> int:
        """Append an entry and return its slot."""
        slot = len(self.entries)
        self.entries.append(entry)
        if self.keep and entry[0].kind != "input" and not any(self.mask(flat_slots(entry[2]))):
            self.inert.add(slot)
        return slot

    def call(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function as traced code does, so that it is recorded."""
        return self.enter(fn)(*args, **kwargs)

    def constant(self, value: Any) -> int:
        """Record a value that depends on no input as a constant, as a tape needs; return its slot."""
        return self.append((CONSTANT, value, (), (), None, STATE.site))

    def unread(self, value: Any) -> Any:
        """Return the residual of a value that its pullback does not read: its Spec, or on a tape the value."""
        return value if self.keep else light(value)

    def pin(self, start: int) -> None:
        """Keep the entries from `start` on when levels end."""
        self.pinned = start if self.pinned is None else min(start, self.pinned)

    def mask(self, ins: Iterable[int | None]) -> tuple[bool, ...]:
        """Return for each of these slots whether a derivative passes through it."""
        if not self.inert:
            return tuple([slot is not None for slot in ins])
        return tuple([slot is not None and slot not in self.inert for slot in ins])

    def refuse(self, error: WengertError) -> WengertError:
        """Remember a refusal, so that user code cannot swallow it, and return the error to raise."""
        if isinstance(error, NoDerivativeError):
            error.site = error.site or users_site()
        self.refusals.append(error)
        return error

    def innermost(self, ins: tuple[Any, ...]) -> int:
        """Return the index of the innermost level on whose inputs any of these variables depends."""
        slots = [s for part in ins for s in (part if type(part) is tuple else (part,)) if s is not None]
        for k in range(len(self.levels) - 1, 0, -1):
            if any(self.depends(slot, self.levels[k]) for slot in slots):
                return k
        return 0

    def depends(self, slot: int, level: Level) -> bool:
        """Whether a slot depends on an input of a level."""
        known = level.dependent
        for place in range(max(level.start, level.seen), slot + 1):
            entry = self.entries[place]
            known_here = entry is not None and (place in level.inputs or any(s in known for s in flat_slots(entry[2])))
            if known_here:
                known.add(place)
        level.seen = max(level.seen, slot + 1)
        return slot in known

    def value(self, slot: int) -> Any:
        """Return the value at a slot; None if it was not kept and has been freed."""
        entry = self.entries[slot]
        value = None if entry is None else entry[1]
        return value() if type(value) is weakref.ref else value


class State(threading.local):
    """The state of a thread, which hooks look up first: its recording, and the user's line `site`.

    `fast` is the recording if the short paths may append to it, else None. `silenced` is the recording
    while what runs is recorded as one call. `callees` has the compiled functions that the next recording may call.
    """

    recording: Recording | None = None
    fast: Recording | None = None
    site: Site | None = None
    silenced: Recording | None = None
    callees: Any = None

    def __reduce__(self) -> Any:
        raise RefusedCallError(
            "a pullback of wg.vjp or a pushforward of wg.linearize cannot be pickled, since it refers to a recording. "
            "Pickle wg.grad(f) or wg.compile(f), or call wg.vjp in the other process."
        )


STATE = State()


def calling(watching: Recording | None) -> Callable[..., Any]:
    """Return a caller of pieces of a derivative: the open recording `watching`, if any, records them."""
    return plainly if watching is None else watching.call


class silent:
    """A context for Python code that is recorded as one call: the instrumented functions in it record nothing.

    Whatever breaks in on this, `STATE.silenced` is set only while `STATE.recording` is None: who catches it is refused.
    """

    __slots__ = ("before", "is_python")

    def __init__(self, is_python: bool = True) -> None:
        self.is_python = is_python

    def __enter__(self) -> None:
        self.before = STATE.silenced, STATE.recording, STATE.fast
        if self.is_python:
            STATE.fast = STATE.recording = None  # in this order: the hooks read `fast` alone
            STATE.silenced = self.before[1] or self.before[0]

    def __exit__(self, *error: object) -> None:
        STATE.silenced, STATE.recording, STATE.fast = self.before


LateModule.apart = silent  # a trace may run the import system's code instrumented


@functools.cache
def library_folders() -> tuple[str, ...]:
    """Return the folders of Python's library and of installed packages."""
    import sysconfig  # which takes 2 ms, for messages alone

    return tuple(
        [os.path.abspath(path) + os.sep for name, path in sysconfig.get_paths().items() if name.endswith("lib")]
    )


def users_line() -> str:
    """Format the user's line that is running, with the library's line that it led to, if any."""
    return str(users_site())


def users_site() -> Site | None:
    """Return the user's line that is running; if it led to a library, the function's name has the library's line.

    Code without a file that another traced line led to counts as a library's.
    """
    inner = STATE.site
    if inner is None or not inner.file.startswith(("<", *library_folders())):
        return inner
    others = ("<string>", *library_folders())  # the methods of dataclasses are of no file
    at_most = STATE.recording.frame if STATE.recording and not inner.file.startswith(others) else None
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not at_most and frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(("<wengert", inner.file, *others)) and not is_at_caller(file):
            return Site(file, frame.f_lineno, f"{frame.f_code.co_qualname} (by way of {inner})")
        frame = frame.f_back
    return inner


def called_by_user(fn: Any) -> Any:
    """Return the library function or object that the user's line called and that is still running; else `fn`."""
    frame: types.FrameType | None = sys._getframe(1)
    called, at_most = fn, STATE.recording.frame if STATE.recording else None
    while frame is not None and frame is not at_most:  # what called the derivative is none of it
        file = frame.f_code.co_filename
        if is_at_caller(file):
            pass  # which may be installed among the libraries
        elif file.startswith(library_folders()):
            found = _function_of(frame)
            called = called if found is None else found  # an array may be called, and has no truth
        elif not file.startswith("<"):
            break
        frame = frame.f_back
    return called


def _function_of(frame: types.FrameType) -> Any:
    """Return the function or object that a frame runs, or the class of which it makes an instance."""
    name = frame.f_code.co_qualname
    if name.endswith(".__call__"):
        return frame.f_locals.get(frame.f_code.co_varnames[0])
    first, *rest = name.removesuffix(".__init__").removesuffix(".__new__").split(".")
    found = frame.f_globals.get(first)
    for name in rest:
        found = getattr(found, name, None)
    return found if callable(found) else None


class OpenCounts:
    """Counts of the open recordings of this process, read by the hooks: those for a tape, and those under a Context."""

    tapes = 0
    contexts = 0


# Types whose operators are C code all through and run no Python of the user's. Arrays leave the set while written
# memory is traced, because then an array that is no traced object may still show traced values.
C_ONLY_TYPES: set[type] = {
    float,
    int,
    bool,
    complex,
    str,
    bytes,
    list,
    tuple,
    dict,
    set,
    frozenset,
    type(None),
    type(...),
    range,
    slice,
    np.ndarray,
    np.bool_,
    np.float64,
    np.float32,
    np.complex128,
    np.complex64,
    np.int64,
    np.int32,
    np.intp,
    np.uint8,
}
# An array takes what is in a list, sets ask which items are equal, and a text may be made from a traced value.
OPERANDS = C_ONLY_TYPES - {list, tuple, set, frozenset, dict, str, bytes}


def leave_array_fast_path() -> None:
    """Have the hooks inspect arrays from now on, also where all operands are arrays and numbers."""
    C_ONLY_TYPES.discard(np.ndarray)
    OPERANDS.discard(np.ndarray)
