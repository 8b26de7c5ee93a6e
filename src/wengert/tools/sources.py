"""The user's source for a page: its lines, and the functions and loops around them."""

from __future__ import annotations

import ast
import contextlib
import linecache
import os
import re
from collections.abc import Iterator
from typing import Any

from wengert.recording.recording import library_folders
from wengert.values.names import in_line
from wengert.values.sites import Site

CONTEXT_LINES = 12  # lines shown before and after those that a page refers to
SHORT_FILE = 400  # lines of a file up to which it is shown as a whole
_COMPREHENSION = re.compile(r"(\.<locals>)?\.<(listcomp|setcomp|dictcomp|genexpr)>$|\.<locals>")


class Sources:
    """The lines that a page refers to, numbered in order of use, with the text around them and their groups.

    A group is `(parent, label, kind, line)`: a pass, in it a function, a loop in that, a line.
    """

    def __init__(self) -> None:
        self.lines: dict[tuple[str, int], int] = {}
        self.functions: list[str] = []
        self.groups: dict[tuple[Any, ...], int] = {}
        self.places: dict[tuple[int, Site], int] = {}  # the groups of sites, by parent
        self.compounds: dict[str, list[Any]] = {}
        linecache.checkcache()

    def line(self, site: Site | None) -> int:
        """Return the number of a site's line, or -1."""
        if site is None:
            return -1
        key = site.file, site.line
        if key not in self.lines:
            self.lines[key] = len(self.lines)
            self.functions.append(function_label(site))
        return self.lines[key]

    def group(self, parent: int, label: str, kind: str, line: int = -1) -> int:
        """Return the number of a group; add it if it is new."""
        return self.groups.setdefault((parent, label, kind, line), len(self.groups))

    def group_of(self, parent: int, site: Site) -> int:
        """Return the group of a site's line below `parent`: in its function, and the loops in that."""
        if (parent, site) not in self.places:
            group = self.group(parent, function_label(site), "function")
            for start in self.loops_around(site.file, site.line):
                group = self.group(group, line_label(site.file, start), "loop", self.line(site._replace(line=start)))
            self.places[parent, site] = self.group(group, line_label(site.file, site.line), "line", self.line(site))
        return self.places[parent, site]

    def loops_around(self, file: str, number: int) -> list[int]:
        """Return the first lines of the loops around a line, in its function, the outermost first."""
        if file not in self.compounds:
            self.compounds[file] = _functions_and_loops(file)
        around: list[Any] = []
        for node in self.compounds[file]:
            if node.lineno <= number <= (node.end_lineno or node.lineno):
                around = [*around, node] if isinstance(node, ast.For | ast.AsyncFor | ast.While) else []
        return [node.lineno for node in around]

    def data(self) -> dict[str, Any]:
        """Return the lines, files and groups as data of a page."""
        files = list(dict.fromkeys(file for file, _ in self.lines))
        shown = {file: [number for other, number in self.lines if other == file] for file in files}
        return {
            "lines": [
                [files.index(file), number, function]
                for (file, number), function in zip(self.lines, self.functions, strict=True)
            ],
            "files": [_file_data(file, shown[file]) for file in files],
            "groups": list(self.groups),
        }


def _file_data(file: str, shown: list[int]) -> dict[str, Any]:
    """Return a file's data for the page: `own` if it is no library's, `gone` if its text is missing."""
    own, text = not file.startswith(("<wengert", *library_folders())), lines_of(file)
    parts = [*_text_parts(text, sorted(shown))]
    return {"name": file_name(file), "path": in_line(file), "own": own, "gone": not text, "parts": parts}


def _text_parts(text: list[str], shown: list[int]) -> Iterator[dict[str, Any]]:
    """Yield the parts of a file's text to show: all of a short file, else the surroundings of the `shown` lines."""
    if not text:
        yield {"first": shown[0], "text": ["" for _ in range(shown[0], shown[-1] + 1)]}
        return
    if len(text) <= SHORT_FILE:
        yield {"first": 1, "text": text}
        return
    first, last = 0, 0
    for number in shown:
        if first and number - CONTEXT_LINES > last + 1:
            yield {"first": first, "text": text[first - 1 : last]}
            first = 0
        first, last = first or max(1, number - CONTEXT_LINES), min(len(text), number + CONTEXT_LINES)
    yield {"first": first, "text": text[first - 1 : last]}


def file_name(file: str) -> str:
    """Return the file name to show beside the file's text."""
    return in_line(os.path.basename(file) or file)


def lines_of(file: str) -> list[str]:
    """Return the lines of a file, or of a notebook's cell, as Python knows them; empty if it has none."""
    return [line.rstrip("\n") for line in _cached_lines(file)]


def _cached_lines(file: str) -> list[str]:
    with contextlib.suppress(ValueError, OSError, SyntaxError):  # a file's name may be any string
        return linecache.getlines(file)
    return []


def line_label(file: str, number: int) -> str:
    """Return the text of a line, or its number if that is not known."""
    return in_line(source_line(file, number).strip()) or f"line {number}"


def source_line(file: str, number: int) -> str:
    """Return a line of a file; empty if it is not known."""
    return "".join(_cached_lines(file)[number - 1 : number]).rstrip("\n")


def function_label(site: Site) -> str:
    """Return the name of the function that a site is in; a comprehension belongs to its function."""
    return in_line(_COMPREHENSION.sub("", site.function.partition(" (by way of ")[0]))


def _functions_and_loops(file: str) -> list[Any]:
    """Return the functions, classes and loops of a file, outer ones first."""
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.For | ast.AsyncFor | ast.While
        found = [node for node in ast.walk(ast.parse("\n".join(lines_of(file)))) if isinstance(node, kinds)]
        return sorted(found, key=lambda node: (node.lineno, -(node.end_lineno or 0)))
    return []
