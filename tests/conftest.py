"""What holds for every test: the set `fast`, and a garbage collector that does not look through what pytest keeps."""

from __future__ import annotations

import gc

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test that is not marked slow is fast."""
    for item in items:
        if "slow" not in item.keywords:
            item.add_marker(pytest.mark.fast)


def pytest_collection_finish() -> None:
    """The tests themselves live as long as the run: a `gc.collect()` in a test need not visit them."""
    gc.collect()
    gc.freeze()
