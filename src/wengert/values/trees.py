"""Values as structures of leaves: lists, tuples, dicts and objects with attributes, nested, shared or cyclic.

A leaf is an inexact array or scalar. No code of the user runs in a traversal: attributes are read and written
in the instance's dict and slots, past properties and `__setattr__`; items past the overrides of a subclass.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from itertools import count, repeat
from operator import is_not
from types import (
    BuiltinFunctionType,
    CellType,
    MemberDescriptorType,
    SimpleNamespace,
)
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from wengert.values.names import is_heap_type
from wengert.values.specs import is_inexact

Leaf: TypeAlias = Any
TreePath: TypeAlias = Any  # the name of the whole, or (path to the container, writer of the key, key); see `path_text`
Seen: TypeAlias = dict[int, tuple[Any, Any]]  # id -> (the object, kept alive; what stands in its place)

_BASES = (object, list, tuple, dict, SimpleNamespace)
_OPEN = (list, tuple, dict, SimpleNamespace, OrderedDict, defaultdict, CellType)
_CLOSED_LIBRARIES = (sys.stdlib_module_names - {"collections"}) | {"wengert", "wengert_rules"}


class Holding(NamedTuple):
    """How instances of a class of a library hold arrays: which, and how one is read, exchanged, and the whole copied.

    What else they hold stays as it is, also in gradients, which so show what numbers belong to.
    """

    keys: Callable[[Any], Iterable[Any]]
    load: Callable[[Any, Any], Any]
    store: Callable[[Any, Any, Any], None]
    copy: Callable[[Any], Any]
    is_array: bool = False  # an instance is one array, with labels


class Form(NamedTuple):
    """How instances of a container class hold what they hold, read past the methods of the class."""

    maker: Any  # the class whose C-level `__new__` makes them
    items: type | None  # the C class whose methods reach the items
    named: bool  # they have a `__dict__`
    slots: tuple[MemberDescriptorType, ...]
    holding: Holding | None = None


_forms: dict[type, Form | None] = {}  # of the classes below, and of those that are there for ever
_other_forms: WeakKeyDictionary[type, Form | None] = WeakKeyDictionary()
_holdings: WeakKeyDictionary[type, Holding] = WeakKeyDictionary()


def hold_by(cls: type, holding: Holding) -> None:
    """Have the instances of a class, and of those made from it, be searched for leaves as `holding` says."""
    _holdings[cls] = holding
    _other_forms.clear()


def form_of(cls: type) -> Form | None:
    """The Form of a container class; None for a class whose instances are not searched for leaves.

    These are sets, enums, classes, functions and modules, and whatever C code or the standard library makes.
    """
    try:
        return _forms[cls]
    except KeyError:
        pass
    if not is_heap_type(cls):
        return _forms.setdefault(cls, None)
    try:
        return _other_forms[cls]
    except KeyError:
        form = _other_forms[cls] = _held(cls) or (_formed(cls) if _is_open(cls) else None)
    return form


def _held(cls: type) -> Form | None:
    holding = next((_holdings[base] for base in cls.__mro__ if base in _holdings), None) if _holdings else None
    return None if holding is None else Form(None, None, False, (), holding)


def held_by_library(value: Any) -> str | None:
    """The class of an object in a structure that holds arrays as its library's rules say; None if there is none."""
    found = []

    def note(container: Any) -> Any:
        if getattr(form_of(type(container)), "holding", None) is not None:
            found.append(type(container).__name__)
        return container

    walk(value, "", {}, hold=note)
    return found[0] if found else None


def array_in(value: Any) -> Any:
    """The array that an object of a library is, with labels; None where the object is no such one."""
    holding = getattr(form_of(type(value)), "holding", None)
    if holding is None or not holding.is_array:
        return None
    return next((holding.load(value, key) for key in holding.keys(value)), None)


def is_container(value: Any) -> bool:
    """Whether `value` is searched for leaves."""
    return form_of(type(value)) is not None


def _is_open(cls: type) -> bool:
    if not is_heap_type(cls) or _maker(cls) not in _BASES or issubclass(cls, Enum):
        return False
    return str(cls.__module__).partition(".")[0] not in _CLOSED_LIBRARIES


def _maker(cls: type) -> type:
    return next(base for base in cls.__mro__ if isinstance(vars(base).get("__new__"), BuiltinFunctionType))


def _formed(cls: type) -> Form:
    items = next((base for base in (list, tuple, OrderedDict, dict, CellType) if issubclass(cls, base)), None)
    return Form(_maker(cls), items, cls.__dictoffset__ != 0, tuple(_slots(cls)))


def _slots(cls: type) -> Iterator[MemberDescriptorType]:
    for base in cls.__mro__:
        if "__slots__" in vars(base):  # only a class statement leaves it, so these are no C structure members
            yield from (slot for slot in vars(base).values() if isinstance(slot, MemberDescriptorType))


_forms.update({cls: _formed(cls) for cls in _OPEN})


# Shelves: rows of places that are read and written alike


