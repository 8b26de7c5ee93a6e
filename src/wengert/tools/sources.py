"""The user's source beside what was computed: its lines, and the functions and loops that they stand in."""

from __future__ import annotations

import ast
import contextlib
import linecache
import os
import re
from collections.abc import Iterator
from typing import Any

from wengert.recording.recording import LIBRARY_FOLDERS
from wengert.values.names import in_line
from wengert.values.sites import Site

AROUND = 12  # lines that are shown before and after those that are spoken of
WHOLE = 400  # lines of a file that is shown as a whole
_COMPREHENSION = re.compile(r"(\.<locals>)?\.<(listcomp|setcomp|dictcomp|genexpr)>$|\.<locals>")


class Sources:
    """The lines that a page speaks of, numbered as they come, with the text around them and the groups they fall in.

    A group is `(parent, label, kind, line)`: a pass, in it a function, a loop in that, a line.
    """

    def __init__(self) -> None:
        self.lines: dict[tuple[str, int], int] = {}
        self.functions: list[str] = []
        self.groups: dict[tuple[Any, ...], int] = {}
        self.places: dict[tuple[int, Site], int] = {}  # the groups of the sites that were asked for
        self.compounds: dict[str, list[Any]] = {}
        linecache.checkcache()

    def line(self, site: Site | None) -> int:
        """The number of a site's line, or -1."""
        if site is None:
            return -1
        key = site.file, site.line
        if key not in self.lines:
            self.lines[key] = len(self.lines)
            self.functions.append(function_of(site))
        return self.lines[key]

    def group(self, parent: int, label: str, kind: str, line: int = -1) -> int:
        """The number of a group, which is made where there is none."""
        return self.groups.setdefault((parent, label, kind, line), len(self.groups))

    def group_of(self, parent: int, site: Site) -> int:
        """The group of a site's line in the group `parent`: its function, the loops in that, the line."""
        if (parent, site) not in self.places:
            group = self.group(parent, function_of(site), "function")
            for start in self.loops_around(site.file, site.line):
                group = self.group(group, text_of(site.file, start), "loop", self.line(site._replace(line=start)))
            self.places[parent, site] = self.group(group, text_of(site.file, site.line), "line", self.line(site))
        return self.places[parent, site]

    def loops_around(self, file: str, number: int) -> list[int]:
        """The lines at which the loops begin that a line is in, in its function, the outermost first."""
        if file not in self.compounds:
            self.compounds[file] = _compounds(file)
        around: list[Any] = []
        for node in self.compounds[file]:
            if node.lineno <= number <= (node.end_lineno or node.lineno):
                around = [*around, node] if isinstance(node, ast.For | ast.AsyncFor | ast.While) else []
        return [node.lineno for node in around]

    def data(self) -> dict[str, Any]:
        """All of it, for the page."""
        files = list(dict.fromkeys(file for file, _ in self.lines))
        told = {file: [number for other, number in self.lines if other == file] for file in files}
        return {
            "lines": [
                [files.index(file), number, function]
                for (file, number), function in zip(self.lines, self.functions, strict=True)
            ],
            "files": [_file(file, told[file]) for file in files],
            "groups": list(self.groups),
        }


def _file(file: str, told: list[int]) -> dict[str, Any]:
    """Return a file's data for the page: `own` if it is no library's, `gone` if its text is missing."""
    own, text = not file.startswith(("<wengert", *LIBRARY_FOLDERS)), lines_of(file)
    parts = [*_parts(text, sorted(told))]
    return {"name": file_name(file), "path": in_line(file), "own": own, "gone": not text, "parts": parts}


def _parts(text: list[str], told: list[int]) -> Iterator[dict[str, Any]]:
    """The parts of a file's text that are shown: all of a short file, else what is near the lines spoken of."""
    if not text:
        yield {"first": told[0], "text": ["" for _ in range(told[0], told[-1] + 1)]}
        return
    if len(text) <= WHOLE:
        yield {"first": 1, "text": text}
        return
    first, last = 0, 0
    for number in told:
        if first and number - AROUND > last + 1:
            yield {"first": first, "text": text[first - 1 : last]}
            first = 0
        first, last = first or max(1, number - AROUND), min(len(text), number + AROUND)
    yield {"first": first, "text": text[first - 1 : last]}


def file_name(file: str) -> str:
    """Return the file name to show beside the file's text."""
    return in_line(os.path.basename(file) or file)


def lines_of(file: str) -> list[str]:
    """The lines of a file as Python knows them, also of a notebook's cell; empty where it has none."""
    return [line.rstrip("\n") for line in _kept(file)]


def _kept(file: str) -> list[str]:
    with contextlib.suppress(ValueError, OSError, SyntaxError):  # a file's name may be any text
        return linecache.getlines(file)
    return []


def text_of(file: str, number: int) -> str:
    """The text of a line, or its number."""
    return in_line(source_line(file, number).strip()) or f"line {number}"


def source_line(file: str, number: int) -> str:
    """A line of a file; empty where it is not known."""
    return "".join(_kept(file)[number - 1 : number]).rstrip("\n")


def function_of(site: Site) -> str:
    """The name of the function that a site is in; a comprehension is a part of its function."""
    return in_line(_COMPREHENSION.sub("", site.function.partition(" (by way of ")[0]))


def _compounds(file: str) -> list[Any]:
    """The functions and loops of a file, the outer ones before those in them."""
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.For | ast.AsyncFor | ast.While
        found = [node for node in ast.walk(ast.parse("\n".join(lines_of(file)))) if isinstance(node, kinds)]
        return sorted(found, key=lambda node: (node.lineno, -(node.end_lineno or 0)))
    return []
