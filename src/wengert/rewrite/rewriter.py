"""Twins of code objects, made once and kept for later processes."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from wengert.rewrite.hook_names import HOOK_NAMES
from wengert.rewrite.kept_twins import pack_twin, twins_in, unpack_twin
from wengert.values.code_packs import digest
from wengert.values.codes import note_original, original
from wengert.values.garbage import collections_paused

DEPTH = 100
"""The number of stack frames that rewriting may need."""

_rewriters: dict[tuple[int, bool, bool, bool], Rewriter] = {}


def instrument(code: CodeType, hooks: Mapping[str, Callable], deep: bool = False) -> CodeType:
    """Return the twin of a code object: the same program, which calls `hooks` wherever it computes on values.

    `hooks` maps the names in `HOOK_NAMES` to functions. `deep`: functions that the code makes get twins, too,
    and the hook `made` is called on them. Errors: BytecodeError for an opcode that is unknown or refused in the table
    of this Python.
    """
    return rewriter_of(hooks, deep).twin(code)


def rewriter_of(
    hooks: Mapping[str, Callable], deep: bool = False, giving: bool = False, reading: bool = False
) -> Rewriter:
    """Return the Rewriter for a mapping of hooks and these options, made once.

    `giving`: twins call `touched` on the values that they return. `reading`: twins call hooks on the values that they
    read from outside.
    """
    key = id(hooks), deep, giving, reading
    rewriter = _rewriters.get(key)
    if rewriter is None:
        rewriter = _rewriters.setdefault(key, Rewriter(hooks, deep, giving, reading))
    return rewriter


class Rewriter:
    """A maker of twins for one mapping of hooks, with a cache by the identity of the code.

    Equality would not do: equal codes may come from two files. A twin lives as long as its original, or as it runs.
    """

    def __init__(self, hooks: Mapping[str, Callable], deep: bool, giving: bool, reading: bool) -> None:
        missing = HOOK_NAMES - set(hooks)
        if missing:
            raise ValueError(f"hooks are missing: {', '.join(sorted(missing))}")
        self.hooks, self.options = hooks, (deep, giving, reading)
        self.nested = None if not deep else rewriter_of(hooks, True, False, reading).twin if giving else self.twin
        self.twins: dict[int, tuple[weakref.ref[CodeType], CodeType]] = {}

    def twin(self, code: CodeType) -> CodeType:
        """Return the twin of a code, cached; the twin of a twin is itself."""
        found = self.twins.get(id(code))
        if found is None:
            source = original(code)
            if source is not None:
                own = source is code or self.twins.get(id(source), (None, None))[1] is code
                return code if own else self.twin(source)
            with deeper(), collections_paused():
                made = self._made(code)
            forget: Any = functools.partial(self.twins.pop, id(code))  # the weak reference becomes pop's default
            found = self.twins.setdefault(id(code), (weakref.ref(code, forget), made))
            if found[1] is made:
                note_original(made, code)
        return found[1]

    def _made(self, code: CodeType) -> CodeType:
        """Return the twin of a code: the kept one, if there is one, else rewrite the code."""
        pack = twins_in(code)
        key = digest(code, *self.options) if pack else None
        kept = pack.get(key) if pack and key else None
        if kept is not None:
            return unpack_twin(kept, code, self.hooks, self.nested)
        from wengert.rewrite.rewriting import rewritten, table_of  # with `bytecode`, a tenth of a first gradient

        _, giving, reading = self.options
        made = rewritten(code, self.hooks, table_of(reading), self.nested, giving)
        if pack and key:
            pack.put(key, pack_twin(made, code, self.hooks))
        return made


class deeper:
    """A context with a higher recursion limit: rewriting may start when the user's code has few frames left.

    A class, because `contextmanager` is Python code, which may be the code being rewritten.
    """

    def __enter__(self) -> None:
        self.limit = sys.getrecursionlimit()
        sys.setrecursionlimit(self.limit + DEPTH)

    def __exit__(self, *error: object) -> None:
        sys.setrecursionlimit(self.limit)
