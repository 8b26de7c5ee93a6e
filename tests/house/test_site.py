"""The documentation site has a place for every page and every public name; `.ci/run` builds it without warnings."""

from __future__ import annotations

import importlib
import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

import wengert as wg

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = {path: path.read_text(encoding="utf-8") for path in sorted((DOCS / "api").glob("*.md"))}
MODULES = [wg, *(part for name in wg.__all__ if inspect.ismodule(part := getattr(wg, name)))]


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
    lines = [line for block in blocks for line in block.splitlines() if line and line[0] != ":"]
    listed = Counter(re.sub(r".*<(.*)>", r"\1", line) for line in lines)
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    assert set(listed.values()) == {1}
    assert set(listed) - {"gallery/index"} == pages - {"index"}


def test_a_docstring_becomes_paragraphs_with_links(monkeypatch) -> None:
    """One for each sentence on a parameter and each label; what names no public thing stays code, also `*args`."""
    monkeypatch.syspath_prepend(str(DOCS / "extensions"))
    paragraphs = importlib.import_module("docstrings").paragraphs
    lines = ["f(*args), as in", "`grad`.", "`strict`: else |x|_1.", "Errors: RuleError, `x = 1`."]
    assert paragraphs(lines, {"strict"}) == [
        "f(\\*args), as in \\ :py:obj:`~wengert.grad`\\ .",
        "",
        "\\ ``strict``\\ : else \\|x\\|\\_1.",
        "",
        "**Errors.** :py:obj:`~wengert.RuleError`, \\ ``x = 1``\\ .",
        "",
    ]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_public_name_is_in_the_reference(module) -> None:
    """Once: what stands in docs/api is what `__all__` has; a part of the package need not say again what `wg` says."""
    elsewhere = {part.__name__.rpartition(".")[2] for part in MODULES} if module is wg else same_in(wg, module)
    names = documented(module.__name__)
    assert set(names) == set(module.__all__) - elsewhere
    assert len(names) == len(set(names))


def same_in(whole, part) -> set[str]:
    return {name for name in part.__all__ if getattr(whole, name, None) is getattr(part, name)}
