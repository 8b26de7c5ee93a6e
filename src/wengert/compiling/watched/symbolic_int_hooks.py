"""The hooks of a trace with symbolic integers: each records the use of a counter, or refuses it."""

from __future__ import annotations

import functools
import operator
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from wengert.compiling.constants import are_equal_constants
from wengert.compiling.watched.counter_lookups import is_lookup
from wengert.compiling.watched.effect_calls import is_effect
from wengert.compiling.watched.effects import Sink
from wengert.compiling.watched.filled_list_hooks import (
    appending,
    comparing_identity,
    extending,
    filled_item,
    has_filled,
    is_in_array,
    iterating,
    length_of_grown,
    reduced_list,
    settle,
    settling,
    with_items_read,
)
from wengert.compiling.watched.filled_lists import ListStandIn
from wengert.compiling.watched.hooks import WATCHING_HOOKS
from wengert.compiling.watched.lengths import FILLING, MEASURES, measured
from wengert.compiling.watched.outer_reads import reads_here
from wengert.compiling.watched.records import (
    DictStandIn,
    has_records,
    is_stand_in,
    open_heads,
    record_of,
    refuse_record,
)
from wengert.compiling.watched.symbolic_ints import (
    SymbolicInt,
    float_of,
    record_integer_call,
    recorded_key,
    refuse_counter,
    text_of,
)
from wengert.compiling.watched.symbolic_iterators import SymbolicBounds
from wengert.hooks.classes import python_method
from wengert.hooks.operators import BINARY, COMPARISONS, INPLACE, UNARY
from wengert.recording.primitives import primitive_of
from wengert.recording.recording import STATE, Recording
from wengert.values.callables import callable_name
from wengert.values.functional import WHOLE
from wengert.values.identity_set import Functions
from wengert.values.sites import Site
from wengert.values.specs import is_inexact

_INTS = {int, bool, SymbolicInt}


def _float_operand(a: Any, other: Any) -> Any:
    """Return an operand of arithmetic as a float if `other` has floats, as an index if it has indices; else refuse."""
    if type(a) is not SymbolicInt or is_inexact(other):
        return float_of(a)
    if type(other) is np.ndarray and other.dtype == np.int64:
        return recorded_key(a)
    return refuse_counter("a counter is combined with something other than a float")


def _counting_binary(fn: Any, hook: Any) -> Any:
    def call(right: Any, left: Any, site: Site | None) -> Any:
        if type(left) is not SymbolicInt and type(right) is not SymbolicInt:
            return hook(right, left, site)
        STATE.site = site
        if type(left) not in _INTS or type(right) not in _INTS:
            return hook(_float_operand(right, left), _float_operand(left, right), site)
        if fn is not operator.truediv:
            return record_integer_call(fn, left, right)
        if not all([-WHOLE <= float_of(a) <= WHOLE for a in (left, right)]):
            refuse_counter("a counter is divided by, or divides, an integer beyond 2**53")
        return hook(float_of(right), float_of(left), site)

    return call


def _counting_compare(name: str, hook: Any) -> Any:
    def call(right: Any, left: Any, site: Site | None) -> Any:
        for thing in (left, right):
            if record_of(thing) is not None and python_method(type(thing), f"__{name}__") is None:
                STATE.site = site
                refuse_record(thing, "something compares")
        if type(left) is SymbolicInt or type(right) is SymbolicInt:
            STATE.site = site
            is_plain = type(left) in _INTS and type(right) in _INTS
            right, left = (
                (float_of(right), float_of(left))
                if is_plain
                else (_float_operand(right, left), _float_operand(left, right))
            )
        return hook(right, left, site)

    return call


def _counting_unary(fn: Any, hook: Any) -> Any:
    def call(a: Any, site: Site | None) -> Any:
        if type(a) is not SymbolicInt:
            return hook(a, site)
        STATE.site = site
        return record_integer_call(fn, a)

    return call


def _counting_truth(hook: Any) -> Any:
    def call(a: Any, site: Site | None) -> Any:
        length = _length_of(a) if type(a) is Sink else length_of_grown(a)
        return hook(float_of(a if length is None else length), site)

    return call


