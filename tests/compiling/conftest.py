"""A mistake of ours in making code is raised, where for users the function runs as it is, or as it was recorded."""

from __future__ import annotations

import pytest

from wengert.compiling.compile import Compiled
from wengert.compiling.loops import lowering


@pytest.fixture(autouse=True)
def mistakes_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def raised(error: Exception) -> None:
        raise error

    monkeypatch.setattr(lowering, "warn_of_bug", raised)
    monkeypatch.setattr(Compiled, "mistakes", ())
