"""Values as structures of leaves: lists, tuples, dicts and objects with attributes, nested, shared or cyclic.

A leaf is an inexact array or scalar. No code of the user runs in a traversal: attributes are read and written
in the instance's dict and slots, past properties and `__setattr__`; items past the overrides of a subclass.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from enum import Enum
from types import (
    BuiltinFunctionType,
    CellType,
    MemberDescriptorType,
    SimpleNamespace,
)
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from wengert.values import is_inexact

Leaf: TypeAlias = Any
Path: TypeAlias = str  # as in "x['w'][0].bias"
Seen: TypeAlias = dict[int, tuple[Any, Any]]  # id -> (the object, kept alive; what stands in its place)

_BASES = (object, list, tuple, dict, SimpleNamespace)
_OPEN = (list, tuple, dict, SimpleNamespace, OrderedDict, defaultdict, CellType)
_CLOSED_LIBRARIES = (sys.stdlib_module_names - {"collections"}) | {"wengert", "wengert_rules"}
_MADE_BY_CLASS_STATEMENT = (
    1 << 9
)  # Py_TPFLAGS_HEAPTYPE; the C types that have it too are told by their `__new__`
_is_open: WeakKeyDictionary[type, bool] = WeakKeyDictionary()


def is_container(value: Any) -> bool:
    """Whether leaves are looked for inside: not in sets, enums, classes, functions, C or library objects."""
    cls = type(value)
    found = _is_open.get(cls)
    if found is None:
        found = _is_open[cls] = _classify(cls)
    return found


def _classify(cls: type) -> bool:
    if cls in _OPEN:
        return True
    if not cls.__flags__ & _MADE_BY_CLASS_STATEMENT or _maker(cls) not in _BASES or issubclass(cls, Enum):
        return False
    return str(cls.__module__).partition(".")[0] not in _CLOSED_LIBRARIES


def _maker(cls: type) -> type:
    """The class whose C-level `__new__` makes the instances of cls."""
    return next(base for base in cls.__mro__ if isinstance(vars(base).get("__new__"), BuiltinFunctionType))


# Parts: the places in a container that hold something


class Part(NamedTuple):
    """A place in a container: `load(holder, key)` reads it and `store(holder, key, value)` writes it."""

    path: Path
    holder: Any
    key: Any
    load: Callable[[Any, Any], Any]
    store: Callable[[Any, Any, Any], None]


def parts(container: Any, path: Path = "") -> Iterator[Part]:
    """The places of a container other than a tuple."""
    if isinstance(container, list):
        for i in range(list.__len__(container)):
            yield Part(f"{path}[{i}]", container, i, list.__getitem__, list.__setitem__)
    elif isinstance(container, dict):
        base = _dict_base(container)
        for key in list(base.keys(container)):
            yield Part(path + _subscript(key), container, key, dict.__getitem__, base.__setitem__)
    elif isinstance(container, CellType) and is_filled(container, None, load_cell):
        yield Part(path, container, None, load_cell, _store_cell)
    attributes = namespace(container)
    for name in list(attributes):
        yield Part(f"{path}.{name}", attributes, name, dict.__getitem__, dict.__setitem__)
    for slot in _slots(type(container)):
        if is_filled(container, slot, _load_slot):
            yield Part(f"{path}.{slot.__name__}", container, slot, _load_slot, _store_slot)


def namespace(value: Any) -> dict[str, Any]:
    """The `__dict__` of an instance, read past its class's `__getattribute__`; empty where there is none."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


def _dict_base(value: dict[Any, Any]) -> type[dict[Any, Any]]:
    return OrderedDict if isinstance(value, OrderedDict) else dict


def _subscript(key: Any) -> str:
    return f"[{key!r}]" if type(key) in (str, int, float, bool, tuple) else f"[<{type(key).__name__}>]"


def _slots(cls: type) -> Iterator[MemberDescriptorType]:
    for base in cls.__mro__:
        if "__slots__" in vars(base):  # only a class statement leaves it, so these are no C structure members
            yield from (slot for slot in vars(base).values() if isinstance(slot, MemberDescriptorType))


def _load_slot(holder: Any, slot: MemberDescriptorType) -> Any:
    return slot.__get__(holder)


def _store_slot(holder: Any, slot: MemberDescriptorType, value: Any) -> None:
    slot.__set__(holder, value)


def load_cell(cell: CellType, _: None) -> Any:
    return cell.cell_contents


def _store_cell(cell: CellType, _: None, value: Any) -> None:
    cell.cell_contents = value


