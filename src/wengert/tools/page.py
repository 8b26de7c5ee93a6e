"""A page as one HTML file, which loads nothing: its data as JSON, beside the scripts that draw them."""

from __future__ import annotations

import html
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

SCRIPTS = (
    "core.js",
    "folds.js",
    "source.js",
    "list.js",
    "layout.js",
    "routes.js",
    "graph.js",
    "pictures.js",
    "measured.js",
    "start.js",
)


def page(data: dict[str, Any]) -> str:
    """Return the HTML of the page that shows `data`, which has a title."""
    parts = {
        "title": html.escape(data["title"]),
        "style": _asset("page.css"),
        "program": "\n".join(map(_asset, SCRIPTS)),
        "data": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),  # else "</script>" in a string ends it
    }
    return re.sub("@(title|style|program|data)@", lambda found: parts[found[1]], _asset("page.html"))


class InlinePage:
    """A page that a notebook shows in the output of its cell.

    It loads nothing, and its scripts run in a frame of their own.
    """

    def __init__(self, data: dict[str, Any], height: int = 640) -> None:
        self.title, self.height, self._text = data["title"], height, page(data)

    def __repr__(self) -> str:
        return f"<page of {self.title}>"

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self.height}px;border:1px solid #8888"
        title, text = html.escape(self.title), html.escape(self._text)
        return f'<iframe title="{title}" sandbox="allow-scripts" style="{style}" srcdoc="{text}"></iframe>'


def write_page(path: str | os.PathLike[str], data: dict[str, Any]) -> Path:
    """Write the page of `data` to the file `path`; return its Path."""
    file = Path(path)
    file.write_text(page(data), encoding="utf-8")
    return file


@cache
def _asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
