"""The README's reading order is the import order, and the rules use the public door."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "wengert"
RULES = ROOT / "rules" / "wengert_rules"


def reading_order() -> list[str]:
    section = (ROOT / "README.md").read_text().split("\n## Reading the code\n")[1].split("\n## ")[0]
    return re.findall(r"`([\w/]+\.py)`", section)


def files_under(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.py")}


def imports(path: Path, package: str) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of each import anywhere in a file; `from a import b` gives a.b.

    Not those for annotations only: two files may speak of each other's types.
    """
    for node in executed(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def executed(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not (isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")):
        for child in ast.iter_child_nodes(node):
            yield from executed(child)


def file_of(name: str) -> str | None:
    """The file that `wengert.a.b` comes from: a/b.py, a/b/__init__.py, or b is a name in a.py."""
    top, *steps = name.split(".")
    if top != "wengert":
        return None
    for depth in range(len(steps), -1, -1):
        stem = "/".join(steps[:depth])
        for candidate in (f"{stem}.py", f"{stem}/__init__.py".lstrip("/")):
            if (SOURCE / candidate).is_file():
                return candidate
    return None


def misplaced(file: str, order: list[str]) -> list[str]:
    folder = Path(file).parent.as_posix()
    package = "wengert" if folder == "." else "wengert." + folder.replace("/", ".")
    found = []
    for line, name in imports(SOURCE / file, package):
        # the rules stand just below the door that they come in through
        needed = "extend.py" if name.split(".")[0] == "wengert_rules" else file_of(name)
        if needed and order.index(needed) >= order.index(file):
            found.append(f"{file}:{line} imports {name}, which stands below it")
    return found


def test_reading_order_names_every_module_once() -> None:
    order = reading_order()
    assert len(order) == len(set(order))
    assert set(order) == files_under(SOURCE)


@pytest.mark.parametrize("file", sorted(files_under(SOURCE)))
def test_module_imports_only_from_above(file: str) -> None:
    assert not misplaced(file, reading_order())


@pytest.mark.parametrize("file", sorted(files_under(RULES)))
def test_rules_import_the_public_door_only(file: str) -> None:
    allowed = {"numpy", "scipy", "wengert_rules"} | set(sys.stdlib_module_names)
    strangers = [
        f"{file}:{line} imports {name}"
        for line, name in imports(RULES / file, "wengert_rules")
        if name.split(".")[0] not in allowed and not f"{name}.".startswith("wengert.extend.")
    ]
    assert not strangers


def test_no_module_hides_a_public_name_or_a_library() -> None:
    assert not {"grad", "trace", "rules", "compile"} & {Path(file).stem for file in files_under(SOURCE)}
    assert not {"numpy", "math", "operator", "random"} & {Path(file).stem for file in files_under(RULES)}


def test_a_relative_or_late_import_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(
        "def f():\n    from .b import c\n    from . import d\n    import wengert.e\n    from ..g import h\n"
    )
    assert [name for _, name in imports(file, "wengert.p")] == [
        "wengert.p.b.c",
        "wengert.p.d",
        "wengert.e",
        "wengert.g.h",
    ]
