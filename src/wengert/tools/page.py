"""A page as one HTML file, which loads nothing: its data as JSON, beside the scripts that draw them."""

from __future__ import annotations

import html
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

SCRIPTS = ("core.js", "source.js", "list.js", "layout.js", "graph.js", "pictures.js", "measured.js", "start.js")


def page(data: dict[str, Any]) -> str:
    """Return the HTML of the page that shows `data`, which has a title."""
    parts = {
        "title": html.escape(data["title"]),
        "style": _asset("page.css"),
        "program": "\n".join(map(_asset, SCRIPTS)),
        "data": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),  # else "</script>" in a string ends it
    }
    return re.sub("@(title|style|program|data)@", lambda found: parts[found[1]], _asset("page.html"))


def write_page(path: str | os.PathLike[str], data: dict[str, Any]) -> Path:
    """Write the page of `data` to the file `path`; return its Path."""
    file = Path(path)
    file.write_text(page(data), encoding="utf-8")
    return file


@cache
def _asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
