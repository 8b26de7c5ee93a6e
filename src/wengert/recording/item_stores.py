"""The containers into which code stores items, read from its bytecode: named ones, its own, or unknown ones."""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterator

UNKNOWN_CONTAINER: str | None = None
"""In the place of a name: a container that may be any."""
_CHANGING = (
    "add", "append", "copyto", "extend", "fill", "heap", "iadd", "ins", "place", "push", "put", "save", "set", "store",
    "update", "write",
)  # fmt: skip
"""How the names of methods and functions begin that write items: `set` may be `__setitem__`, `ins` `insert`."""
_ITEM_STORES = {"STORE_SUBSCR": 1, "STORE_SLICE": 2}
"""By instruction, how far under the top of the stack the container is."""
_ITEM_READS = {"BINARY_SUBSCR": 1, "BINARY_SLICE": 2}
_NAMED = (
    "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "LOAD_ATTR", "LOAD_METHOD",
)  # fmt: skip
_FRESH = (
    "BINARY_OP", "BUILD_", "COMPARE_OP", "CONTAINS_OP", "DICT_", "IS_OP", "LIST_", "LOAD_CONST", "LOAD_SMALL_INT",
    "SET_", "UNARY_",
)  # fmt: skip
"""How the names of instructions begin that make a new object, or an immutable one."""
_ARRAYS = {"arange", "deepcopy", "empty", "empty_like", "full", "full_like", "linspace", "ones", "ones_like", "zeros",
           "zeros_like"}  # fmt: skip
"""Names of functions that return a new object, of which each part is new."""
_SHALLOW = {"array", "copy", "dict", "list"}
"""Names of those that return a new object with the parts of another one."""
_UNFOLLOWED = ("JUMP", "UNPACK", "FOR_ITER", "SEND", "YIELD", "MATCH", "EXC", "BEFORE_WITH", "SPECIAL")


def stored_into(code: types.CodeType, is_module: Callable[[str], bool]) -> Iterator[str | None]:
    """The names of the containers that code stores items into but did not make; UNKNOWN_CONTAINER for any."""
    found = _Code(code)
    for k, step in enumerate(found.steps):
        if step.opname in _ITEM_STORES:
            yield from found.bases(k, _ITEM_STORES[step.opname])
        elif step.opname == "BINARY_OP" and step.argrepr.endswith("="):
            yield from found.bases(k, 1)
        elif step.argval in code.co_names or step.argval in code.co_freevars:
            if not step.argval.lower().lstrip("_").startswith(_CHANGING) or step.opname.startswith("STORE_"):
                continue
            receivers: set[str | None] = {UNKNOWN_CONTAINER}
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                receivers = {*found.bases(k, 0)}
            yield from {UNKNOWN_CONTAINER if name is None or is_module(name) else name for name in receivers}


class _Code:
    """A code object whose values are followed back to what made them."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self.steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "NOP", "RESUME")]

    def bases(self, k: int, depth: int) -> Iterator[str | None]:
        """Return the names by which code got the stack item at a depth before step `k`; none if it made it."""
        yield from self._of(k, depth, False, set())

    def _of(self, k: int, depth: int, as_part: bool, seen: set[str]) -> Iterator[str | None]:
        """Return the names of a value, or `as_part` for one of its items."""
        maker = self._maker(k, depth)
        if type(maker) is str:
            yield from self._of_local(maker, as_part, seen)
        elif type(maker) is int:
            yield from self._of_step(maker, as_part, seen)
        else:
            yield UNKNOWN_CONTAINER

    def _of_step(self, place: int, as_part: bool, seen: set[str]) -> Iterator[str | None]:
        step = self.steps[place]
        if step.opname in _NAMED:
            yield step.argval
        elif step.opname in _ITEM_READS or (step.opname == "BINARY_OP" and step.argrepr == "[]"):
            yield from self._of(place, _ITEM_READS.get(step.opname, 1), True, seen)
        elif step.opname == "BINARY_OP" and step.argrepr.endswith("="):
            yield from self._of(place, 1, as_part, seen)
        elif not (self._makes(place, _ARRAYS) or (not as_part and self._makes(place, _SHALLOW))):
            yield UNKNOWN_CONTAINER

    def _of_local(self, name: str, as_part: bool, seen: set[str]) -> Iterator[str | None]:
        """Return the names of a local variable, from everything that is stored in it."""
        if name in seen:
            return
        seen.add(name)
        code = self.code
        given = code.co_argcount + code.co_kwonlyargcount + bin(code.co_flags & 12).count("1")
        if name in code.co_varnames[:given]:
            yield UNKNOWN_CONTAINER
        for k, step in enumerate(self.steps):
            if step.opname in ("STORE_FAST", "STORE_FAST_LOAD_FAST") and _local_names(step)[0] == name:
                yield from self._of(k, 0, as_part, seen)
            elif "STORE_FAST" in step.opname and name in _local_names(step):
                yield UNKNOWN_CONTAINER

    def _maker(self, k: int, depth: int) -> int | str | None:
        """Find what pushed the stack item at a depth before step `k`: a step, a local variable, or None if unknown."""
        while not self.steps[k].is_jump_target and k:
            k -= 1
            step = self.steps[k]
            if step.opname == "SWAP":
                depth = {0: step.argval - 1, step.argval - 1: 0}.get(depth, depth)
            elif step.opname == "COPY":
                depth = depth - 1 if depth else step.argval - 1
            elif any([word in step.opname for word in _UNFOLLOWED]):
                return None
            elif "LOAD_FAST" in step.opname:
                loaded = _local_names(step)[step.opname.startswith("STORE_") :][::-1]
                if depth < len(loaded):
                    return loaded[depth]
                depth -= 0 if step.opname.startswith("STORE_") else len(loaded)
            elif depth == 0 and not step.opname.startswith(("STORE_", "POP_", "DELETE_")):
                return k
            else:
                depth -= dis.stack_effect(step.opcode, step.arg, jump=False)
        return None

    def _makes(self, place: int, makers: set[str]) -> bool:
        """Whether a step makes a new object; a called function counts if it has one of these names."""
        step = self.steps[place]
        if not step.opname.startswith("CALL") or step.positions is None:
            return makers is _SHALLOW and step.opname.startswith(_FRESH)
        begin = step.positions.lineno, step.positions.col_offset
        alike = [s for s in self.steps[:place] if s.positions and (s.positions.lineno, s.positions.col_offset) == begin]
        named = [s.argval for s in alike if s.opname in _NAMED]
        return bool(named) and named[-1] in makers


def _local_names(step: dis.Instruction) -> tuple[str, ...]:
    """Return the local variables that an instruction names."""
    return step.argval if type(step.argval) is tuple else (step.argval,)
