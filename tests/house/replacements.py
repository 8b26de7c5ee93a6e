"""The replacements on the pages docs/coming-from: rows of tables, a peer's code on the left and wengert's on the right.

A peer's blocks are fenced as `py`, wengert's as `python`. What a peer's code gives stands in tests/house/replacements;
`python tests/house/replacements.py autograd`, where autograd is installed, writes it anew.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = Path(__file__).with_name("replacements")
ROW = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \|", re.MULTILINE)


def text_of(page: str) -> str:
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def rows(page: str) -> list[tuple[str, str]]:
    """The code in the first two columns of each row that begins with code."""
    return ROW.findall(text_of(page))


def namespace(page: str, fence: str) -> dict[str, Any]:
    """What the page's blocks of that language define."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in re.findall(rf"^```{fence}\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL):
        exec(block, names)
    return names


def plain(value: Any) -> Any:
    """Numbers, and lists and dictionaries of them, as JSON has them; a complex number is a pair, all else is None."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(part) for part in value]
    array = np.asarray(value.detach() if hasattr(value, "detach") else value)
    if array.dtype.kind not in "biufc":
        return None
    return np.stack([array.real, array.imag], -1).tolist() if array.dtype.kind == "c" else array.tolist()


def write(peer: str) -> None:
    """Run the peer's side of a page, and keep what it gives."""
    names = namespace(f"coming-from/{peer}", "py")
    found = {theirs: plain(eval(theirs, names)) for theirs, _ in rows(f"coming-from/{peer}")}
    lines = ",\n".join(f"{json.dumps(code)}: {json.dumps(value)}" for code, value in found.items())
    (FOLDER / f"{peer}.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    for peer in sys.argv[1:]:
        write(peer)
