"""A part of the corpora; `python tests/house/cpython_corpus.py` and `rewrite_corpus.py` run the whole."""

from __future__ import annotations

import cpython_corpus as corpus
import pytest
import rewrite_corpus

from wengert.hooks.code_swap import HOOKS
from wengert.hooks.tracer import run  # noqa: F401 -- fills HOOKS
from wengert.rewrite import instrument


@pytest.mark.skipif(not corpus.is_installed(), reason="this Python came without its tests")
@pytest.mark.parametrize("module", corpus.FAST.split())
def test_what_passes_natively_passes_traced(module: str) -> None:
    passed, others = corpus.compare(module)
    assert passed > 0
    assert [verdict.name for verdict in others] == []


@pytest.mark.parametrize("module", "contextlib heapq inspect statistics unittest.case scipy.optimize._optimize".split())
def test_what_is_rewritten_is_without_fault(module: str) -> None:
    codes = [code for file in rewrite_corpus.files(module) for code in rewrite_corpus.codes_of(file)]
    assert codes
    assert all(rewrite_corpus.stack_fault(code) is None for code in codes)  # else the rules are wrong, not the rewriter
    assert rewrite_corpus.check(codes, HOOKS, instrument) == []
