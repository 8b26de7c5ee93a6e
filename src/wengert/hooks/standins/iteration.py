"""Iteration by C callables: `iter`, `next`, `map`, `filter`, `any`, `reversed`, and those of `itertools`."""

from __future__ import annotations

import functools
import itertools
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks.classes import as_traced, python_method
from wengert.hooks.code_swap import (
    CALLING_ITERATORS,
    instrumented,
    prepare,
    prepare_class_of,
    prepare_value,
    swap_in_iterator,
)
from wengert.hooks.items import iterable
from wengert.hooks.lookups import guard_reachable, guard_set_order, kept_recording
from wengert.hooks.policy import stand_in_for
from wengert.hooks.readers import is_reader, read_next
from wengert.hooks.search import may_wait_for_threads
from wengert.hooks.standins import plain
from wengert.hooks.standins.containers import same
from wengert.hooks.standins.ordering import ordered
from wengert.hooks.standins.texts import characters
from wengert.recording.recording import C_ONLY_TYPES, STATE, OpenCounts, users_line
from wengert.recording.slots import holds_traced
from wengert.values.frames import ENGINE


def _with_entered_arguments(f: Any) -> Any:
    """Make the stand-in of a C callable: functions passed to it are entered, iterables are recorded."""
    first, *middle, rest = ROLES.get(f, (items_of, items_of))

    def call(*args: Any, **kwargs: Any) -> Any:
        if f is itertools.groupby and len(args) == 1:
            args = (*args, kwargs.pop("key", None))
        if OpenCounts.tapes:
            counts = (*args[f is itertools.repeat :], *kwargs.values())
            guard_reachable(*[a for a in counts if isinstance(a, np.integer)])
        given = [role(a) for role, a in zip((first, *middle), args, strict=False)]
        given += [rest(a) for a in args[len(given) :]]
        return f(*given, **{name: _WORDS.get(name, _as_it_is)(a) for name, a in kwargs.items()})

    return call


def _as_it_is(a: Any) -> Any:
    return a


def entered(a: Any) -> Any:
    return None if a is None else as_traced(a)


def _tested(a: Any) -> Any:
    """Prepare a predicate for C; on a tape, a wrapper tests the result itself, so that the trace sees the test."""
    return entered(a) if kept_recording() is None else instrumented(plain.tested)(bool if a is None else a)


def _answers(a: Any) -> Any:
    """Items that C tests one by one."""
    return _prepared_items(a) if kept_recording() is None else instrumented(plain.answers)(a)


def _prepared_items(a: Any) -> Any:
    """Prepare items on which C may call methods."""
    prepare_value(a)
    return items_of(a)


def _grouping(a: Any) -> Any:
    """Wrap the key function of `groupby`: on a tape each key is guarded, since C compares it with the one before."""
    key = entered(a)
    if kept_recording() is None:
        return key

    def call(item: Any) -> Any:
        made = item if key is None else key(item)
        guard_reachable(made)
        return made

    return call


def items_of(a: Any) -> Any:
    if OpenCounts.tapes:
        guard_set_order(a)
    return a if type(a) in C_ONLY_TYPES and type(a) not in _ITERATED_TYPES else iterable(a, STATE.site)


def _later(a: Any) -> Any:
    """Prepare an iterable for C lazily, when C begins to iterate over it."""
    return a if items_of(a) is a else _yield_items(a)


def _yield_items(a: Any) -> Iterator[Any]:
    """Yield the items; `yield from` would close a generator that others hold."""
    for item in items_of(a):  # noqa: UP028
        yield item


def _items_of_each(a: Any) -> Any:
    """Prepare an iterable of iterables, over which C iterates one by one."""
    return (items_of(items) for items in items_of(a))


def _prepared(a: Any) -> Any:
    return prepare_class_of(a, STATE.site)


_ITERATED_TYPES = (np.ndarray, str)


_WORDS: dict[str, Callable[[Any], Any]] = {"key": entered, "iterable": items_of}


