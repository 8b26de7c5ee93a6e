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
REFERENCE = {path.stem: path.read_text(encoding="utf-8") for path in sorted((DOCS / "api").glob("*.md"))}
MODULES = [wg, *(part for name in wg.__all__ if inspect.ismodule(part := getattr(wg, name)))]


def documented(module: str) -> list[str]:
    """The names of `module` in the tables of the reference; each has a page of its own."""
    names, current = [], ""
    for line in "\n".join(REFERENCE.values()).splitlines():
        if found := re.match(r"\.\. currentmodule:: ([\w.]+)", line):
            current = found[1]
        elif (found := re.fullmatch(r"   (\w+)", line)) and current == module:
            names.append(found[1])
    return names


def test_every_page_is_in_the_contents() -> None:
    """A new page needs its line in docs/index.md."""
    blocks = re.findall(r"```{toctree}\n(.*?)```", (DOCS / "index.md").read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line and line[0] != ":"]
    listed = Counter(re.sub(r".*<(.*)>", r"\1", line) for line in lines)
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    assert set(listed.values()) == {1}
    assert set(listed) == pages - {"index"}


def test_the_overview_repeats_the_tables_of_each_subject(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "extensions"))
    reference = importlib.import_module("reference")
    assert {*reference.SUBJECTS} == REFERENCE.keys() - {"index"}
    assert reference.MARK in REFERENCE["index"]
    tables = "\n".join(reference.tables(REFERENCE[subject]) for subject in reference.SUBJECTS)
    assert "\n### Trees of parameters\n" in tables and ":toctree:" not in tables


def test_each_name_of_a_table_has_a_page() -> None:
    tables = [block for page in REFERENCE.values() for block in page.split(".. autosummary::\n")[1:]]
    assert tables and all([table.startswith("   :toctree: names\n") for table in tables])


@pytest.mark.parametrize("word", ["string", "integer", "float", "cache", "in-place write"])
def test_a_word_that_users_search_for_leads_to_a_page(word: str) -> None:
    """It is in the index, and in a table whose links lead somewhere."""
    (entries,) = re.findall(r"^```{index} (.*)\n```", REFERENCE["index"], re.MULTILINE)
    (row,) = re.findall(rf"^\| {word} \| (.*) \|$", REFERENCE["index"], re.MULTILINE)
    assert word in entries.split(", ")
    for page, heading in re.findall(r"\]\(\.\./(.+?\.md)(?:#(.+?))?\)", row):
        text = (DOCS / page).read_text(encoding="utf-8")
        headings = {re.sub(r"[^\w -]", "", line).strip().lower().replace(" ", "-") for line in text.splitlines()}
        assert not heading or heading in headings


def test_every_example_is_on_a_card_of_the_gallery() -> None:
    """Under one topic: a new example needs its line in docs/gallery.md."""
    blocks = re.findall(r"```{examples}\n(.*?)```", (DOCS / "gallery.md").read_text(encoding="utf-8"), re.DOTALL)
    listed = [name for block in blocks for name in block.split()]
    assert sorted(listed) == sorted(path.stem for path in (DOCS.parent / "examples").glob("*.py"))


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


def test_the_sections_of_a_docstring_keep_their_entries(monkeypatch) -> None:
    """With links to errors and related names; examples stay as they are."""
    monkeypatch.syspath_prepend(str(DOCS / "extensions"))
    in_sections = importlib.import_module("docstrings").in_sections
    lines = [
        "Do it.", "", "Parameters:", "    *args (int | None): As for", "        `grad`.", "Raises:",
        "    RuleError: `args` is empty.", "See Also:", "    grad, lens", "", "Examples:", "    >>> 2 * 3", "    6",
    ]  # fmt: skip
    assert [line for line in in_sections(lines, {"args"}) if line] == [
        "Do it.", "Parameters:", "    *args (int | None): As for \\ :py:obj:`~wengert.grad`\\ .", "Raises:",
        "    ~wengert.RuleError: \\ ``args``\\  is empty.", "See Also:",
        "    :py:obj:`~wengert.grad`, :py:obj:`lens`", "Examples:", "    >>> 2 * 3", "    6",
    ]  # fmt: skip


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_public_name_is_in_the_reference(module) -> None:
    """Once: what stands in docs/api is what `__all__` has; a part of the package need not say again what `wg` says."""
    elsewhere = {part.__name__.rpartition(".")[2] for part in MODULES} if module is wg else same_in(wg, module)
    names = documented(module.__name__)
    assert set(names) == set(module.__all__) - elsewhere
    assert len(names) == len(set(names))


def same_in(whole, part) -> set[str]:
    return {name for name in part.__all__ if getattr(whole, name, None) is getattr(part, name)}
