"""The docstrings of this package, which are plain text with formulas, `code` and examples, as reStructuredText."""

from __future__ import annotations

import inspect
import re
from itertools import groupby
from typing import Any

import wengert

LABEL = re.compile(r"(Shapes|Units|Errors|Source): ")
SENTENCE_ON_A_PARAMETER = re.compile(r"`\w+`")
ERROR = re.compile(r"\b[A-Z]\w+(?:Error|Warning)\b")
MARK = re.compile(r"[\\*|_]")  # what reStructuredText would take for markup


def said(text: str, parameters: set[str]) -> str:
    """Words with `code` in them: public names are links to what the reference says of them, but not parameters."""

    def linked(name: str) -> str:
        return f":py:obj:`~wengert.{name}`" if name in wengert.__all__ else f":py:obj:`{name}`"

    def coded(code: str) -> str:
        return linked(code) if code.isidentifier() and code not in parameters else f"``{code}``"

    pieces = text.split("`")
    pieces[::2] = [ERROR.sub(lambda name: linked(name[0]), MARK.sub(r"\\\g<0>", words)) for words in pieces[::2]]
    pieces[1::2] = [coded(code) for code in pieces[1::2]]
    return "\\ ".join(pieces)


def paragraphs(lines: list[str], parameters: set[str]) -> list[str]:
    """The text of a block: a paragraph begins at a label, and at a sentence on a parameter that begins a line."""
    parts = lines[:1]
    for line in lines[1:]:
        if LABEL.match(line) or (SENTENCE_ON_A_PARAMETER.match(line) and parts[-1].endswith(".")):
            parts.append(line)
        else:
            parts[-1] += f" {line}"
    return [text for part in parts for text in (LABEL.sub(r"**\1.** ", said(part, parameters)), "")]


def parameters_of(obj: Any) -> set[str]:
    try:
        return set(inspect.signature(obj).parameters)
    except (TypeError, ValueError):  # it is no callable, or one of C
        return set()


def in_house_style(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Exchange the `lines` of a docstring; its examples stay as they are."""
    parameters = parameters_of(obj)
    written = []
    for filled, block in groupby(lines, key=bool):
        text = list(block)
        is_text = filled and not text[0].startswith((">>>", " "))
        written += paragraphs(text, parameters) if is_text else [*text, ""]
    lines[:] = written


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", in_house_style)
    return {"parallel_read_safe": True}
