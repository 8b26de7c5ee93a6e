"""Detection of caches that survive between calls: a traced value equals a number that was stored before the trace.

The cached result was computed before the derivative began, so it counts as a constant; a warning says so. The sign is
equality with a number that the function reaches from outside: one that is neither a literal nor made during the trace.
"""

from __future__ import annotations

import collections
import dis
import math
import operator
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.errors import CacheWarning
from wengert.recording import reachability
from wengert.recording.nondifferentiable import refuse_digit
from wengert.recording.recording import STATE, Recording, users_line
from wengert.recording.slots import slot_of
from wengert.values.codes import original
from wengert.values.frames import is_at_caller, user_frame, warn
from wengert.values.specs import elements, is_certain
from wengert.values.trees import form_of, shelves

_COMPARING = (
    operator.eq, operator.ne, math.isclose, np.equal, np.not_equal, np.array_equal, np.array_equiv, np.allclose,
    np.isclose, np.isin,
)  # fmt: skip
EQUALITIES = {id(f) for f in _COMPARING}  # a function with a rule may have no hash

DEEP, MOST = 10, 1000  # so deep the numbers in a key are looked for, and among so many things
_HASHED: tuple[type, ...] = (dict, set, frozenset, type({}.keys()))
_HOLDING: tuple[type, ...] = (*_HASHED, list, tuple, collections.deque, type({}.values()), np.ndarray)
_NUMBERS = (float, complex, np.inexact, np.ndarray, int)
_PLAIN_KEYS = (str, bytes, tuple, frozenset)


def compared(left: Any, right: Any) -> None:
    """Warn if of two compared or equal objects one is traced and the other was stored before the trace."""
    recording = STATE.recording
    if recording is None or recording.roots is None:
        return
    if _is_counter(recording, left) and _is_counter(recording, right):
        return
    for a, b in _number_pairs(left, right):
        traced = _is_traced(recording, a)
        if traced != _is_traced(recording, b) and _are_same(a, b):
            if _is_kept(recording, b if traced else a):
                _warn_of_cache()
            return


def recognised(kept: Any) -> None:
    """Warn if `kept`, which an argument was found to be, is stored where an earlier call may have put it."""
    recording = STATE.recording
    if recording is None or recording.roots is None:
        return
    if not _is_named(kept) and reachability.is_within(recording, _roots(recording), kept):
        _warn_of_cache()


def found(container: Any, key: Any) -> None:
    """Warn if a key found in a container is traced and equals a key that was stored before the trace."""
    recording = STATE.recording
    if recording is None or recording.roots is None:
        return
    if is_certain(key) or _is_counter(recording, key) or not issubclass(type(container), _HOLDING):
        return
    if type(key) is str or type(key) is bytes:
        if issubclass(type(container), dict):
            refuse_digit(recording, key, container, "a lookup")
        is_text = id(key) in recording.texts and issubclass(type(container), _HASHED)
        if is_text and id(_equal_key(container, key)) not in recording.texts and _is_kept(recording, container):
            _warn_of_cache()
        return
    if _holds_traced(recording, key):
        stored = container if issubclass(type(container), np.ndarray) else _equal_key(container, key)
        if stored is not key and not _holds_traced(recording, stored) and _is_kept(recording, container):
            _warn_of_cache()


def _is_counter(recording: Recording, thing: Any) -> bool:
    """Whether a value is an integer that was not rounded from a traced number, such as a counter."""
    return type(thing) is int and id(thing) not in recording.rounded


def _holds_traced(recording: Recording, thing: Any) -> bool:
    return any([_is_traced(recording, number) for number in _numbers(thing)])


def is_numeric(thing: Any) -> bool:
    """Whether a value is a number or an array, by its type alone, so that no user code runs."""
    return issubclass(type(thing), _NUMBERS)


def _numbers(thing: Any) -> list[Any]:
    """List the numbers and arrays among the first MOST parts of a value, in order."""
    found: list[Any] = []
    ahead, left = [(thing, 0)], MOST
    while ahead and left:
        part, depth = ahead.pop()
        left -= 1
        if is_numeric(part) and not _is_of_objects(part):
            found.append(part)
        elif depth < DEEP:
            ahead += [(inner, depth + 1) for inner in reversed(_parts_of_key(part))]
    return found


def _is_of_objects(thing: Any) -> bool:
    return issubclass(type(thing), np.ndarray) and thing.dtype == object


def _parts_of_key(thing: Any) -> list[Any]:
    """Return the parts of a container."""
    if _is_of_objects(thing):
        return elements(thing)
    if issubclass(type(thing), frozenset):
        return [*frozenset.__iter__(thing)]
    form = form_of(type(thing))
    if form is None:
        return []
    if form.items is tuple:
        return [*tuple.__iter__(thing)]
    try:
        return [shelf.load(shelf.holder, key) for shelf in shelves(thing, form) for key in shelf.keys]
    except KeyError:  # a key has another hash than when it was entered
        return []


