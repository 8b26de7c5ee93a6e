"""The result of a function with a rule, as a tree: each inexact leaf of it is a variable of its own on the tape.

A leaf is named by a key: its index in a flat tuple, its Path in any other container.
"""

from __future__ import annotations

import gc
import hashlib
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from numbers import Integral, Number
from typing import Any, NamedTuple

import numpy as np

from wengert.values.functional import Path
from wengert.values.names import is_heap_type
from wengert.values.specs import Spec, elements, is_inexact, spec_of
from wengert.values.trees import is_container, namespace, shallow_copy, walk

MOST_OBJECTS = 10_000  # objects; a larger one is not searched through
_ATOMS = (str, bytes, int, type(None), types.CodeType, np.dtype, np.integer, np.bool_)


class LeafForm(NamedTuple):
    """A leaf in the form of a result: its key, and the Spec of its value."""

    key: Any
    spec: Spec


def is_flat(value: Any) -> bool:
    """Whether the result `value` is a tuple without containers in it, whose leaves are named by their indices."""
    return isinstance(value, tuple) and not any(map(is_container, tuple.__iter__(value)))


def is_tree(value: Any) -> bool:
    """Whether the result `value` is any other container, whose leaves are named by Paths."""
    return is_container(value) and not is_flat(value)


def with_leaves(value: Any, new: Callable[[Any, Any], Any], other: Callable[[Any], Any] = lambda x: x) -> Any:
    """A copy of the result `value` with `new(key, leaf)` for each leaf and `other(part)` for what else it holds."""
    if is_flat(value):
        parts = [new(k, part) if is_inexact(part) else other(part) for k, part in enumerate(value)]
        return tuple.__new__(type(value), parts)
    return walk(value, "", {}, at_leaf=lambda leaf, at: new(_path(at), leaf), at_other=other, hold=shallow_copy)


def leaves_of(value: Any) -> list[tuple[Any, Any]]:
    """The pairs (key, leaf) of the result `value`."""
    found: list[tuple[Any, Any]] = []

    def note(key: Any, leaf: Any) -> Any:
        found.append((key, leaf))
        return leaf

    with_leaves(value, note)
    return found


def form_of(value: Any) -> Any:
    """The form of a result: the same tree with a LeafForm for each leaf. The form of a form is itself."""
    return with_leaves(value, lambda key, leaf: LeafForm(key, spec_of(leaf)))


def keys_of(value: Any) -> list[Any]:
    """The keys of the leaves of `value`, a result or the form of one."""
    found = []

    def note(part: Any) -> Any:
        if type(part) is LeafForm:
            found.append(part.key)
        return part

    with_leaves(form_of(value), lambda _, leaf: leaf, note)
    return found


def outline(value: Any) -> tuple[str, ...]:
    """A description of a result without its numbers: which leaves of which kinds it has, and what stands beside them.

    A guard compares it: a tape is stale where a function returns a result of another outline.
    """
    others: list[str] = []

    def note(part: Any) -> Any:
        others.append(_told(part))
        return part

    with_leaves(value, lambda _, leaf: leaf, note)
    return (*[f"{key} {_kind(leaf)}".strip() for key, leaf in leaves_of(value)], *others)


def _kind(leaf: Any) -> str:
    shape = f" {leaf.dtype}{list(leaf.shape)}" if isinstance(leaf, np.ndarray) else ""
    return f"{type(leaf).__name__}{shape}"


def cotangent(form: Any, cotangents: Mapping[Any, Any], fill: bool = True) -> Any:
    """Return the cotangent of a result of this `form`: `cotangents[key]` for a leaf, zero without one, None for others.

    With `fill` False, a leaf without cotangent has None.
    """

    def cotangent(part: Any) -> Any:
        if type(part) is not LeafForm:
            return None
        found = cotangents.get(part.key)
        return _zero(part.spec) if found is None and fill else found

    if is_flat(form):
        return tuple([cotangent(part) for part in form])
    return walk(form, "", {}, at_leaf=lambda leaf, _: None, at_other=cotangent, hold=shallow_copy)


def names_parts(y_bar: Any, y: Any) -> bool:
    """Whether the cotangent `y_bar` is a dict from keys of the result `y` to cotangents of the parts that were used."""
    return type(y_bar) is dict and (isinstance(y, tuple) or any([type(key) is Path for key in y_bar]))