ROLES: dict[Any, tuple[Callable[[Any], Any], ...]] = {
    map: (entered, items_of),
    filter: (_tested, _prepared_items),
    aiter: (_prepared, _as_it_is),
    anext: (_prepared, _as_it_is),
    functools.reduce: (entered, items_of, _as_it_is),
    itertools.starmap: (entered, items_of),
    itertools.takewhile: (_tested, items_of),
    itertools.dropwhile: (_tested, items_of),
    itertools.filterfalse: (_tested, _prepared_items),
    itertools.compress: (items_of, _answers),
    itertools.groupby: (items_of, _grouping),
    itertools.repeat: (_as_it_is, _as_it_is),
    itertools.chain: (_later, _later),
    itertools.chain.from_iterable: (_items_of_each, _as_it_is),
}
"""Map a C callable to one function per argument that prepares it.

The last function prepares all further arguments, too. All arguments of a callable without an entry are iterables.
"""

_OF_ITERTOOLS = [v for v in vars(itertools).values() if isinstance(v, type)]
stand_in_for(zip, enumerate, itertools.tee, *ROLES, *_OF_ITERTOOLS, made=True)(_with_entered_arguments)


@stand_in_for(any, all, made=True)
def _testing(f: Any) -> Any:
    return lambda items, /: f(_answers(items))


@stand_in_for(itertools.count)
def _counting(start: Any = 0, step: Any = 1) -> Any:
    count = instrumented(plain.count) if holds_traced((start, step)) else itertools.count
    return count(start, step)


@stand_in_for(iter)
def _iter(obj: Any, /, *sentinel: Any) -> Any:
    if len(sentinel) != 1 or not callable(obj):
        return iter(iterable(obj, STATE.site), *sentinel)
    return iter(as_traced(obj), *sentinel) if kept_recording() is None else _called_until(as_traced(obj), *sentinel)


@stand_in_for(operator.length_hint)
def _length_hint(obj: Any, default: Any = 0, /) -> Any:
    """Refuse an iterator over a traced array or text: it is a generator here, which has no hint."""
    if STATE.recording is not None and type(obj) is types.GeneratorType and obj.gi_code.co_filename.startswith(ENGINE):
        raise STATE.recording.refuse(
            RefusedCallError(
                f"{users_line()}: operator.length_hint asks an iterator over an array, which has no hint while it is "
                "traced. Use len of the array."
            )
        )
    return operator.length_hint(_prepared(obj), default)


class _Never:
    """An object that equals nothing."""

    def __eq__(self, other: object) -> bool:
        return False


def _called_until(f: Callable[[], Any], end: Any) -> Any:
    """The stand-in of `iter(f, end)`, which makes the comparison that C would make."""

    def call() -> Any:
        item = f()
        if same(item, end):
            raise StopIteration
        return item

    return iter(call, _Never())


@stand_in_for(next)
def _next_item(iterator: Any, /, *default: Any) -> Any:
    t = type(iterator)
    if t is np.flatiter or may_wait_for_threads(python_method(t, "__next__")):
        iterator = iterable(iterator, STATE.site)
    if STATE.recording is not None and type(iterator) in CALLING_ITERATORS:
        swap_in_iterator(iterator)
    return (read_next if is_reader(iterator) else next)(iterator, *default)


@stand_in_for(itertools.accumulate)
def _accumulate(iterable: Any, func: Any = operator.add, *, initial: Any = None) -> Any:
    return itertools.accumulate(items_of(iterable), as_traced(operator.add if func is None else func), initial=initial)


@stand_in_for(reversed)
def _reversed(items: Any, /) -> Any:
    t = type(items)
    if t is str:
        return reversed([*characters(items)])
    if issubclass(t, np.ndarray) and python_method(t, "__reversed__") is None:
        return instrumented(plain.backwards)(items)
    prepare(t)
    return reversed(items)


stand_in_for(sorted)(ordered)
