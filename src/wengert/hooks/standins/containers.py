"""Stand-ins of C methods that move values and compute nothing: those of containers and strings.

Iterables and keys are prepared before C gets them, so that the trace sees what C iterates over and compares.
"""

from __future__ import annotations

import builtins
import functools
import operator
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks import rule_errors
from wengert.hooks.classes import as_traced
from wengert.hooks.items import default_item, dict_argument, dict_item, iterable
from wengert.hooks.lookups import guard_hashing, guard_lookup, guard_reachable, kept_recording
from wengert.hooks.policy import (
    MOVES,
    Decision,
    decides_methods_of,
    decides_unbound,
    declare_native,
    native_call,
    stand_in_call,
)
from wengert.hooks.protocols import holds
from wengert.hooks.search import CARRIER_TYPES, FROZEN, note_made_text
from wengert.hooks.standins.ordering import sort_list
from wengert.recording.caches import found, is_numeric
from wengert.recording.decisions import decided
from wengert.recording.identity import NUMBERS, found_by_identity, is_one
from wengert.recording.nondifferentiable import refuse_digit
from wengert.recording.recording import STATE

ITERATING = {
    "extend", "extendleft", "update", "__init__", "__iadd__", "__ior__", "union", "intersection", "difference",
    "symmetric_difference", "intersection_update", "difference_update", "symmetric_difference_update", "issubset",
    "issuperset", "isdisjoint",
}  # fmt: skip
"""Methods of containers that iterate over each of their arguments."""


def taken(t: type, args: tuple[Any, ...], kwargs: dict[str, Any], held: Any = ()) -> tuple[list[Any], dict[str, Any]]:
    """Prepare the arguments with which a container of this type is made, or one that holds `held` is filled."""
    if issubclass(t, dict):
        given = [dict_argument(a, STATE.site) for a in args]
        return (given if kept_recording() is None else _with_told_keys(given, held)), kwargs
    if issubclass(t, _SETS):  # sets read other sets past their methods
        given = [a if isinstance(a, _SETS) else iterable(a, STATE.site) for a in args]
        if kept_recording() is not None:
            given = [a if isinstance(a, _SETS) else list(a) for a in given]
            guard_hashing([*held, *[item for a in given for item in a]])
        return given, kwargs
    return [iterable(a, STATE.site) for a in args], {name: iterable(a, STATE.site) for name, a in kwargs.items()}


def _with_told_keys(given: list[Any], held: Any) -> list[Any]:
    """Guard which keys of a dictionary and of its new items are equal; return the arguments, iterators as lists."""
    given = [a if hasattr(type(a), "keys") or not hasattr(type(a), "__iter__") else list(a) for a in given]
    keys = [key for a in given if isinstance(a, dict) for key in a]
    found = [pair[0] for a in given if type(a) is list for pair in a if type(pair) in (tuple, list) and pair]
    guard_hashing([*(dict.__iter__(held) if isinstance(held, dict) else held), *keys, *found])
    return given


_SETS = (set, frozenset)


@decides_methods_of(*CARRIER_TYPES)
def _of_carrier(f: Any, t: type, name: str) -> Decision:
    return stand_in_call(_ITERATES, _standin(t, name)) if name in _ASKING else native_call(MOVES)


def _standin(t: type, name: str) -> Callable[[Any], Any]:
    """Choose the function that makes the stand-in of a method of a list, dictionary, set or deque."""
    if name in ITERATING:
        return _filling
    if name == "__setitem__" and issubclass(t, list):
        return _setting
    if name in _ITEM_LOOKUPS and issubclass(t, dict):
        return lambda f: functools.partial(_ITEM_LOOKUPS[name], f.__self__)
    if name == "sort":
        return lambda f: lambda *, key=None, reverse=False: sort_list(f, list(f.__self__), key, reverse)
    by_place = name == "pop" and issubclass(t, list)  # it looks for nothing
    looking = _looking if name in _FINDING and not by_place else _deciding
    return functools.partial(_searching, looking) if name in _SEARCHES and not issubclass(t, _SETS) else looking


