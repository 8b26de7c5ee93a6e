"""All from which a function may read a traced value, wherever that lies."""

from __future__ import annotations

import builtins
import gc
import re
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from wengert.recording.pullback_reads import COMMON, FarReach, is_library
from wengert.recording.shadow import SHADOW
from wengert.values.apart import held_apart, is_apart
from wengert.values.code_names import global_names_in, names_in
from wengert.values.codes import code_of
from wengert.values.transformed import Transformed


class TracedSearch(FarReach):
    """A search for traced values in all within reach of a thing, also inside objects of C and of libraries."""

    def _entered(self, parts: Iterable[Any]) -> Iterable[Any]:
        return [part for part in parts if type(part) not in COMMON or id(part) in SHADOW]

    def _named_by(self, f: types.FunctionType) -> Iterator[Any]:
        """The values of global names, also in `builtins` and modules that are imported, and of names in strings.

        Functions of libraries read values of the user's from their arguments alone.
        """
        if is_library(f.__globals__.get("__name__", "")):
            return
        code = code_of(f)
        names = set(names_in(code))
        read = global_names_in(code)
        if not _BY_STRINGS.isdisjoint(names):
            names.update(_strings(code))
            read = frozenset(names)
        yield from self._named(f.__globals__, names, read)
        yield from self._named(vars(builtins), names, read - _BUILTIN)
        for module in [sys.modules[name] for name in names & sys.modules.keys()]:
            if not is_library(module.__name__):
                yield from self._named(vars(module), names, names)

    def _parts(self, thing: Any) -> Iterable[Any]:
        yield from super()._parts(thing)
        if is_apart(type(thing)):
            yield held_apart(thing)

    def _inside(self, thing: Any) -> Iterable[Any]:
        if isinstance(thing, Transformed):
            return (thing.__func__,)
        if issubclass(type(thing), _FRAME_TYPES) or type(thing).__module__.partition(".")[0] == "wengert":
            return ()
        return [*gc.get_referents(thing), *self._of_class(type(thing))]


def _strings(code: types.CodeType) -> Iterator[str]:
    """The strings that stand in a function and in those inside it, and the names in them."""
    for constant in code.co_consts:
        if type(constant) is str:
            yield constant
            yield from re.findall(r"\w+", constant)
        elif type(constant) is types.CodeType:
            yield from _strings(constant)


_FRAME_TYPES = (types.FrameType, types.TracebackType)
"""Objects that lead to all the names of the modules that are running."""
_BY_STRINGS = {
    "globals", "vars", "eval", "exec", "modules", "import_module", "__import__", "__globals__", "__dict__", "getattr",
    "attrgetter", "methodcaller",
}  # fmt: skip
"""Names of what reads a value by a string."""
_BUILTIN = frozenset(vars(builtins))
