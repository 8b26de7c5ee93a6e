"""What holds for every test: the set `fast`, a garbage collector that does not look through what pytest keeps, and
interrupts that are heard."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.remove(str(Path(__file__).parent))  # pytest's: else the folder `sparse` is the package that Dask looks for

signal.signal(signal.SIGINT, signal.default_int_handler)  # where a shell began this in the background, they are ignored


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """The tests live as long as the run: the collector need not visit them, now or at a `gc.collect()` in one."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test that is not marked slow is fast."""
    for item in items:
        if item.get_closest_marker("slow") is None:
            item.add_marker("fast")