def is_number(part: Any) -> bool:
    """Whether `part` is a number that may depend on others continuously, or memory that is read as such numbers."""
    return is_inexact(part) or (isinstance(part, Number) and not isinstance(part, Integral)) or _is_packed(part)


def _is_packed(part: Any) -> bool:
    """Whether the memory of `part` holds floats, as that of structured arrays, `array.array` and ctypes does."""
    if any([type(vars(base).get("__buffer__")) is types.FunctionType for base in type(part).__mro__]):
        return False  # a method of the user's
    try:
        with memoryview(part) as view:
            return bool(set("efdg") & set(re.sub(":.*?:", "", view.format)))  # without the names of fields
    except (TypeError, ValueError, BufferError, NotImplementedError):
        return False


def is_standing(thing: Any) -> bool:
    """Whether a class or module can be imported under its name, so that the call of a function has not made it."""
    if isinstance(thing, types.ModuleType):
        return sys.modules.get(thing.__name__) is thing
    if not is_heap_type(thing):
        return True
    found: Any = sys.modules.get(thing.__module__)
    for name in thing.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(name)
    return found is thing


def hidden(
    value: Any,
    counts: Callable[[Any], bool] = is_number,
    is_old: Callable[[Any], bool] = lambda _: True,
    is_key: Callable[[Any], bool] = lambda _: True,
) -> Any:
    """Something in the result `value` that can hold numbers and is no part of its tree: a set, an iterator, a closure.

    None where there is nothing. Numbers are what `counts` says; classes and modules that `is_old` are not looked into;
    numbers that `is_key` may stand as keys of dictionaries.
    """
    found: list[Any] = []

    def look(part: Any) -> Any:
        if not found and reaches(part, counts, is_old):
            found.append(part)
        return part

    def hold(container: Any) -> Any:
        look(type(container))
        if isinstance(container, dict):
            keys = [key for key in dict.keys(container) if type(key) is not str]
            found.extend([key for key in keys if reaches(key, lambda part: counts(part) and not is_key(part), is_old)])
        return container

    def carry(leaf: Any, _: Any) -> Any:
        """A number or array of a class of the user's, or a tuple: it may have attributes."""
        look([*namespace(leaf).values()] if not is_standing(type(leaf)) else None)
        return leaf

    if isinstance(value, tuple):
        carry(value, None)
    walk(value, "", {}, at_leaf=carry, at_other=look, hold=hold)
    return found[0] if found else None


def reaches(thing: Any, counts: Callable[[Any], bool], is_old: Callable[[Any], bool] = lambda _: True) -> bool:
    """Whether `thing` leads to something that `counts`; True also where it leads to more than can be searched."""
    stack, seen = [thing], set[int]()
    while stack:
        part = stack.pop()
        if issubclass(type(part), _ATOMS) or id(part) in seen:
            continue
        if counts(part) or len(seen) > MOST_OBJECTS:
            return True
        seen.add(id(part))
        stack.extend(_inside(part, is_old))
    return False


def _inside(part: Any, is_old: Callable[[Any], bool]) -> Iterator[Any]:
    """Yield the objects that a thing refers to directly."""
    if isinstance(part, np.ndarray):
        yield from elements(part) if part.dtype.kind == "O" else ()
    elif isinstance(part, types.FunctionType):
        yield from (*(part.__closure__ or ()), *(part.__defaults__ or ()), *(part.__kwdefaults__ or {}).values())
    elif isinstance(part, (type, types.ModuleType)):
        yield from () if is_standing(part) or is_old(part) else vars(part).values()
    elif isinstance(part, Enum):
        yield type(part)
    else:
        yield from gc.get_referents(part)


def _told(part: Any) -> str:
    """Describe a part that is no leaf, for `outline`."""
    if part is None or isinstance(part, (int, str, bytes, np.integer, np.bool_)):
        return repr(part)
    if isinstance(part, np.ndarray) and part.dtype.kind != "O":
        return f"{part.dtype}{part.shape} {hashlib.blake2b(part.tobytes(), digest_size=16).hexdigest()}"
    return type(part).__name__


def _path(at: Any) -> Path:
    """The Path that `walk` gives in pairs."""
    steps = []
    while type(at) is tuple:
        at, write, key = at
        written = write(key)
        steps.append((".", written[1:]) if written.startswith(".") else ("[]", key))
    return Path(reversed(steps))


def _zero(spec: Spec) -> Any:
    return np.zeros(spec.shape, spec.dtype) if issubclass(spec.pytype, np.ndarray) else spec.dtype.type(0)
