"""Values as structures of leaves: lists, tuples, dicts and objects with attributes, nested, shared or cyclic.

A leaf is an inexact array or scalar. A traversal runs no code of the user: it reads and writes attributes in the
instance's dict and slots, past properties and `__setattr__`, and items past the overrides of a subclass.
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
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from wengert.values.named_tuples import NamedTuple
from wengert.values.names import is_heap_type
from wengert.values.specs import is_inexact

Leaf: TypeAlias = Any
TreePath: TypeAlias = Any  # the name of the root, or (path to the container, writer of the key, key); see `path_text`
Seen: TypeAlias = dict[int, tuple[Any, Any]]  # id -> (the object, kept alive; its replacement)

_BASES = (object, list, tuple, dict, SimpleNamespace)
_OPEN = (list, tuple, dict, SimpleNamespace, OrderedDict, defaultdict, CellType)
_CLOSED_LIBRARIES = (sys.stdlib_module_names - {"collections"}) | {"wengert", "wengert_rules"}


class Holding(NamedTuple):
    """The arrays in instances of a library's class: functions that list, read and replace them, and copy an instance.

    All other contents stay unchanged, also in gradients, which so keep the labels.
    """

    keys: Callable[[Any], Iterable[Any]]
    load: Callable[[Any, Any], Any]
    store: Callable[[Any, Any, Any], None]
    copy: Callable[[Any], Any]
    is_array: bool = False  # an instance is one array, with labels


class Form(NamedTuple):
    """The layout of instances of a container class, for access past the methods of the class."""

    maker: Any  # the class whose C-level `__new__` makes them
    items: type | None  # the C class whose methods reach the items
    named: bool  # they have a `__dict__`
    slots: tuple[MemberDescriptorType, ...]
    holding: Holding | None = None


_forms: dict[type, Form | None] = {}  # of the classes below, and of classes that are never freed
_other_forms: WeakKeyDictionary[type, Form | None] = WeakKeyDictionary()
_holdings: WeakKeyDictionary[type, Holding] = WeakKeyDictionary()


def hold_by(cls: type, holding: Holding) -> None:
    """Register where instances of a class and of its subclasses hold leaves."""
    _holdings[cls] = holding
    _other_forms.clear()


def form_of(cls: type) -> Form | None:
    """Return the Form of a container class; None for a class whose instances are not searched for leaves.

    These are sets, enums, classes, functions, modules, and classes of C code or the standard library.
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
    """Return the class name of an object in a structure whose class has a Holding; None if there is none."""
    found = []

    def note(container: Any) -> Any:
        if getattr(form_of(type(container)), "holding", None) is not None:
            found.append(type(container).__name__)
        return container

    walk(value, "", {}, hold=note)
    return found[0] if found else None


def array_in(value: Any) -> Any:
    """Return the array in a library's object that is one array with labels; None for any other object."""
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
        if "__slots__" in vars(base):  # only a class statement sets it, so these are not members of a C structure
            yield from (slot for slot in vars(base).values() if isinstance(slot, MemberDescriptorType))


_forms.update({cls: _formed(cls) for cls in _OPEN})


# Shelves: places of a container with the same access


class Shelf(NamedTuple):
    """The places in a container that are read and written by the same functions: its items, attributes or slots.

    `load(holder, key)` reads a place, `store(holder, key, value)` writes it, `write(key)` spells the key in a path.
    """

    holder: Any
    keys: Iterable[Any]
    load: Callable[[Any, Any], Any]
    store: Callable[[Any, Any, Any], None]
    write: Callable[[Any], str]


