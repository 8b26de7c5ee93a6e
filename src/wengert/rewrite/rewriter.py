"""Rewrite a code object into its twin: the same program, which calls a hook wherever it can compute on values.

This module knows no opcode: the tables say how to rewrite each. CPython runs the twin like any code, so control flow,
exceptions, generators and closures stay native. With `deep`, nested code constants are rewritten too, so functions made
from them are instrumented from the start. Otherwise they are instrumented when they are called.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from bytecode import Bytecode, Instr, Label

from wengert.errors import BytecodeError
from wengert.rewrite.assembling import to_code
from wengert.rewrite.emitter import HOOK_NAMES, Emitter, Nested, OpcodeTable
from wengert.rewrite.heads import set_apart
from wengert.rewrite.nulls import calls_without_self
from wengert.rewrite.reading import reading_table, write_head, write_statement
from wengert.rewrite.storing import called_at, stored_in
from wengert.rewrite.tables import running_table
from wengert.values.codes import note_original, original
from wengert.values.frames import is_at_caller
from wengert.values.garbage import collections_paused
from wengert.values.sites import Site, StoringSite

ROOM = 5
"""Further stack slots that a hook call needs, for the hook, constants and the site."""

DEPTH = 100
"""The number of stack frames that rewriting may need."""

_rewriters: dict[tuple[int, bool, bool, bool], Rewriter] = {}


def instrument(code: CodeType, hooks: Mapping[str, Callable], deep: bool = False) -> CodeType:
    """Return the twin of a code object: the same program, which calls `hooks` wherever it computes on values.

    `hooks` maps the names in `emitter.HOOK_NAMES` to functions. `deep`: functions that the code makes get twins, too,
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
        nested = rewriter_of(hooks, True, False, reading).twin if deep and giving else None
        table = reading_table(sys.version_info[:2]) if reading else running_table()
        rewriter = _rewriters.setdefault(key, Rewriter(hooks, table, deep, giving, nested))
    return rewriter


class Rewriter:
    """A maker of twins for one mapping of hooks, with a cache by the identity of the code.

    Equality would not do: equal codes may come from two files. A twin lives as long as its original, or as it runs.
    """

    def __init__(
        self, hooks: Mapping[str, Callable], table: OpcodeTable, deep: bool, giving: bool, nested: Nested = None
    ) -> None:
        missing = HOOK_NAMES - set(hooks)
        if missing:
            raise ValueError(f"hooks are missing: {', '.join(sorted(missing))}")
        self.hooks = hooks
        self.table = table
        self.nested = None if not deep else nested or self.twin
        self.giving = giving
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
                made = rewritten(code, self.hooks, self.table, self.nested, self.giving)
            forget: Any = functools.partial(self.twins.pop, id(code))  # the weak reference becomes pop's default
            found = self.twins.setdefault(id(code), (weakref.ref(code, forget), made))
            if found[1] is made:
                note_original(made, code)
        return found[1]


class deeper:
    """A context with a higher recursion limit: rewriting may start when the user's code has few frames left.

    A class, because `contextmanager` is Python code, which may be the code being rewritten.
    """

    def __enter__(self) -> None:
        self.limit = sys.getrecursionlimit()
        sys.setrecursionlimit(self.limit + DEPTH)

    def __exit__(self, *error: object) -> None:
        sys.setrecursionlimit(self.limit)


def rewritten(
    code: CodeType, hooks: Mapping[str, Callable], table: OpcodeTable, nested: Nested = None, giving: bool = False
) -> CodeType:
    """Rewrite one code object, and the code constants in it with `nested`.

    Between instructions the stack has the same depth as before, so that exception handlers unwind as before.
    """
    free = with_distinct_names(code)
    program = read(free, table)
    program.argnames = list(code.co_varnames)  # all local names, so that `bytecode` keeps their order
    emitter = Emitter(table, hooks, calls_without_self(program, table), nested, giving)
    sites = Sites(code)
    items, heads = set_apart([*program], table.iterator_places) if table.tells_heads else ([*program], {})
    for k, item in enumerate(items):
        if isinstance(item, Instr):
            if k in heads:
                emitter.location, emitter.site = item.location, sites.of(item)
                write_statement(emitter, heads[k])
            rewrite_one(emitter, item, sites.at(items, k))
        elif k in heads:
            first = next(i for i in items[k:] if isinstance(i, Instr))
            emitter.previous, emitter.location, emitter.site = None, first.location, sites.of(first)
            write_head(emitter, item, heads[k])
        else:
            if isinstance(item, Label):
                emitter.previous = None
            emitter.keep(item)
    list.__setitem__(program, slice(None), emitter.out)
    made = to_code(program, code.co_stacksize + ROOM)
    return made if free is code else made.replace(co_freevars=code.co_freevars)


def with_distinct_names(code: CodeType) -> CodeType:
    """Rename free variables that share a local variable's name, as an inlined comprehension's variable may."""
    shared = {*code.co_freevars} & {*code.co_varnames, *code.co_cellvars}
    if not shared:
        return code
    return code.replace(co_freevars=tuple([f"{name} (free)" if name in shared else name for name in code.co_freevars]))


def read(code: CodeType, table: OpcodeTable) -> Bytecode:
    """Disassemble a code object. Errors: BytecodeError if the package `bytecode` cannot read it."""
    try:
        return table.read(code)
    except ValueError as error:
        place = Site(code.co_filename, code.co_firstlineno, code.co_qualname)
        raise BytecodeError(
            f"{place}: the bytecode of this code cannot be read: {error}. Define it outside the traced function, "
            "or update the package `bytecode`."
        ) from error


def rewrite_one(emitter: Emitter, instr: Any, site: Callable[[], Site | None]) -> None:
    """Write one instruction at a `site()`: unchanged, or rewritten by its handler."""
    table, name = emitter.table, instr.name
    if emitter.nested is not None and type(instr.arg) is CodeType:
        instr.arg = emitter.nested(instr.arg)
    handler = table.hooked.get(name)
    if handler is not None:
        emitter.location = instr.location
        emitter.site = site()
        handler(emitter, instr)
    elif name in table.passed:
        emitter.keep(instr)
    else:
        why = "is not supported by" if name in table.refused else "is not known to"
        version = ".".join(map(str, table.version))
        raise BytecodeError(
            f"{site()}: opcode {name} of Python {version} {why} wengert. "
            "Move this line out of the traced function, or update wengert."
        )
    if (name, instr.arg) != table.duplicate:
        leaves_null = name == "LOAD_GLOBAL" and not table.null_below and isinstance(instr.arg, tuple) and instr.arg[0]
        emitter.previous = "PUSH_NULL" if leaves_null else name


class Sites:
    """The Sites of a code object's instructions: one for each line, or line and variable that it stores in."""

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.by_line: dict[int, Site] = {}

    def at(self, items: list[Any], k: int) -> Callable[[], Site | None]:
        """Return a function that returns the Site of the instruction at `k`."""
        return functools.partial(self._storing, items, k)

    def _storing(self, items: list[Any], k: int) -> Site | None:
        site, target = self.of(items[k]), stored_in(items, k)
        return site if site is None or target is None else StoringSite.of(site, target, called_at(items, k))

    def of(self, instr: Instr) -> Site | None:
        if is_at_caller(self.code.co_filename):
            return None
        line = instr.location.lineno if instr.location else None
        line = self.code.co_firstlineno if line is None else line
        site = self.by_line.get(line)
        if site is None:
            site = self.by_line[line] = Site(self.code.co_filename, line, self.code.co_qualname)
        return site
