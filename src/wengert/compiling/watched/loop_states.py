"""Heads of loops in a watched trace: they compare everything that the code can reach with the iteration before.

If only traced numbers and arrays differ, every iteration computes the same function of these. A Head on the tape tells
so, and `compiling/loops/branch_tree.py` makes a dynamic loop of it.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
import types
from bisect import bisect
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from wengert.compiling.loops.periodicity import constant_key, static_spec
from wengert.compiling.watched.lifting import (
    LIFTABLE,
    Lifts,
    LoopKey,
    Place,
    VariableName,
    constants_that_differ,
    part_at,
    set_part,
)
from wengert.compiling.watched.marks import Head, Join, LoopRun, LoopState, Mark
from wengert.compiling.watched.symbolic_ints import (
    SYMBOLIC_ITERATORS,
    lift_constant,
    may_be_symbolic,
    symbolic_iterator,
)
from wengert.compiling.watched.trusted import belongs_to_user, is_root_of_trace
from wengert.compiling.watched.watchable import (
    ATOMS,
    CONSTANT_CALLABLES,
    has_only_attributes,
    has_readable_state,
    is_unbound,
    readable_state,
    slot_names,
    slot_value,
)
from wengert.hooks.code_swap import HOOKS
from wengert.recording.primitives import Primitive
from wengert.recording.recording import STATE, Level
from wengert.recording.slots import slot_of
from wengert.recording.swapped_code import is_born
from wengert.rewrite.heads import LoopHead
from wengert.rewrite.liveness import live_after
from wengert.values.codes import original
from wengert.values.frames import ENGINE
from wengert.values.names import home_of
from wengert.values.sites import Site
from wengert.values.views import owner_of

MOST_PARTS = 200_000
"""The largest number of values that one trace compares."""
MOST_IRREGULAR = 10
"""After how many iterations that all differ no joins are looked for in a loop."""
MOST_FORMS = 20
"""The largest number of earlier states of a loop with which one is compared."""
LARGEST_COMPARED = 10_000
"""The largest size of an untraced array that is compared element by element."""


def is_compared_by_value(thing: Any) -> bool:
    """Whether states compare a thing by its value, although there may be several objects of that value."""
    t = type(thing)
    return (
        (t in ATOMS and t not in _SINGLETONS)
        or t in _PLAIN_VALUES
        or isinstance(thing, (np.ndarray, np.generic, np.dtype))
    )


_SINGLETONS = {bool, type(None), type(...), type(NotImplemented)}
_PLAIN_VALUES = {float, complex, range, slice, tuple}


def _key_of_loop(frame: types.FrameType, head: LoopHead) -> LoopKey:
    return original(frame.f_code) or frame.f_code, head.number


class IncomparableError(Exception):
    """Part of a state cannot be compared; the message describes it."""


class Heads:
    """The loops that a trace has entered, and their heads."""

    def __init__(self, reads: Any) -> None:
        self.reads = reads
        self.draws, self.written_like = reads.draws, reads.recording.memory.written_like
        self.seen = 0
        self.compares_identity = False  # whether the code compared the identity of a thing that states compare by value
        self.reversed_levels: list[Level] = []  # the level of each Reverse on the tape
        self.loops: dict[tuple[int, int], tuple[LoopRun, LoopState | None]] = {}
        self.forms: dict[Any, list[tuple[int, Any]]] = {}  # numbered, of the states at heads and statements of loops
        self.alive: dict[int, Any] = {}  # the things whose ids are in forms
        self.lifts: Lifts = {}
        self.lifted_before: Lifts = {}  # in an earlier trace
        self.lifted_loops: list[LoopRun] = []  # loops for which variables are lifted
        self.live: dict[Any, Any] = {}  # the names that are live in the frames of calls, by code and place
        self.integers: set[int | None] = set()  # the slots of floats that were lifted from integers
        self.constants: dict[Any, Any] = {}  # lifted numbers, by the variable and the constant
        self.counters: list[Any] = []  # kept alive here: the shadow table keeps only ids
        self.liftable: dict[LoopRun, tuple[LoopKey, dict[Place, type]]] = {}  # only constants change in these
        self.refusal = ""  # where a lifted number is used otherwise than in arithmetic

    def enter_loop(self, frame: types.FrameType, head: LoopHead, iterator: list[Any]) -> Any:
        """Enter a loop; return the iterator that a `for` uses, None for other loops."""
        loop = LoopRun(len(self.reads.recording.entries), _key_of_loop(frame, head))
        self.loops[id(frame), head.number] = loop, None
        if loop.key in self.lifts:
            self.lifted_loops.append(loop)
            if iterator and not _only_counts(head, iterator):
                return symbolic_iterator(self.reads.recording, iterator[0]) or iterator[0]
        return iterator[0] if iterator else None

    def begin_iteration(self, frame: types.FrameType, head: LoopHead, iterator: list[Any], site: Site | None) -> None:
        """Record the head of an iteration; that of a `for` has an iterator."""
        key = id(frame), head.number
        loop, before = self.loops.get(key, (None, None))
        if loop is None or self.seen > MOST_PARTS:
            return
        loop.end = len(self.reads.recording.entries)
        if head.is_for and not _only_counts(head, iterator) and type(iterator[0]) not in SYMBOLIC_ITERATORS:
            if may_be_symbolic(iterator[0]):
                self.liftable[loop] = loop.key, {}
            return
        try:
            self.lift(frame, self.lifts.get(loop.key, {}))
            if self.reads.has_changed_containers():
                raise IncomparableError("the content of a container from outside the function")
            state = _StateWalk(self).state(frame, head, iterator, loop)
        except IncomparableError as unknown:
            state, difference = LoopState({}, ()), f"it may change {unknown}"
        else:
            difference = (
                "it ran too few iterations to compare them" if before is None else _describe_difference(before, state)
            )
            names = constants_that_differ(before.forms, state.forms) if difference and before is not None else {}
            if names:
                self.liftable.setdefault(loop, (loop.key, {}))[1].update(names)
            elif difference and before is not None:
                self.liftable.pop(loop, None)  # lifting does not remove this difference
        self.loops[key] = loop, state
        left = operator.length_hint(iterator[0]) if iterator else None
        number = getattr(iterator[0], "number", None) if iterator and type(iterator[0]) in SYMBOLIC_ITERATORS else None
        slots = state.slots if number is None else (*state.slots, slot_of(self.reads.recording, number))
        primitive = Primitive(Head(loop, difference, left, self, state, number is not None), None, "guard")
        self.reads.recording.append((primitive, None, slots, (), None, site))

    def begin_statement(self, frame: types.FrameType, head: LoopHead, site: Site | None) -> None:
        """Record that paths may join here, if there was a test since the last statement."""
        loop, _ = self.loops.get((id(frame), head.number), (None, None))
        entries = self.reads.recording.entries
        if loop is None:
            return
        begin, loop.seen = loop.seen, len(entries)
        if loop.irregular > MOST_IRREGULAR or self.seen > MOST_PARTS or not _has_test(entries[begin:]):
            return
        if self.reads.has_changed_containers():
            return
        try:
            self.lift(frame, self.lifts.get(loop.key, {}))
            state = _StateWalk(self).state(frame, head, [], loop)
        except IncomparableError:
            return
        mark = Join(loop, head.place, self.number_of_forms((loop.key, head.place), state.forms))
        self.reads.recording.append((Primitive(mark, None, "guard"), None, state.slots, (), None, site))

    def follow(self, earlier: Heads) -> None:
        """Number forms as an earlier trace does, and lift what it lifted."""
        self.forms, self.alive, self.lifted_before = earlier.forms, earlier.alive, earlier.lifts

    def let_go(self) -> None:
        """Keep only what is asked of heads when the trace has ended."""
        self.reads = None
        self.loops, self.constants, self.liftable, self.counters = {}, {}, {}, []

    def id_of(self, thing: Any) -> int:
        """Return the id of a thing, which lives as long as the forms of states."""
        self.alive[id(thing)] = thing
        return id(thing)

    def number_of_forms(self, key: Any, forms: dict[VariableName, Any]) -> int:
        """Return the number of these forms of the variables at a place; equal ones have the same number."""
        known = self.forms.setdefault(key, [])
        for number, others in reversed(known):
            if others == forms:
                return number
        known.append((known[-1][0] + 1 if known else 0, forms))
        del known[:-MOST_FORMS]
        return known[-1][0]

    def lift(self, frame: types.FrameType, kinds: dict[Place, type]) -> None:
        """Replace the values at these places, if they are constants, by values that the tape computes from here on."""
        frames = [*_frames(frame)] if kinds else []
        for place, kind in sorted(kinds.items(), key=lambda item: item[0]):
            depth, function, name = place.variable
            f = frames[depth] if depth < len(frames) else frame
            value: Any = part_at(f.f_locals.get(name), place.path) if f.f_code.co_name == function else None
            if slot_of(self.reads.recording, value) is not None:
                continue
            if kind in LIFTABLE and type(value) in LIFTABLE:
                key = place, constant_key(value)
                if key not in self.constants:
                    self.constants[key] = lift_constant(self.reads.recording, kind(value))
                    if type(value) is int is not kind:
                        self.integers.update([slot_of(self.reads.recording, self.constants[key])])
                set_part(f, place, self.constants[key])
            elif issubclass(kind, np.ndarray) and type(value) is np.ndarray and value.size and value.flags.writeable:
                first = (0,) * value.ndim
                HOOKS["setitem"](value, first, lift_constant(self.reads.recording, value[first]), STATE.site)

    def live_in(self, frame: types.FrameType) -> frozenset[str]:
        """Return the fast local variables that a frame may still read after the call that it makes."""
        code = frame.f_code
        if id(code) not in self.live:
            self.live[id(code)] = code, live_after(code)  # the code is kept, so that no id is used twice
        _, (offsets, names) = self.live[id(code)]
        found: frozenset[str] = names[bisect(offsets, frame.f_lasti) - 1]  # f_lasti may be within the call
        return found

    @property
    def frees_loops(self) -> bool:
        """Whether a loop for which variables were lifted now runs any number of iterations."""
        return any([loop.kind for loop in self.lifted_loops])

    def needed_lifts(self) -> Lifts:
        """Return the variables that must be lifted to free loops which contain guards."""
        found: Lifts = {key: {**names} for key, names in self.lifted_before.items()}
        for loop, (key, names) in self.liftable.items():
            between = self.reads.recording.entries[loop.begin : loop.end]
            if _has_test(between):
                found.setdefault(key, {}).update(names)
        return found


def _has_test(entries: Iterable[Any]) -> bool:
    return any([entry and entry[0].kind == "guard" and not isinstance(entry[0].fn, Mark) for entry in entries])


def _only_counts(head: LoopHead, iterator: list[Any]) -> bool:
    """Whether a loop runs over a range whose numbers it does not read."""
    return head.counts and type(iterator[0]) is type(iter(range(0)))


def _describe_difference(a: LoopState, b: LoopState) -> str:
    """Describe the variables that differ between two states."""
    names = [_variable_label(*key) for key in {**a.forms, **b.forms} if a.forms.get(key, a) != b.forms.get(key, a)]
    return ", ".join(names) and f"it changes {', '.join(names)}"


def _variable_label(depth: int, function: str, name: str) -> str:
    return f"{name} of {function}" if depth else name


class _StateWalk:
    """A traversal of all objects that the frames of the program reach."""

    def __init__(self, heads: Heads) -> None:
        self.heads, self.recording = heads, heads.reads.recording
        self.slots: list[int] = []
        self.given: list[int] = []
        self.numbers: dict[int, int] = {}
        self.kept: list[Any] = []  # alive, so that no id is used twice
        inputs = [outer.traced for outer in heads.reads.inputs.values()]
        self.input_owners = {id(owner_of(made)) for made in inputs if isinstance(made, np.ndarray)}

    def state(self, frame: types.FrameType, head: LoopHead, iterator: list[Any], loop: LoopRun) -> LoopState:
        """Return the state of the program, without the variables of this frame that are not live."""
        forms: dict[VariableName, Any] = {}
        if iterator and type(iterator[0]) in SYMBOLIC_ITERATORS:
            forms[0, frame.f_code.co_name, "the next number of its range"] = [*map(self.form, iterator[0].counters)]
        fixed: list[int] = []
        grown, lists = dict(head.grown), dict[str, list[Any]]()
        forms[0, "", "something outside of the function"] = f"{self.heads.reads.effects.count}"
        for depth, f in enumerate(_frames(frame)):
            forms[depth, f.f_code.co_name, "the position in the code"] = self.heads.id_of(f.f_code), f.f_lasti
            names = dict(f.f_locals)
            if sys.version_info < (3, 13) and f.f_code.co_flags & inspect.CO_OPTIMIZED:
                f.f_locals.clear()  # a copy, which the frame would keep
            live = head.live if depth == 0 else self.heads.live_in(f)
            for name, value in names.items():
                if name in f.f_code.co_varnames and name not in {*live, *f.f_code.co_cellvars}:
                    continue
                if depth == 0 and type(value) is list and name in grown:
                    lists[name] = value
                    continue
                is_fast = name in f.f_code.co_varnames and name not in f.f_code.co_cellvars
                if is_fast and (depth or name not in head.set) and slot_of(self.recording, value) is not None:
                    fixed.append(len(self.slots))
                try:
                    forms[depth, f.f_code.co_name, name] = self.form(value)
                except IncomparableError as unknown:
                    raise IncomparableError(f"{name}, {unknown}") from None
                except RecursionError:
                    raise IncomparableError(f"{name}, too deeply nested to compare") from None
        first = len(self.slots)
        for name, value in lists.items():
            more = len(value) - loop.lengths.get(name, len(value))
            if head.place == head.number:
                loop.lengths[name] = len(value)
            is_alone = id(value) not in self.numbers and [*map(id, lists.values())].count(id(value)) == 1
            count = max(grown[name], more)
            last = value[len(value) - min(count, len(value)) :]
            form = ("grown", more, *map(self.form, last)) if is_alone else self.form(value)
            forms[0, frame.f_code.co_name, name] = form
        positions = frozenset(range(first, len(self.slots))) if lists else None
        return LoopState(forms, tuple(self.slots), frozenset(fixed), positions, frozenset(self.given))

    def form(self, value: Any) -> Any:
        """Return the form of a value. Code cannot distinguish states with equal forms in the same order."""
        self.heads.seen += 1
        t = type(value)
        if t in ATOMS:
            return t, value
        slot = slot_of(self.recording, value)
        if slot is not None:
            if isinstance(value, np.ndarray) and self.is_input(value) and _is_whole(value):
                self.given.append(len(self.slots))
            self.slots.append(slot)
            return (t, static_spec(value), *(self.memory(value) if isinstance(value, np.ndarray) else ()))
        if isinstance(value, (float, complex, np.generic)):
            return constant_key(value)
        if t is range or t is slice:
            return t, *map(self.form, (value.start, value.stop, value.step))
        if isinstance(value, np.dtype) and has_readable_state(value):
            return t, readable_state(value)
        if t is tuple:
            return (t, *map(self.form, value))
        if id(value) in self.numbers:
            return "again", self.numbers[id(value)]
        self.numbers[id(value)] = len(self.numbers)
        self.kept.append(value)
        known = self.heads.reads.known_objects.get(id(value))
        if (known is not None and known[0] is value) or self.is_constant(value):
            return "outside", self.heads.id_of(value)
        return t, *self.parts(value)

    def is_constant(self, value: Any) -> bool:
        """Whether a trace cannot change a thing, or checks at its end that it did not."""
        if isinstance(value, type):
            return self.is_from_outside(value)
        if isinstance(value, types.ModuleType) or home_of(type(value)).partition(".")[0] == "wengert":
            return True
        if type(value) is np.ufunc:
            return not {*"".join(value.types)} <= {*"O->"}  # those of `frompyfunc` call a Python function
        if type(value) is types.FunctionType:
            return not is_born(value)
        if type(value) is types.BuiltinFunctionType:
            return is_unbound(value)
        return type(value) in CONSTANT_CALLABLES or (
            type(value) is np.ndarray and self.heads.reads.is_compared_array(value)
        )

    def is_from_outside(self, cls: type) -> bool:
        """Whether a class existed before the trace, so that reads of its attributes are guarded."""
        return not belongs_to_user(cls) or id(cls) in self.heads.reads.classes

    def parts(self, value: Any) -> Iterator[Any]:
        """Return the forms of the parts of a thing."""
        t = type(value)
        if len(self.numbers) > MOST_PARTS:
            raise IncomparableError("too many objects to compare")
        if t is list or t is set or t is frozenset:
            return map(self.form, value)
        if t is dict:
            return map(self.form, [part for item in value.items() for part in item])
        if t is np.ndarray and value.size <= LARGEST_COMPARED and not value.dtype.hasobject:
            return iter((value.shape, value.dtype, *self.memory(value), value.tobytes()))
        if t is types.FunctionType:
            code, cells = self.heads.id_of(value.__code__), value.__closure__ or ()
            return map(self.form, [code, value.__defaults__, value.__kwdefaults__, value.__dict__, *cells])
        if t is types.CellType:
            return map(self.form, [value.cell_contents] if _has_content(value) else [])
        if t is types.MethodType:
            return map(self.form, [value.__func__, value.__self__])
        if t is functools.partial:
            return map(self.form, [value.func, value.args, value.keywords, vars(value)])
        if issubclass(t, tuple) and hasattr(t, "_fields") and not t.__dictoffset__:
            return iter((self.heads.id_of(t), *map(self.form, tuple.__iter__(value))))
        if has_only_attributes(t) and self.is_from_outside(t):
            own = object.__getattribute__(value, "__dict__") if t.__dictoffset__ else {}
            return iter(
                (self.heads.id_of(t), *map(self.form, [own, *[slot_value(value, name) for name in slot_names(t)]]))
            )
        raise IncomparableError(f"a {t.__name__}")

    def memory(self, array: np.ndarray) -> tuple[Any, ...]:
        """Describe the memory of an array: its owner, offset, strides and whether it is writeable."""
        owner = owner_of(array)
        if id(owner) not in self.numbers:
            self.numbers[id(owner)] = len(self.numbers)
            self.kept.append(owner)
        begin = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        is_part = self.is_input(array) and not _is_whole(array)
        return self.numbers[id(owner)], is_part, begin, array.strides, array.flags.writeable

    def is_input(self, array: np.ndarray) -> bool:
        """Whether an array is in the memory of an input."""
        return id(owner_of(array)) in self.input_owners


def _is_whole(array: np.ndarray) -> bool:
    """Whether an array shows all of its memory."""
    owner = owner_of(array)
    return array.shape == owner.shape and array.strides == owner.strides and array.dtype == owner.dtype


def _has_content(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _frames(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """Yield the frames of user and library code, from a loop's to the traced function's."""
    while frame is not None and not is_root_of_trace(frame):
        if not frame.f_code.co_filename.startswith(ENGINE):
            yield frame
        elif "standins" in frame.f_code.co_filename:
            raise IncomparableError("the variables of a function that C code called")
        frame = frame.f_back