def _length_of(sink: Any) -> Any:
    """Return the length of a list that the function appends to, as a symbolic integer."""
    return STATE.recording.reads.length_of(sink)  # type: ignore[union-attr]


def _refusing_counters(hook: Any, reason: str, is_refused: Any) -> Any:
    """Return a hook that refuses arguments that are counters or contain one, as `is_refused` tells."""

    def call(*things: Any) -> Any:
        *operands, site = things
        if not any([thing is None for thing in operands]):
            STATE.site = site
            _refuse_records(operands, "something compares or changes")
        if any(map(is_refused, operands)):
            STATE.site = site
            refuse_counter(reason)
        return hook(*things)

    return call


def _looking_up(name: str) -> Any:
    """Return the hook of `in` or `not in`: all records of a kind have the same keys."""
    refusing = _refusing_counters(WATCHING_HOOKS[name], "a counter is looked up in a container", _contains_counter)

    def call(container: Any, key: Any, site: Site | None) -> Any:
        if type(container) is DictStandIn and type(key) in _PLAIN_KEYS:
            return dict.__contains__(container, key) is (name == "contains")
        if is_lookup(container, key):
            STATE.site = site
            return STATE.recording.reads.heads.lookups.contains(container, key) is (name == "contains")  # type: ignore[union-attr]
        return refusing(container, key, site)

    return call


def _searched_parts(thing: Any) -> Iterable[Any]:
    """Return the parts of a slice or container; nothing for any other thing."""
    t = type(thing)
    if t in _PLAIN_TYPES:
        return ()
    if t is slice:
        return thing.start, thing.stop, thing.step
    if t is dict:
        return *thing, *thing.values()
    if issubclass(t, tuple):
        return tuple.__iter__(thing)
    return thing if t in _SEARCHED_CONTAINERS else ()


def _parts_with(is_sought: Callable[[Any], bool], thing: Any) -> Iterator[Any]:
    """Yield what is sought: the thing itself, or parts of it, if it is a slice or container."""
    if is_sought(thing):
        yield thing
    else:
        for part in _searched_parts(thing):
            yield from _parts_with(is_sought, part)


def _contains_counter(thing: Any) -> bool:
    """Whether a thing is a counter, or a slice or container with a counter in it."""
    return type(thing) in _COUNTERS or any(map(_contains_counter, _searched_parts(thing)))


def _refuse_records(things: Iterable[Any], what: str) -> None:
    """Refuse the stand-ins for records among things, and in containers among them."""
    for thing in things if has_records() else ():
        for found in _parts_with(is_stand_in, thing):
            refuse_record(found, what)


_PLAIN_KEYS = {int, str, slice, float, np.ndarray, np.int64}
_PLAIN_TYPES = {float, int, bool, str, np.float64, np.ndarray}
_SEARCHED_CONTAINERS = {list, set, frozenset}
_COUNTERS = {SymbolicInt, SymbolicBounds}


_FILLING_TYPES = {*map(type, FILLING)}
_WITH_ITEMS = {list, dict, ListStandIn}


def _counting_setitem(container: Any, key: Any, value: Any, site: Site | None) -> None:
    if isinstance(container, np.ndarray):
        if _contains_counter(value) and not is_inexact(container):
            STATE.site = site
            refuse_counter("a counter is written into an array of integers")
        value = float_of(value)
    elif type(container) in _WITH_ITEMS:
        STATE.site = site
        if has_filled(container, key, value):
            return
    refuse_record(container, "something changes")
    WATCHING_HOOKS["setitem"](container, _key(container, key, site), value, site)


def _may_be_indexed(container: Any) -> bool:
    """Whether a counter may index a container: a list, a tuple, or a string that is a constant."""
    recording = STATE.recording
    is_text = type(container) is str and recording is not None and not (recording.texts or recording.origins)
    return is_text or type(container) in (list, tuple)