def _is_traced(recording: Recording, leaf: Any) -> bool:
    """Whether a number or array depends on an argument, or was rounded from one that does.

    A compiled function reads outside values again at each call: there only arguments of a derivative count.
    """
    slot = slot_of(recording, leaf)
    if slot is None or recording.reads is None:
        return id(leaf) in recording.rounded if slot is None else slot not in recording.closure_slots
    return any([recording.depends(slot, level) for level in recording.levels[1:]])


def _warn_of_cache() -> None:
    warn(
        f"{users_line()}: this line may use a cached result: a traced value equals one that was stored before this "
        "derivative began. If so, the derivative misses the part of that result. Clear the cache before you "
        "differentiate, create it inside the function, or use functools.lru_cache, which wengert empties for each "
        "derivative. If nothing is cached here, ignore this warning.",
        CacheWarning,
    )


def _number_pairs(left: Any, right: Any) -> Iterator[tuple[Any, Any]]:
    """Pair the numbers and arrays at corresponding positions of two values."""
    if type(left) is str:
        return iter(())
    return zip(_numbers(left), _numbers(right), strict=False)


def _are_same(a: Any, b: Any) -> bool:
    """Whether two numbers or arrays hold the same; a number may be one of many in an array."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and np.array_equal(a, b)
    return bool(np.any(np.asarray(a) == np.asarray(b)))  # never by a method of the user's


def _have_equal_numbers(a: Any, b: Any) -> bool:
    ours, theirs = _numbers(a), _numbers(b)
    return len(ours) == len(theirs) and all(map(_are_same, ours, theirs))


class _EqualKeyProbe:
    """A key that equals whatever another key equals, and remembers what that was."""

    __array_ufunc__ = None  # a number of NumPy's leaves the comparison to it

    def __init__(self, key: Any) -> None:
        self.key, self.met = key, key

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        if other is self.key or other == self.key:
            self.met = other
            return True
        return False


def _equal_key(container: Any, key: Any) -> Any:
    """Return the key of a container that equals `key`, without running user code."""
    if not issubclass(type(key), (*_PLAIN_KEYS, *_NUMBERS)) or not issubclass(type(container), _HASHED):
        alike = [other for other in container if type(other) is type(key) or is_numeric(other)]
        return next((other for other in alike if other is key or _have_equal_numbers(other, key)), key)
    probe = _EqualKeyProbe(key)
    if issubclass(type(container), dict):
        dict.__contains__(container, probe)
    else:
        _ = probe in container
    return probe.met


# Where it was kept


def _is_kept(recording: Recording, thing: Any) -> bool:
    """Whether the differentiated function stores a value in a place that it can write, rather than as a literal.

    Comparisons inside rules of this package do not count.
    """
    frame = user_frame(sys._getframe())
    if _is_literal(thing) or (frame is not None and is_at_caller(frame.f_code.co_filename)):
        return False
    reads: Any = recording.reads
    _, own = (thing, thing) if reads is None else reads.originals.get(id(thing), (thing, thing))
    return reachability.is_within(recording, _roots(recording), thing) or (
        own is not thing and reachability.is_within(recording, _roots(recording), own)
    )


def _roots(recording: Recording) -> Any:
    """Return the differentiated function and the containers among its arguments."""
    f, args, kwargs = recording.roots
    return f, *[a for a in (*args, *kwargs.values()) if not is_numeric(a)]


def _is_literal(thing: Any) -> bool:
    frame = user_frame(sys._getframe())
    if type(thing) not in (float, int) or frame is None:
        return False
    code, line = original(frame.f_code) or frame.f_code, frame.f_lineno
    return any(i.argval is thing for i in dis.get_instructions(code) if i.positions and i.positions.lineno == line)


def _is_named(thing: Any) -> bool:
    """Whether a module, or a variable that the running function never assigns, holds a value: a default, a sentinel."""
    frame = user_frame(sys._getframe())
    if frame is None:
        return False
    code = original(frame.f_code) or frame.f_code
    known = {name: frame.f_globals[name] for name in code.co_names if name in frame.f_globals} | frame.f_locals
    modules = [vars(m) for m in known.values() if type(m) is types.ModuleType]
    if any(names.get(name) is thing for names in modules for name in code.co_names):
        return True
    held = {name for name, value in known.items() if value is thing}
    return bool(held - {i.argval for i in dis.get_instructions(code) if i.opname.startswith("STORE_")})
