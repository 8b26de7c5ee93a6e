"""One HTML file of all that a page shows: its data as JSON beside the program that draws them; nothing is loaded."""

from __future__ import annotations

import html
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

PARTS = ("core.js", "source.js", "list.js", "layout.js", "graph.js", "pictures.js", "measured.js", "start.js")


def page(data: dict[str, Any]) -> str:
    """The text of the page that shows `data`, which has a title."""
    parts = {
        "title": html.escape(data["title"]),
        "style": _part("page.css"),
        "program": "\n".join(map(_part, PARTS)),
        "data": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),  # else "</script>" in a text ends it
    }
    return re.sub("@(title|style|program|data)@", lambda found: parts[found[1]], _part("page.html"))


def write(path: str | os.PathLike[str], data: dict[str, Any]) -> Path:
    """Write the page of `data` to the file `path`; returns its Path."""
    file = Path(path)
    file.write_text(page(data), encoding="utf-8")
    return file


@cache
def _part(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
