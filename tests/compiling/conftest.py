"""A mistake of ours in making loops is raised, where for users the code stays as it was recorded."""

from __future__ import annotations

import pytest

from wengert.compiling.loops import lowering


@pytest.fixture(autouse=True)
def mistakes_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def raised(error: Exception) -> None:
        raise error

    monkeypatch.setattr(lowering, "mistaken", raised)
