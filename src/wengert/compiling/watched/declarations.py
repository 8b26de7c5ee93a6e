"""Signatures that a watched trace asks for: guards check that the functions are still declared as they were."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

from wengert.compiling.watched.outer_reads import Reads
from wengert.compiling.watched.trusted import belongs_to_user
from wengert.compiling.watched.watchable import CONSTANT_CALLABLES, lookup_with_owner
from wengert.recording.recording import silent
from wengert.recording.trace_state import is_born
from wengert.values.codes import code_of
from wengert.values.identity_set import Functions

SIGNATURES = Functions(inspect.signature, inspect.getfullargspec)
"""Functions that return how a callable is declared."""


def watched_static_attribute(reads: Reads) -> Callable[..., Any]:
    """Return the replacement of `inspect.getattr_static`, which looks for an attribute and runs no descriptor."""

    def call(obj: Any, attr: str, *default: Any) -> Any:
        held = lookup_with_owner(obj if isinstance(obj, type) else type(obj), attr)
        with silent():
            try:
                found = inspect.getattr_static(obj, attr, *default)
            except AttributeError as error:
                reads.guard_absence(obj, attr)
                reads.guarded_errors[id(error)] = error
                raise
        if default and found is default[0]:
            reads.guard_absence(obj, attr)
        elif found is not held[0]:
            reads.give_up("it calls inspect.getattr_static of an attribute that its object or metaclass holds")
        else:
            if belongs_to_user(held[1]):
                reads.guard_is(f"{reads.namespace(held[1])}[{attr!r}]", found)
            if not isinstance(obj, type):
                reads.guard_absence(obj, attr)
        return found

    return call


def watched_signature(ask: Callable[..., Any], reads: Reads) -> Callable[..., Any]:
    """Return the replacement of a function that returns a signature, which is a constant of the code."""

    def call(*args: Any, **kwargs: Any) -> Any:
        for f in _declared_by(args[0]) if len(args) == 1 and not kwargs else (None,):
            if type(f) is types.FunctionType:
                _guard_declaration(f, reads)
            else:
                reads.give_up(f"it asks for the signature of a {type(f).__name__}")
        with silent():
            return ask(*args, **kwargs)

    return call


def _declared_by(f: Any) -> Iterator[Any]:
    """Yield the functions that declare the parameters of a callable; else something that is not a function."""
    if type(f) is types.MethodType:
        f = f.__func__
    if type(f) is type:
        for name in ("__new__", "__init__"):
            raw, _ = lookup_with_owner(f, name)
            if type(raw) is not types.WrapperDescriptorType and raw is not object.__new__:
                yield from _declared_by(raw)
        return
    while type(f) is types.FunctionType:
        yield f
        f = vars(f).get("__wrapped__")
        if f is None:
            return
    if type(f) not in CONSTANT_CALLABLES:
        yield f


def _guard_declaration(f: types.FunctionType, reads: Reads) -> None:
    """Guard the parameters of a function; their defaults are inputs or guarded, as of a function that runs."""
    if is_born(f):
        return
    accessor = reads.pin(f)
    reads.entered(f, code_of(f))
    _guard_annotations(f, accessor, reads)
    for name in _READ_BY_SIGNATURE:
        if name in vars(f):
            reads.guard_is(f"{accessor}.__dict__[{name!r}]", vars(f)[name])
        else:
            reads.add_guard(f"{name!r} not in {accessor}.__dict__")


_READ_BY_SIGNATURE = ("__wrapped__", "__signature__", "__text_signature__", "_partialmethod", "__partialmethod__")
"""Attributes of functions that decide their signature."""


def _guard_annotations(f: types.FunctionType, accessor: str, reads: Reads) -> None:
    """Guard that the annotations of a function are the same objects."""
    held = f.__annotations__
    reads.add_guard(f"len({accessor}.__annotations__) == {len(held)}")
    for name, value in held.items():
        reads.guard_is(f"{accessor}.__annotations__[{name!r}]", value)