class Shelf(NamedTuple):
    """A row of places in a container that are read and written alike: its items, attributes or slots.

    `load(holder, key)` reads a place, `store(holder, key, value)` writes it, `write(key)` is how a path writes the key.
    """

    holder: Any
    keys: Iterable[Any]
    load: Callable[[Any, Any], Any]
    store: Callable[[Any, Any, Any], None]
    write: Callable[[Any], str]  # a key as it stands in a path


def shelves(container: Any, form: Form) -> list[Shelf]:
    """The shelves of a container that is no tuple."""
    items, found = form.items, []
    if form.holding is not None:
        keys, load, store, *_ = form.holding
        return [Shelf(container, list(keys(container)), load, store, _subscript)]
    if items is list:
        places = range(list.__len__(container))
        found = [Shelf(container, places, list.__getitem__, list.__setitem__, _subscript)]
    elif items is CellType:
        found = [Shelf(container, _filled(container, [None], load_cell), load_cell, _store_cell, _nothing)]
    elif items is not None:
        base: type[dict[Any, Any]] = items
        found = [Shelf(container, list(base.keys(container)), dict.__getitem__, base.__setitem__, _subscript)]
    if form.named:
        names = namespace(container)
        found.append(Shelf(names, list(names), dict.__getitem__, dict.__setitem__, _attribute))
    if form.slots:
        filled = _filled(container, form.slots, _load_slot)
        found.append(Shelf(container, filled, _load_slot, _store_slot, _slot_name))
    return found


def namespace(value: Any) -> dict[str, Any]:
    """The `__dict__` of an instance, read past its class's `__getattribute__`; empty where there is none."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


def path_text(path: TreePath) -> str:
    """A path as Python writes it: `x['w'][0].bias`."""
    steps: list[str] = []
    while type(path) is tuple:
        path, write, key = path
        steps.append(write(key))
    return path + "".join(reversed(steps))


def _attribute(name: str) -> str:
    return f".{name}"


def _slot_name(slot: MemberDescriptorType) -> str:
    return f".{slot.__name__}"


def _nothing(_: None) -> str:
    return ""


def _subscript(key: Any) -> str:
    return f"[{key!r}]" if type(key) in (str, int, float, bool, tuple) else f"[<{type(key).__name__}>]"


def _load_slot(holder: Any, slot: MemberDescriptorType) -> Any:
    return slot.__get__(holder)


def _store_slot(holder: Any, slot: MemberDescriptorType, value: Any) -> None:
    slot.__set__(holder, value)


def load_cell(cell: CellType, _: None) -> Any:
    return cell.cell_contents


def _store_cell(cell: CellType, _: None, value: Any) -> None:
    cell.cell_contents = value


def is_filled(holder: Any, key: Any, load: Callable[[Any, Any], Any]) -> bool:
    """Whether the place holds anything: a slot may be unset, a cell empty."""
    try:
        load(holder, key)
    except (AttributeError, ValueError):
        return False
    return True


def _filled(holder: Any, keys: Iterable[Any], load: Callable[[Any, Any], Any]) -> list[Any]:
    return [key for key in keys if is_filled(holder, key, load)]


# Walking: one traversal serves to enter, to give back, to copy and to mirror


def itself(value: Any, *_: Any) -> Any:
    """The default of what a traversal does with what it finds: nothing."""
    return value


def walk(
    value: Any,
    path: TreePath,
    seen: Seen,
    *,
    at_leaf: Callable[[Leaf, TreePath], Any] = itself,
    at_other: Callable[[Any], Any] = itself,
    hold: Callable[[Any], Any] = itself,
    rebuilt: Callable[[Any, Any], Any] = itself,
) -> Any:
    """Walk through the structure `value`, and return what stands in its place.

    Each leaf is replaced by `at_leaf(leaf, path)`, and what is no container by `at_other(value)`. A container is
    changed in place, unless `hold(container)` returns another one (a copy) to fill. A tuple is made anew where
    something in it is replaced, and `rebuilt(new, old)` may exchange it. What `seen` knows is not walked through again.
    """
    met: list[tuple[TreePath, Shelf, Iterator[Any]]] = []  # the shelves of containers just met
    pending: list[tuple[TreePath, Shelf, Iterator[Any]]] = []  # those being read, the innermost last

    def stand_in(old: Any, path: TreePath) -> Any:
        """Return the substitute for `old`; note a container in `met`, to be read afterwards."""
        if id(old) in seen:
            return seen[id(old)][1]
        if is_inexact(old):
            return at_leaf(old, path)
        form = form_of(type(old))
        if form is None:
            return at_other(old)
        if form.items is tuple:
            steps = zip(tuple_steps(old), tuple.__iter__(old), strict=False)
            items = [stand_in(item, (path, *step)) for step, item in steps]
            changed = any(map(is_not, items, tuple.__iter__(old)))
            return rebuilt(_tuple_like(old, items), old) if changed else old
        held = hold(old)
        seen[id(old)] = old, held
        met.extend((path, shelf, iter(shelf.keys)) for shelf in shelves(held, form))
        return held

    result = stand_in(value, path)
    while met or pending:
        pending.extend(reversed(met))
        met.clear()
        path, (holder, _, load, store, write), keys = pending[-1]
        for key in keys:
            try:
                old, is_there = load(holder, key), True
            except KeyError:
                old, is_there = _by_itself(holder, key), False
            new = stand_in(old, (path, write, key))
            if new is not old and is_there:
                store(holder, key, new)
            if met:  # a container: read it before going on
                break
        else:
            pending.pop()
    stand_in = itself  # type: ignore[assignment]  # a cycle, which would keep what it met until the next collection
    return result


def _by_itself(holder: dict[Any, Any], key: Any) -> Any:
    """The value at a key that look-up does not find, since the key's hash or equality has changed after it was set."""
    return next(held for known, held in dict.items(holder) if known is key)


