"""A docstring begins with a verb, or with the noun of the thing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "rules").rglob("*.py")])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_no_docstring_begins_with_a_relative_clause(file: Path) -> None:
    assert not re.findall(r'^\s*"""What\b.*', file.read_text(), re.MULTILINE)
