"""Lifts: constants in the state of a loop that the tape must compute: then its first iteration is like the others.

A place is a variable, or a part of the containers and objects that the trace has made and the variable holds. Its path
has, for each of these, the index of the part in the form of the state, see `loop_states.py`.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.graphs.graph import ValueSpec
from wengert.compiling.watched.retyped_floats import keeps_float
from wengert.compiling.watched.symbolic_ints import SymbolicInt
from wengert.compiling.watched.watchable import (
    ATOMS,
    dictionary_of,
    has_dictionary,
    has_only_attributes,
    slot_names,
    slot_value,
)
from wengert.errors import WengertError
from wengert.rewrite.loop_head import LoopHead
from wengert.values.frames import set_local
from wengert.values.functional import WHOLE
from wengert.values.specs import FLOATS

LIFTABLE = {int, float, np.float64}
"""The types of numbers that are lifted."""
VariableName = tuple[int, str, str]
"""A variable: how many frames it is above the loop's, the name of its function, and its own name."""
LoopKey = tuple[types.CodeType, int]
"""A loop: its code object, and the number of its head."""


class GrownList:
    """Begins the form of a list to which a loop only appends: how many items more it has, and the forms of the last."""


class FilledList:
    """Begins the form of a list whose items the tape has in an array, and is the kind of such a list."""

    types: frozenset[type]


class FilledWithFloats(FilledList):
    """A list of floats."""

    types = frozenset([float])


class FilledWithNumPyFloats(FilledList):
    """A list of np.float64."""

    types = frozenset([np.float64])


class FilledWithBoth(FilledList):
    """A list of floats and np.float64."""

    types = frozenset([float, np.float64])


FILLED: dict[Any, type[FilledList]] = {float: FilledWithFloats, np.float64: FilledWithNumPyFloats}


class GrowingList:
    """The kind of a list to which iterations append any number of items; the tape computes its length.

    Subclasses have the kind of items: numbers of these `types`, arrays of a `shape` and `dtype`, or a `container`, list
    or tuple, of so many numbers, of which those in the columns `whole` are integers. The class begins the form of the
    list; before the tape has it the length follows, and the forms of the last items.
    """

    types: frozenset[type] = frozenset()
    shape: tuple[int, ...] = ()
    dtype: Any = np.dtype(float)
    container: type | None = None
    whole: frozenset[int] = frozenset()


@functools.cache
def growing_list(types: frozenset[type], **settings: Any) -> type[GrowingList]:
    """Return the kind of a list with such items."""
    return type("GrowingList", (GrowingList,), {"types": types, **settings})


def of_both_floats(kind: type[GrowingList]) -> type[GrowingList]:
    """Return a kind of list whose numbers may be floats and np.float64."""
    return growing_list(FLOATS, shape=kind.shape, container=kind.container, whole=kind.whole)


class Choice:
    """The kind of a constant other than a number, such as a flag or a mode: the tape computes which one it is."""


class Place(NamedTuple):
    """A variable, or with a `path` a part of it."""

    variable: VariableName
    path: tuple[int, ...] = ()


Lifts = dict[LoopKey, dict[Place, type]]
"""For each loop, the places of constants that the tape must compute to free it, and of which type they become."""


class RestartError(WengertError):
    """A trace begins again, since a loop needs these lifts."""

    def __init__(self, lifts: Lifts) -> None:
        super().__init__("a loop needs symbolic counters")
        self.lifts = lifts


def with_lifts(lifts: Lifts, more: Lifts) -> Lifts:
    """Return lifts with more of them."""
    return {loop: lifts.get(loop, {}) | more.get(loop, {}) for loop in {**lifts, **more}}


def grows_lists(lifts: Lifts) -> bool:
    """Whether lifts have lists that may have any length."""
    return any([issubclass(kind, GrowingList) for kinds in lifts.values() for kind in kinds.values()])


def numbers_set_in(frame: types.FrameType, head: LoopHead, is_traced: Callable[[Any], bool]) -> dict[Place, type]:
    """Return the places of constant numbers in variables of a frame that a loop may change, and their types."""
    names = (head.set & head.live).difference(frame.f_code.co_cellvars)
    held = [(name, value) for name, value in frame.f_locals.items() if name in names and type(value) in (int, float)]
    return {Place((0, frame.f_code.co_name, name)): type(value) for name, value in held if not is_traced(value)}


def constants_that_differ(a: Mapping[VariableName, Any], b: Mapping[VariableName, Any]) -> dict[Place, type]:
    """Return the places where states differ, and the types as which these are lifted; none if that does not help all.

    `a` has the forms of the variables at a head, `b` those at the next.
    """
    found: dict[Place, type] = {}
    for name in {**a, **b}:
        kinds = _differing_parts(a.get(name, ()), b.get(name, ()))
        if kinds is None:
            return {}
        found |= {Place(name, path): kind for path, kind in kinds.items()}
    return found


