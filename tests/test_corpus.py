"""A part of CPython's own tests under trace; `python tests/cpython_corpus.py` runs the whole."""

from __future__ import annotations

import cpython_corpus as corpus
import pytest


@pytest.mark.skipif(not corpus.is_installed(), reason="this Python came without its tests")
@pytest.mark.parametrize("module", corpus.FAST.split())
def test_what_passes_natively_passes_traced(module: str) -> None:
    passed, others = corpus.compare(module)
    assert passed > 0
    assert [verdict.name for verdict in others] == []
