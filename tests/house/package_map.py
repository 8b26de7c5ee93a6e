"""The map of the packages, drawn from their imports; `python tests/house/package_map.py` writes it into its page."""

from __future__ import annotations

import re

from test_import_order import FACE, ROOT, SOURCE, files_under, needed, package_of, reading_order

PAGE = ROOT / "docs" / "how-it-runs.md"
BLOCK = re.compile(r"(?<=<!-- package_map -->\n```text\n).*?(?=```)", re.DOTALL)


def imported() -> dict[str, set[str]]:
    """Map each package to those that it imports directly."""
    found: dict[str, set[str]] = {name: set() for name in reading_order()}
    for file in files_under(SOURCE):
        found[package_of(file)] |= {package_of(other) for _, _, other in needed(file)} - {package_of(file)}
    return found


def below(package: str, graph: dict[str, set[str]]) -> set[str]:
    """Return all packages that one imports, directly or through others."""
    return graph[package].union(*[below(other, graph) for other in graph[package]])


def drawing() -> str:
    """Draw a line for each package, with the imported packages that no other imported package imports."""
    graph = imported()
    lines = []
    for package, needs in graph.items():
        deeper = set().union(*[below(other, graph) for other in needs])
        nearest = [other for other in graph if other in needs - deeper]
        name = "wengert" if package == FACE else package
        lines.append(f"{name:10} <- {', '.join(nearest)}".removesuffix(" <- ").rstrip())
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(BLOCK.sub(drawing(), PAGE.read_text()))