def keeps_types(places: Mapping[Place, type], forms: Mapping[VariableName, Any]) -> bool:
    """Whether the constants at these places may keep their types when they are lifted."""
    for place, kind in places.items():
        form = forms[place.variable]
        if form == (GrownList, 0):
            continue
        for k in place.path:
            form = form[k]
        is_known = kind is Choice or issubclass(kind, (FilledList, GrowingList)) or form[0] is kind
        if not is_known and not keeps_float(form[0], kind):
            return False
    return True


def _appended_parts(items: tuple[Any, ...]) -> dict[tuple[int, ...], type] | None:
    """Return the paths of floats in the forms of a list's last items, and of lists of floats; None for other items."""
    found: dict[tuple[int, ...], type] = {}
    for k, item in enumerate(items, -len(items)):
        is_list = item[0] is list or item[0] is tuple
        found[k,] = item[0]
        floats = {(k, n): part for n, part in enumerate(item[1:], 1)} if is_list else {(k,): item}
        if not all([part[0] in FLOATS and isinstance(part[1], ValueSpec) for part in floats.values()]):
            return None
        found |= {path: part[0] for path, part in floats.items()}
    return found


def _differing_parts(a: Any, b: Any) -> dict[tuple[int, ...], type] | None:
    """Return the paths of the constants in which two forms differ, with types; None if they differ otherwise."""
    if a == b:
        return {}
    kind = _lifted_type(a, b) or _growing_kind(a, b)
    if kind is not None:
        return {(): kind}
    if a == (GrownList, 0) and b[:1] == (GrownList,):  # the first iteration has appended to an empty list
        return _appended_parts(b[2:]) if b[1] == len(b[2:]) else None
    is_alike = type(a) is type(b) is tuple and len(a) == len(b) and a[:1] == b[:1] and isinstance(a[0], type)
    if not is_alike:
        return None
    found: dict[tuple[int, ...], type] = {}
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        kinds = _differing_parts(x, y) if x == y or _may_set_part(a[0], k) else None
        if kinds is None or (a[0] is GrownList and Choice in kinds.values()):  # nothing tells the items before the last
            return None
        index = k - len(a) if a[0] is GrownList else k
        found |= {(index, *path): kind for path, kind in kinds.items()}
    return found


def _growing_kind(a: Any, b: Any) -> type[GrowingList] | None:
    """Return the kind of a list whose form at a head is `a`, and `b` at the next, if it has grown; None for others."""
    t = a[0] if type(a) is type(b) is tuple and a[:1] == b[:1] else None
    if t is list and len(a) < len(b):
        items = b[1:]
    elif t in (GrownList, GrowingList) and a[1] != b[1] and (t is GrowingList or a != (GrownList, 0)):
        items = b[2:] or a[2:]
    else:
        return None
    kinds = {_item_kind(item) for item in items}
    if len(kinds) == 1:
        return kinds.pop()
    alike = {None if kind is None or not kind.types <= FLOATS else of_both_floats(kind) for kind in kinds}
    return alike.pop() if len(alike) == 1 else None


def _item_kind(form: Any) -> type[GrowingList] | None:
    """Return the kind of a list of items with such a form; None if the tape cannot have it."""
    if form[0] in LIFTABLE:
        return growing_list(frozenset(form[:1]), shape=(), container=None, whole=frozenset())
    if form[0] in (list, tuple) and len(form) > 1:
        types = [int if part[0] is SymbolicInt else part[0] for part in form[1:]]
        floats, whole = frozenset(types) - {int}, frozenset([k for k, t in enumerate(types) if t is int])
        is_known = floats and floats <= FLOATS
        return growing_list(floats, shape=(len(types),), container=form[0], whole=whole) if is_known else None
    if form[0] is not np.ndarray or len(form) < 3:
        return None
    shape, dtype = (form[1].shape, np.dtype(form[1].dtype)) if isinstance(form[1], ValueSpec) else form[1:3]
    is_fixed = shape and -1 not in shape and dtype.kind in "fc"
    return growing_list(frozenset(), shape=shape, dtype=dtype) if is_fixed else None


def _may_set_part(t: type, k: int) -> bool:
    """Whether the part with this index in the form of a thing of this type can be set: no key, code or default."""
    if t is dict:
        return k % 2 == 0
    if t is types.FunctionType:
        return k >= _FIRST_CELL
    if t is deque:
        return k > 1
    return t in (list, tuple, GrownList, types.CellType) or _has_settable_attributes(t)