def _counting_getitem(key: Any, container: Any, site: Site | None) -> Any:
    if type(container) in _WITH_ITEMS:
        STATE.site = site
        if (item := filled_item(container, key)) is not None:
            return item
    if type(container) is Sink and type(key) is int and key < 0:
        STATE.site = site
        return STATE.recording.reads.item_from_end(container, key)  # type: ignore[union-attr]
    if type(key) is SymbolicInt and _may_be_indexed(container):
        STATE.site = site
        return STATE.recording.reads.heads.item(container, key)  # type: ignore[union-attr]
    if type(container) is dict and is_lookup(container, key):
        STATE.site = site
        return STATE.recording.reads.heads.lookups.value(container, key)  # type: ignore[union-attr]
    if type(container) is list:
        for heads in open_heads():
            if id(container) in heads.indexed:
                STATE.site = site
                heads.check_fixed_item(container, key)
    if type(container) is DictStandIn:
        STATE.site = site
        return container[_key(container, key, site)]
    return WATCHING_HOOKS["getitem"](_key(container, key, site), container, site)


def _key(container: Any, key: Any, site: Site | None) -> Any:
    """Return the key for a container: the tape computes the counters in it, if they are indices of an array."""
    if type(key) not in _PLAIN_KEYS:
        _refuse_records((key,), "something looks up")
    if type(container) is not SymbolicInt and not _contains_counter(key):
        return key
    STATE.site = site
    parts = key if type(key) is tuple else (key,)
    if type(container) is not np.ndarray:
        STATE.recording.reads.heads.refuse_key(key)  # type: ignore[union-attr]
    if any([_contains_counter(part) and type(part) is not SymbolicInt for part in parts]):
        refuse_counter("a counter is used in a slice")
    return recorded_key(key)


def _counting_resolve(f: Any, site: Site | None = None) -> Any:
    if type(f) is types.MethodType and type(f.__self__) is DictStandIn:
        STATE.site = site
        return f
    if type(f) in _METHODS_OF_C:
        if (append := appending(f)) is not None:
            return append
        settle(f.__self__)
        if has_records():
            refuse_record(f.__self__, f"{callable_name(f)} is called on")
    resolved = WATCHING_HOOKS["resolve"](f, site)
    lengths = _lengths()
    if lengths is not None and type(f) in _FILLING_TYPES and f in FILLING:
        return lengths.filling(f, resolved if f is np.ones else _counting_call(f, resolved, None))
    return resolved if _runs_watched_code(f) else _counting_call(f, resolved, lengths)


