"""Structures one level at a time: the parts of lists, tuples, dictionaries and objects of plain classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from wengert.values.trees import form_of, shallow_copy, shelves


def is_structure(value: Any) -> bool:
    """Whether a value is a list, a tuple, a dictionary, or an object of a plain class, such as a data class."""
    return isinstance(value, list | tuple | dict) or is_plain_object(value)


def is_plain_object(value: Any) -> bool:
    """Whether a value is an object of a class in Python with attributes and no items."""
    form = form_of(type(value))
    return form is not None and form.items is None and form.holding is None


def direct_parts(structure: Any) -> list[Any]:
    """Return the parts of a structure."""
    if is_plain_object(structure):
        return [load(holder, key) for holder, keys, load, _, _ in _shelves(structure) for key in keys]
    return [*structure.values()] if isinstance(structure, dict) else [*structure]


def keyed_parts(structure: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the parts of a structure: the key's text in a path, the key or attribute's name, and the part."""
    if is_plain_object(structure):
        for holder, keys, load, _, write in _shelves(structure):
            yield from [(write(key), getattr(key, "__name__", key), load(holder, key)) for key in keys]
        return
    pairs: Iterable[Any] = structure.items() if isinstance(structure, dict) else enumerate(structure)
    yield from [(f"[{key!r}]", key, part) for key, part in pairs]


def with_parts(structure: Any, parts: list[Any]) -> Any:
    """Make a structure of the class of `structure`, with other parts."""
    if isinstance(structure, dict):
        return dict(zip(structure, parts, strict=True))
    if isinstance(structure, list):
        return parts
    if isinstance(structure, tuple):
        made = tuple.__new__(type(structure), parts)
        if hasattr(structure, "__dict__"):
            made.__dict__.update(vars(structure))
        return made
    made, left = shallow_copy(structure), iter(parts)
    for holder, keys, _, store, _ in _shelves(made):
        for key in keys:
            store(holder, key, next(left))
    return made


def _shelves(thing: Any) -> Any:
    form = form_of(type(thing))
    assert form is not None
    return shelves(thing, form)
