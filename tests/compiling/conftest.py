"""Raise errors in generating code; for users the function would run uncompiled, or as recorded."""

from __future__ import annotations

import pytest

from wengert.compiling.compile import CompiledFunction
from wengert.compiling.loops import lowering


@pytest.fixture(autouse=True)
def errors_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def raised(error: Exception) -> None:
        raise error

    monkeypatch.setattr(lowering, "warn_of_bug", raised)
    monkeypatch.setattr(CompiledFunction, "generation_errors", ())
