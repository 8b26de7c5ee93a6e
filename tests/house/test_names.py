"""A private name stands for one thing in its package, and few names for several in the whole."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "wengert"
MOST = 150
"""Names that may be defined in several modules: those of what users call, of formulas and of protocols."""
ALIKE: set[str] = set()
"""Private names that mean the same in several modules of a package."""


def defined(body: Iterable[ast.stmt]) -> Iterator[str]:
    """The names that the statements of a module define, also under a condition."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield statement.name
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = [node for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
            yield from [name.id for name in names if isinstance(name.ctx, ast.Store)]
        elif isinstance(statement, ast.If | ast.Try):
            yield from defined([*statement.body, *statement.orelse])


def modules_by_name() -> dict[str, list[str]]:
    found = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for name in sorted({*defined(ast.parse(path.read_text()).body)}):
            if not name.startswith("__"):
                found[name].append(path.relative_to(SOURCE).as_posix())
    return found


def test_no_private_name_stands_for_two_things_in_a_package() -> None:
    twice = {}
    for name, files in modules_by_name().items():
        packages = [file.split("/")[0] for file in files]
        if name.startswith("_") and len({*packages}) < len(packages) and name not in ALIKE:
            twice[name] = files
    assert not twice


def test_few_names_are_defined_in_several_modules() -> None:
    assert len([name for name, files in modules_by_name().items() if len(files) > 1]) < MOST
