"""Heads of loops in a watched trace: is all that the code can reach as it was when the iteration before began?

If it is, but for numbers and arrays that are traced, then what comes next is a function of these alone, whichever
iteration it is. A Head on the tape says so; what is made of that is told in `compiling/loops/branch_tree.py`.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.loops.periodicity import constant_key, static_spec
from wengert.compiling.watched.sameness import is_stated, state
from wengert.compiling.watched.symbolic_ints import Numbers, lifted
from wengert.compiling.watched.trusted import is_of_user
from wengert.compiling.watched.watchable_types import (
    ATOMS,
    SAME,
    has_attributes_alone,
    is_bound_to_none,
    slots_of,
)
from wengert.recording.primitives import Primitive
from wengert.recording.recording import Level
from wengert.recording.slots import slot_of
from wengert.recording.swapped_code import is_born
from wengert.rewrite.heads import LoopHead
from wengert.values.codes import original
from wengert.values.frames import ENGINE, is_ours, set_local
from wengert.values.names import home_of
from wengert.values.sites import Site
from wengert.values.views import owner_of

MOST = 200_000
"""Parts of states that are looked at in one trace."""
LARGEST = 10_000
"""Elements of an array that is no variable, and is compared element by element."""


class Head:
    """Stands on a tape, as a test that always holds, where an iteration begins; what it reads are the variables of it.

    With `same`, the state is that of the head before but for the values of the variables, and else `differs` names what
    is not. `left`: so many iterations are left of a `for`. The variables of the numbers `fixed` are those that the loop
    does not set.
    Of the derivatives that are open, what walks over all that was recorded knows how often the loop ran.
    """

    __name__ = "head"

    def __init__(
        self, loop: LoopActivation, differs: str, left: int | None, heads: Heads, fixed: frozenset[int] = frozenset()
    ) -> None:
        self.loop, self.differs, self.left, self.fixed = loop, differs, left, fixed
        self.levels, self.heads = heads.reads.recording.levels[1:], heads

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.differs

    @property
    def is_all(self) -> bool:
        """Whether nothing but the code knows of the iteration: all that walks over it is one call on the tape."""
        return not self.heads.told_apart and all([self.heads.walked.count(level) == 1 for level in self.levels])

    @property
    def words(self) -> str:
        """How often the loop may run, and why not more."""
        if self.loop.is_free:
            return "as often as its tests say"
        why: Any = f"{self.differs}{self.heads.asks}" if self.differs else ""
        why = why or (self.heads.reads.draws and "random numbers are drawn")
        why = why or (self.heads.told_apart and "it asks which of equal things one is")
        why = why or (not self.is_all and "a derivative walks over it")
        return f"as often as in its trace: {why or 'its iterations do not tell what it does in others'}"

    def __call__(self, *variables: Any) -> None:
        pass


def has_no_number(thing: Any) -> bool:
    """Whether states tell the value of a thing, and not which object it is; there may be several of that value."""
    t = type(thing)
    return (t in ATOMS and t not in _SINGLE) or t in _VALUES or isinstance(thing, (np.ndarray, np.generic, np.dtype))


_SINGLE = {bool, type(None), type(...), type(NotImplemented)}
_VALUES = {float, complex, range, slice, tuple}


class LoopActivation:
    """One time that a loop was entered; with `is_free` the code that was made of it runs any number of iterations.

    `begin` and `end` are the places of its first and last head among the entries.
    """

    is_free = False

    def __init__(self, begin: int) -> None:
        self.begin = self.end = begin


Name = tuple[int, str, str]
"""Of a variable: how many frames above that of the loop, of which function, and its name there."""
Place = tuple[types.CodeType, int]
"""Of a loop: its code, and the number of its head."""
Lifts = dict[Place, set[Name]]
"""The variables that are to be computed by the tape, by the loops for whose sake."""


def _place(frame: types.FrameType, head: LoopHead) -> Place:
    return original(frame.f_code) or frame.f_code, head.number


class Unknown(Exception):
    """A part of a state that cannot be compared."""


class State(NamedTuple):
    """The state at the head of a loop: the form of each variable of the program by its name, and the slots of
    what is traced, in order; `fixed` are the numbers of those that stand in variables which the loop does not set."""

    forms: dict[Name, Any]
    slots: tuple[int, ...]
    fixed: frozenset[int]


class Heads:
    """The heads of loops that a trace has met."""

    def __init__(self, reads: Any) -> None:
        self.reads = reads
        self.seen = 0
        self.told_apart = False  # whether the code has asked which object a thing is of which states tell the value
        self.walked: list[Level] = []  # those that a Reverse on the tape has walked over, once for each time
        self.loops: dict[tuple[int, int], tuple[LoopActivation, State | None]] = {}
        self.lifts: Lifts = {}
        self.lifted: list[LoopActivation] = []  # the loops for whose sake something is lifted
        self.constants: dict[Any, Any] = {}  # what stands for a lifted number
        self.counters: list[Any] = []  # which the shadow table does not hold
        self.wanting: dict[LoopActivation, tuple[Place, set[Name]]] = {}  # loops that differ by constant numbers alone
        self.asks = ""  # where one of these was asked for as a number

    def entered(self, frame: types.FrameType, head: LoopHead, iterator: list[Any]) -> Any:
        """A loop of a frame is entered; what a `for` iterates over instead."""
        loop = LoopActivation(len(self.reads.recording.entries))
        self.loops[id(frame), head.number] = loop, None
        if _place(frame, head) in self.lifts:
            self.lifted.append(loop)
            if iterator and not head.counts and type(iterator[0]) is _COUNTING:
                return Numbers(self.reads.recording, iterator[0])
        return iterator[0] if iterator else None

    def met(self, frame: types.FrameType, head: LoopHead, iterator: list[Any], site: Site | None) -> None:
        """An iteration begins, of a `for` with an iterator."""
        key = id(frame), head.number
        loop, before = self.loops.get(key, (None, None))
        if loop is None or self.seen > MOST:
            return
        loop.end = len(self.reads.recording.entries)
        place = _place(frame, head)
        if head.is_for and not (head.counts and type(iterator[0]) is _COUNTING) and type(iterator[0]) is not Numbers:
            if type(iterator[0]) is _COUNTING:
                self.wanting[loop] = place, set()
            return
        try:
            self.lift(frame, self.lifts.get(place, ()))
            if self.reads.has_changed_containers():
                raise Unknown("what is in a container from outside")
            state = _Walk(self).state(frame, head, iterator)
        except Unknown as unknown:
            state, differs = State({}, (), frozenset()), f"it may change {unknown}"
        else:
            differs = "it ran too few times" if before is None else _difference(before, state)
            names = _constants_that_differ(before, state) if differs and before is not None else set()
            if names:
                self.wanting.setdefault(loop, (place, set()))[1].update(names)
            elif before is not None:
                self.wanting.pop(loop, None)  # it differed in its first iterations, or by what cannot be lifted
        self.loops[key] = loop, state
        left = operator.length_hint(iterator[0]) if iterator else None
        primitive = Primitive(Head(loop, differs, left, self, state.fixed), None, "guard")
        self.reads.recording.append((primitive, None, state.slots, (), None, site))

    def lift(self, frame: types.FrameType, names: Iterable[Name]) -> None:
        """Have variables of these names, where they are constant numbers, be computed by the tape from here on."""
        frames = [*_frames(frame)] if names else []
        for depth, function, name in sorted(names):
            f = frames[depth] if depth < len(frames) else frame
            value = f.f_locals.get(name)
            is_constant = type(value) in _LIFTED and slot_of(self.reads.recording, value) is None
            if is_constant and f.f_code.co_name == function:
                key = depth, function, name, constant_key(value)
                if key not in self.constants:
                    self.constants[key] = lifted(self.reads.recording, value)
                set_local(f, name, self.constants[key])

    @property
    def are_freed(self) -> bool:
        """Whether a loop for whose sake something was lifted runs any number of times."""
        return any([loop.is_free for loop in self.lifted])

    def wanted(self) -> Lifts:
        """Return what must be lifted for loops to run as often as tests say."""
        found: Lifts = {}
        for loop, (place, names) in self.wanting.items():
            between = self.reads.recording.entries[loop.begin : loop.end]
            if any([entry and entry[0].kind == "guard" and type(entry[0].fn) is not Head for entry in between]):
                found.setdefault(place, set()).update(names)
        return found


_LIFTED = {int, float, np.float64}
_COUNTING = type(iter(range(0)))


def ended_by_tests(tape: Any) -> dict[Site, Head]:
    """The loops on a tape that tests may end, by their lines, with their last heads."""
    tests = [op for op in tape.calls if op.guard]
    places: dict[LoopActivation, list[int]] = {}
    for k, op in enumerate(tests):
        if type(op.fn) is Head:
            places.setdefault(op.fn.loop, []).append(k)
    found = {}
    for first, *_, last in [(k[0], *k) for k in places.values()]:
        op = tests[last]
        if op.fn.left is None or any([type(test.fn) is not Head for test in tests[first:last]]):
            found[op.site] = op.fn
    return found


def _difference(a: State, b: State) -> str:
    """The names of what differs in two states."""
    names = [_said(*key) for key in {**a.forms, **b.forms} if a.forms.get(key, a) != b.forms.get(key, a)]
    return ", ".join(names) and f"it changes {', '.join(names)}"


def _constants_that_differ(a: State, b: State) -> set[Name]:
    """The names of the variables that are another constant number, where nothing else differs."""
    names = {key for key in {**a.forms, **b.forms} if a.forms.get(key, a) != b.forms.get(key, a)}
    pairs = [(a.forms.get(key), b.forms.get(key)) for key in names]
    return names if all([form and form[0] in _LIFTED and len(form) == 2 for pair in pairs for form in pair]) else set()


def _said(depth: int, function: str, name: str) -> str:
    return f"{name} of {function}" if depth else name


class _Walk:
    """One walk over all that can be reached from the frames of the program; each thing is looked at once."""

    def __init__(self, heads: Heads) -> None:
        self.heads, self.recording = heads, heads.reads.recording
        self.slots: list[int] = []
        self.numbers: dict[int, int] = {}
        self.kept: list[Any] = []  # so that no id is given twice
        inputs = [outer.made for outer in heads.reads.inputs.values()]
        self.given = {id(owner_of(made)) for made in inputs if isinstance(made, np.ndarray)}

    def state(self, frame: types.FrameType, head: LoopHead, iterator: list[Any]) -> State:
        """The state of the program, as far as it may still be read in this frame."""
        forms: dict[Name, Any] = {}
        if iterator and type(iterator[0]) is Numbers:
            forms[0, frame.f_code.co_name, "the next number"] = self.form(iterator[0].next)
        fixed: list[int] = []
        for depth, f in enumerate(_frames(frame)):
            forms[depth, f.f_code.co_name, "the place"] = id(f.f_code), f.f_lasti
            names = dict(f.f_locals)
            if sys.version_info < (3, 13) and f.f_code.co_flags & inspect.CO_OPTIMIZED:
                f.f_locals.clear()  # which is a copy that the frame would keep
            for name, value in names.items():
                if depth == 0 and name in f.f_code.co_varnames and name not in {*head.live, *f.f_code.co_cellvars}:
                    continue
                is_fast = name in f.f_code.co_varnames and name not in f.f_code.co_cellvars
                if is_fast and (depth or name not in head.set) and slot_of(self.recording, value) is not None:
                    fixed.append(len(self.slots))
                try:
                    forms[depth, f.f_code.co_name, name] = self.form(value)
                except Unknown as unknown:
                    raise Unknown(f"{name}, {unknown}") from None
                except RecursionError:
                    raise Unknown(f"{name}, which is too deep") from None
        return State(forms, tuple(self.slots), frozenset(fixed))

    def form(self, value: Any) -> Any:
        """Return the form of a value. States with equal forms, met in the same order, are equal for the code."""
        self.heads.seen += 1
        t = type(value)
        if t in ATOMS:
            return t, value
        slot = slot_of(self.recording, value)
        if slot is not None:
            self.slots.append(slot)
            return (t, static_spec(value), *(self.memory(value) if isinstance(value, np.ndarray) else ()))
        if isinstance(value, (float, complex, np.generic)):
            return constant_key(value)
        if t is range or t is slice:
            return t, *map(self.form, (value.start, value.stop, value.step))
        if isinstance(value, np.dtype) and is_stated(value):
            return t, state(value)
        if t is tuple:
            return (t, *map(self.form, value))
        if id(value) in self.numbers:
            return "again", self.numbers[id(value)]
        self.numbers[id(value)] = len(self.numbers)
        self.kept.append(value)
        known = self.heads.reads.known.get(id(value))
        if (known is not None and known[0] is value) or self.is_constant(value):
            return "outside", id(value)
        return t, *self.parts(value)

    def is_constant(self, value: Any) -> bool:
        """Whether nothing that a trace may do changes a thing, or it is looked at when the trace ends."""
        if isinstance(value, type):
            return self.is_from_outside(value)
        if isinstance(value, types.ModuleType) or home_of(type(value)).partition(".")[0] == "wengert":
            return True
        if type(value) is np.ufunc:
            return not {*"".join(value.types)} <= {*"O->"}  # that of `frompyfunc` calls a function in Python
        if type(value) is types.FunctionType:
            return not is_born(value)
        if type(value) is types.BuiltinFunctionType:
            return is_bound_to_none(value)
        return type(value) in SAME or (type(value) is np.ndarray and self.heads.reads.holds(value))

    def is_from_outside(self, cls: type) -> bool:
        """Whether a class was there before the trace: what is read of it has been read from outside."""
        return not is_of_user(cls) or id(cls) in self.heads.reads.classes

    def parts(self, value: Any) -> Iterator[Any]:
        """The forms of what a thing holds."""
        t = type(value)
        if len(self.numbers) > MOST:
            raise Unknown("too large a state")
        if t is list or t is set or t is frozenset:
            return map(self.form, value)
        if t is dict:
            return map(self.form, [part for item in value.items() for part in item])
        if t is np.ndarray and value.size <= LARGEST and not value.dtype.hasobject:
            return iter((value.shape, value.dtype, *self.memory(value), value.tobytes()))
        if t is types.FunctionType:
            return map(self.form, [id(value.__code__), value.__defaults__, value.__kwdefaults__, value.__dict__,
                                   *(value.__closure__ or ())])  # fmt: skip
        if t is types.CellType:
            return map(self.form, [value.cell_contents] if _is_set(value) else [])
        if t is types.MethodType:
            return map(self.form, [value.__func__, value.__self__])
        if t is functools.partial:
            return map(self.form, [value.func, value.args, value.keywords, vars(value)])
        if issubclass(t, tuple) and hasattr(t, "_fields") and not t.__dictoffset__:
            return iter((id(t), *map(self.form, tuple.__iter__(value))))
        if has_attributes_alone(t) and self.is_from_outside(t):
            own = object.__getattribute__(value, "__dict__") if t.__dictoffset__ else {}
            return iter((id(t), *map(self.form, [own, *[_in_slot(value, name) for name in slots_of(t)]])))
        raise Unknown(f"a {t.__name__}")

    def memory(self, array: np.ndarray) -> tuple[Any, ...]:
        """Where an array lies: equal for arrays that share their memory in the same way, with inputs too."""
        owner = owner_of(array)
        if id(owner) not in self.numbers:
            self.numbers[id(owner)] = len(self.numbers)
            self.kept.append(owner)
        begin = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        return self.numbers[id(owner)], id(owner) in self.given, begin, array.strides, array.flags.writeable


class _Unset:
    """Stands for what is in a slot that was not set."""


def _in_slot(thing: Any, name: str) -> Any:
    try:
        return object.__getattribute__(thing, name)
    except AttributeError:
        return _Unset


def _is_set(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _frames(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """The frames of the program, from the one of a loop to that of the function which is traced."""
    while frame is not None and not (frame.f_code.co_name == "traced" and is_ours(frame)):
        if not frame.f_code.co_filename.startswith(ENGINE):
            yield frame
        elif "standins" in frame.f_code.co_filename:
            raise Unknown("what is called by way of a function of C")
        frame = frame.f_back