def shelves(container: Any, form: Form) -> list[Shelf]:
    """List the shelves of a container other than a tuple."""
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
    """Return the `__dict__` of an instance past its class's `__getattribute__`; empty if it has none."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


def path_text(path: TreePath) -> str:
    """Spell a path as in Python: `x['w'][0].bias`."""
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
    """Whether the place holds a value: a slot or a cell may be empty."""
    try:
        load(holder, key)
    except (AttributeError, ValueError):
        return False
    return True


def _filled(holder: Any, keys: Iterable[Any], load: Callable[[Any, Any], Any]) -> list[Any]:
    return [key for key in keys if is_filled(holder, key, load)]


# Walking: one traversal replaces leaves, restores, copies and mirrors


def itself(value: Any, *_: Any) -> Any:
    """Return `value` unchanged: the default action of a traversal."""
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
    """Walk through the structure `value`, and return its replacement.

    Each leaf is replaced by `at_leaf(leaf, path)`, any other value that is not a container by `at_other(value)`. A
    container is changed in place, unless `hold(container)` returns another one (a copy) to fill. If an item of a tuple
    is replaced, a new tuple `new` is made and `rebuilt(new, old)` used. Objects in `seen` are not walked again.
    """
    if id(value) not in seen:  # of most values, without the search for others
        if is_inexact(value):
            return at_leaf(value, path)
        if form_of(type(value)) is None:
            return at_other(value)
    met: list[tuple[TreePath, Shelf, Iterator[Any]]] = []  # the shelves of containers just met
    pending: list[tuple[TreePath, Shelf, Iterator[Any]]] = []  # those being read, the innermost last

    def replacement(old: Any, path: TreePath) -> Any:
        """Return the replacement of `old`; append the shelves of a container to `met`, to be read afterwards."""
        if id(old) in seen:
            return seen[id(old)][1]
        if is_inexact(old):
            return at_leaf(old, path)
        form = form_of(type(old))
        if form is None:
            return at_other(old)
        if form.items is tuple:
            steps = zip(tuple_steps(old), tuple.__iter__(old), strict=False)
            items = [replacement(item, (path, *step)) for step, item in steps]
            changed = any(map(is_not, items, tuple.__iter__(old)))
            return rebuilt(_tuple_like(old, items), old) if changed else old
        held = hold(old)
        seen[id(old)] = old, held
        met.extend((path, shelf, iter(shelf.keys)) for shelf in shelves(held, form))
        return held

    result = replacement(value, path)
    while met or pending:
        pending.extend(reversed(met))
        met.clear()
        path, (holder, _, load, store, write), keys = pending[-1]
        for key in keys:
            try:
                old, is_there = load(holder, key), True
            except KeyError:
                old, is_there = _value_by_identity(holder, key), False
            new = replacement(old, (path, write, key))
            if new is not old and is_there:
                store(holder, key, new)
            if met:  # a container: read it before going on
                break
        else:
            pending.pop()
    replacement = itself  # type: ignore[assignment]  # break a cycle that would keep objects until the next collection
    return result


def _value_by_identity(holder: dict[Any, Any], key: Any) -> Any:
    """Return the value at a key that lookup misses because its hash or equality has changed since it was set."""
    return next(held for known, held in dict.items(holder) if known is key)


def tuple_steps(value: tuple[Any, ...]) -> Iterable[tuple[Callable[[Any], str], Any]]:
    """Yield, for each item of a tuple, its writer and key in a path: an index, or a field of a named tuple."""
    fields = getattr(type(value), "_fields", None)
    if isinstance(fields, tuple) and len(fields) == tuple.__len__(value):
        return zip(repeat(_attribute), fields, strict=False)
    return zip(repeat(_subscript), count(), strict=False)


def _tuple_like(old: tuple[Any, ...], items: list[Any]) -> tuple[Any, ...]:
    new = tuple.__new__(type(old), items)
    namespace(new).update(namespace(old))
    return new


def shallow_copy(container: Any) -> Any:
    """Return a container of the same class with the same contents, without running code of that class."""
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
    """Copy an object of a class with a Holding; the copy holds the same arrays, not views of them."""
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
    """Copy a structure with `at_leaf(leaf, path)` for each leaf, once for an array that it holds twice.

    If two structures share a container and are copied with the same `seen`, their copies share its copy.
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
    """Return the gradient of a structure: its copy with `gradient_of(leaf)` for a leaf and None for other values."""
    if _is_plain(value, set(), 0):
        return _mirror_plain(value, gradient_of)
    return rebuild(value, lambda leaf, _: gradient_of(leaf), at_other=lambda _: None)


def _is_plain(value: Any, seen: set[int], depth: int) -> bool:
    """Whether a value is a tree of plain lists, tuples and dicts, as most parameters are, with a faster mirror."""
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
    """List the pairs (path, leaf) of a structure, with paths that begin with `name`: `("x['w'][0]", 2.0)`.

    An array that the structure holds twice is listed twice.
    """
    if is_inexact(value):
        return [(name, value)]
    found: list[tuple[str, Leaf]] = []

    def note(leaf: Leaf, path: TreePath) -> Leaf:
        found.append((path_text(path), leaf))
        return leaf

    walk(value, name, {}, at_leaf=note)
    return found
