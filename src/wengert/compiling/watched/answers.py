"""Calls that ask for an object by its name or for a fact about the process, and change nothing: guards ask again."""

from __future__ import annotations

import _thread
import importlib.util
import logging
import os
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any

from wengert.compiling.watched.outer_reads import Reads
from wengert.compiling.watched.read_hooks import guard_modules
from wengert.hooks.search import search
from wengert.recording.recording import silent
from wengert.values.identity_set import Functions

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
