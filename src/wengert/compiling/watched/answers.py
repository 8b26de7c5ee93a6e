"""Calls that ask for an object by its name, or for a fact about the process, names or memory: guards ask again."""

from __future__ import annotations

import _thread
import decimal
import importlib.util
import logging
import os
import types
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any

import numpy as np

from wengert.compiling.watched.outer_reads import WITH_ATTRIBUTES, Reads
from wengert.compiling.watched.read_hooks import guard_modules
from wengert.hooks.calls import resolve
from wengert.hooks.code_swap import prepare
from wengert.hooks.search import search
from wengert.recording.recording import STATE, silent
from wengert.values.identity_set import Functions
from wengert.values.views import owner_of

_find_spec: Any = importlib.util.find_spec
_LOOKUPS = Functions(importlib.import_module, logging.getLogger)
"""Functions that return the same object for the same name."""
_QUESTIONS = (
    os.getpid, os.getcwd, os.getenv, os.cpu_count, os.path.exists, os.path.isfile, os.path.isdir, _thread.get_ident,
    _thread.get_native_id,
)  # fmt: skip
ANSWERS = Functions(*_LOOKUPS, *_QUESTIONS, _find_spec)
"""Functions of strings that the guards of a compiled function may call at each call."""


def watched_answer(f: Any, reads: Reads) -> Callable[..., Any]:
    """Return the replacement of a function that looks up an object, or answers a question about the process."""

    def call(*args: Any, **kwargs: Any) -> Any:
        with silent():
            found = f(*args, **kwargs)
        asked = (*args, *kwargs.values())
        if {*map(type, asked)} - {str, type(None)} or search(reads.recording, asked):
            reads.give_up(f"it calls {f.__qualname__} with other arguments than constant strings")
            return found
        given = [*map(repr, args), *[f"{name}={value!r}" for name, value in kwargs.items()]]
        question = f"{reads.pin(f)}({', '.join(given)})"
        if f is importlib.import_module:
            guard_modules(reads, {_full_name(*args, **kwargs)})
        elif f is logging.getLogger:
            reads.guard_is(question, found)
        elif f is _find_spec and found is not None:
            reads.add_guard(f"{question} is not None")  # that of a module which is not loaded is made anew
        return reads.read(found, reads.pin(found) if f in _LOOKUPS or type(found) is ModuleSpec else question)

    return call


def _full_name(name: str, package: str | None = None) -> str:
    """Return the name without leading dots of a module that `import_module` looks up."""
    return importlib.util.resolve_name(name, package)


def watched_names(reads: Reads, *things: Any) -> list[str]:
    """Return `dir(thing)`, of which the guards of its class and attributes know whether it changes."""
    kind: Any = type(things[0]).__dir__ if things else None
    is_callable = bool(things) and issubclass(type(things[0]), _OPEN_CALLABLES)
    if (kind is object.__dir__ or kind is type.__dir__) and not is_callable:
        prepare(things[0] if isinstance(things[0], type) else type(things[0]))
        reads.read_all_attributes(things[0])
    else:
        reads.give_up("it calls dir without an object, or of a callable or one with a __dir__ of its own")
    names: list[str] = resolve(dir, STATE.site)(*things)
    return names


def watched_fp_settings(f: Any, reads: Reads) -> Callable[..., Any]:
    """Return the replacement of `np.seterr` or `np.geterr`: guard the settings with which the function begins."""

    def call(**errors: Any) -> Any:
        reads.add_guard(f"{reads.pin(np.geterr)}() == {reads.pin(reads.fp_settings)}")
        return resolve(f, STATE.site)(**errors)

    return call


def guard_decimal_settings(reads: Reads) -> None:
    """Guard the precision and the other settings with which `decimal` computes."""
    reads.add_guard(f"{reads.pin(_decimal_settings)}() == {reads.pin(_decimal_settings())}")


def _decimal_settings() -> tuple[Any, ...]:
    found = decimal.getcontext()
    return found.prec, found.rounding, found.Emin, found.Emax, found.capitals, found.clamp, found.traps.copy()


_OPEN_CALLABLES = (types.FunctionType, types.MethodType, *WITH_ATTRIBUTES)
"""Classes of callables whose attributes are guarded one by one only."""


def watched_sharing(f: Any, reads: Reads) -> Callable[..., bool]:
    """Return the replacement of `np.may_share_memory`; it gives up on two arrays from outside, which may change."""

    def call(a: Any, b: Any, *args: Any, **kwargs: Any) -> bool:
        for array in (a, b):
            reads.heads.refuse_row(array)
        owners = [owner_of(array) if type(array) is np.ndarray else None for array in (a, b)]
        inputs = reads.effects.arrays.outer
        are_outer = [owner is None or id(owner) in inputs or reads.is_compared_array(owner) for owner in owners]
        found = [outer.traced for outer in reads.inputs.values() if type(outer.traced) is np.ndarray]
        is_one_input = owners[0] is owners[1] and sum([owner_of(array) is owners[0] for array in found]) == 1
        if all(are_outer) and a is not b and not is_one_input:
            reads.give_up("it asks whether two arrays from outside share memory")
        with silent():
            return bool(f(a, b, *args, **kwargs))

    return call