def _has_settable_attributes(t: type) -> bool:
    return has_only_attributes(t) and not issubclass(t, tuple)


_FIRST_CELL = 5
"""The index of the first cell in the form of a function."""


def is_past(head: LoopHead, place: Place) -> bool:
    """Whether nothing reads a variable of the loop's own frame after the loop; other functions may read a cell."""
    return place.variable[0] == 0 and not place.path and place.variable[2] in head.live - head.after


def form_at(form: Any, path: tuple[int, ...]) -> Any:
    """Return the form of the part at a path; None if there is no such part, or if another variable holds it, too."""
    for k in path:
        if type(form) is not tuple or not isinstance(form[0], type) or not 0 < k < len(form):
            return None
        form = form[k]
    return form


def with_part(form: Any, path: tuple[int, ...], part: Any) -> Any:
    """Return a form with another one for the part at a path."""
    if not path:
        return part
    k = path[0]
    return (*form[:k], with_part(form[k], path[1:], part), *form[k + 1 :])


_CHOICES = {"outside", np.bool_, *ATOMS} - {int}


def is_choice(form: Any) -> bool:
    """Whether a form is that of a constant other than a number: a flag, a string, None or a thing from outside."""
    return type(form) is tuple and len(form) == 2 and form[0] in _CHOICES


def _lifted_type(a: Any, b: Any) -> type | None:
    """Return the type as which a value must be lifted that has the form `a` at a head and `b` at the next."""
    if type(a) is not tuple or type(b) is not tuple:
        return None
    if is_choice(a) and is_choice(b):
        return Choice
    if a[:1] in ((list,), (dict,)) and isinstance(b[0], type) and issubclass(b[0], FilledList):
        filled: type = b[0]
        return filled
    if b[:1] == (SymbolicInt,):
        b = int, *b[1:]
    if len(a) == len(b) == 2 and a[0] in LIFTABLE and b[0] in LIFTABLE:
        kind: type = a[0] if isinstance(a[1], ValueSpec) and not isinstance(b[1], ValueSpec) else b[0]
        return None if kind is int is not a[0] or (a[0] is int and abs(a[1]) > WHOLE) else kind
    if a[:1] == b[:1] == (np.ndarray,) and isinstance(b[1], ValueSpec) and a[1:3] == (b[1].shape, b[1].dtype):
        return np.ndarray if a[2].kind in "fc" and a[3:-1] == b[2:] else None
    return None


def part_at(value: Any, path: tuple[int, ...]) -> Any:
    """Return the part of a value at a path; None if there is no such part."""
    for k in path:
        parts = _parts(value)
        if k not in parts:
            return None
        value = parts[k]
    return value


def set_part(frame: types.FrameType, place: Place, value: Any) -> None:
    """Set a variable of a frame, or a part of it; a tuple is made anew."""
    name = place.variable[2]
    held = frame.f_locals[name]
    made = _part_set(held, place.path, value)
    if made is not held:
        set_local(frame, name, made)


def _part_set(holder: Any, path: tuple[int, ...], value: Any) -> Any:
    """Set the part of a holder at a path; return the holder, a tuple with the part in place of a tuple."""
    if not path:
        return value
    k, before = path[0], _parts(holder)[path[0]]
    part = _part_set(before, path[1:], value)
    if part is before:
        return holder
    if type(holder) is tuple:
        return (*holder[: k - 1], part, *holder[k:])
    if type(holder) is list:
        holder[k - (k > 0)] = part
    elif type(holder) is deque:
        holder[k - 2] = part
    elif type(holder) is types.CellType:
        holder.cell_contents = part
    elif type(holder) is dict:
        holder[[*holder][k // 2 - 1]] = part
    else:
        object.__setattr__(holder, slot_names(type(holder))[k - 3], part)
    return holder


def _parts(value: Any) -> dict[int, Any]:
    """Return the parts of a container or object by their indices in its form."""
    if type(value) is tuple:
        return dict(enumerate(value, 1))
    if type(value) is list:
        return dict([*enumerate(value, 1), *enumerate(value, -len(value))])
    if type(value) is deque:
        return dict(enumerate(value, 2))
    if type(value) is dict:
        return {2 * k: part for k, part in enumerate(value.values(), 1)}
    if type(value) is types.FunctionType:
        return dict(enumerate(value.__closure__ or (), _FIRST_CELL))
    if type(value) is types.CellType:
        return {1: value.cell_contents}
    if not _has_settable_attributes(type(value)):
        return {}
    own = dictionary_of(value) if has_dictionary(type(value)) else {}
    return dict(enumerate([own, *[slot_value(value, name) for name in slot_names(type(value))]], 2))
