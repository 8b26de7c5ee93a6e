"""The base of the opcode tables: the description of one Python's opcodes, and the writer of hook calls.

A hook call needs no NULL and no tuple of arguments. With operands x1 .. xn on the stack, `LOAD_CONST hook; SWAP n+1`
leaves [hook, x2, .., xn, x1], which CALL reads as a method, its self and further arguments:
hook(x2, .., xn, x1, constants.., site).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any, NamedTuple, Protocol

from bytecode import Bytecode, Instr

from wengert.values.sites import Site


class Instruction(Protocol):
    """An instruction as handlers read it; its opcode determines the type of its argument."""

    name: str
    arg: Any


Handler = Callable[["Emitter", Instruction], None]
Nested = Callable[[CodeType], CodeType] | None
StackEffect = Callable[[list[bool], Any], None]


@functools.cache
def _instruction(name: str, arg: int) -> Instr:
    """Return an instruction at the location of the instruction before."""
    return Instr(name, arg)


class OpcodeTable(NamedTuple):
    """The opcodes of one version of Python: each is hooked, passed through unchanged, or refused."""

    version: tuple[int, int]
    hooked: Mapping[str, Handler]
    passed: frozenset[str]
    refused: frozenset[str]
    bools: frozenset[str]
    """Opcodes that leave an exact bool on top, hooked or not: no truth test is needed after them."""
    plain: frozenset[str]
    """Opcodes that leave an exact builtin container on top, whose iteration runs no user code."""
    duplicate: tuple[str, int]
    """The instruction that duplicates the top: the opcode that produced the top still tells its type."""
    precall: bool
    """CALL must follow PRECALL (3.11)."""
    null_below: bool
    """A call without self has its NULL below the callable (up to 3.12) or above it (from 3.13)."""
    read: Callable[[CodeType], Bytecode]
    """Disassemble a code object with the package `bytecode`."""
    effects: Mapping[str, StackEffect] | None
    """The effects of opcodes on the NULLs of calls, if these determine the callable's stack slot (up to 3.12)."""
    iterator_places: int = 1
    """The number of stack slots of a `for` loop's iterator: itself, and from 3.15 an index or NULL above it."""
    tells_heads: bool = False
    """Whether a hook is called at the beginning of each iteration of a loop."""


class Emitter:
    """The writer that handlers use: the instructions written so far, and the site of the one being rewritten."""

    def __init__(
        self,
        table: OpcodeTable,
        hooks: Mapping[str, Callable],
        no_self: Mapping[int, bool],
        nested: Nested = None,
        giving: bool = False,
    ) -> None:
        self.table = table
        self.hooks = hooks
        self.no_self = no_self
        self.nested = nested
        self.giving = giving
        self.out: list[Any] = []
        self.previous: str | None = None
        self.location: Any = None
        self.site: Site | None = None
        self.loads: dict[int, Instr] = {}  # by the id of the constant, which they keep alive

    def op(self, name: str, *arg: Any) -> None:
        self.out.append(Instr(name, *arg, location=self.location))

    def keep(self, instr: Any) -> None:
        self.out.append(instr)

    def hook(self, name: str, operands: int, *constants: Any) -> None:
        """Call the hook `name` on the top `operands` of the stack, and replace them by its result.

        Only the first instruction has a location: the others get it, and so can be shared.
        """
        arguments = operands + len(constants)
        self.op("LOAD_CONST", self.hooks[name])
        self.out.append(_instruction("SWAP", operands + 1))
        self.out += map(self.load, constants)
        self.load_site()
        if self.table.precall:
            self.out.append(_instruction("PRECALL", arguments))
        self.out.append(_instruction("CALL", arguments))

    def load(self, constant: Any) -> Instr:
        """Return an instruction that loads a constant, at the location of the instruction before."""
        found = self.loads.get(id(constant))
        if found is None:
            found = self.loads[id(constant)] = Instr("LOAD_CONST", constant)
        return found

    def load_site(self) -> None:
        if self.site is not None:
            self.out.append(self.load(self.site))
        else:  # the caller's site
            self.op("LOAD_CONST", self.hooks["state"])
            self.op("LOAD_ATTR", (False, "site") if self.table.version >= (3, 12) else "site")

    def command(self, name: str, operands: int, *constants: Any) -> None:
        """Call a hook as `hook` does, and discard its result."""
        self.hook(name, operands, *constants)
        self.op("POP_TOP")

    def resolve(self, depth: int) -> None:
        """Replace the callable at this depth of the stack (the top is 1) by the result of the hook `resolve`."""
        self.swapped(depth, "resolve")

    def swapped(self, depth: int, name: str, *constants: Any) -> None:
        """Replace the value at this depth of the stack by the result of the hook `name` on it."""
        if depth > 1:
            self.op("SWAP", depth)
        self.hook(name, 1, *constants)
        if depth > 1:
            self.op("SWAP", depth)

    def push_null(self) -> None:
        """Push the NULL of a call without self, below or above the callable on top."""
        self.op("PUSH_NULL")
        if self.table.null_below:
            self.op("SWAP", 2)

    def iterable(self) -> None:
        if self.previous not in self.table.plain:
            self.hook("iterable", 1)

    def mapping(self) -> None:
        if self.previous == "BUILD_MAP" or self.previous not in self.table.plain:  # a new dict may have traced keys
            self.hook("mapping", 1)

    def take_back(self, *names: str) -> list[Any]:
        """Remove the trailing instructions that have these names, and return them."""
        start = len(self.out)
        while start and isinstance(self.out[start - 1], Instr) and self.out[start - 1].name in names:
            start -= 1
        taken = self.out[start:]
        del self.out[start:]
        return taken
