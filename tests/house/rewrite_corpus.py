"""Every function of the standard library, NumPy and SciPy rewritten, and what was made of it verified.

python tests/house/rewrite_corpus.py                        # all: a table, and what failed
python tests/house/rewrite_corpus.py heapq scipy.optimize   # some modules or packages
"""

from __future__ import annotations

import dis
import importlib.util
import opcode
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

LEFT_OUT = {"test", "tests", "idle_test", "lib2to3", "site-packages", "__pycache__"}
KEPT = (
    "co_name co_qualname co_filename co_firstlineno co_flags co_freevars co_cellvars co_varnames co_argcount "
    "co_kwonlyargcount co_posonlyargcount co_nlocals"
).split()


def files(name: str) -> list[Path]:
    """The source files of a module or package; of the whole standard library by the name `stdlib`."""
    if name == "stdlib":
        folder = Path(sysconfig.get_paths()["stdlib"])
    else:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            return []
        if not spec.submodule_search_locations:
            return [Path(spec.origin)]
        folder = Path(spec.origin).parent
    found = [file for file in sorted(folder.rglob("*.py")) if not LEFT_OUT & {*file.relative_to(folder).parts}]
    return [file for file in found if file.is_file()]  # no links to what is not installed


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all that are nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def codes_of(file: Path) -> list[CodeType]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return list(codes(compile(file.read_bytes(), str(file), "exec", dont_inherit=True)))
        except SyntaxError:  # templates of other programs
            return []


def nested(code: CodeType) -> set[int]:
    return {id(constant) for constant in code.co_consts if isinstance(constant, CodeType)}


def positions(code: CodeType) -> set[Any]:
    """Where the instructions stand in the source, to the column."""
    words = zip(code.co_code[::2], code.co_positions(), strict=True)
    return {place for op, place in words if opcode.opname[op] not in ("CACHE", "EXTENDED_ARG")}


def fault(old: CodeType, new: CodeType) -> str | None:
    """What is wrong with a rewritten code object, by rules that know nothing of how it was made."""
    for fact in KEPT:
        if getattr(old, fact) != getattr(new, fact):
            return f"{fact} is {getattr(new, fact)!r} instead of {getattr(old, fact)!r}"
    if nested(old) != nested(new):
        return "other code objects are nested in it"
    if positions(old) != positions(new):
        return "its instructions stand at other places in the source"
    return stack_fault(new)


def stack_fault(code: CodeType) -> str | None:
    """A place that two ways reach with stacks of different depth, or where the stack is too deep or too small."""
    instructions = {i.offset: i for i in dis.get_instructions(code, show_caches=False)}
    order = sorted(instructions)
    following = dict(zip(order, [*order[1:], None], strict=True))
    handlers = sorted(_handlers(code))
    depths: dict[int, int] = {}
    todo = [(order[0], 0)]
    while todo:
        place, depth = todo.pop()
        while place is not None:
            if place in depths:
                if depths[place] != depth:
                    return f"depth {depths[place]} and {depth} at {place}"
                break
            depths[place] = depth
            if not 0 <= depth <= code.co_stacksize:
                return f"depth {depth} at {place}, room for {code.co_stacksize}"
            todo += [(target, kept + 1 + lasti) for start, end, target, kept, lasti in handlers if start <= place < end]
            instr = instructions[place]
            if instr.opcode in JUMPS:
                todo.append((instr.argval, depth + dis.stack_effect(instr.opcode, instr.arg, jump=True)))
            if instr.opname in ENDS:
                break
            depth += 1 if instr.opname == "RETURN_GENERATOR" else dis.stack_effect(instr.opcode, instr.arg, jump=False)
            place = following[place]
    return None


JUMPS = {*dis.hasjrel, *dis.hasjabs} - {dis.opmap["END_ASYNC_FOR"]}  # whose argument tells where the loop began
ENDS = {
    "RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT", "INTERPRETER_EXIT",
}  # fmt: skip


def _handlers(code: CodeType) -> Iterator[tuple[int, int, int, int, bool]]:
    """The exception table. Source: Objects/exception_handling_notes.txt of CPython."""
    data = iter(code.co_exceptiontable)

    def number() -> int:
        byte = next(data)
        value = byte & 63
        while byte & 64:
            byte = next(data)
            value = value << 6 | byte & 63
        return value

    while True:
        try:
            start = number() * 2
        except StopIteration:
            return
        length, target, rest = number() * 2, number() * 2, number()
        yield start, start + length, target, rest >> 1, bool(rest & 1)


def check(
    found: Iterable[CodeType], hooks: Mapping[str, Callable[..., Any]], rewrite: Callable[..., CodeType]
) -> list[tuple[CodeType, str]]:
    """Those of some code objects that cannot be rewritten, or not faultlessly, and why."""
    wrong = []
    for code in found:
        try:
            why = fault(code, rewrite(code, hooks))
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
        if why is not None:
            wrong.append((code, why))
    return wrong


def main() -> None:
    from wengert.hooks.code_swap import HOOKS
    from wengert.hooks.tracer import run  # noqa: F401 -- fills HOOKS
    from wengert.rewrite.rewriting import rewritten
    from wengert.rewrite.tables import running_table

    total = failed = 0
    for name in sys.argv[1:] or ["stdlib", "numpy", "scipy"]:
        start, count = time.process_time(), 0
        for file in files(name):
            found = codes_of(file)
            wrong = check(found, HOOKS, lambda code, hooks: rewritten(code, hooks, running_table()))
            count, total, failed = count + len(found), total + len(found), failed + len(wrong)
            for code, why in wrong:
                print(f"    {file}:{code.co_firstlineno} {code.co_qualname}: {why}", flush=True)
        print(f"{name:20} {count:6} code objects, {time.process_time() - start:.0f} s", flush=True)
    print(f"Python {sys.version.split()[0]}: {total} rewritten, {failed} at fault")


if __name__ == "__main__":
    main()
