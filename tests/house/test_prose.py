"""Rules of writing that a program can check: of docstrings, and of the pages of the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "rules").rglob("*.py")])
FOLDERS = ["docs", "docs/how-to", "docs/coming-from", "docs/design"]
PAGES = [ROOT / "README.md", *[page for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md"))]]

LONGEST = 30
"""The largest number of words in a sentence."""
INSTEAD = {
    r"whole numbers?": "integer",
    r"texts": "strings",
    r"numbers? of floating point": "float",
    r"in (?:the )?place of": "instead of",
    r"(?:an?|no|any|some) \w+ of (?:NumPy|SciPy|Python|the user)'s": "a NumPy ..., or a ... of NumPy",
    r"(?:and|or) (?:its|their) kin": "and similar functions",
    r"by way of": "through",
    r"runs? as (?:it is|they are)": "runs uncompiled, or unchanged",
    r"(?:is|are) refused": "raises an error",
    r"(?:is|are) told": "who tells whom",
    r"what (?:stands|is there|is wanted|is left)": "the noun",
}
"""Words to avoid, as regular expressions, and what to write instead."""


class Sentence(NamedTuple):
    """A sentence of a page, and the line on which it begins."""

    line: int
    text: str

    @property
    def size(self) -> int:
        return len(re.findall(r"\w[\w'’.-]*", self.text))


def prose(page: str) -> list[str]:
    """Return the lines of a page without code and the targets of links; lines in a block of code are empty."""
    is_code, lines = False, []
    for line in page.splitlines():
        is_fence = line.lstrip().startswith(("```", "~~~"))
        is_code ^= is_fence
        is_indented = line.startswith("    ") and (not lines or not lines[-1])
        shown = re.sub(r"`[^`]*`", "code", line)
        lines.append("" if is_code or is_fence or is_indented else re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", shown))
    return lines


def paragraphs(page: str) -> Iterator[list[tuple[int, str]]]:
    """Yield the numbered lines of each paragraph and list item, without headings, tables and lists of links."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate([*prose(page), ""], 1):
        is_item = re.match(r"\s*(?:[-*]|\d+\.) ", line)
        is_apart = not line.strip() or line.startswith(("|", "#", "<", "%", ":", "("))
        if block and (is_item or is_apart):
            yield block
            block = []
        if not is_apart and " · " not in line:
            block.append((number, line))


def sentences(page: str) -> Iterator[Sentence]:
    """Yield the sentences of a page."""
    for block in paragraphs(page):
        begin, words = block[0][0], list[str]()
        for number, line in block:
            for word in line.split():
                begin = begin if words else number
                words.append(word)
                if re.search(r"(?<!e\.g)(?<!i\.e)[.!?][)\"'*_]*$", word):
                    yield Sentence(begin, " ".join(words))
                    words = []
        if words:
            yield Sentence(begin, " ".join(words))


def long_sentences(page: str) -> list[str]:
    """Describe the sentences of a page that are too long, each with its line."""
    long = [each for each in sentences(page) if each.size > LONGEST]
    return [f"{each.line}: {each.size} words, write two sentences: {each.text[:60]}..." for each in long]


def words_to_avoid(page: str) -> list[str]:
    """Describe the words to avoid on a page, each with its line and with what to write instead."""
    headless = [each for each in sentences(page) if re.match(r"What(?:ever)?\b.*[^?]$", each.text)]
    found = [f"{each.line}: '{each.text[:30]}...', begin with a noun" for each in headless]
    for number, line in enumerate(prose(page), 1):
        for pattern, instead in INSTEAD.items():
            words = re.finditer(rf"\b{pattern}\b", line, re.IGNORECASE)
            found += [f"{number}: '{word[0]}', write: {instead}" for word in words]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_is_in_plain_words_and_short_sentences(page: Path) -> None:
    name, text = page.relative_to(ROOT).as_posix(), page.read_text(encoding="utf-8")
    found = [f"{name}:{each}" for each in (*long_sentences(text), *words_to_avoid(text))]
    assert not found, "\n".join(found)


def test_a_sentence_and_a_word_are_found_at_their_lines() -> None:
    """In lists, too, but not in code, tables, headings and lists of links."""
    long = "word " * 41
    apart = f"# {long}\n\n| {long} |\n\n```python\n{long} texts\n```\n\n"
    page = f"{apart}    {long}\n\nOne. Two `whole numbers` are\n{long}. A text.\n- {long}"
    assert [each.split(",")[0] for each in long_sentences(page)] == ["11: 44 words", "13: 41 words"]
    assert long_sentences(f"[{long}](a.md) · [{long}](b.md)") == []
    assert words_to_avoid("`texts` are\nin the place of whole numbers") == [
        "2: 'whole numbers', write: integer",
        "2: 'in the place of', write: instead of",
    ]
    assert words_to_avoid("Yes. What is it? What is it is it.") == ["1: 'What is it is it....', begin with a noun"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_no_docstring_begins_with_a_relative_clause(file: Path) -> None:
    assert not re.findall(r'^\s*"""What\b.*', file.read_text(), re.MULTILINE)
