"""The documentation site has a place for every page and every public name; `.ci/run` builds it without warnings."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import wengert as wg

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = {path: path.read_text(encoding="utf-8") for path in sorted((DOCS / "api").glob("*.md"))}
MODULES = {"tensor", "extend", "errors", "dask"}


def documented(module: str) -> list[str]:
    """The names of `module` that the pages of the reference describe."""
    names, current = [], ""
    for line in "\n".join(REFERENCE.values()).splitlines():
        if found := re.match(r"\.\. currentmodule:: ([\w.]+)", line):
            current = found[1]
        elif (found := re.match(r"\.\. auto\w+:: (\w+)", line)) and current == module:
            names.append(found[1])
    return names


def test_every_page_is_in_the_contents() -> None:
    """A new page needs its line in docs/index.md."""
    blocks = re.findall(r"```{toctree}\n(.*?)```", (DOCS / "index.md").read_text(encoding="utf-8"), re.DOTALL)
    listed = Counter(line for block in blocks for line in block.splitlines() if line and line[0] != ":")
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    assert set(listed.values()) == {1}
    assert set(listed) - {"gallery/index"} == pages - {"index"}


@pytest.mark.parametrize("module", [wg, wg.extend, wg.tensor, wg.dask], ids=lambda module: module.__name__)
def test_every_public_name_is_in_the_reference(module) -> None:
    """Once: what stands in docs/api is what `__all__` has; `extend` need not say again what `wg` says."""
    elsewhere = {wg: MODULES, wg.extend: set(wg.__all__)}.get(module, set())
    names = documented(module.__name__)
    assert set(names) == set(module.__all__) - elsewhere
    assert len(names) == len(set(names))
