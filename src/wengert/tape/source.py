"""Source: a tape as one plain NumPy function that runs without this package.

A value has the name of the user's variable that it was stored in, else the name of its op, `v7` for %7. An in-place
store keeps the name of its array. A comment before each block shows the user's line.
"""

from __future__ import annotations

import collections
import itertools
import keyword
import linecache
import os
import re
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from numpy.lib.array_utils import byte_bounds

from wengert.errors import StaleTapeError, TapeError
from wengert.tape.dump import line, type_text
from wengert.tape.helpers import Helpers
from wengert.tape.interface import AnyTape
from wengert.tape.literals import RESERVED, Snippet
from wengert.tape.liveness import LoopMemory, is_atom, is_store, memory_groups
from wengert.tape.loop_source import carried_names, write_loop
from wengert.tape.loops import Loop, with_bodies
from wengert.tape.needed import needed, only_computes
from wengert.tape.ops import Call, Constant, Input, Op, Variable, key_value, value_of
from wengert.tape.parameters import Parameters, as_name
from wengert.tape.provenance import user_line_comment, variable_names
from wengert.values import functional
from wengert.values.keys import may_repeat
from wengert.values.names import COMPARE, LOOSE, TIGHT, import_path, in_line, is_name
from wengert.values.sites import Site

LINE_WIDTH = 80
DELETED_BYTES = 1 << 13
"""The bytes of an array from which on the code deletes it after its last use."""
_STALE = '''try:
    from wengert import StaleTapeError
except ImportError:
    class StaleTapeError(RuntimeError):
        """The function would have run differently on these inputs."""
'''
_file_numbers = itertools.count(1)


def to_source(tape: AnyTape, name: str = "f", *, sites: bool = False) -> str:
    """Write a tape as Python source: imports, the helpers it calls, and one function of the tape's inputs.

    A value without a literal (a large array, a local function) is a keyword-only parameter c1, c2, ... without default.
    """
    writer = SourceWriter(tape, sites)
    writer.outside = Helpers(writer.taken, name)
    return writer.module(name)


class LostGuardError(TapeError):
    """A guard of a tape is missing in the tape or the source that was made from it."""

    def __init__(self, op: Call) -> None:
        super().__init__(f"the guard `{line(op)}` of {op.site} was lost. This is a bug in wengert; please report it")


def compile_tape(tape: AnyTape, name: str = "f") -> Callable[..., Any]:
    """Compile the function of `to_source`, with its constants bound; tracebacks show its lines."""
    return compile_source(SourceWriter(tape, sites=True), name)


def compile_source(writer: SourceWriter, name: str) -> Callable[..., Any]:
    """Compile the function that a SourceWriter writes, with its constants bound, and its text as attribute `source`."""
    text = writer.module(name)
    file = f"<wengert tape {next(_file_numbers)}>"
    namespace: dict[str, Any] = {"__name__": file}
    exec(compile(text, file, "exec"), namespace)
    namespace["StaleTapeError"] = StaleTapeError
    function = namespace.pop(name)  # else it would refer to itself, which delays the release of its buffers
    function.source = text
    function.__kwdefaults__ = dict(writer.outside.constants) or None
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    weakref.finalize(function, linecache.cache.pop, file, None)
    return function


def _described(value: Any) -> str:
    """Describe the value of a keyword constant."""
    return f"class {value.__qualname__}" if isinstance(value, type) else type_text(value)


