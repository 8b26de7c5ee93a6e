"""Source: a tape as one plain NumPy function that runs without this package.

A value has the name of the user's variable that it was stored in, else that of its op, `v7` for %7; a store in place
keeps the name of the array that it writes to. A comment before each block says which line of the user's it does.
"""

from __future__ import annotations

import itertools
import keyword
import linecache
import re
import warnings
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.lib.array_utils import byte_bounds

from wengert.errors import StaleTapeError, TapeError
from wengert.tape.dump import line, type_text
from wengert.tape.helpers import Helpers
from wengert.tape.interface import AnyTape
from wengert.tape.literals import RESERVED, Snippet
from wengert.tape.liveness import Carrying, is_atom, is_store, memory_of
from wengert.tape.loop_source import carried_names, write_loop
from wengert.tape.loops import Loop, with_bodies
from wengert.tape.needed import needed, only_computes
from wengert.tape.ops import Call, Constant, Input, Op, Variable, key_value, value_of
from wengert.tape.parameters import Parameters, as_name
from wengert.tape.provenance import behind, variables_of
from wengert.values import functional
from wengert.values.keys import may_repeat
from wengert.values.names import COMPARE, LOOSE, TIGHT, import_path, in_line, is_name
from wengert.values.sites import Site

WIDTH = 80
_STALE = '''try:
    from wengert import StaleTapeError
except ImportError:
    class StaleTapeError(RuntimeError):
        """The function would have run differently on these inputs."""
'''
_numbers = itertools.count(1)


def to_source(tape: AnyTape, name: str = "f", *, sites: bool = False) -> str:
    """The tape as Python source: imports, the helpers of ours that it calls, and one function of the tape's inputs.

    What has no text (large arrays, local functions) is a keyword-only parameter c1, c2, ... without default.
    """
    writer = Writer(tape, sites)
    writer.outside = Helpers(writer.taken, name)
    return writer.module(name)


class LostTest(TapeError):
    """A test of a tape that is not in what was made of it."""

    def __init__(self, op: Call) -> None:
        super().__init__(f"the test `{line(op)}` of {op.site} was lost. This is a mistake in wengert: please report it")


def compile_tape(tape: AnyTape, name: str = "f") -> Callable[..., Any]:
    """The function of `to_source`, with its constants bound; tracebacks into it show its lines."""
    return compiled(Writer(tape, sites=True), name)


def compiled(writer: Writer, name: str) -> Callable[..., Any]:
    """The function that a Writer writes, with its constants bound, and its text as `source`."""
    text = writer.module(name)
    file = f"<wengert tape {next(_numbers)}>"
    namespace: dict[str, Any] = {"__name__": file}
    exec(compile(text, file, "exec"), namespace)
    namespace["StaleTapeError"] = StaleTapeError
    function = namespace.pop(name)  # which else would hold itself, and with it its buffers
    function.source = text
    function.__kwdefaults__ = dict(writer.outside.constants) or None
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    weakref.finalize(function, linecache.cache.pop, file, None)
    return function


