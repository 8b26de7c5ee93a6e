"""Rewrite a code object into its twin: the same program, which calls a hook wherever it can compute on values.

This module knows no opcode: the tables say how to rewrite each. CPython runs the twin like any code, so control flow,
exceptions, generators and closures stay native.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from bytecode import Bytecode, Instr, Label

from wengert.errors import BytecodeError
from wengert.rewrite.assembling import to_code
from wengert.rewrite.emitter import Emitter, Nested, OpcodeTable
from wengert.rewrite.heads import set_apart
from wengert.rewrite.nulls import calls_without_self
from wengert.rewrite.reading import reading_table, write_head, write_statement
from wengert.rewrite.storing import called_at, reads_for_update, stored_in
from wengert.rewrite.tables import running_table
from wengert.values.frames import is_at_caller
from wengert.values.sites import Site, StoringSite, UpdatingSite

ROOM = 5
"""Further stack slots that a hook call needs, for the hook, constants and the site."""


def table_of(reading: bool) -> OpcodeTable:
    """Return the table of the running Python; `reading`: with hooks on values that are read from outside."""
    return reading_table(sys.version_info[:2]) if reading else running_table()


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
        if site is None or target is None:
            return UpdatingSite(*site) if site is not None and reads_for_update(items, k) else site
        return StoringSite.of(site, target, called_at(items, k))

    def of(self, instr: Instr) -> Site | None:
        if is_at_caller(self.code.co_filename):
            return None
        line = instr.location.lineno if instr.location else None
        line = self.code.co_firstlineno if line is None else line
        site = self.by_line.get(line)
        if site is None:
            site = self.by_line[line] = Site(self.code.co_filename, line, self.code.co_qualname)
        return site