class SourceWriter(Parameters):
    """A writer of the statements of one tape.

    A number that is read once has no line of its own: it waits in `pending`, and goes into the line of its reader. The
    body of a loop has a SourceWriter of its own, whose `lines` the outer one indents.
    """

    reuses: Callable[[Call], bool] | None = None  # which calls may overwrite a loop-carried operand

    def __init__(self, tape: AnyTape, sites: bool, loop: LoopMemory | None = None) -> None:
        super().__init__(tape)
        self.sites, self.last_comment, self.prefix = sites, "", ""
        self.variables = variable_names(self.ops)
        self.memory = loop.memory if loop else memory_groups(self.ops, tape.result, self.reuses)
        self.in_place = self.memory.in_place
        self.tested: set[Op] = set()  # the guards written so far, with those of bodies
        self.folded_at: dict[int, Site | None] = {}
        self.name_counts: dict[str, int] = {}  # by variable of the user's: the number of its next name
        self.reusable_names: set[str] = set()  # names that another value may take when theirs is dead
        self.parts: dict[int, list[Snippet]] = {}  # of the results of loops
        self.next_names: dict[int, str] = {}  # the names under which the next iteration reads values
        self.hoisted: dict[str, str] | None = None  # expressions hoisted out of the outermost loop, and their names
        self.needed = needed(self.ops, tape.result.id)
        self.final = max(self.needed)
        self.uses = [0] * (len(self.ops) + 1)
        for v in itertools.chain([tape.result], *(op.references() for op in self.ops if op.id in self.needed)):
            self.uses[v.id] += 1
        for op in self.ops:
            if isinstance(op, Call) and isinstance(op.fn, Loop):
                for v, preferred in carried_names(op):
                    if preferred and self.uses[v.id] == 1:
                        self.variables.setdefault(v.id, preferred)
        self.taken = self.outside.taken = {*RESERVED, *keyword.kwlist, *_imported_roots(with_bodies(self.ops))}

    # -- the module

    def module(self, name: str) -> str:
        """Write the whole module, with a function of this name."""
        if not is_name(name) or name in self.taken:
            raise TapeError(
                f"the function cannot have name={name!r}: it is not an identifier, or the source uses it. "
                "Choose another name."
            )
        parameters, keywords = self.arguments()
        self.body()
        self.release()
        for op in with_bodies(self.ops):
            if isinstance(op, Call) and op.guard and op not in self.tested:
                raise LostGuardError(op)
        keywords += self.outside.constants
        constants = ["*", *keywords] if keywords else []
        head = f"def {name}({', '.join([*parameters, *constants])}):\n"
        notes = "".join(f"    # {c}: {in_line(_described(value))}\n" for c, value in self.outside.constants.items())
        written = head + notes + "".join(f"    {text}\n" for text in self.lines)
        return "\n\n".join(filter(None, [self.imports(), *self.outside.definitions, written]))

    def body(self) -> None:
        """Write the statements of the ops, and the return."""
        for op in self.ops:
            if op.id in self.needed:
                self.write_under_its_line(op)
        self.end()

    def release(self) -> None:
        """Delete each large array after the statement that reads it last, as a walk over the recording does."""
        large = {expr.text for k, expr in self.exprs.items() if _is_deleted(self.ops[k - 1])}
        last: dict[str, int] = {}
        for k, text in enumerate(self.lines if large else ()):
            words = large.intersection(re.findall(r"\w+", text))
            last.update((word, k) for word in sorted(words) if word in last or text.startswith(f"{word} = "))
        lines, used = list[str](), list[str]()
        names_by_last = collections.defaultdict[int, list[str]](list)
        for name, k in last.items():
            names_by_last[k].append(name)
        for k, text in enumerate(self.lines if last else ()):
            if used and not text.startswith((" ", "else", "except", "finally")):  # behind a whole block
                lines.append(f"del {', '.join(used)}")
                used = []
            lines.append(text)
            used += names_by_last[k]
        self.lines = lines or self.lines

    def end(self) -> None:
        """Write the return."""
        self.statement(None, lambda: f"return {self.arg(self.tape.result).text}")

    def write_under_its_line(self, op: Op) -> None:
        """Write the statements of an op, below a comment with the user's line, if that line has changed."""
        begin = len(self.lines)
        self.write(op)
        comment = "" if self.sites else user_line_comment(op)
        if len(self.lines) > begin and comment and comment != self.last_comment:
            self.lines.insert(begin, f"# {comment}")
            self.last_comment = comment

    def imports(self) -> str:
        modules = sorted(self.outside.modules - {"numpy"})
        lines = [f"import {module}\n" for module in modules]
        lines += ["import numpy as np\n"] if "numpy" in self.outside.modules else []
        lines += ["\n" * bool(lines) + _STALE] if self.outside.checked else []
        return "".join(lines)

    # -- statements

    def write(self, op: Op) -> None:
        if isinstance(op, Constant) or (isinstance(op, Input) and op.callee):
            self.constant(op)
        elif isinstance(op, Call) and op.guard:
            self.guard(op)
        elif isinstance(op, Call) and is_store(op) and (target := self.target(op)):
            self.store(op, target)
        elif isinstance(op, Call) and isinstance(op.fn, Loop):
            self.parts[op.id] = write_loop(self, op)
            self.exprs[op.id] = Snippet(f"({''.join(f'{part.text}, ' for part in self.parts[op.id]).strip()})", TIGHT)
        elif isinstance(op, Call) and self.is_part(op):
            self.exprs[op.id] = self.parts[op.args[0].id][op.args[1]]
        elif isinstance(op, Call):
            self.call_statement(op)

    def is_part(self, op: Call) -> bool:
        """Whether a call reads a part of a loop's result."""
        if op.fn is not functional.getfield or not isinstance(op.args[0], Variable):
            return False
        return op.args[0].id in self.parts and type(op.args[1]) is int

    def constant(self, op: Op) -> None:
        expr = self.arg(op.val)
        if self.uses[op.id] > 1 and not is_atom(op.val) and not expr.text.isidentifier():
            self.assign(op, lambda: self.arg(op.val))
        else:
            self.exprs[op.id] = expr

    def call_statement(self, op: Call) -> None:
        if self.uses[op.id] == 1 and self.folds(op) and not self.carried_name(op):
            self.exprs[op.id] = self.fitted(lambda: self.call(op), f"v{op.id} = ")
            self.folded_at[op.id] = self.site(op)
            self.pending.add(op.id)
        else:
            self.assign(op, lambda: self.call(op))

    def folds(self, op: Call) -> bool:
        """Whether a call may go into its reader's line: it is the tape's result, a number, or a tuple, list or dict."""
        display = op.fn in functional.DISPLAYS
        return op.id == self.final or ((display or is_atom(op.val)) and only_computes(op.fn))

    def assign(self, op: Op, build: Callable[[], Snippet]) -> None:
        carried = self.carried_name(op)
        name = carried or self.new_name(op)
        write = self.mutation if carried else self.statement
        write(op, lambda: f"{name} = {build().text}")
        self.exprs[op.id] = Snippet(name, TIGHT)

    def carried_name(self, op: Op) -> str | None:
        """Return the name by which the next iteration reads a value, if the value may have that name at once."""
        name = self.next_names.get(op.id)
        return name if name and self.is_free(name, op) else None

    def is_free(self, name: str, op: Op) -> bool:
        """Whether the value of `op` may take a name: we made the name, and no later op reads the value that has it."""
        held = [k for k, expr in self.exprs.items() if expr.text == name]
        held += [k for k, parts in self.parts.items() if any([part.text == name for part in parts])]
        return name in self.reusable_names and all([self.memory.last[k] <= op.id for k in held])

    def arg(self, tree: Any) -> Snippet:
        """Return the expression for an argument; in a loop, hoist arrays and NumPy scalars out of it."""
        if self.hoisted is None or not isinstance(tree, np.ndarray | np.generic):
            return super().arg(tree)
        expr = self.outside.expr(tree)
        if expr.text.isidentifier():
            return expr
        if expr.text not in self.hoisted:
            self.hoisted[expr.text] = self.name(f"a{len(self.hoisted) + 1}")
        return Snippet(self.hoisted[expr.text], TIGHT)

    def statement(self, op: Op | None, build: Callable[[], str]) -> None:
        """Write the line that `build` returns; if it is too long, first give values inside it lines of their own."""
        text = self.fitted(lambda: Snippet(build(), LOOSE), "").text
        site = self.site(op) if self.sites else None
        self.lines.append(f"{text}  # {in_line(str(site))}" if site else text)

    def site(self, op: Op | None) -> Site | None:
        """Return the user's line of an op, or else of a value that went into its line."""
        sites = [op.site if op else None, *map(self.folded_at.get, sorted(self.used, reverse=True))]
        return next(filter(None, sites), None)

    def fitted(self, build: Callable[[], Snippet], before: str) -> Snippet:
        self.used = set()
        expr = build()
        while len(before + expr.text) + 4 > LINE_WIDTH and self.used:
            self.settle(max(self.used, key=lambda k: len(self.exprs[k].text)))
            self.used = set()
            expr = build()
        self.pending -= self.used
        return expr

    def new_name(self, op: Op) -> str:
        """Make a name for the value of an op: that of the user's variable, if it is known."""
        return self.named_like(self.variables.get(op.id), op)

    def named_like(self, preferred: str | None, op: Op) -> str:
        """Make a new name: the user's, if there is one, with a number if it is taken, else the op's."""
        if preferred is None or as_name(preferred, "") != preferred or re.fullmatch(r"v[\d_]+", preferred):
            name = self.name(f"v{self.prefix}{op.id}")
        else:
            numbers = itertools.count(self.name_counts.get(preferred, 1))
            n = next(n for n in numbers if f"{preferred}{n if n > 1 else ''}" not in self.taken)
            self.name_counts[preferred] = n + 1
            name = self.name(f"{preferred}{n if n > 1 else ''}")
        self.reusable_names.add(name)
        return name

    def settle(self, k: int) -> None:
        """Give a pending value a line of its own."""
        self.pending.discard(k)
        name = self.new_name(self.ops[k - 1])
        self.lines.append(f"{name} = {self.exprs[k].text}")
        self.exprs[k] = Snippet(name, TIGHT)

    def settle_all(self) -> None:
        """Give all pending values lines of their own."""
        for k in sorted(self.pending):
            self.settle(k)

    def inner(self, op: Call, memory: LoopMemory) -> Self:
        """Make a SourceWriter for the body of the loop that `op` calls, in the same module."""
        inner = type(self)(op.fn.body, self.sites, memory)
        inner.prefix = f"{self.prefix}{op.id}_"
        inner.outside, inner.taken, inner.hoisted = self.outside, self.taken, self.hoisted
        inner.tested, inner.name_counts = self.tested, self.name_counts
        return inner

    def guard(self, op: Call) -> None:
        """Write a guard that raises StaleTapeError if its result is not as recorded."""
        self.outside.checked = True
        self.tested.add(op)
        if op.fn is functional.raises and not self.uses[op.id]:
            self.raising(op)
            return
        if self.uses[op.id]:
            self.assign(op, lambda: self.call(op))
        test = self.fitted(lambda: self.exprs.get(op.id) or self.call(op), "if (): ")
        recorded = self.arg(op.val).inside(COMPARE + 1)
        if isinstance(op.val, bool | np.bool_):
            recorded = str(op.val)
            stale = test.text if not op.val else f"not {test.inside(COMPARE + 1)}"
        elif isinstance(op.val, np.ndarray):
            stale = f"not {self.outside.numpy('array_equal')}({test.text}, {recorded})"
        else:
            stale = f"{test.inside(COMPARE + 1)} {'is not' if op.val is None else '!='} {recorded}"
        where = self.place(op)
        self.lines.append(f"if {stale}:")
        self.lines.append(f"    raise StaleTapeError({f'{where}{test.text} was {recorded} when recorded'!r})")

    def place(self, op: Call) -> str:
        """Format the user's line for an error; a saved module has the file's name alone, which holds on any machine."""
        if op.site is None:
            return ""
        return f"{op.site if self.sites else op.site._replace(file=os.path.basename(op.site.file))}: "

    def raising(self, op: Call) -> None:
        """Write a guard on the exception that a call raised, or did not raise; any other exception propagates."""
        fn, errors, warned, *args = op.args
        call = self.fitted(lambda: self.call(Call(fn, args, op.kwargs)), "    ").text
        settings = ", ".join(f"{name}={how!r}" for name, how in errors.items())
        states = [f"{self.outside.numpy('errstate')}({settings})"] if errors else []
        if warned is not None:
            catching, category = (self.outside.expr(thing).text for thing in (warnings.catch_warnings, warned))
            states.append(f"{catching}(action='error', category={category})")
        head = f"with {', '.join(states)}: " if states else ""
        if op.val is None:
            self.lines.append(head + call)
            return
        wanted = self.outside.expr(op.val).text
        where = self.place(op)
        self.lines += [
            "try:",
            f"    {head}{call}",
            "except Exception as error:",
            f"    if type(error) is not {wanted}: raise",
            "else:",
            f"    raise StaleTapeError({f'{where}{call} raised {wanted} when recorded'!r})",
        ]

    def target(self, op: Call) -> str | None:
        """Return the form of a store: by key ("{}[]") or by a strided view ("window"); None if neither fits."""
        x = op.args[0]
        if not isinstance(value_of(x), np.ndarray | list) or op.kwargs:
            return None
        if op.fn is functional.setitem or op.fn is functional.additem:
            return "{}[]"
        return self.window("{}", value_of(x), op) and "window"

    def store(self, op: Call, target: str) -> None:
        """Write a store, in place if no later op reads the old array, else into a copy."""
        x = op.args[0]
        if isinstance(x, Variable) and op.id in self.in_place:
            name = self.exprs[x.id].text
        else:
            name = self.named_like(None, op)
            strided = not functional.overlaps(value_of(x))
            windowed = op.fn in functional.WINDOWED
            self.copy(name, self.arg(x).text, value_of(x), strided or windowed)
        sign = "=" if op.fn in (functional.setitem, functional.setlens) else "+="
        if target == "window":
            place = f"{self.window(name, value_of(x), op)}[...]"
            self.mutation(op, lambda: f"{place} {sign} {self.arg(op.args[4]).text}")
        elif op.fn is functional.additem and may_repeat(key_value(op.args[1])):
            at = self.outside.numpy("add.at")
            self.mutation(op, lambda: f"{at}({name}, {self.arg(op.args[1]).text}, {self.arg(op.args[2]).text})")
        else:
            self.mutation(op, lambda: f"{name}[{self.key(op.args[1])}] {sign} {self.arg(op.args[2]).text}")
        self.exprs[op.id] = Snippet(name, TIGHT)

    def mutation(self, op: Op, build: Callable[[], str]) -> None:
        """Write the line of an `op` that changes memory, after the pending values that might read that memory."""
        operands = {v.id for v in op.references()}
        for k in sorted(self.pending - operands):
            self.settle(k)
        self.statement(op, build)

    def copy(self, name: str, old: str, x: Any, strided: bool) -> None:
        """Write a copy of the array `x`, whose expression is `old`; with the same strides, if `strided`."""
        if isinstance(x, list) or x.flags.c_contiguous:
            written_out = not old.isidentifier()  # an expression makes a new array each time
            self.lines.append(f"{name} = {old}" if written_out else f"{name} = {old}.copy()")
        elif not strided or x.copy(order="K").strides == x.strides:
            self.lines.append(f'{name} = {old}.copy(order="K")')
        else:
            low, high = byte_bounds(x)
            ndarray, zeros = self.outside.numpy("ndarray"), self.outside.numpy("zeros")
            start = x.__array_interface__["data"][0] - low
            buffer = f"{zeros}({high - low}, 'u1')"
            self.lines.append(f"{name} = {ndarray}({x.shape}, {old}.dtype, {buffer}, {start}, {x.strides})")
            self.lines.append(f"{name}[...] = {old}")


def _is_deleted(op: Op) -> bool:
    return isinstance(op, Call) and isinstance(op.val, np.ndarray) and op.val.nbytes >= DELETED_BYTES


def _imported_roots(ops: Iterable[Op]) -> set[str]:
    """Return the top-level modules and builtin names by which the source refers to the tape's functions."""
    called = {id(op.fn): op.fn for op in ops if isinstance(op, Call) and not isinstance(op.fn, Variable)}
    places = map(import_path, called.values())
    return {(place.path if place.module == "builtins" else place.module).split(".")[0] for place in places if place}
