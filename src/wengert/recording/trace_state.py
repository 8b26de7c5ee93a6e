"""State that lasts until the process's last trace ends: functions that run their twins' code, and caches.

A twin computes what its function does where nothing records: until functions get their own code back, calls from
elsewhere, such as another thread's, are right and slower. The caches hold what was found about functions and classes,
which may change between two traces. The session also clears them when a recording is opened beside another thread's;
the hooks do where traced code changes a class or a rule is changed.
"""

from __future__ import annotations

import functools
import types
import weakref
from typing import Any

from wengert.recording.recording import STATE
from wengert.values.codes import original

twins: dict[Any, Any] = {}
"""The callable that traced code calls in place of a function without a closure, or of a class: mostly itself."""
prepared: dict[int, type] = {}
"""Classes of which all functions have been exchanged, by their ids: a metaclass may say that they have no hash."""
calling_on: set[type] = set()
"""Classes whose objects are called as they are: `__call__` runs instrumented code, and no rule is for an object."""
methods: dict[tuple[type, str], Any] = {}
"""The methods of classes that are written in Python; None where one of C stands."""
class_parts: dict[int, tuple[type, Any, list[Any]]] = {}
"""Parts of classes that a search for traced values looks at, by their ids: the class, `__globals__`, and values."""
plain_names: dict[type, set[str]] = {}
"""Attributes of the objects of a class that are read as they are."""
plain_names_of_classes: dict[type, set[str]] = {}
"""Attributes of classes themselves, where no descriptor written in Python has a say."""
of_values: dict[type, set[str]] = {}
"""Such attributes of arrays and numbers, which stay as they are."""
exchanged: list[tuple[types.FunctionType, types.CodeType, types.CodeType]] = []
"""Functions, what they run otherwise, and what they run now."""
_born: dict[int, tuple[weakref.ref[Any], types.CodeType | None]] = {}
"""Functions with their own code, and classes, that instrumented code made; they may be gone before the trace ends."""
_replaced: list[tuple[type, str, Any, Any]] = []
"""Classes, names, what stood there, and what stands there now."""


def replace(cls: type, name: str, own: Any, stand: Any) -> None:
    """Have a class hold `stand` under a name instead of its `own` until `give_back`."""
    _replaced.append((cls, name, own, stand))
    type.__setattr__(cls, name, stand)


def exchange(f: types.FunctionType, own: types.CodeType, twin: types.CodeType) -> None:
    """Have `f` run the code `twin` instead of its `own` until `give_back`."""
    exchanged.append((f, own, twin))
    f.__code__ = twin
    recording = STATE.recording
    if recording is not None and recording.reads is not None:
        recording.reads.exchanged(f, own)


def note_born(made: Any, code: types.CodeType | None = None) -> None:
    """Remember a class, or a function made with a twin's code, which runs its own `code` from `give_back` on."""
    forget: Any = functools.partial(_born.pop, id(made))  # the reference is the default
    _born[id(made)] = weakref.ref(made, forget), code


def is_born(thing: Any) -> bool:
    """Whether a trace made this class, or this function with a twin's code."""
    found = _born.get(id(thing))
    return found is not None and found[0]() is thing


def give_back() -> None:
    """Have all functions run their own code again, except those that were given another one meanwhile."""
    for f, own, twin in exchanged:
        if f.__code__ is twin:
            f.__code__ = own
    exchanged.clear()
    if _replaced:
        for cls, name, held, stand in _replaced:
            if vars(cls).get(name) is stand:
                type.__setattr__(cls, name, held)
        _replaced.clear()
    if _born:
        for reference, code in [*_born.values()]:
            born = reference()
            if code is not None and born is not None and original(born.__code__) is code:
                born.__code__ = code
        _born.clear()


class OtherTwins:
    """A context in which other hooks are in use: its twins, and the classes that it prepares, are not those around."""

    cleared = 0
    """How often the caches were cleared: what was known before may be wrong."""

    def __init__(self) -> None:
        self._known: tuple[int, dict[Any, Any]] = 0, {}

    def __enter__(self) -> None:
        self._around = (OtherTwins.cleared, {**twins}), {*prepared}, {*calling_on}, len(exchanged)
        self._fill(self._known)

    def __exit__(self, *error: object) -> None:
        self._known = OtherTwins.cleared, {**twins}
        around, classes, callables, count = self._around
        self._fill(around)
        if len(exchanged) > count:
            before = {id(f): twin for f, _, twin in exchanged[:count]}
            for f, own, twin in reversed(exchanged[count:]):
                if f.__code__ is twin:
                    f.__code__ = before.get(id(f), own)
            del exchanged[count:]
        for t in prepared.keys() - classes:
            del prepared[t]
        calling_on.intersection_update(callables)

    def _fill(self, known: tuple[int, dict[Any, Any]]) -> None:
        twins.clear()
        if known[0] == OtherTwins.cleared:
            twins.update(known[1])


def clear_caches() -> None:
    """Clear the caches."""
    OtherTwins.cleared += 1
    twins.clear()
    prepared.clear()
    calling_on.clear()
    methods.clear()
    class_parts.clear()
    plain_names_of_classes.clear()
    if len(plain_names) > len(of_values):
        for t in [*plain_names]:  # one by one: where an interrupt hits, the rest goes the next time
            if t not in of_values:
                plain_names.pop(t, None)
