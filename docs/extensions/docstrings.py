"""The docstrings of this package, which are plain text with formulas, `code` and sections, as reStructuredText.

napoleon reads the sections (`Parameters:` and so on) afterwards.
"""

from __future__ import annotations

import inspect
import re
from itertools import groupby, pairwise
from typing import Any

import wengert

LABEL = re.compile(r"(Shapes|Units|Errors|Source): ")
SECTION = re.compile(r"(Parameters|Returns|Yields|Raises|Warns|See Also|Examples):$")
SENTENCE_ON_A_PARAMETER = re.compile(r"`\w+`")
ERROR = re.compile(r"\b[A-Z]\w+(?:Error|Warning)\b")
MARK = re.compile(r"[\\*|_]")  # what reStructuredText would take for markup


def linked(name: str) -> str:
    return f":py:obj:`~wengert.{name}`" if name in wengert.__all__ else f":py:obj:`{name}`"


def said(text: str, parameters: set[str]) -> str:
    """Words with `code` in them: public names are links to what the reference says of them, but not parameters."""

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


def prose(lines: list[str], parameters: set[str]) -> list[str]:
    """The paragraphs of a docstring without sections; the examples among them stay as they are."""
    written = []
    for filled, block in groupby(lines, key=bool):
        text = list(block)
        is_text = filled and not text[0].startswith((">>>", " "))
        written += paragraphs(text, parameters) if is_text else [*text, ""]
    return written


def entries(title: str, lines: list[str], parameters: set[str]) -> list[str]:
    """The entries of a section, a line each: `name (type): text`; the names of See Also are links."""
    text = "\n".join(lines)
    if title == "See Also":
        return ["    " + re.sub(r"[\w.]*\w", lambda name: linked(name[0]), " ".join(text.split()))]
    found = []
    for entry in re.split(r"\n(?=    \S)", text.rstrip()):
        head, _, words = " ".join(entry.split()).partition(": ")
        name = f"~wengert.{head}" if title == "Raises" and head in wengert.__all__ else head
        found.append(f"    {name}: {said(words, parameters)}")
    return found


def in_sections(lines: list[str], parameters: set[str]) -> list[str]:
    """Divide a docstring into its prose and its sections, and write each in its style."""
    starts = [k for k, line in enumerate(lines) if SECTION.match(line)]
    written = prose(lines[: starts[0]] if starts else lines, parameters)
    for start, end in pairwise([*starts, len(lines)]):
        title, inside = lines[start][:-1], lines[start + 1 : end]
        body = next((k for k, line in enumerate(inside) if line and line[0] != " "), len(inside))
        kept = inside[:body] if title == "Examples" else entries(title, inside[:body], parameters)
        written += [lines[start], *kept, "", *prose(inside[body:], parameters)]
    return written


def parameters_of(obj: Any) -> set[str]:
    try:
        return set(inspect.signature(obj).parameters)
    except (TypeError, ValueError):  # it is no callable, or one of C
        return set()


def in_house_style(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Exchange the `lines` of a docstring."""
    lines[:] = in_sections(lines, parameters_of(obj))


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", in_house_style)
    return {"parallel_read_safe": True}
