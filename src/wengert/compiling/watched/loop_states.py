"""The state of a program at the head of a loop: the forms of everything that the code can reach.

Code cannot distinguish states with equal forms, but for the values of traced numbers and arrays in them.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import types
from collections import deque
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from wengert.compiling.constants import constant_key
from wengert.compiling.loops.periodicity import static_spec
from wengert.compiling.watched.lifting import (
    GrowingList,
    GrownList,
    Place,
    VariableName,
    form_at,
    is_choice,
    is_past,
    with_part,
)
from wengert.compiling.watched.marks import LoopRun, LoopState
from wengert.compiling.watched.symbolic_ints import lift_constant
from wengert.compiling.watched.symbolic_iterators import SYMBOLIC_ITERATORS
from wengert.compiling.watched.trusted import belongs_to_user, is_root_of_trace
from wengert.compiling.watched.watchable import (
    ATOMS,
    CONSTANT_CALLABLES,
    dictionary_of,
    has_dictionary,
    has_only_attributes,
    has_readable_state,
    is_unbound,
    readable_state,
    slot_names,
    slot_value,
)
from wengert.hooks.items import gathered
from wengert.recording.shadow import SHADOW
from wengert.recording.slots import slot_of
from wengert.recording.trace_state import is_born
from wengert.rewrite.loop_head import LoopHead
from wengert.values.codes import original
from wengert.values.frames import ENGINE
from wengert.values.names import home_of
from wengert.values.views import owner_of

MOST_PARTS = 200_000
"""The largest number of values that one trace compares."""
LARGEST_COMPARED = 10_000
"""The largest size of an untraced array that is compared element by element."""

COMPREHENSION = "the list that it makes"


class IncomparableError(Exception):
    """Part of a state cannot be compared; the message describes it."""


def is_compared_by_value(thing: Any) -> bool:
    """Whether states compare a thing by its value, although there may be several objects of that value."""
    t = type(thing)
    return (
        (t in ATOMS and t not in _SINGLETONS)
        or t in _PLAIN_VALUES
        or isinstance(thing, (np.ndarray, np.generic, np.dtype))
    )


FORMS_OF_FLOATS: dict[Any, Any] = {t: (t, static_spec(t(0.0))) for t in (float, np.float64)}
_SINGLETONS = {bool, type(None), type(...), type(NotImplemented)}
_PLAIN_VALUES = {float, complex, range, slice, tuple}


class StateWalk:
    """A traversal of all objects that the frames of the program reach."""

    def __init__(self, heads: Any) -> None:
        self.heads, self.recording = heads, heads.reads.recording
        heads.retyped.follow(self.recording)
        self.slots: list[int] = []
        self.given: list[int] = []
        self.begin = 0
        self.numbers: dict[int, int] = {}
        self.kept: list[Any] = []  # alive, so that no id is used twice
        self.input_owners = heads.owners_of_inputs()

    def state(
        self, frame: types.FrameType, head: LoopHead, iterator: list[Any], loop: LoopRun, chosen: dict[Place, Any]
    ) -> LoopState:
        """Return the state of the program, without the variables of this frame that are not live.

        `chosen` are the numbers of the constants at places of choices.
        """
        self.begin = loop.begin
        forms: dict[VariableName, Any] = {}
        fixed: list[int] = []
        if iterator and type(iterator[0]) in SYMBOLIC_ITERATORS:
            forms[0, frame.f_code.co_name, "the next number of its range"] = tuple(map(self.form, iterator[0].counters))
            fixed = [*range(len(self.slots), len(self.slots) + len(iterator[0].tables))]
            self.slots += iterator[0].tables
        past: list[int] = []
        grown, lists = grown_lists(head, loop), dict[str, list[Any]]()
        if head.fills:
            made = self.heads.filled[id(frame), head.number]
            if id(made) in self.heads.lists.views:
                forms[0, frame.f_code.co_name, COMPREHENSION] = self.form(made)
            else:
                lists[COMPREHENSION] = made
        forms[0, "", "something outside of the function"] = f"{self.heads.reads.effects.count}"
        for depth, f in enumerate(frames_of(frame)):
            forms[depth, f.f_code.co_name, "the position in the code"] = self.heads.id_of(f.f_code), f.f_lasti
            names = local_variables(f)
            live = head.live if depth == 0 else self.heads.after_call(f)[1]
            for name, value in names.items():
                if name in f.f_code.co_varnames and name not in {*live, *f.f_code.co_cellvars}:
                    continue
                if depth == 0 and type(value) is list and name in grown and id(value) not in self.heads.lists.views:
                    lists[name] = value
                    if name in head.indexed:
                        known = max(grown[name], self.heads.depth_of(loop, name))
                        self.heads.indexed[id(value)] = value, loop, known
                    continue
                is_fast = name in f.f_code.co_varnames and name not in f.f_code.co_cellvars
                if is_fast and slot_of(self.recording, value) is not None:
                    fixed += [len(self.slots)] * bool(depth or name not in head.set)
                    past += [len(self.slots)] * (depth == 0 and name not in head.after)
                try:
                    forms[depth, f.f_code.co_name, name] = self.form(value)
                except IncomparableError as unknown:
                    raise IncomparableError(f"{name}, {unknown}") from None
                except RecursionError:
                    raise IncomparableError(f"{name}, too deeply nested to compare") from None
        for place, made in chosen.items():
            form = forms.get(place.variable)
            if is_choice(form_at(form, place.path)):
                forms[place.variable] = with_part(form, place.path, "a choice")
                past += [len(self.slots)] * is_past(head, place)
                self.slots.append(slot_of(self.recording, made))  # type: ignore[arg-type]
        unread, newest = self.add_lists(forms, frame, head, loop, lists)
        positions = frozenset(newest) if lists else None
        kinds = frozenset(fixed), positions, frozenset(self.given), frozenset(past), frozenset(unread)
        return LoopState(forms, tuple(self.slots), *kinds)

    def add_lists(
        self,
        forms: dict[VariableName, Any],
        frame: types.FrameType,
        head: LoopHead,
        loop: LoopRun,
        lists: dict[str, list[Any]],
    ) -> tuple[list[int], list[int]]:
        """Add the forms of lists to which a loop only appends: those of their last items.

        Return the positions of the items that no iteration reads, and of those that the last iteration appended.
        """
        unread, newest, grown = list[int](), list[int](), grown_lists(head, loop)
        for name, value in lists.items():
            is_new, more = name not in loop.lengths, len(value) - loop.lengths.get(name, len(value))
            if head.place == head.number:
                loop.lengths[name] = len(value)
            is_alone = id(value) not in self.numbers and [*map(id, lists.values())].count(id(value)) == 1
            indexed = self.heads.depth_of(loop, name)
            read = max(grown.get(name, 0), indexed)  # of a comprehension's list it reads none
            more = 1 if is_new and indexed else more  # the counter tells the next head to have one more
            count = max(read, more)
            last = value[len(value) - min(count, len(value)) :]
            variable, begin = (0, frame.f_code.co_name, name), len(self.slots)
            if is_new and not count:  # no iteration reads what came before the first
                last = self.lifted_items(loop, variable)
                more = len(last)
            if not is_alone:
                forms[variable] = self.form(value)
                continue
            if loop.grows:
                forms[variable] = GrowingList, len(value), *map(self.form, last[-1:])
                continue
            old = [*map(self.form, last[: max(0, len(last) - more)])]
            first = len(self.slots)
            forms[variable] = GrownList, more, *old, *map(self.form, last[len(old) :])
            unread += range(begin, len(self.slots) if not read else begin)
            newest += range(first, len(self.slots))
        return unread, newest

    def lifted_items(self, loop: LoopRun, variable: VariableName) -> list[Any]:
        """Return items of lifted zeros, such as an iteration appends: the first iteration has no last items."""
        heads, items = self.heads, dict[int, Any]()
        kinds = heads.lifts.get(loop.key, {})
        for place in sorted([place for place in kinds if place.variable == variable and place.path]):
            k, kind = place.path[0], kinds[place]
            if kind in (list, tuple):
                items[k] = []
                continue
            if place not in heads.constants:
                heads.constants[place] = lift_constant(self.recording, kind(0.0))
            if place.path == (k,):
                items[k] = heads.constants[place]
            elif k in items:
                items[k].append(heads.constants[place])
        return [tuple(x) if kinds[Place(variable, (k,))] is tuple else x for k, x in items.items()]

    def spec(self, value: Any) -> Any:
        """Return the static type of a traced value; a selection may have any length."""
        spec, lengths = static_spec(value), self.heads.reads.lengths
        if lengths is None or not lengths.may_select(value):
            return spec
        return spec._replace(shape=(-1, *spec.shape[1:]))

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
            value = self.heads.retyped.get(slot, value)
            return (type(value), self.spec(value), *(self.memory(value) if isinstance(value, np.ndarray) else ()))
        if isinstance(value, (float, complex, np.generic)):
            return constant_key(value)
        if t is range or t is slice:
            return t, *map(self.form, (value.start, value.stop, value.step))
        if isinstance(value, np.dtype) and has_readable_state(value):
            return t, readable_state(value)
        if t is tuple:
            return (t, *map(self.form, value))
        if (record := self.heads.records.get(id(value))) is not None:
            return record.form(self)
        view = self.heads.lists.views.get(id(value))
        is_first = id(value) not in self.numbers
        number = self.number(value)
        known = self.heads.reads.known_objects.get(id(value))
        if (known is not None and known[0] is value) or self.is_constant(value):
            return "outside", self.heads.id_of(value)
        if not is_first:
            return "again", number
        return (t, *self.parts(value)) if view is None else self.heads.lists.form(self, view)

    def number(self, thing: Any) -> int:
        """Return the number of a thing in the order in which they are reached."""
        if id(thing) not in self.numbers:
            self.numbers[id(thing)] = len(self.numbers)
            self.kept.append(thing)
        return self.numbers[id(thing)]

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
            return self.floats(value) or map(self.form, value)
        if t is deque:
            return iter((value.maxlen, *map(self.form, value)))
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
            own = dictionary_of(value) if has_dictionary(t) else {}
            return iter(
                (self.heads.id_of(t), *map(self.form, [own, *[slot_value(value, name) for name in slot_names(t)]]))
            )
        raise IncomparableError(f"a {t.__name__}")

    def floats(self, items: Collection[Any]) -> Iterator[Any] | None:
        """Return the forms of traced floats that none retypes, found at once; None if other things are among them."""
        if not FORMS_OF_FLOATS.keys() >= {*map(type, items)}:
            return None
        slots = [*map(SHADOW.get, map(id, items))]
        if None in slots or not self.heads.retyped.keys().isdisjoint(slots):
            return None
        self.heads.seen += len(items)
        self.slots += slots  # type: ignore[arg-type]
        return map(FORMS_OF_FLOATS.__getitem__, map(type, items))

    def memory(self, array: np.ndarray) -> tuple[Any, ...]:
        """Describe the memory of an array: its owner, offset, strides and whether it is writeable."""
        owner = owner_of(array)
        number = self.number(owner)
        begin = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        is_part = self.is_input(array) and not _is_whole(array)
        return number, is_part, begin, array.strides, array.flags.writeable

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


def grown_lists(head: LoopHead, loop: LoopRun) -> dict[str, int]:
    """Return the variables that a loop only appends to; if a counter may be an index, those of a loop with counters."""
    return {name: depth for name, depth in head.grown if loop.counted_by is not None or name not in head.indexed}


def local_variables(frame: types.FrameType) -> dict[str, Any]:
    """Return the local variables of a frame."""
    names = dict(frame.f_locals)
    if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        frame.f_locals.clear()  # a copy, which the frame would keep
    return names


def sees_end(frame: types.FrameType) -> bool:
    """Whether code of a frame, or of a generator in it, may run when an exception ends it."""
    held = [x.gi_code for x in frame.f_locals.values() if type(x) is types.GeneratorType]
    return any([_handles_exceptions(original(code) or code) for code in (frame.f_code, *held)])


def _handles_exceptions(code: types.CodeType) -> bool:
    """Whether code may have handlers of its own; a comprehension's restores variables, a generator's raises again."""
    return bool(code.co_exceptiontable) and dis.opmap["PUSH_EXC_INFO"] in code.co_code[::2]


def frames_of(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """Yield the frames of user and library code, from a loop's to the traced function's."""
    while frame is not None and not is_root_of_trace(frame):
        if frame.f_code is gathered.__code__:  # until all is gathered nothing changes around it but its list
            while frame.f_back is not None and frame.f_back.f_code.co_filename.startswith(ENGINE):
                frame = frame.f_back
            frame = frame.f_back
            continue
        if not frame.f_code.co_filename.startswith(ENGINE):
            yield frame
        elif "standins" in frame.f_code.co_filename:
            raise IncomparableError("the variables of a function that C code called")
        frame = frame.f_back
