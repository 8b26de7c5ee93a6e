"""The base of every opcode table: the description of one Python's opcodes, and the writer of hook calls.

A hook call needs no NULL and no packing. With operands x1 .. xn on the stack, `LOAD_CONST hook; SWAP n+1`
leaves [hook, x2, .., xn, x1], which CALL reads as a method, its self and further arguments:
hook(x2, .., xn, x1, constants.., site).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any, NamedTuple, Protocol

from bytecode import Bytecode, Instr

from wengert.values.sites import Site


class Instruction(Protocol):
    """An instruction as handlers read it; what kind of argument it has follows from its opcode."""

    name: str
    arg: Any


Handler = Callable[["Emitter", Instruction], None]
Nested = Callable[[CodeType], CodeType] | None
StackEffect = Callable[[list[bool], Any], None]


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


HOOK_NAMES = words(
    "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift "
    "iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor ilshift irshift "
    "neg pos invert not_ lt le eq ne gt ge contains not_contains is_ is_not truth "
    "getitem setitem delitem getattr setattr delattr super_getattr "
    "resolve iterable mapping convert format join interpolation "
    "context match_class caught build_set build_map added added_all match_keys made touched"
)
"""Signatures, all positional and closed by the Site:

- binary, in-place, comparing: hook(right, left); contains, not_contains: hook(container, item) -> exact bool
- is_, is_not: hook(right, left) -> exact bool; not called where one side is None, True, False or ...
- neg pos invert not_: hook(a); truth, not_: an exact bool
- getitem, delitem: hook(key, container); setitem: hook(container, key, value). A slice comes as a `slice`.
- getattr, delattr: hook(obj, name); setattr: hook(obj, value, name)
- super_getattr: hook(class, self, super, name, has arguments), from 3.12; a `super` of the user's own gets them or none
- resolve: hook(callable) -> the callable to call, just before the call
- iterable, mapping, context: hook(obj) -> what the native instruction then works on
- build_set: hook(tuple of items); build_map: hook(tuple of keys and values in turn) -> the set or dictionary
- added: hook(key) -> the key, which a comprehension adds to a set or dictionary
- added_all: hook(iterable) -> the iterable whose items are added to a set
- made: hook(function) -> the function, which has just been born with a twin for its code
- touched: hook(value) -> the value, of which the interpreter is about to follow a protocol
- caught: hook(exception), at the start of a handler
- match_keys: hook(keys, subject), before a pattern looks for them in a mapping
- match_class: hook(class, names, subject, count) -> what the pattern binds as a tuple, or None
- convert: hook(value, how), how 1 str, 2 repr, 3 ascii; format: hook(value, spec); join: hook(tuple of parts)
- interpolation, from 3.14: hook(expression, spec, value, how), how 0 none, 1 str, 2 repr, 3 ascii
"""


class OpcodeTable(NamedTuple):
    """All that is known of one Python's opcodes: each is replaced by a hook, passed through, or refused."""

    version: tuple[int, int]
    hooked: Mapping[str, Handler]
    passed: frozenset[str]
    refused: frozenset[str]
    bools: frozenset[str]
    """Opcodes that leave an exact bool on top, hooked or not: no truth test is needed after them."""
    plain: frozenset[str]
    """Opcodes that leave an exact builtin container on top, whose iteration runs no code of the user's."""
    duplicate: tuple[str, int]
    """The instruction that pushes the top once more: what was known of the top still holds."""
    precall: bool
    """CALL must follow PRECALL (3.11)."""
    null_below: bool
    """A call without self has its NULL below the callable (to 3.12), else above it (from 3.13)."""
    read: Callable[[CodeType], Bytecode]
    """Take a code object apart, as `bytecode` does it."""
    effects: Mapping[str, StackEffect] | None
    """How opcodes move the NULLs of calls, where the place of the callable depends on them (to 3.12)."""
    iterator_places: int = 1
    """How many places of the stack an iterator of a `for` takes: it itself, and from 3.15 an index or NULL above."""
    tells_heads: bool = False
    """Whether a hook is called where an iteration of a loop begins."""


class Emitter:
    """The instructions written so far, and the site of the one that is being rewritten; handlers write through it."""

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

    def op(self, name: str, *arg: Any) -> None:
        self.out.append(Instr(name, *arg, location=self.location))

    def keep(self, instr: Any) -> None:
        self.out.append(instr)

    def hook(self, name: str, operands: int, *constants: Any) -> None:
        """Call the hook `name` on so many operands, which lie on top of the stack; its result takes their place."""
        self.op("LOAD_CONST", self.hooks[name])
        self.op("SWAP", operands + 1)
        for constant in constants:
            self.op("LOAD_CONST", constant)
        self.load_site()
        arguments = operands + len(constants)
        if self.table.precall:
            self.op("PRECALL", arguments)
        self.op("CALL", arguments)

    def load_site(self) -> None:
        if self.site is not None:
            self.op("LOAD_CONST", self.site)
        else:  # that of the caller
            self.op("LOAD_CONST", self.hooks["state"])
            self.op("LOAD_ATTR", (False, "site") if self.table.version >= (3, 12) else "site")

    def command(self, name: str, operands: int, *constants: Any) -> None:
        """Call a hook as `hook` does, and drop its result."""
        self.hook(name, operands, *constants)
        self.op("POP_TOP")

    def resolve(self, depth: int) -> None:
        """Exchange the callable at this depth of the stack (the top is 1) for what the hook `resolve` gives for it."""
        self.swapped(depth, "resolve")

    def swapped(self, depth: int, name: str, *constants: Any) -> None:
        """Exchange what lies at this depth of the stack for what the hook `name` gives for it."""
        if depth > 1:
            self.op("SWAP", depth)
        self.hook(name, 1, *constants)
        if depth > 1:
            self.op("SWAP", depth)

    def push_null(self) -> None:
        """Put the NULL of a call without self beside the callable on top."""
        self.op("PUSH_NULL")
        if self.table.null_below:
            self.op("SWAP", 2)

    def iterable(self) -> None:
        if self.previous not in self.table.plain:
            self.hook("iterable", 1)

    def mapping(self) -> None:
        if self.previous == "BUILD_MAP" or self.previous not in self.table.plain:  # whose keys may be traced
            self.hook("mapping", 1)

    def take_back(self, *names: str) -> list[Any]:
        """Remove the last instructions that were written, as far as they have these names, and return them."""
        start = len(self.out)
        while start and isinstance(self.out[start - 1], Instr) and self.out[start - 1].name in names:
            start -= 1
        taken = self.out[start:]
        del self.out[start:]
        return taken
