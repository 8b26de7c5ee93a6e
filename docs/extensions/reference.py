"""The overview of the reference, which repeats the tables of the pages on each subject."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

MARK = "% tables of the subjects"
SUBJECTS = ["derivatives", "checks", "rules", "tapes", "tensor", "errors"]


def tables(page: str) -> str:
    """The text of a page of the reference with headings one level lower, and without pages of its own."""
    return re.sub(r"^#", "##", page.replace("   :toctree: names\n", ""), flags=re.MULTILINE)


def collect(app: Any, docname: str, source: list[str]) -> None:
    """Replace the mark in the overview by the tables."""
    if docname == "api/index":
        pages = [(Path(app.srcdir) / "api" / f"{name}.md").read_text(encoding="utf-8") for name in SUBJECTS]
        source[0] = source[0].replace(MARK, "\n".join(tables(page) for page in pages))


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", collect)
    return {"parallel_read_safe": True}