def _counting_call(f: Any, resolved: Any, lengths: Any) -> Any:
    """Return a callable without instrumented code that records or refuses its calls with counters."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if f in (isinstance, type, len) and args and is_stand_in(args[0]):
            return resolved(record_of(args[0]).original, *args[1:])  # type: ignore[union-attr]
        if not kwargs and (made := reduced_list(f, args)) is not None:
            return made
        args = with_items_read(f, args)
        if has_records():
            _refuse_records((*args, *kwargs.values()), f"{callable_name(f)} is called on")
        if f is not len:
            for thing in (*args, *kwargs.values()):
                for found in _parts_with(is_in_array, thing):
                    settle(found)
        if is_effect(f):
            return resolved(*args, **kwargs)
        if f is len and type(args[0]) is Sink:
            return _length_of(args[0])
        if f is len and (length := length_of_grown(args[0])) is not None:
            return length
        if lengths is not None and len(args) == 1 and type(args[0]) is np.ndarray and not kwargs:
            if f in MEASURES:
                return measured(args[0], lengths, f)
            if f is np.count_nonzero and args[0].dtype == bool and (count := lengths.count(args[0])) is not None:
                return count
        if not any(map(_contains_counter, args)) and not any(map(_contains_counter, kwargs.values())):
            return resolved(*args, **kwargs)
        return _call_with_counter(f, resolved, args) if not kwargs else refuse_counter(_called_on_counter(f))

    return call if lengths is None else lengths.watched(f, call, _selections_given)


def _selections_given(thing: Any) -> Iterator[Any]:
    """Yield the arrays in an argument of a call, or the one whose method is called."""
    owner = thing.__self__ if type(thing) in _METHODS_OF_C else thing
    return _parts_with(lambda part: type(part) is np.ndarray, owner)


def _lengths() -> Any:
    """Return the lengths of the selections of this trace; None if the tape computes none."""
    reads = reads_here()
    return None if reads is None else reads.lengths


def _fixing_lengths(hook: Any) -> Any:
    """Return a hook that guards the length of a selection, its first operand."""

    def call(x: Any, *others: Any) -> Any:
        if type(x) is np.ndarray and (lengths := _lengths()) is not None:
            STATE.site = others[-1]
            lengths.fix(x)
        return hook(x, *others)

    return call


def _counting_iterable(x: Any, site: Site | None) -> Any:
    made = WATCHING_HOOKS["iterable"](x, site)
    if type(x) is np.ndarray and (lengths := _lengths()) is not None:
        lengths.note_iterator(made, x)
    return made


def _runs_watched_code(f: Any) -> bool:
    """Whether a callable is instrumented Python code, or one that inspects the caller's frame or reads attributes.

    A counter refuses to have its attributes read.
    """
    t = type(f)
    if t is types.FunctionType or f in _READERS_OF_FRAMES_OR_ATTRIBUTES:
        return True
    if t is types.MethodType or t is functools.partial:
        return _runs_watched_code(f.__func__ if t is types.MethodType else f.func)
    if issubclass(t, type):
        return any([python_method(f, name) is not None for name in ("__init__", "__new__")])
    return python_method(t, "__call__") is not None


_READERS_OF_FRAMES_OR_ATTRIBUTES = Functions(
    getattr, hasattr, vars, setattr, delattr, locals, globals, eval, exec, dir, super, sys._getframe, warnings.warn
)


def _call_with_counter(f: Any, resolved: Any, args: tuple[Any, ...]) -> Any:
    """Call a function written in C with a counter among its arguments, or refuse."""
    if f is type and len(args) == 1 and type(args[0]) is SymbolicInt:
        return int
    if f is int and len(args) == 1 and type(args[0]) is SymbolicInt:
        return args[0]
    if (f is str or f is repr) and len(args) == 1 and type(args[0]) is SymbolicInt:
        return text_of(f, *args)
    if f in (min, max) and len(args) > 1 and {*map(type, args)} <= _INTS:
        return functools.reduce(_smaller if f is min else _larger, args)
    if f is abs:
        return record_integer_call(operator.abs, *args)
    if f is range:
        return SymbolicBounds(*args)
    if (lengths := _lengths()) is not None and (unknown := lengths.reshaping(f, args)) is not None:
        return resolved(*unknown)
    if f is isinstance and type(args[0]) is SymbolicInt and _is_plain_class(args[1]):
        return isinstance(0, args[1])
    if f in (float, np.float64, bool) or _gives_same_floats(f, args):
        return resolved(*map(float_of, args))
    return refuse_counter(_called_on_counter(f))


def _smaller(a: Any, b: Any) -> Any:
    return b if COUNTING_HOOKS["lt"](a, b, STATE.site) else a


def _larger(a: Any, b: Any) -> Any:
    return b if COUNTING_HOOKS["gt"](a, b, STATE.site) else a


def _called_on_counter(f: Any) -> str:
    return f"{callable_name(f)} is called on a counter"


def _is_plain_class(cls: Any) -> bool:
    return all(map(_is_plain_class, cls)) if type(cls) is tuple else type(cls) is type or cls.__module__ == "numbers"


def _gives_same_floats(f: Any, args: tuple[Any, ...]) -> bool:
    """Whether a function of numbers returns the same floats if its integer arguments are given as floats."""
    if not (type(f) is np.ufunc or getattr(f, "__module__", "") == "math") or primitive_of(f) is None:
        return False
    if any([type(a) in (list, tuple) for a in args]):
        return False
    try:
        made, like = f(*map(float_of, args)), f(*[int(float_of(a)) if type(a) is SymbolicInt else a for a in args])
    except Exception:
        return False
    return is_inexact(like) and are_equal_constants(made, like)


_REFUSED_HOOKS = {
    **dict.fromkeys(("delitem", "match_keys"), "a counter is used as a key"),
    **dict.fromkeys(("build_set", "added", "added_all"), "a counter is put into a set"),
    "match_class": "a counter is matched with a class pattern",
}
"""Hooks that refuse counters, and why."""


def _counting_text(name: str) -> Any:
    """Return the hook of `format` or `convert`, which make a string of a value."""

    def call(value: Any, how: Any, site: Site | None) -> Any:
        _refuse_records((value,), "something prints")
        if type(value) is not SymbolicInt:
            return WATCHING_HOOKS[name](value, how, site)
        STATE.site = site
        return text_of(format, value, how) if name == "format" else text_of(str, value)

    return call


def _percent(template: str, *values: Any) -> str:
    return template % values


def _counting_mod(hook: Any) -> Any:
    """Return the hook of `%`, which formats if its left operand is a string."""

    def call(right: Any, left: Any, site: Site | None) -> Any:
        if type(left) is not str or not _contains_counter(right):
            return hook(right, left, site)
        STATE.site = site
        values = right if type(right) is tuple else (right,)
        if any([_contains_counter(value) and type(value) is not SymbolicInt for value in values]):
            refuse_counter("a counter in a container is converted to a string")
        return text_of(_percent, left, *values)

    return call


def _counting_build_map(items: tuple[Any, ...], site: Site | None) -> Any:
    if any(map(_contains_counter, items[::2])):
        STATE.site = site
        refuse_counter("a counter is used as a key")
    return WATCHING_HOOKS["build_map"](items, site)


def _counting_touched(value: Any, site: Site | None) -> Any:
    """Refuse a counter that a method returns from which C code takes an integer, such as `__len__`."""
    name = sys._getframe(1).f_code.co_name
    if type(value) is SymbolicInt and name not in _METHODS_RETURNING_OBJECTS:
        STATE.site = site
        refuse_counter(f"{name} returns a counter, which C code takes as an integer")
    return WATCHING_HOOKS["touched"](value, site)


_READING_ITEMS = (
    *COMPARISONS, "add", "mul", "iadd", "imul", "mod", "iterable", "contains", "not_contains", "delitem", "format",
    "convert", "join", "added_all", "match_class",
)  # fmt: skip
"""Hooks that may read or change the items of a list otherwise than one by one."""
_METHODS_OF_C = (types.BuiltinFunctionType, types.MethodWrapperType)
_METHODS_RETURNING_OBJECTS = ("__getitem__", "__next__")
_IDENTITY = "the identity of a counter is compared"
COUNTING_HOOKS = {
    **WATCHING_HOOKS,
    **{op.name: _counting_binary(op.fn, WATCHING_HOOKS[op.name]) for op in BINARY.values()},
    **{
        f"i{name.rstrip('_')}": _counting_binary(BINARY[name].fn, WATCHING_HOOKS[f"i{name.rstrip('_')}"])
        for name in INPLACE
    },
    **{name: _counting_compare(name, WATCHING_HOOKS[name]) for name in COMPARISONS},
    **{name: _counting_unary(fn, WATCHING_HOOKS[name]) for name, (fn, _) in UNARY.items()},
    **{name: _fixing_lengths(_counting_truth(WATCHING_HOOKS[name])) for name in ("truth", "not_")},
    "iterable": _counting_iterable,
    **{
        name: comparing_identity(
            _refusing_counters(WATCHING_HOOKS[name], _IDENTITY, lambda thing: type(thing) is SymbolicInt)
        )
        for name in ("is_", "is_not")
    },
    **{
        name: _refusing_counters(WATCHING_HOOKS[name], reason, _contains_counter)
        for name, reason in _REFUSED_HOOKS.items()
    },
    **{name: _fixing_lengths(_looking_up(name)) for name in ("contains", "not_contains")},
    "mod": _counting_mod(_counting_binary(operator.mod, WATCHING_HOOKS["mod"])),
    **{name: _fixing_lengths(_counting_text(name)) for name in ("format", "convert")},
    "setitem": _counting_setitem,
    "getitem": _counting_getitem,
    "build_map": _counting_build_map,
    "resolve": _counting_resolve,
    "touched": _counting_touched,
}
COUNTING_HOOKS |= {name: settling(COUNTING_HOOKS[name]) for name in _READING_ITEMS}
COUNTING_HOOKS |= {
    "iterable": iterating(COUNTING_HOOKS["iterable"]),
    "iadd": extending(COUNTING_HOOKS["iadd"]),
}
"""The hooks of a trace with symbolic integers."""


def check_counters(recording: Recording) -> None:
    """Refuse a trace in which a counter may have got past these hooks."""
    for entry in recording.entries:
        if entry is not None and any(map(_contains_counter, (entry[1], entry[3], *(entry[4] or {}).values()))):
            refuse_counter("a counter is recorded as a constant")
