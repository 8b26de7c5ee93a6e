"""Helpers: the functions of this package that a tape calls, written into source that runs without it."""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.errors import StaleTapeError
from wengert.tape.definitions import (
    Edit,
    chains,
    definition,
    edited,
    free_names,
    is_as_written,
    is_ours,
    locals_of,
    origin,
    place,
    places,
    plain,
    refusal,
)
from wengert.tape.literals import Externals, Snippet
from wengert.values.names import TIGHT, home_of

_DEFINED = types.FunctionType, type, functools._lru_cache_wrapper
_FIXED = bool, int, float, complex, str, bytes, tuple, frozenset, np.generic, type(None), types.GenericAlias


class Helpers(Externals):
    """The external names of an emitted module that imports nothing of this package.

    The functions of ours that it calls are `definitions`: each once, after those that it calls itself.
    """

    def __init__(self, taken: set[str], function: str) -> None:
        super().__init__()
        self.taken, self._module = taken, function
        self._names: dict[tuple[str, str], str] = {}

    def function(self, fn: Any) -> Snippet | None:
        """The text of a function that can be imported or written out, which it then is.

        Errors: TapeError for a function of ours whose source cannot be written out.
        """
        if isinstance(fn, _DEFINED) and is_ours(fn):
            return Snippet(self._helper(fn), TIGHT)
        return super().function(fn)

    def bind(self, value: Any) -> Snippet:
        """The name of a new keyword constant for `value`.

        Errors: TapeError for a function of ours, which nobody could give.
        """
        if isinstance(value, types.FunctionType | types.MethodType) and is_ours(value):
            raise refusal(value)
        return super().bind(value)

    def _helper(self, fn: Any) -> str:
        """The name of a function or class of ours, after its definition was written."""
        if fn is StaleTapeError:
            self.checked = True
            return fn.__name__
        module, path = sys.modules.get(home_of(fn)), getattr(fn, "__qualname__", "")
        if module is None or vars(module).get(path) is not fn:
            raise refusal(fn)
        return self._defined(module, path)

    def _defined(self, module: types.ModuleType, name: str) -> str:
        """The name under which the definition of a module's `name` is written."""
        key = (module.__name__, name)
        if key not in self._names:
            wish = name
            while wish in self.taken or wish == self._module:
                wish += "_"
            self.taken.add(wish)
            self._names[key] = wish
            self.definitions.append(self._definition(module, name, wish))
        return self._names[key]

    def _definition(self, module: types.ModuleType, name: str, wish: str) -> str:
        """The definition of a module's `name`, with the names in it as they are in the emitted source."""
        text = plain(definition(module, name), module)
        changes = {name: [Edit(*where, wish) for where in places(text, name)]}
        for other in sorted(free_names(text) - {name}):
            if other in vars(module):
                changes[other] = [*self._edits(module, text, other)]
            elif not hasattr(builtins, other):
                raise refusal(vars(module)[name])
        local = locals_of(text)
        if any(other in local and edit.new != other for other in changes for edit in changes[other]):
            raise refusal(vars(module)[name])
        return edited(text, [edit for edits in changes.values() for edit in edits])

    def _edits(self, module: types.ModuleType, text: str, name: str) -> Iterator[Edit]:
        """The edits that turn each use of a module's `name` into one of what the emitted source has for it."""
        value = vars(module)[name]
        for chain in chains(text, name):
            if isinstance(value, types.ModuleType):
                yield self._attribute(value, chain)
            else:
                yield Edit(*place(chain[0]), self._global(module, name, value))

    def _attribute(self, value: Any, chain: list[Any]) -> Edit:
        """The edit of a chain of attributes that begins at a module."""
        path, last = [value.__name__], chain[0]
        for node in chain[1:]:
            if not isinstance(value, types.ModuleType):
                break
            value, last = getattr(value, node.attr), node
            path.append(node.attr)
        where, text = place(chain[0], last), ".".join(path)
        if path[0].partition(".")[0] in ("wengert", "wengert_rules"):
            return Edit(*where, self._helper(value))
        if text.partition(".")[0] == "numpy":
            return Edit(*where, self.numpy(text.removeprefix("numpy.")))
        self.modules.add(text if text in sys.modules else text.rpartition(".")[0])
        return Edit(*where, text)

    def _global(self, module: types.ModuleType, name: str, value: Any) -> str:
        """Return the name that a module's global `name` has in the emitted source."""
        if isinstance(value, _DEFINED) and is_ours(value):
            return self._helper(value)
        if callable(value) and (place := self.function(value)):
            return place.text
        home, name = origin(module, name)
        if not isinstance(value, _FIXED) and not is_as_written(home, name, value):
            raise refusal(value)
        return self._defined(home, name)
