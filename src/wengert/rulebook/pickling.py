"""Functions on their way to other processes: as they were written, with the rules that a user has declared here."""

from __future__ import annotations

import io
import pickle
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
    """The function `f` as bytes, of which `unpacked` makes it in another process.

    What cannot be imported there (of `__main__`, a notebook, lambdas) goes along, by cloudpickle. So do the user's
    rules: of all functions that can be imported, which any code may call, and of those that go along.
    """
    going = [rule for rule in _users() if all(map(import_path, rule.targets))]
    code, met = _pickled((f, going))
    while met:
        going += met
        code, met = _pickled((f, going))
    return code


def _users() -> list[Rule]:
    """The rules that do not come with this package."""
    return [*dict.fromkeys(rule for rule in map(rules.get, rules) if rule and not is_at_caller(rule.where))]


def _pickled(whole: tuple[Any, list[Rule]]) -> tuple[bytes, list[Rule]]:
    """A function and rules as bytes, and the user's further rules, of functions that go along."""
    import cloudpickle  # Dask's; its import takes 20 ms

    file = io.BytesIO()
    pickler = cloudpickle.Pickler(file)
    plainly, known, met = pickler.reducer_override, whole[1], []

    def reduce(obj: Any) -> Any:
        if type(obj) is types.CodeType and (written := original(obj)) is not None:  # another thread traces it just now
            return pickler.dispatch_table[types.CodeType](written)
        if isinstance(obj, Remade) and import_path(obj) is None:  # a decorator has put it into `__main__`
            return obj.by_recipe()
        found = rules.get(obj) if type(obj) in rules.types else None
        if found is not None and found not in known and found not in met and not is_at_caller(found.where):
            met.append(found)
        return plainly(obj)

    pickler.reducer_override = reduce
    pickler.dump(whole)
    return file.getvalue(), met


def unpacked(code: bytes) -> Any:
    """Unpickle a function and declare its rules here. The same bytes give the same function in a process."""
    f, given = _loaded(code)
    for rule in given:
        _declare_from_pickle(rule)
    return f


@lru_cache(maxsize=16)
def _loaded(code: bytes) -> tuple[Any, list[Rule]]:
    try:
        found: tuple[Any, list[Rule]] = pickle.loads(code)
    except ModuleNotFoundError as error:
        error.add_note(
            "What a function reads of a module is imported where it runs, and there is no such module. Install it "
            "there, send it by client.upload_file, or have its functions go along as those of __main__ do: "
            "cloudpickle.register_pickle_by_value(module)."
        )
        raise
    return found


def _declare_from_pickle(rule: Rule) -> None:
    """Have a rule stand in this process, in place of what stands for the same functions."""
    known = [rules.get(f) for f in rule.targets]
    if not all(old is not None and (old.kind, old.body) == (rule.kind, rule.body) for old in known):
        for f in rule.targets:
            if f in rules:
                rules.remove(f)
        rules.add(rule)
