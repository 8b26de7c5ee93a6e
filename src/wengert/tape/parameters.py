"""The parameters of emitted source: those of the traced function, with tests that they are as when recorded."""

from __future__ import annotations

import keyword
import re
from typing import Any

import numpy as np

from wengert.tape.arguments import Again, Held, Leaf, Row, fitting, is_checked, said
from wengert.tape.dump import type_text
from wengert.tape.expressions import Expressions
from wengert.tape.interface import AnyTape
from wengert.tape.literals import Snippet
from wengert.tape.loops import asks_for_strides
from wengert.tape.ops import Input
from wengert.values.names import TIGHT, is_name


class Parameters(Expressions):
    """Writes the first lines of a function: what it takes, taken apart, and tested."""

    def __init__(self, tape: AnyTape) -> None:
        super().__init__()
        self.tape = tape
        self.ops = list(tape)
        self.lines: list[str] = []
        self.taken: set[str] = set()
        self.asks_for_strides = asks_for_strides(self.ops)

    def name(self, wish: str) -> str:
        """A name like `wish` that nothing else in the text has."""
        while wish in self.taken:
            wish += "_"
        self.taken.add(wish)
        return wish

    def arguments(self) -> tuple[list[str], list[str]]:
        """The parameters, by position and by keyword only: those of the traced function, or the inputs one by one."""
        inputs = [op for op in self.ops if isinstance(op, Input) and not op.callee]
        arguments = fitting(self.tape.arguments, self.ops)
        words = () if arguments is None else arguments.words
        renamed = [word for word in words if word in self.taken or as_name(word, "") != word]
        if arguments is None or arguments.are_leaves or renamed:
            return [self.parameter(op) for op in inputs], []
        names = {name: self.name(as_name(name, "x")) for name in (*arguments.names, *arguments.words)}
        texts: list[str] = []
        for row in arguments.rows:
            texts.append(names[row.key] if row.parent is None else self.part(texts[row.parent], row))
            if type(row.what) is Leaf:
                self.parameter(inputs[row.what.number], texts[-1], row.path)
            else:
                told = arguments.rows[row.what.row].path if type(row.what) is Again else said(row.what)
                self.test(self.other(texts[-1], row, texts), f"{row.path} was {told}")
        return [names[name] for name in arguments.names], [names[name] for name in arguments.words]

    def part(self, whole: str, row: Row) -> str:
        """The text of a part of the arguments."""
        if row.how == "[]":
            return f"{whole}[{self.outside.expr(row.key).text}]"
        return f"{whole}.{row.key}" if is_name(row.key) else f"getattr({whole}, {row.key!r})"

    def other(self, text: str, row: Row, texts: list[str]) -> str:
        """The test for a part of the arguments that is no input: whether it is another one than when recorded."""
        what = row.what
        if type(what) is Again:
            return f"{text} is not {texts[what.row]}" if what.row < len(texts) else ""
        if type(what) is Held:
            return self.held(text, what)
        if what is None or type(what) is bool or what is Ellipsis:
            return f"{text} is not {what}"
        if not is_checked(row):
            return ""
        test = f"type({text}) is not {self.outside.expr(type(what)).text} or "
        if isinstance(what, np.ndarray):
            equal = f"{self.outside.numpy('array_equal')}({text}, {self.outside.expr(what).text})"
            return f"{test}{text}.dtype != {str(what.dtype)!r} or not {equal}"
        return f"{test}{text} != {self.arg(what).text}"

    def held(self, text: str, what: Held) -> str:
        """The test for a container: whether its class or its keys are others."""
        if what.cls in (list, tuple, dict):
            test = f"type({text}) is not {what.cls.__name__}"
        else:
            test = f"type({text}).__qualname__ != {what.cls.__qualname__!r}"
        if issubclass(what.cls, (list, tuple)):
            return f"{test} or len({text}) != {len(what.keys)}"
        keys = f"[{', '.join(self.outside.expr(key).text for key in what.keys)}]"
        if issubclass(what.cls, dict):
            return f"{test} or [*{text}] != {keys}"
        return f"{test} or [*vars({text})] != {keys}" if what.keys else test

    def parameter(self, op: Input, text: str = "", path: str = "") -> str:
        """The name of an input, as a parameter or for its `text` at a path, tested to be of the recorded kind."""
        if text.isidentifier():
            name = text
        else:
            name = self.name(as_name(op.name or "", f"x{op.id}"))
            self.lines += [f"{name} = {text}"] if text else []
        self.exprs[op.id] = Snippet(name, TIGHT)
        self.test(self.misfit(name, op.val), f"{path or name} was {type_text(op.val)}")
        return name

    def test(self, stale: str, words: str) -> None:
        """Write a line that raises where the test `stale`, if there is one, is true of the arguments."""
        if stale:
            self.outside.checked = True
            self.lines.append(f"if {stale}: raise StaleTapeError({_quoted(f'{words} when recorded')})")

    def misfit(self, name: str, recorded: Any) -> str:
        """The test for an argument of another kind than the recorded one; None where that is no number and no array."""
        if not isinstance(recorded, (int, float, complex, np.generic, np.ndarray)):
            return ""
        test = f"type({name}) is not {self.outside.expr(type(recorded)).text}"
        if isinstance(recorded, np.ndarray):
            test += f" or {name}.shape != {recorded.shape} or {name}.dtype != {str(recorded.dtype)!r}"
            if self.asks_for_strides:
                test += f" or {name}.strides != {recorded.strides}"
        return test


def as_name(path: str, other: str) -> str:
    """A name like a path, `p['w']`; else another one."""
    wish = re.sub(r"\W+", "_", path).strip("_") or other
    wish = f"x{wish}" if wish[0].isdigit() or re.fullmatch(r"c\d+", wish) else wish
    return wish if is_name(wish) or keyword.iskeyword(wish) else other


def _quoted(text: str) -> str:
    return f'"{text}"' if text.isprintable() and not {*text} & {'"', "\\"} else repr(text)
