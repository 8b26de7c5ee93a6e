"""The parameters of emitted source: those of the traced function, with guards that they are as recorded."""

from __future__ import annotations

import keyword
import re
from typing import Any

import numpy as np

from wengert.tape.arguments import (
    ArgumentRow,
    ContainerForm,
    InputLeaf,
    SameObject,
    current_arguments,
    describe_recorded,
    is_checked,
)
from wengert.tape.dump import type_text
from wengert.tape.expressions import Expressions
from wengert.tape.interface import AnyTape
from wengert.tape.literals import Snippet
from wengert.tape.loops import asks_for_strides, strides_of_longer_axes
from wengert.tape.ops import Input
from wengert.values.names import TIGHT, is_name


class Parameters(Expressions):
    """A writer of the first lines of a function, which unpack its arguments and guard them."""

    def __init__(self, tape: AnyTape) -> None:
        super().__init__()
        self.tape = tape
        self.ops = list(tape)
        self.lines: list[str] = []
        self.taken: set[str] = set()
        self.asks_for_strides = asks_for_strides(self.ops)

    def name(self, preferred: str) -> str:
        """Reserve and return an unused name: `preferred`, with underscores appended if it is taken."""
        while preferred in self.taken:
            preferred += "_"
        self.taken.add(preferred)
        return preferred

    def arguments(self) -> tuple[list[str], list[str]]:
        """Write the parameters, and return them, positional and keyword-only: the traced function's, or the inputs."""
        inputs = [op for op in self.ops if isinstance(op, Input) and not op.callee]
        arguments = current_arguments(self.tape.arguments, self.ops)
        keywords = () if arguments is None else arguments.keyword_only
        renamed = [word for word in keywords if word in self.taken or as_name(word, "") != word]
        if arguments is None or arguments.are_leaves or renamed:
            return [self.parameter(op) for op in inputs], []
        names = {name: self.name(as_name(name, "x")) for name in (*arguments.names, *arguments.keyword_only)}
        texts: list[str] = []
        for row in arguments.rows:
            texts.append(names[row.key] if row.parent is None else self.part_text(texts[row.parent], row))
            if type(row.content) is InputLeaf:
                self.parameter(inputs[row.content.number], texts[-1], row.path)
            else:
                recorded = (
                    arguments.rows[row.content.row].path
                    if type(row.content) is SameObject
                    else describe_recorded(row.content)
                )
                self.test(self.changed(texts[-1], row, texts), f"{row.path} was {recorded}")
        return [names[name] for name in arguments.names], [names[name] for name in arguments.keyword_only]

    def part_text(self, container: str, row: ArgumentRow) -> str:
        """Return the expression for a part of the arguments."""
        if row.access == "[]":
            return f"{container}[{self.outside.expr(row.key).text}]"
        return f"{container}.{row.key}" if is_name(row.key) else f"getattr({container}, {row.key!r})"

    def changed(self, text: str, row: ArgumentRow, texts: list[str]) -> str:
        """Return the condition under which a part of the arguments, which is not an input, has changed."""
        recorded = row.content
        if type(recorded) is SameObject:
            return f"{text} is not {texts[recorded.row]}" if recorded.row < len(texts) else ""
        if type(recorded) is ContainerForm:
            return self.container_changed(text, recorded)
        if recorded is None or type(recorded) is bool or recorded is Ellipsis:
            return f"{text} is not {recorded}"
        if not is_checked(row):
            return ""
        test = f"type({text}) is not {self.outside.expr(type(recorded)).text} or "
        if isinstance(recorded, np.ndarray):
            equal = f"{self.outside.numpy('array_equal')}({text}, {self.outside.expr(recorded).text})"
            return f"{test}{text}.dtype != {str(recorded.dtype)!r} or not {equal}"
        return f"{test}{text} != {self.arg(recorded).text}"

    def container_changed(self, text: str, recorded: ContainerForm) -> str:
        """Return the condition under which a container's class or keys have changed."""
        if recorded.cls in (list, tuple, dict):
            test = f"type({text}) is not {recorded.cls.__name__}"
        else:
            test = f"type({text}).__qualname__ != {recorded.cls.__qualname__!r}"
        if issubclass(recorded.cls, (list, tuple)):
            return f"{test} or len({text}) != {len(recorded.keys)}"
        keys = f"[{', '.join(self.outside.expr(key).text for key in recorded.keys)}]"
        if issubclass(recorded.cls, dict):
            return f"{test} or [*{text}] != {keys}"
        return f"{test} or [*vars({text})] != {keys}" if recorded.keys else test

    def parameter(self, op: Input, text: str = "", path: str = "") -> str:
        """Name an input, a parameter or the expression `text` at a path; write its guard, and return the name."""
        if text.isidentifier():
            name = text
        else:
            name = self.name(as_name(op.name or "", f"x{op.id}"))
            self.lines += [f"{name} = {text}"] if text else []
        self.exprs[op.id] = Snippet(name, TIGHT)
        self.test(self.type_changed(name, op.val), f"{path or name} was {type_text(op.val)}")
        return name

    def test(self, stale: str, message: str) -> None:
        """Write a line that raises StaleTapeError if the condition `stale` is true; nothing if it is empty."""
        if stale:
            self.outside.checked = True
            self.lines.append(f"if {stale}: raise StaleTapeError({_quoted_message(f'{message} when recorded')})")

    def type_changed(self, name: str, recorded: Any) -> str:
        """Return the condition under which an argument's type, shape or dtype differs; empty for other objects."""
        if not isinstance(recorded, (int, float, complex, np.generic, np.ndarray)):
            return ""
        test = f"type({name}) is not {self.outside.expr(type(recorded)).text}"
        if type(recorded) is np.ndarray and recorded.shape == () and recorded.dtype == np.bool_:
            kinds = ", ".join([self.outside.expr(t).text for t in (np.ndarray, np.bool_, bool)])
            return f"type({name}) not in ({kinds})"  # a trace records them alike
        if isinstance(recorded, np.ndarray):
            test += f" or {name}.shape != {recorded.shape} or {name}.dtype != {str(recorded.dtype)!r}"
            if self.asks_for_strides and 1 not in recorded.shape:
                test += f" or {name}.strides != {recorded.strides}"
            elif self.asks_for_strides:  # an axis of one element has any stride
                steps = f"[s for n, s in zip({name}.shape, {name}.strides) if n != 1]"
                test += f" or {steps} != {strides_of_longer_axes(recorded)}"
        return test


def as_name(path: str, other: str) -> str:
    """Make an identifier from a path such as `p['w']`; return `other` if that is impossible."""
    preferred = re.sub(r"\W+", "_", path).strip("_") or other
    preferred = f"x{preferred}" if re.match(r"\d|c\d+$", preferred) else preferred
    return preferred if is_name(preferred) or keyword.iskeyword(preferred) else other


def _quoted_message(text: str) -> str:
    return f'"{text}"' if text.isprintable() and not {*text} & {'"', "\\"} else repr(text)
