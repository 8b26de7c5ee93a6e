"""Results of functions with rules: trees as arguments are, each inexact leaf of which is a variable.

A leaf is named by its index in a flat tuple, by its Path in any other container.
"""

from __future__ import annotations

import gc
import hashlib
import types
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from numbers import Integral, Number
from typing import Any, NamedTuple

import numpy as np

from wengert.values.functional import Path
from wengert.values.structures import is_container, shallow_copy, walk
from wengert.values.values import Spec, is_inexact, spec_of

MANY = 10_000  # objects; a larger one is not searched through
_ATOMS = (str, bytes, int, type(None), type, types.ModuleType, types.CodeType, np.dtype, np.integer, np.bool_, Enum)


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
    """Whether anything is a number that may depend on others continuously."""
    return is_inexact(part) or (isinstance(part, Number) and not isinstance(part, Integral))


def hidden(value: Any, counts: Callable[[Any], bool] = is_number, most: int = MANY) -> Any:
    """What in a result may hold such values and is no tree: a set, an iterator, a closure; None where nothing does."""
    found: list[Any] = []

    def look(part: Any) -> Any:
        if not found and _reaches(part, counts, most):
            found.append(part)
        return part

    walk(value, "", {}, at_other=look)
    return found[0] if found else None


def _reaches(thing: Any, counts: Callable[[Any], bool], most: int) -> bool:
    stack, seen = [thing], set[int]()
    while stack:
        part = stack.pop()
        if counts(part) or len(seen) > most:
            return True
        if issubclass(type(part), _ATOMS) or id(part) in seen:
            continue
        seen.add(id(part))
        stack.extend(_inside(part))
    return False


def _inside(part: Any) -> Iterator[Any]:
    if isinstance(part, np.ndarray):
        yield from part.flat if part.dtype.kind == "O" else ()
    elif isinstance(part, types.FunctionType):
        yield from (*(part.__closure__ or ()), *(part.__defaults__ or ()), *(part.__kwdefaults__ or {}).values())
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
