"""Helpers: functions of this package that a tape calls, copied into emitted source so that it runs without wengert."""

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
    apply_edits,
    attribute_chains,
    belongs_to_wengert,
    defining_module,
    definition_text,
    equals_its_definition,
    free_names,
    locals_of,
    name_spans,
    no_source_error,
    span_of,
    stripped_definition,
)
from wengert.tape.literals import Externals, Snippet
from wengert.values.names import TIGHT, home_of

_DEFINED = types.FunctionType, type, functools._lru_cache_wrapper
_CONSTANT_TYPES = bool, int, float, complex, str, bytes, tuple, frozenset, np.generic, type(None), types.GenericAlias


class Helpers(Externals):
    """The external names of an emitted module that imports nothing of this package.

    `definitions` holds the source of each function of this package that the module calls, after those it calls itself.
    """

    runs_alone = True

    def __init__(self, taken: set[str], function: str) -> None:
        super().__init__()
        self.taken, self._module = taken, function
        self._names: dict[tuple[str, str], str] = {}

    def function(self, fn: Any) -> Snippet | None:
        """Import a function, or write out its definition, and return the text that refers to it.

        Errors: TapeError for a function of this package whose source cannot be written out.
        """
        if isinstance(fn, _DEFINED) and belongs_to_wengert(fn):
            return Snippet(self._helper(fn), TIGHT)
        return super().function(fn)

    def bind(self, value: Any) -> Snippet:
        """Return the name of the keyword constant for `value`.

        Errors: TapeError for a function of this package, which no caller could pass in.
        """
        if isinstance(value, types.FunctionType | types.MethodType) and belongs_to_wengert(value):
            raise no_source_error(value)
        return super().bind(value)

    def _helper(self, fn: Any) -> str:
        """Write the definition of a function or class of this package, and return its name."""
        if fn is StaleTapeError:
            self.checked = True
            return fn.__name__
        module, path = sys.modules.get(home_of(fn)), getattr(fn, "__qualname__", "")
        if module is None or vars(module).get(path) is not fn:
            raise no_source_error(fn)
        return self._defined(module, path)

    def _defined(self, module: types.ModuleType, name: str) -> str:
        """Write the definition of a module's `name`, if that is not done, and return its name in the source."""
        key = (module.__name__, name)
        if key not in self._names:
            new_name = name
            while new_name in self.taken or new_name == self._module:
                new_name += "_"
            self.taken.add(new_name)
            self._names[key] = new_name
            self.definitions.append(self._definition(module, name, new_name))
        return self._names[key]

    def _definition(self, module: types.ModuleType, name: str, new_name: str) -> str:
        """Return the definition of a module's `name`, with its names changed to those of the emitted source."""
        text = stripped_definition(definition_text(module, name), module)
        changes = {name: [Edit(*where, new_name) for where in name_spans(text, name)]}
        for other in sorted(free_names(text) - {name}):
            if other in vars(module):
                changes[other] = [*self._edits(module, text, other)]
            elif not hasattr(builtins, other):
                raise no_source_error(vars(module)[name])
        local = locals_of(text)
        if any(other in local and edit.new != other for other in changes for edit in changes[other]):
            raise no_source_error(vars(module)[name])
        return apply_edits(text, [edit for edits in changes.values() for edit in edits])

    def _edits(self, module: types.ModuleType, text: str, name: str) -> Iterator[Edit]:
        """Yield the edits that replace each use of a module's `name` by its text in the emitted source."""
        value = vars(module)[name]
        for chain in attribute_chains(text, name):
            if isinstance(value, types.ModuleType):
                yield self._attribute(value, chain)
            else:
                yield Edit(*span_of(chain[0]), self._global(module, name, value))

    def _attribute(self, value: Any, chain: list[Any]) -> Edit:
        """Return the edit of an attribute chain that begins at a module."""
        path, last = [value.__name__], chain[0]
        for node in chain[1:]:
            if not isinstance(value, types.ModuleType):
                break
            value, last = getattr(value, node.attr), node
            path.append(node.attr)
        where, text = span_of(chain[0], last), ".".join(path)
        if path[0].partition(".")[0] in ("wengert", "wengert_rules"):
            return Edit(*where, self._helper(value))
        if text.partition(".")[0] == "numpy":
            return Edit(*where, self.numpy(text.removeprefix("numpy.")))
        self.modules.add(text if text in sys.modules else text.rpartition(".")[0])
        return Edit(*where, text)

    def _global(self, module: types.ModuleType, name: str, value: Any) -> str:
        """Return the name that a module's global `name` has in the emitted source."""
        if isinstance(value, _DEFINED) and belongs_to_wengert(value):
            return self._helper(value)
        if callable(value) and (snippet := self.function(value)):
            return snippet.text
        home, name = defining_module(module, name)
        if not isinstance(value, _CONSTANT_TYPES) and not equals_its_definition(home, name, value):
            raise no_source_error(value)
        return self._defined(home, name)
