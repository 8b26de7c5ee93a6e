"""The result of a function with a rule, as a tree: each inexact leaf is a separate variable on the tape.

Each leaf has a key: its index in a flat tuple, its Path in any other container.
"""

from __future__ import annotations

import gc
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from numbers import Integral, Number
from typing import Any

import numpy as np

from wengert.values.functional import Path
from wengert.values.named_tuples import NamedTuple
from wengert.values.names import is_heap_type
from wengert.values.specs import Spec, elements, is_inexact, spec_of
from wengert.values.trees import is_container, namespace, shallow_copy, walk

MOST_OBJECTS = 10_000  # searched at most
_ATOMS = (str, bytes, int, type(None), types.CodeType, np.dtype, np.integer, np.bool_)


class LeafForm(NamedTuple):
    """A leaf in the form of a result: its key and the Spec of its value."""

    key: Any
    spec: Spec


def is_flat(value: Any) -> bool:
    """Whether the result `value` is a tuple that holds no containers, so that indices are the keys of its leaves."""
    return isinstance(value, tuple) and not any(map(is_container, tuple.__iter__(value)))


def is_tree(value: Any) -> bool:
    """Whether the result `value` is any other container, so that Paths are the keys of its leaves."""
    return is_container(value) and not is_flat(value)


def with_leaves(value: Any, new: Callable[[Any, Any], Any], other: Callable[[Any], Any] = lambda x: x) -> Any:
    """Copy the result `value` with `new(key, leaf)` for each leaf and `other(part)` for each other part."""
    if is_flat(value):
        parts = [new(k, part) if is_inexact(part) else other(part) for k, part in enumerate(value)]
        return tuple.__new__(type(value), parts)
    return walk(value, "", {}, at_leaf=lambda leaf, at: new(_path(at), leaf), at_other=other, hold=shallow_copy)


def leaves_of(value: Any) -> list[tuple[Any, Any]]:
    """List the pairs (key, leaf) of the result `value`."""
    found: list[tuple[Any, Any]] = []

    def note(key: Any, leaf: Any) -> Any:
        found.append((key, leaf))
        return leaf

    with_leaves(value, note)
    return found


def form_of(value: Any) -> Any:
    """Return the form of a result: the same tree with a LeafForm for each leaf. A form is its own form."""
    return with_leaves(value, lambda key, leaf: LeafForm(key, spec_of(leaf)))


def keys_of(value: Any) -> list[Any]:
    """List the keys of the leaves of `value`, a result or a form."""
    found = []

    def note(part: Any) -> Any:
        if type(part) is LeafForm:
            found.append(part.key)
        return part

    with_leaves(form_of(value), lambda _, leaf: leaf, note)
    return found


def outline(value: Any) -> tuple[str, ...]:
    """Describe a result without its numbers: the keys and kinds of its leaves, and its other parts.

    A guard compares this: a tape is stale if a function returns a result with another outline.
    """
    others: list[str] = []

    def note(part: Any) -> Any:
        others.append(_description(part))
        return part

    with_leaves(value, lambda _, leaf: leaf, note)
    return (*[f"{key} {_kind(leaf)}".strip() for key, leaf in leaves_of(value)], *others)


def _kind(leaf: Any) -> str:
    shape = f" {leaf.dtype}{list(leaf.shape)}" if isinstance(leaf, np.ndarray) else ""
    return f"{type(leaf).__name__}{shape}"


def cotangent(form: Any, cotangents: Mapping[Any, Any], fill: bool = True) -> Any:
    """Return the cotangent of a result of this `form`: `cotangents[key]` for a leaf, None for any other part.

    A leaf without cotangent has zero; None if `fill` is False.
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
    """Whether the cotangent `y_bar` is a dict from keys of the result `y` to cotangents of the used parts."""
    return type(y_bar) is dict and (isinstance(y, tuple) or any([type(key) is Path for key in y_bar]))


def is_number(part: Any) -> bool:
    """Whether `part` is a number other than an integer, or holds floats in its memory."""
    return is_inexact(part) or (isinstance(part, Number) and not isinstance(part, Integral)) or _is_packed(part)


def _is_packed(part: Any) -> bool:
    """Whether the memory of `part` holds floats, as in structured arrays, `array.array` and ctypes."""
    if any([type(vars(base).get("__buffer__")) is types.FunctionType for base in type(part).__mro__]):
        return False  # a method written in Python
    try:
        with memoryview(part) as view:
            return bool(set("efdg") & set(re.sub(":.*?:", "", view.format)))  # without the names of fields
    except (TypeError, ValueError, BufferError, NotImplementedError):
        return False


def is_standing(thing: Any) -> bool:
    """Whether a class or module can be imported by its name, and so was not made by a function call."""
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
    """Find an object in the result `value` that holds numbers outside its tree: a set, an iterator, a closure.

    Return None if there is none. `counts` decides what a number is. Classes and modules for which `is_old` is true
    are not searched, and numbers for which `is_key` is true may be keys of dictionaries.
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
        """Search the attributes of a tuple, number or array, which may be of a user's class."""
        look([*namespace(leaf).values()] if not is_standing(type(leaf)) else None)
        return leaf

    if isinstance(value, tuple):
        carry(value, None)
    walk(value, "", {}, at_leaf=carry, at_other=look, hold=hold)
    return found[0] if found else None


def reaches(thing: Any, counts: Callable[[Any], bool], is_old: Callable[[Any], bool] = lambda _: True) -> bool:
    """Whether `thing` refers, directly or not, to an object that `counts`; True after MOST_OBJECTS objects."""
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


def _description(part: Any) -> str:
    """Describe a part other than a leaf for `outline`."""
    if part is None or isinstance(part, (int, str, bytes, np.integer, np.bool_)):
        return repr(part)
    if isinstance(part, np.ndarray) and part.dtype.kind != "O":
        from hashlib import blake2b  # which takes 3 ms

        return f"{part.dtype}{part.shape} {blake2b(part.tobytes(), digest_size=16).hexdigest()}"
    return type(part).__name__


def _path(at: Any) -> Path:
    """Convert a path of `walk`, which is nested tuples, to a Path."""
    steps = []
    while type(at) is tuple:
        at, write, key = at
        written = write(key)
        steps.append((".", written[1:]) if written.startswith(".") else ("[]", key))
    return Path(reversed(steps))


def _zero(spec: Spec) -> Any:
    return np.zeros(spec.shape, spec.dtype) if issubclass(spec.pytype, np.ndarray) else spec.dtype.type(0)