def _filling(f: Any) -> Any:
    def fill(*args: Any, **kwargs: Any) -> Any:
        owner = f.__self__
        given, words = taken(type(owner), args, kwargs, owner)
        return f(*given, **words)

    return fill


def _setting(f: Any) -> Any:
    method = _deciding(f)
    return lambda key, value: method(key, iterable(value, STATE.site) if type(key) is slice else value)


def _searching(looking: Callable[[Any], Any], f: Any) -> Any:
    return looking(f) if kept_recording() is None else functools.partial(_SEARCHES[f.__name__], f.__self__)


def _looking(f: Any) -> Any:
    return f if STATE.recording is None else functools.partial(_finding, _deciding(f), f.__name__, f.__self__)


def _contains_value(owner: Any, value: Any) -> bool:
    """Whether a container holds a value, by C's `__contains__`: the class's own may be the one that asks."""
    return bool(_native_base(owner).__contains__(owner, value))


_FINDING = {"get", "setdefault", "pop", "__contains__", "index", "count"}


def _finding(f: Any, name: str, owner: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a method that looks up its argument, such as `get` or `index`; check for values cached before the trace."""
    if args:
        args = (_known(owner, args[0]), *args[1:])
    if (
        args
        and (type(args[0]) is tuple or type(args[0]) is str or is_numeric(args[0]))
        and _contains_value(owner, args[0])
    ):
        found(owner, args[0])
        if name == "index":
            refuse_digit(STATE.recording, args[0], owner, "index")
    return f(*args, **kwargs)


def _known(owner: Any, value: Any) -> Any:
    """Return the value to look up; for a nan, the original object, since a nan is found by identity."""
    return found_by_identity(value, owner) if type(value) in NUMBERS and value != value else value


_KEYED = {"get", "pop", "setdefault", "add", "discard", "remove", "__getitem__", "__setitem__", "__delitem__"}
_COUNTED = {"pop", "insert", "rotate", "__getitem__", "__setitem__", "__delitem__", "__mul__", "__rmul__", "__imul__"}


def _deciding(f: Any) -> Any:
    """Make the stand-in of a method whose argument is a key or an index, which a kept_recording guards first."""
    owner, name, recording = f.__self__, f.__name__, kept_recording()
    if recording is None:
        return f
    if name == "__contains__":
        return lambda value: holds(owner, value, STATE.site)
    is_hashed = isinstance(owner, (dict, *_SETS))
    if name not in (_KEYED if is_hashed else _COUNTED):
        return f

    def call(*args: Any, **kwargs: Any) -> Any:
        if args and is_hashed:
            guard_lookup(recording, args[0], owner)
        elif args:
            guard_reachable(args[0])
        elif isinstance(owner, _SETS) and name == "pop":
            guard_reachable(owner)
        return f(*args, **kwargs)

    return call


@decides_unbound(*CARRIER_TYPES)
def _of_carriers_class(f: Any) -> Decision:
    if not hasattr(f, "__objclass__"):
        return stand_in_call(_ITERATES, _class_method) if f.__name__ in _FILLED else native_call(MOVES)
    return stand_in_call(_ITERATES, _unbound_method) if f.__name__ in _ASKING else native_call(MOVES)


def _unbound_method(f: Any) -> Callable[..., Any]:
    """The stand-in of `list.extend` and its like, called with the container in front."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if not args or not isinstance(args[0], f.__objclass__):
            return f(*args, **kwargs)  # raises
        owner = args[0]
        return _standin(type(owner), f.__name__)(f.__get__(owner, type(owner)))(*args[1:], **kwargs)

    return call


def _class_method(f: Any) -> Callable[..., Any]:
    """The stand-in of `tuple.__new__` and `dict.fromkeys`, which iterate over one argument."""
    place = 1 if f.__name__ == "__new__" else 0

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [iterable(a, STATE.site) if k == place else a for k, a in enumerate(args)]
        if f.__name__ == "fromkeys" and kept_recording() is not None:
            given[0] = list(given[0])
            guard_hashing(given[0])
        return f(*given, **kwargs)

    return call


def same(item: Any, value: Any) -> bool:
    """`item is value or item == value`, as containers ask it, with a guard where it depends on an input."""
    return is_one(item, value) or as_traced(bool)(as_traced(operator.eq)(item, value))


class _Absent:
    """An object that equals nothing, shown as the value that was not found."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return False

    def __repr__(self) -> str:
        return repr(self.value)


def _native_base(owner: Any) -> Any:
    """Return the C class of a container, whose methods C code uses."""
    return next(t for t in CARRIER_TYPES if isinstance(owner, t))


def _native_items(owner: Any) -> list[Any]:
    return [*_native_base(owner).__iter__(owner)]


def _index(owner: Any, value: Any, *bounds: int) -> int:
    start, stop = (*bounds, None, None)[:2]
    refuse_digit(STATE.recording, value, owner, "index")
    value, items = _known(owner, value), _native_items(owner)
    for k in range(*slice(start, stop).indices(len(items))):
        if same(items[k], value):
            return k
    return int(_native_base(owner).index(owner, _Absent(value), *bounds))  # raises as it does


def _count_equal(owner: Any, value: Any) -> int:
    value = _known(owner, value)
    return sum([same(item, value) for item in _native_items(owner)])


def _remove(owner: Any, value: Any) -> None:
    value = _known(owner, value)
    for k, item in enumerate(_native_items(owner)):
        if same(item, value):
            _native_base(owner).__delitem__(owner, k)
            return
    _native_base(owner).remove(owner, _Absent(value))  # raises as it does


_ITEM_LOOKUPS = {"__getitem__": dict_item, "__missing__": default_item}  # the latter where there is a factory
_SEARCHES = {"index": _index, "count": _count_equal, "remove": _remove}
_FILLED = ("__new__", "fromkeys")
_ASKING = {*ITERATING, "sort", "__contains__", *_ITEM_LOOKUPS, *_SEARCHES, *_KEYED, *_COUNTED, *_FINDING}
_ITERATES = "The stand-in iterates and compares, traced; a tape guards the outcome."


@decides_methods_of(str, bytes)
def _of_text(f: Any, t: type, name: str) -> Decision | None:
    if t is not str and t is not bytes:
        return None
    return stand_in_call("It may make a string from one that was made from a traced value.", _text_method)


def _text_method(f: Any) -> Any:
    """Make the stand-in of a string method, which remembers strings made from traced values."""
    owner, recording = f.__self__, STATE.recording
    joins = f.__name__ == "join"

    def call(*args: Any, **kwargs: Any) -> Any:
        if joins and len(args) == 1 and not kwargs:
            args = ([*iterable(args[0], STATE.site)],)  # an iterator tells nothing once it is used up
        text = f(*args, **kwargs)
        if recording is None:
            return text
        if f.__name__ in _PLACES and id(args[0]) in recording.texts and args[0].isdigit():
            raise rule_errors.no_rule_error(recording, f, "it searches for a digit of a traced value")
        if recording.keep and not isinstance(text, (str, bytes, list, tuple)):
            decided(recording, getattr(type(owner), f.__name__), (owner, *args), text, kwargs)
        return note_made_text(recording, text, (owner, *args), getattr(type(owner), f.__name__), kwargs)

    return call if recording is not None and (recording.texts or joins or f.__name__ in _FORMATTING) else f


_PLACES = ("index", "find", "rindex", "rfind")
_FORMATTING = ("format", "format_map")

declare_native(
    MOVES,
    id,
    callable,
    slice,
    super,
    object,
    property,
    staticmethod,
    classmethod,
    globals,
    locals,
    vars,
    dir,
    input,
    open,
    builtins.__import__,
    BaseException,
    operator.length_hint,
    sys.exc_info,
    functools.partial,
    np.shares_memory,
    np.may_share_memory,
    functools._lru_cache_wrapper,
    typing.TypeVar,
    typing.ParamSpec,
    typing.TypeVarTuple,
    types.SimpleNamespace,
    *FROZEN,
    types.MethodType,
    types.CellType,
    sys.getsizeof,
    sys.getrefcount,
)