def is_filled(holder: Any, key: Any, load: Callable[[Any, Any], Any]) -> bool:
    try:
        load(holder, key)
    except (AttributeError, ValueError):  # an unset slot, an empty cell
        return False
    return True


# Walking: one traversal serves to enter, to give back, to copy and to mirror


def itself(value: Any, *_: Any) -> Any:
    """The default of a traversal: what is found stays."""
    return value


def walk(
    value: Any,
    path: Path,
    seen: Seen,
    *,
    at_leaf: Callable[[Leaf, Path], Any] = itself,
    at_other: Callable[[Any], Any] = itself,
    hold: Callable[[Any], Any] = itself,
    rebuilt: Callable[[Any, Any], Any] = itself,
) -> Any:
    """What stands in place of `value`: leaves, others and `seen` replaced, tuples rebuilt if needed.

    `hold(container)` is the container to fill: itself, or a copy. `rebuilt(new, old)` is told of tuples.
    """
    todo: list[Part] = []
    found: list[Part] = []

    def stand_in(old: Any, path: Path) -> Any:
        if id(old) in seen:
            return seen[id(old)][1]
        if is_inexact(old):
            return at_leaf(old, path)
        if not is_container(old):
            return at_other(old)
        if isinstance(old, tuple):
            items = [stand_in(item, path + _field(old, i)) for i, item in enumerate(tuple.__iter__(old))]
            changed = any(new is not item for new, item in zip(items, tuple.__iter__(old), strict=True))
            return rebuilt(_tuple_like(old, items), old) if changed else old
        held = hold(old)
        seen[id(old)] = old, held
        found.extend(parts(held, path))
        return held

    def put_off() -> None:
        todo.extend(reversed(found))  # the last one is walked first: depth first, in reading order
        found.clear()

    result = stand_in(value, path)
    put_off()
    while todo:
        part = todo.pop()
        old = part.load(part.holder, part.key)
        new = stand_in(old, part.path)
        if new is not old:
            part.store(part.holder, part.key, new)
        put_off()
    return result


def _field(value: tuple[Any, ...], i: int) -> str:
    fields = getattr(type(value), "_fields", ())
    return f".{fields[i]}" if i < len(fields) else f"[{i}]"


def _tuple_like(old: tuple[Any, ...], items: list[Any]) -> tuple[Any, ...]:
    new = tuple.__new__(type(old), items)
    namespace(new).update(namespace(old))
    return new


def shallow_copy(container: Any) -> Any:
    """A container of the same class with the same contents, made without running code of that class."""
    maker: Any = _maker(type(container))
    new = maker.__new__(type(container))
    if isinstance(container, list):
        list.extend(new, list.__getitem__(container, slice(None)))
    elif isinstance(container, dict):
        base = _dict_base(container)
        for key, value in base.items(container):
            base.__setitem__(new, key, value)
    if isinstance(container, defaultdict):
        new.default_factory = container.default_factory
    namespace(new).update(namespace(container))
    for slot in _slots(type(container)):
        if is_filled(container, slot, _load_slot):
            slot.__set__(new, slot.__get__(container))
    return new


def rebuild(
    value: Any,
    at_leaf: Callable[[Leaf, Path], Any],
    at_other: Callable[[Any], Any] = itself,
    name: str = "",
    seen: Seen | None = None,
) -> Any:
    """A copy of a structure, leaves and other things replaced; an array reached twice is replaced once.

    Values copied with the same `seen` share in the copy what containers they share.
    """
    arrays: Seen = {}

    def once(leaf: Leaf, path: Path) -> Any:
        if not isinstance(leaf, np.ndarray):
            return at_leaf(leaf, path)
        if id(leaf) not in arrays:
            arrays[id(leaf)] = leaf, at_leaf(leaf, path)
        return arrays[id(leaf)][1]

    return walk(value, name, {} if seen is None else seen, at_leaf=once, at_other=at_other, hold=shallow_copy)


def mirror(value: Any, gradient_of: Callable[[Leaf], Any]) -> Any:
    """The gradient of a structure: the same form with gradients for leaves and None for everything else."""
    return rebuild(value, lambda leaf, _: gradient_of(leaf), at_other=lambda _: None)


def leaves(value: Any, name: str = "") -> list[tuple[Path, Leaf]]:
    """(path, leaf) of each leaf in a structure, an array reached twice given twice."""
    found: list[tuple[Path, Leaf]] = []

    def note(leaf: Leaf, path: Path) -> Leaf:
        found.append((path, leaf))
        return leaf

    walk(value, name, {}, at_leaf=note)
    return found
