"""Results of functions with rules: trees as arguments are, each inexact leaf of which is a variable.

A leaf is named by its index in a flat tuple, by its Path in any other container.
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
from wengert.values.specs import Spec, is_inexact, spec_of
from wengert.values.trees import is_container, namespace, shallow_copy, walk

MANY = 10_000  # objects; a larger one is not searched through
_ATOMS = (str, bytes, int, type(None), types.CodeType, np.dtype, np.integer, np.bool_)


class Leaf(NamedTuple):
    """In the form of a result: the name of a leaf, and what it is like."""

    key: Any
    spec: Spec


def is_flat(value: Any) -> bool:
    """Whether a result is a tuple of no containers."""
    return isinstance(value, tuple) and not any(map(is_container, tuple.__iter__(value)))


def is_tree(value: Any) -> bool:
    """Whether a result has parts to be named by Paths."""
    return is_container(value) and not is_flat(value)


def with_leaves(value: Any, new: Callable[[Any, Any], Any], other: Callable[[Any], Any] = lambda x: x) -> Any:
    """A copy of a result with `new(key, leaf)` for each of its leaves."""
    if is_flat(value):
        parts = [new(k, part) if is_inexact(part) else other(part) for k, part in enumerate(value)]
        return tuple.__new__(type(value), parts)
    return walk(value, "", {}, at_leaf=lambda leaf, at: new(_path(at), leaf), at_other=other, hold=shallow_copy)


def leaves_of(value: Any) -> list[tuple[Any, Any]]:
    """(key, leaf) of each leaf of a result."""
    found: list[tuple[Any, Any]] = []

    def note(key: Any, leaf: Any) -> Any:
        found.append((key, leaf))
        return leaf

    with_leaves(value, note)
    return found


def form_of(value: Any) -> Any:
    """A result with a Leaf in the place of each leaf; a form is its own."""
    return with_leaves(value, lambda key, leaf: Leaf(key, spec_of(leaf)))


def keys_of(value: Any) -> list[Any]:
    """The names of the leaves of a result, or of its form."""
    found = []

    def note(part: Any) -> Any:
        if type(part) is Leaf:
            found.append(part.key)
        return part

    with_leaves(form_of(value), lambda _, leaf: leaf, note)
    return found


def outline(value: Any) -> tuple[str, ...]:
    """What of a result is no number with a derivative: which leaves it has, of which kinds, and what stands beside."""
    others: list[str] = []

    def note(part: Any) -> Any:
        others.append(_told(part))
        return part

    with_leaves(value, lambda _, leaf: leaf, note)
    return (*[f"{key} {_kind(leaf)}".strip() for key, leaf in leaves_of(value)], *others)


def _kind(leaf: Any) -> str:
    shape = f" {leaf.dtype}{list(leaf.shape)}" if isinstance(leaf, np.ndarray) else ""
    return f"{type(leaf).__name__}{shape}"


def cotangent(form: Any, bars: Mapping[Any, Any], fill: bool = True) -> Any:
    """The cotangent of a result, in its form: zero for a leaf that nothing used (or None), None for what is no leaf."""

    def bar(part: Any) -> Any:
        if type(part) is not Leaf:
            return None
        found = bars.get(part.key)
        return _zero(part.spec) if found is None and fill else found

    if is_flat(form):
        return tuple([bar(part) for part in form])
    return walk(form, "", {}, at_leaf=lambda leaf, _: None, at_other=bar, hold=shallow_copy)


def names_parts(y_bar: Any, y: Any) -> bool:
    """Whether a cotangent is the table of the parts of a result that were used."""
    return type(y_bar) is dict and (isinstance(y, tuple) or any([type(key) is Path for key in y_bar]))


def is_number(part: Any) -> bool:
    """Whether anything is a number that may depend on others continuously, or memory that is read as such."""
    return is_inexact(part) or (isinstance(part, Number) and not isinstance(part, Integral)) or _is_packed(part)


def _is_packed(part: Any) -> bool:
    """Whether the memory of a thing is floats: of structured arrays, of `array.array`, of ctypes."""
    if any([type(vars(base).get("__buffer__")) is types.FunctionType for base in type(part).__mro__]):
        return False  # a method of the user's
    try:
        with memoryview(part) as view:
            return bool(set("efdg") & set(re.sub(":.*?:", "", view.format)))  # without the names of fields
    except (TypeError, ValueError, BufferError, NotImplementedError):
        return False


def is_standing(thing: Any) -> bool:
    """Whether a class or module is one that can be imported: no call has made it."""
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
    """What in a result may hold such values and is no tree: a set, an iterator, a closure; None where nothing does.

    `is_old`: classes and modules that are not looked into; `is_key`: numbers that a dictionary may have for keys.
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
    """Whether a thing leads to what counts; also where it leads to too much to tell."""
    stack, seen = [thing], set[int]()
    while stack:
        part = stack.pop()
        if issubclass(type(part), _ATOMS) or id(part) in seen:
            continue
        if counts(part) or len(seen) > MANY:
            return True
        seen.add(id(part))
        stack.extend(_inside(part, is_old))
    return False


def _inside(part: Any, is_old: Callable[[Any], bool]) -> Iterator[Any]:
    if isinstance(part, np.ndarray):
        yield from part.flat if part.dtype.kind == "O" else ()
    elif isinstance(part, types.FunctionType):
        yield from (*(part.__closure__ or ()), *(part.__defaults__ or ()), *(part.__kwdefaults__ or {}).values())
    elif isinstance(part, (type, types.ModuleType)):
        yield from () if is_standing(part) or is_old(part) else vars(part).values()
    elif isinstance(part, Enum):
        yield type(part)
    else:
        yield from gc.get_referents(part)


def _told(part: Any) -> str:
    if part is None or isinstance(part, (int, str, bytes, np.integer, np.bool_)):
        return repr(part)
    if isinstance(part, np.ndarray) and part.dtype.kind != "O":
        return f"{part.dtype}{part.shape} {hashlib.blake2b(part.tobytes(), digest_size=16).hexdigest()}"
    return type(part).__name__


def _path(at: Any) -> Path:
    steps = []
    while type(at) is tuple:
        at, write, key = at
        written = write(key)
        steps.append((".", written[1:]) if written.startswith(".") else ("[]", key))
    return Path(reversed(steps))


def _zero(spec: Spec) -> Any:
    return np.zeros(spec.shape, spec.dtype) if issubclass(spec.pytype, np.ndarray) else spec.dtype.type(0)
