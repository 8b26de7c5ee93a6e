"""Errors for the user have classes of `wengert.errors`, and each of these its entry on the page on troubleshooting."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from wengert import errors

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "troubleshooting.md"
CLASSES = [
    value.__name__
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, Exception) and value.__module__ == errors.__name__
]


def entries() -> dict[str, str]:
    """The text below each heading of the page."""
    parts = re.split(r"^#+ (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {heading: text.strip() for heading, text in zip(parts[1::2], parts[2::2], strict=True)}


def test_each_class_has_its_entry() -> None:
    found = entries()
    assert CLASSES and not [name for name in CLASSES if not found.get(name)]


def test_no_entry_names_an_unknown_class() -> None:
    assert {heading for heading in entries() if heading.endswith(("Error", "Warning"))} <= {*CLASSES}


def test_checks_of_arguments_raise_errors_of_wengert() -> None:
    """What users call directly raises no bare ValueError or TypeError, so that `except WengertError` catches it."""
    found = [
        f"{path.name}:{node.lineno}"
        for folder in ("api", "batching", "reverse", "tape")
        for path in sorted((ROOT / "src" / "wengert" / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise) and re.match(r"raise (Value|Type|Runtime|Index)Error\(", ast.unparse(node))
    ]
    assert not found