class Writer(Parameters):
    """Writes the statements of one tape.

    A number that is read once gets no line of its own: it waits in `pending`, and goes into the line of its reader.
    The body of a loop has a Writer of its own, to whose `lines` that of the text around it gives four spaces.
    """

    reuses: Callable[[Call], bool] | None = None  # which calls write over an operand that a loop carries

    def __init__(self, tape: AnyTape, sites: bool, loop: Carrying | None = None) -> None:
        super().__init__(tape)
        self.sites, self.said, self.prefix = sites, "", ""
        self.variables = variables_of(self.ops)
        self.memory = loop.memory if loop else memory_of(self.ops, tape.result, self.reuses)
        self.in_place = self.memory.in_place
        self.tested: set[Op] = set()  # the tests that were written, with those of bodies
        self.folded_at: dict[int, Site | None] = {}
        self.own: set[str] = set()  # names of values that may go to others when these are dead
        self.parts: dict[int, list[Snippet]] = {}  # of what loops give
        self.carries: dict[int, str] = {}  # the names that the next iteration reads values by
        self.before: dict[str, str] | None = None  # texts and names of values that are made before the outermost loop
        self.needed = needed(self.ops, tape.result.id)
        self.final = max(self.needed)
        self.uses = [0] * (len(self.ops) + 1)
        for v in itertools.chain([tape.result], *(op.references() for op in self.ops if op.id in self.needed)):
            self.uses[v.id] += 1
        for op in self.ops:
            if isinstance(op, Call) and isinstance(op.fn, Loop):
                for v, wish in carried_names(op):
                    if wish and self.uses[v.id] == 1:
                        self.variables.setdefault(v.id, wish)
        self.taken = self.outside.taken = {*RESERVED, *keyword.kwlist, *_roots(with_bodies(self.ops))}

    # -- the module

    def module(self, name: str) -> str:
        """The whole text, with a function of this name."""
        if not is_name(name) or name in self.taken:
            raise TapeError(f"name={name!r} cannot stand behind `def` here. Give a name that the source does not use.")
        parameters, words = self.arguments()
        self.body()
        for op in with_bodies(self.ops):
            if isinstance(op, Call) and op.guard and op not in self.tested:
                raise LostTest(op)
        words += self.outside.constants
        constants = ["*", *words] if words else []
        head = f"def {name}({', '.join([*parameters, *constants])}):\n"
        notes = "".join(f"    # {c}: {in_line(type_text(value))}\n" for c, value in self.outside.constants.items())
        written = head + notes + "".join(f"    {text}\n" for text in self.lines)
        return "\n\n".join(filter(None, [self.imports(), *self.outside.definitions, written]))

    def body(self) -> None:
        """Write what the ops do, and the return."""
        for op in self.ops:
            if op.id in self.needed:
                self.write_under_its_line(op)
        self.end()

    def end(self) -> None:
        """Write the return."""
        self.statement(None, lambda: f"return {self.arg(self.tape.result).text}")

    def write_under_its_line(self, op: Op) -> None:
        """Write what an op does, below a comment with the user's line, where that is another than before."""
        begin = len(self.lines)
        self.write(op)
        said = "" if self.sites else behind(op)
        if len(self.lines) > begin and said and said != self.said:
            self.lines.insert(begin, f"# {said}")
            self.said = said

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
        """Whether a call takes a part of what a loop gave."""
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
        """Whether a call may stand inside the line that reads it: it gives the result, a number, or a display."""
        display = op.fn in functional.DISPLAYS
        return op.id == self.final or ((display or is_atom(op.val)) and only_computes(op.fn))

    def assign(self, op: Op, build: Callable[[], Snippet]) -> None:
        carried = self.carried_name(op)
        name = carried or self.new_name(op)
        write = self.mutation if carried else self.statement
        write(op, lambda: f"{name} = {build().text}")
        self.exprs[op.id] = Snippet(name, TIGHT)

    def carried_name(self, op: Op) -> str | None:
        """The name by which the next iteration reads a value, where it may have that name at once."""
        name = self.carries.get(op.id)
        return name if name and self.is_free(name, op) else None

    def is_free(self, name: str, op: Op) -> bool:
        """Whether the value of `op` may have a name: it is one of ours, and nobody reads afterwards what has it now."""
        held = [k for k, expr in self.exprs.items() if expr.text == name]
        held += [k for k, parts in self.parts.items() if any([part.text == name for part in parts])]
        return name in self.own and all([self.memory.last[k] <= op.id for k in held])

    def arg(self, tree: Any) -> Snippet:
        """The text of an argument; in a loop NumPy's values are made before it."""
        if self.before is None or not isinstance(tree, np.ndarray | np.generic):
            return super().arg(tree)
        expr = self.outside.expr(tree)
        if expr.text.isidentifier():
            return expr
        if expr.text not in self.before:
            self.before[expr.text] = self.name(f"a{len(self.before) + 1}")
        return Snippet(self.before[expr.text], TIGHT)

    def statement(self, op: Op | None, build: Callable[[], str]) -> None:
        """Write the line that `build` gives; where that is too long, what it folds in gets lines of its own first."""
        text = self.fitted(lambda: Snippet(build(), LOOSE), "").text
        site = self.site(op) if self.sites else None
        self.lines.append(f"{text}  # {in_line(str(site))}" if site else text)

    def site(self, op: Op | None) -> Site | None:
        """The user's line of an op, or else of what its text has just folded in."""
        sites = [op.site if op else None, *map(self.folded_at.get, sorted(self.used, reverse=True))]
        return next(filter(None, sites), None)

    def fitted(self, build: Callable[[], Snippet], before: str) -> Snippet:
        self.used = set()
        expr = build()
        while len(before + expr.text) + 4 > WIDTH and self.used:
            self.settle(max(self.used, key=lambda k: len(self.exprs[k].text)))
            self.used = set()
            expr = build()
        self.pending -= self.used
        return expr

    def new_name(self, op: Op) -> str:
        """A new name for the value of an op: that of the user's variable, where it is known to go there."""
        return self.named_like(self.variables.get(op.id), op)

    def named_like(self, wish: str | None, op: Op) -> str:
        """A new name like the user's, if there is one, else that of the op."""
        if wish is None or as_name(wish, "") != wish or re.fullmatch(r"v[\d_]+", wish):
            name = self.name(f"v{self.prefix}{op.id}")
        else:
            names = itertools.chain([wish], (f"{wish}{n}" for n in itertools.count(2)))
            name = self.name(next(name for name in names if name not in self.taken))
        self.own.add(name)
        return name

    def settle(self, k: int) -> None:
        """Give a number that waits for its reader a line of its own."""
        self.pending.discard(k)
        name = self.new_name(self.ops[k - 1])
        self.lines.append(f"{name} = {self.exprs[k].text}")
        self.exprs[k] = Snippet(name, TIGHT)

    def settle_all(self) -> None:
        """Give all numbers that wait for their readers lines of their own."""
        for k in sorted(self.pending):
            self.settle(k)

    def inner(self, op: Call, memory: Carrying) -> Self:
        """A Writer for the body of the loop that `op` calls, in the same module."""
        inner = type(self)(op.fn.body, self.sites, memory)
        inner.prefix = f"{self.prefix}{op.id}_"
        inner.outside, inner.taken, inner.before = self.outside, self.taken, self.before
        inner.tested = self.tested
        return inner

    def take_turns(self, op: Call, names: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the lines before a loop, and those at the end of each iteration, for double-buffered arrays."""
        return [], []

    def guard(self, op: Call) -> None:
        """Write a test that raises StaleTapeError where a decision is not as recorded."""
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
        where = f"{op.site}: " if op.site else ""
        self.lines.append(f"if {stale}:")
        self.lines.append(f"    raise StaleTapeError({f'{where}{test.text} was {recorded} when recorded'!r})")

    def raising(self, op: Call) -> None:
        """Write a guard on the exception that a call raised, or did not raise; any other exception goes out."""
        fn, errors, warned, *args = op.args
        call = self.fitted(lambda: self.call(Call(fn, args, op.kwargs)), "    ").text
        loudly = ", ".join(f"{name}={how!r}" for name, how in errors.items())
        states = [f"{self.outside.numpy('errstate')}({loudly})"] if errors else []
        if warned is not None:
            catching, category = (self.outside.expr(thing).text for thing in (warnings.catch_warnings, warned))
            states.append(f"{catching}(action='error', category={category})")
        head = f"with {', '.join(states)}: " if states else ""
        if op.val is None:
            self.lines.append(head + call)
            return
        wanted = self.outside.expr(op.val).text
        where = f"{op.site}: " if op.site else ""
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
        """Write a store, in place where nobody reads the old array afterwards, else into a copy."""
        x = op.args[0]
        if isinstance(x, Variable) and op.id in self.in_place:
            name = self.exprs[x.id].text
        else:
            name = self.named_like(None, op)
            apart = not functional.overlaps(value_of(x))
            windowed = op.fn in functional.WINDOWED
            self.copy(name, self.arg(x).text, value_of(x), apart or windowed)
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
        """Write the line of `op` that changes memory, after those that wait and might read that memory."""
        mine = {v.id for v in op.references()}
        for k in sorted(self.pending - mine):
            self.settle(k)
        self.statement(op, build)

    def copy(self, name: str, old: str, x: Any, strided: bool) -> None:
        """Write a copy of the array `x`, whose text is `old`; with its very strides, if it is to be `strided`."""
        if isinstance(x, list) or x.flags.c_contiguous:
            written_out = not old.isidentifier()  # an array given as text is new each time
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


def _roots(ops: Iterable[Op]) -> set[str]:
    """The modules and names that the text needs to name the tape's functions."""
    called = {id(op.fn): op.fn for op in ops if isinstance(op, Call) and not isinstance(op.fn, Variable)}
    places = map(import_path, called.values())
    return {(place.path if place.module == "builtins" else place.module).split(".")[0] for place in places if place}
