"""Packages import in the order of CONTRIBUTING.md; no two files import each other; rules use the public door."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "wengert"
RULES = ROOT / "rules" / "wengert_rules"
FACE = "the face"
APART = {"tensor": {"errors", "values", "rulebook"}}  # what a package beside the others may import


def reading_order() -> list[str]:
    """The packages in the order in which they may be read, each above those that import it."""
    section = (ROOT / "CONTRIBUTING.md").read_text().split("\n## Reading the code\n")[1].split("\n## ")[0]
    return ["errors", *re.findall(r"^\d+\. `(\w+)/`", section, re.MULTILINE), FACE]


def files_under(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.py")}


def package_of(file: str) -> str:
    """The package that a file belongs to; what stands beside the packages is the face, but for the errors."""
    top = Path(file).parts[0]
    return top if top in files_and_folders() else "errors" if file == "errors.py" else FACE


@cache
def files_and_folders() -> set[str]:
    return {path.name for path in SOURCE.iterdir() if path.is_dir()}


def imports(path: Path, package: str) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of each import in a file, also of those for annotations; `from a import b` gives a.b."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


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


def needed(file: str) -> Iterator[tuple[int, str, str]]:
    """(line, name, file) of what a file of the package imports from it."""
    folder = Path(file).parent.as_posix()
    package = "wengert" if folder == "." else "wengert." + folder.replace("/", ".")
    for line, name in imports(SOURCE / file, package):
        found = "extend.py" if name.split(".")[0] == "wengert_rules" else file_of(name)
        if found is not None:
            yield line, name, found


def may_import(package: str) -> set[str]:
    order = reading_order()
    return APART.get(package, set(order[: order.index(package)]) - set(APART))


@pytest.mark.parametrize("file", sorted(files_under(SOURCE) - {"__init__.py"}))
def test_a_package_imports_from_those_above_it(file: str) -> None:
    package = package_of(file)
    wrong = [
        f"{file}:{line} imports {name}"
        for line, name, other in needed(file)
        if package_of(other) != package and package_of(other) not in may_import(package)
    ]
    assert not wrong


def test_every_package_has_its_line_in_contributing() -> None:
    order = reading_order()
    assert len(order) == len(set(order))
    assert set(order) == {FACE, "errors", *files_and_folders() - {"__pycache__"}}


def test_the_map_of_the_packages_is_drawn_from_their_imports() -> None:
    import package_map

    assert package_map.BLOCK.search(package_map.PAGE.read_text())[0] == package_map.drawing()  # type: ignore[index]


def test_no_two_files_import_each_other() -> None:
    graph = {file: {other for _, _, other in needed(file)} - {file} for file in files_under(SOURCE)}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize("file", sorted(files_under(RULES)))
def test_rules_import_the_public_door_only(file: str) -> None:
    packages = {"pandas", "bottleneck", "xarray", "pint", "pywt", "arch", "wrapt", "numexpr", "autograd"}
    named_after = packages & {Path(file).parts[0].removesuffix(".py")}
    allowed = {"numpy", "scipy", "wengert_rules"} | named_after | set(sys.stdlib_module_names)
    strangers = [
        f"{file}:{line} imports {name}"
        for line, name in imports(RULES / file, "wengert_rules")
        if name.split(".")[0] not in allowed and not f"{name}.".startswith("wengert.extend.")
    ]
    assert not strangers


def test_no_module_hides_a_public_name_or_a_library() -> None:
    beside = {file for file in files_under(SOURCE) if "/" not in file}
    assert beside == {"__init__.py", "__main__.py", "dask.py", "errors.py", "extend.py", "optim.py"}
    assert not {"grad", "trace", "rules", "compile", "memory"} & files_and_folders()
    assert not {"numpy", "math", "operator", "random"} & {Path(file).stem for file in files_under(RULES)}


def test_a_relative_or_late_import_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(
        "if TYPE_CHECKING:\n    from .a import b\n"
        "def f():\n    from .b import c\n    from . import d\n    import wengert.e\n    from ..g import h\n"
    )
    assert [name for _, name in imports(file, "wengert.p")] == [
        "wengert.p.a.b",
        "wengert.p.b.c",
        "wengert.p.d",
        "wengert.e",
        "wengert.g.h",
    ]
