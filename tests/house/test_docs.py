"""Every ```python block of the README and the docs runs, in order, and prints what the ```text block after it says.

A file's blocks share one namespace; numbers are compared to nine digits. `python tests/house/test_docs.py` writes the
outputs anew.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

import wengert as wg

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n?^```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
NEEDS = {"README.md": "dask", "scale.md": "dask", "sampling.md": "mici"}  # pages with code that needs an optional extra
INCLUDE = re.compile(r"^```\{include\} (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def output(code: str, line: int, page: Path, namespace: dict[str, Any]) -> str:
    """What a block prints; errors name its line in the page."""
    printed = io.StringIO()
    program = compile("\n" * (line - 1) + code, page.relative_to(ROOT).as_posix(), "exec", dont_inherit=True)
    with contextlib.redirect_stdout(printed):
        exec(program, namespace)
    return "".join(f"{text.rstrip()}\n" for text in printed.getvalue().splitlines())


def code_of(text: str) -> list[str]:
    """The lines of a page with all but its blocks blank: what reads a function's source finds it."""
    lines = [""] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1))
        code = block[1].splitlines()
        lines[first : first + len(code)] = code
    return [f"{line}\n" for line in lines]


def rounded(text: str) -> str:
    """The text with its numbers to nine digits, and addresses left out."""
    text = re.sub(r"0x[0-9a-f]{6,}", "0x…", text)
    return re.sub(r"-?\d+\.\d*(?:e[+-]?\d+)?", lambda number: f"{float(number[0]):.9g}", text)


def run(page: Path) -> list[tuple[str | None, str]]:
    """(stated output, real output) of each block of a page."""
    text, file = page.read_text(), page.relative_to(ROOT).as_posix()
    linecache.cache[file] = (len(text), None, code_of(text), file)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    found = []
    with wg.rules.scope():
        for block in BLOCK.finditer(text):
            line = text.count("\n", 0, block.start(1)) + 1
            found.append((block[2], output(block[1], line, page, namespace)))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_print_what_the_page_says(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(NEEDS.get(page.name, "wengert"))
    monkeypatch.chdir(ROOT)
    for stated, printed in run(page):
        assert rounded(printed) == rounded(stated or "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    words = CODE.sub("", page.read_text())
    assert not [link for link in LINK.findall(words) if not (page.parent / link).exists()]


def test_texts_at_which_an_included_part_begins_or_ends_are_there() -> None:
    """Sphinx alone says so otherwise, and minutes later."""
    includes = [(page, *found) for page in PAGES for found in INCLUDE.findall(page.read_text())]
    assert includes
    for page, included, options in includes:
        text = (page.parent / included).read_text()
        marks = re.findall(r'^:(?:start-after|end-before): "(.*)"', options, re.MULTILINE)
        assert not [mark for mark in marks if mark not in text]


def test_idea_fits_on_a_page() -> None:
    assert len((ROOT / "docs" / "idea.md").read_text().splitlines()) < 100


def test_one_value_is_followed_through_few_files() -> None:
    """A newcomer's way from `grad(f)(x)` to its gradient: fifteen files of the package at most, and they are there."""
    way, section, aside = (ROOT / "docs" / "how-it-runs.md").read_text().partition("## forward: ")
    named = set(re.findall(r"`([\w/]+\.py)`", way + aside.partition("\n## ")[2]))
    assert section and 0 < len(named) <= 15
    assert not [file for file in named if not (ROOT / "src" / "wengert" / file).exists()]


def test_every_corpus_has_its_line() -> None:
    """tests/README.md says of each file of tests that is no test what it is for, and of none that is gone."""
    folder = ROOT / "tests"
    named = {name for name in re.findall(r"`([\w*<>/]+\.py)`", (folder / "README.md").read_text()) if "<" not in name}
    patterns = {name if "/" in name or name == "conftest.py" else f"*/{name}" for name in named}
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*.py")}
    assert not {file for file in files if "test_" not in file and not any(fnmatch(file, name) for name in patterns)}
    assert not {name for name in patterns if not any(fnmatch(file, name) for file in files)}


FOLDERS = ["src", "rules", "tests", "examples", "benchmarks"]
SEEN_FROM = ["", "src/wengert", "rules/wengert_rules", "tests"]
USERS = {"model.py"}  # the reader's own file


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    named = {*re.findall(r"`([\w/]+\.py)`", page.read_text())} - USERS
    known = {path.name for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    seen = {name for name in named if any((ROOT / folder / name).exists() for folder in SEEN_FROM)}
    assert not {name for name in named - seen if "/" in name or name not in known}


def test_the_examples_that_the_readme_names_are_there() -> None:
    section = (ROOT / "README.md").read_text().split("\n## Run it\n")[1].split("\n## ")[0]
    named = re.findall(r"[`/](\w+\.py)\b", section)
    assert named and not [name for name in named if not (ROOT / "examples" / name).exists()]


SHARED = {"corpus", "fuzz", "house", "mutants", "nesting", "packages", "samples", "scipy_rules", "wild"}


def test_the_folders_are_those_of_the_source() -> None:
    """And those that all share; no two files have one name, for they are imported by it."""
    packages = {path.parent.name for path in (ROOT / "src" / "wengert").glob("*/__init__.py")}
    files = list((ROOT / "tests").glob("*/*.py"))
    assert {path.parent.name for path in files} == packages | SHARED
    assert len({path.name for path in files}) == len(files)


def rewrite(page: Path) -> None:
    """State the real outputs in a page."""
    printed = iter([real for _, real in run(page)])

    def stated(block: re.Match[str]) -> str:
        new = next(printed)
        return f"```python\n{block[1]}```\n" + (f"```text\n{new}```\n" if new else "")

    page.write_text(BLOCK.sub(stated, page.read_text()))


if __name__ == "__main__":
    os.chdir(ROOT)
    for page in PAGES:
        rewrite(page)
