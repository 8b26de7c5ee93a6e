"""Pickle functions for other processes: their original code, with the rules that the user declared."""

from __future__ import annotations

import io
import os
import pickle
import secrets
import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from wengert.rulebook.registry import rules
from wengert.rulebook.rule import Rule
from wengert.values.codes import original
from wengert.values.frames import is_at_caller
from wengert.values.names import import_path
from wengert.values.transformed import Remade

__all__ = ["pack", "unpacked"]


def pack(f: Callable[..., Any]) -> bytes:
    """Pickle the function `f` as bytes, from which `unpacked` rebuilds it in another process.

    Code that cannot be imported there (from `__main__`, a notebook, lambdas) is pickled by value, with cloudpickle. So
    are the user's rules: those of importable functions, which any code may call, and of functions pickled by value.
    """
    included = [rule for rule in _users() if all(map(import_path, rule.targets))]
    whole = f, included, _this_process()
    code, met = _pickled(whole)
    while met:
        included += met
        code, met = _pickled(whole)
    return code


def _this_process() -> tuple[str, int]:
    """Return a name of this process that no other has: a random word, and the number that differs after a fork."""
    return _TOKEN, os.getpid()


_TOKEN = secrets.token_hex(8)


def _users() -> list[Rule]:
    """Return the rules that are not part of this package."""
    return [*dict.fromkeys(rule for rule in map(rules.get, rules) if rule and not is_at_caller(rule.where))]


def _pickled(whole: tuple[Any, list[Rule], tuple[str, int]]) -> tuple[bytes, list[Rule]]:
    """Pickle a function and rules; return the bytes, and the user's rules of further functions pickled by value."""
    import cloudpickle  # installed with Dask; its import takes 20 ms

    file = io.BytesIO()
    pickler = cloudpickle.Pickler(file)
    plainly, known, met = pickler.reducer_override, whole[1], []

    def reduce(obj: Any) -> Any:
        if type(obj) is types.CodeType and (written := original(obj)) is not None:  # another thread is tracing it
            return pickler.dispatch_table[types.CodeType](written)
        if isinstance(obj, Remade) and import_path(obj) is None:  # not importable: a decorator made it in `__main__`
            return obj.by_recipe()
        found = rules.get(obj) if type(obj) in rules.types else None
        if found is not None and found not in known and found not in met and not is_at_caller(found.where):
            met.append(found)
        return plainly(obj)

    pickler.reducer_override = reduce
    pickler.dump(whole)
    return file.getvalue(), met


def unpacked(code: bytes) -> Any:
    """Unpickle a function and declare its rules here. In one process, the same bytes return the same function.

    Rules of this very process stay: the bodies in the bytes are copies, with globals of their own.
    """
    f, given, process = _loaded(code)
    for rule in given:
        if process != _this_process() or not all([target in rules for target in rule.targets]):
            _declare_from_pickle(rule)
    return f


@lru_cache(maxsize=16)
def _loaded(code: bytes) -> tuple[Any, list[Rule], tuple[str, int]]:
    try:
        found: tuple[Any, list[Rule], tuple[str, int]] = pickle.loads(code)
    except ModuleNotFoundError as error:
        error.add_note(
            "The function reads from this module, which the process that runs it cannot import. Install the module "
            "there, send it with client.upload_file, or pickle its functions by value: "
            "cloudpickle.register_pickle_by_value(module)."
        )
        raise
    return found


def _declare_from_pickle(rule: Rule) -> None:
    """Declare an unpickled rule in this process, in place of other rules for the same functions."""
    known = [rules.get(f) for f in rule.targets]
    if not all(old is not None and (old.kind, old.body) == (rule.kind, rule.body) for old in known):
        for f in rule.targets:
            if f in rules:
                rules.remove(f)
        rules.add(rule)