def tuple_steps(value: tuple[Any, ...]) -> Iterable[tuple[Callable[[Any], str], Any]]:
    """For each item of a tuple, how a path writes the way to it: by index, or by field of a named tuple."""
    fields = getattr(type(value), "_fields", None)
    if isinstance(fields, tuple) and len(fields) == tuple.__len__(value):
        return zip(repeat(_attribute), fields, strict=False)
    return zip(repeat(_subscript), count(), strict=False)


def _tuple_like(old: tuple[Any, ...], items: list[Any]) -> tuple[Any, ...]:
    new = tuple.__new__(type(old), items)
    namespace(new).update(namespace(old))
    return new


def shallow_copy(container: Any) -> Any:
    """A container of the same class with the same contents, made without running code of that class."""
    cls = type(container)
    if cls is list or cls is dict:
        return container.copy()
    form = form_of(cls)
    assert form is not None
    if form.holding is not None:
        return _copy_held(container, form.holding)
    new, items = form.maker.__new__(cls), form.items
    if items is list:
        list.extend(new, list.__getitem__(container, slice(None)))
    elif items is dict or items is OrderedDict:
        for key, value in items.items(container):
            items.__setitem__(new, key, value)
    if isinstance(container, defaultdict):
        new.default_factory = container.default_factory
    if form.named:
        namespace(new).update(namespace(container))
    for slot in form.slots:
        if is_filled(container, slot, _load_slot):
            slot.__set__(new, slot.__get__(container))
    return new


def _copy_held(container: Any, holding: Holding) -> Any:
    """A copy of an object that holds arrays as it is declared: it holds the very same, not views of them."""
    new = holding.copy(container)
    for key in holding.keys(container):
        holding.store(new, key, holding.load(container, key))
    return new


def rebuild(
    value: Any,
    at_leaf: Callable[[Leaf, TreePath], Any],
    at_other: Callable[[Any], Any] = itself,
    seen: Seen | None = None,
) -> Any:
    """A copy of a structure with `at_leaf(leaf, path)` for each leaf, once for an array that is reached twice.

    Values that are copied with the same `seen` share in their copies the containers that they share.
    """
    arrays: Seen = {}

    def once(leaf: Leaf, path: TreePath) -> Any:
        if not isinstance(leaf, np.ndarray):
            return at_leaf(leaf, path)
        if id(leaf) not in arrays:
            arrays[id(leaf)] = leaf, at_leaf(leaf, path)
        return arrays[id(leaf)][1]

    seen = {} if seen is None else seen
    return walk(value, "", seen, at_leaf=once, at_other=at_other, hold=shallow_copy)


def mirror(value: Any, gradient_of: Callable[[Leaf], Any]) -> Any:
    """The gradient of a structure: the same structure with `gradient_of(leaf)` for a leaf and None for all else."""
    if _is_plain(value, set(), 0):
        return _mirror_plain(value, gradient_of)
    return rebuild(value, lambda leaf, _: gradient_of(leaf), at_other=lambda _: None)


def _is_plain(value: Any, seen: set[int], depth: int) -> bool:
    """Whether a value is a tree of plain lists, tuples and dicts, as most parameters are: it is mirrored faster."""
    cls = type(value)
    if cls is float:
        return True
    if id(value) in seen or depth > 20:
        return False
    seen.add(id(value))
    if cls is list or cls is tuple:
        return all(_is_plain(item, seen, depth + 1) for item in value)
    if cls is dict:
        return all(_is_plain(item, seen, depth + 1) for item in value.values())
    return is_inexact(value)


def _mirror_plain(value: Any, gradient_of: Callable[[Leaf], Any]) -> Any:
    cls = type(value)
    if cls is list:
        return [_mirror_plain(item, gradient_of) for item in value]
    if cls is tuple:
        return tuple([_mirror_plain(item, gradient_of) for item in value])
    if cls is dict:
        return {key: _mirror_plain(item, gradient_of) for key, item in value.items()}
    return gradient_of(value)


def leaves(value: Any, name: str = "") -> list[tuple[str, Leaf]]:
    """The pairs (path, leaf) of a structure, the path as text beginning with `name`: `("x['w'][0]", 2.0)`.

    An array that is reached twice is given twice.
    """
    found: list[tuple[str, Leaf]] = []

    def note(leaf: Leaf, path: TreePath) -> Leaf:
        found.append((path_text(path), leaf))
        return leaf

    walk(value, name, {}, at_leaf=note)
    return found
