"""Somebody decided about every public function of NumPy and SciPy, and docs/functions.md says what."""

from __future__ import annotations

import importlib
import re

import numpy as np
import pytest
import scipy
from classified import PAGE, TABLES, entries, kind_of, page, public, release


@pytest.mark.parametrize("table", TABLES)
def test_every_public_function_is_classified(table: str) -> None:
    undecided = [f"{entry.module}.{entry.name}" for entry in entries(table) if not entry.kind]
    assert not undecided, "give it a rule, or a word in tests/house/functions"


@pytest.mark.parametrize("table", TABLES)
def test_no_function_is_classified_twice(table: str) -> None:
    """What has a rule stands in no table, and no name in two."""
    said = importlib.import_module(f"functions.{table}")
    names = [name for names in (*said.TRACED, *said.CONSTANT, *said.REFUSED) for name in names.split()]
    assert len(names) == len(set(names))
    found = {name: f for module in said.MODULES for name, f in public(module)}
    assert not [name for name in names if name in found and kind_of(found[name])]


def test_the_page_says_what_is_so() -> None:
    text = PAGE.read_text()
    of = re.search(r"of NumPy (\S+) and SciPy (\S+);", text)
    assert of is not None
    if of.groups() != (release(np), release(scipy)):
        pytest.skip("the page is written of other releases")
    assert text == page(), "run python tests/house/classified.py"
