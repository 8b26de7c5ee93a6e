"""Functions of pandas that some of its versions do not have."""

from __future__ import annotations

from typing import Any


def present(module: Any, *names: str) -> list[Any]:
    """Those of the functions of a module or class, by `names`, that the installed pandas has."""
    found = [getattr(module, name) for name in names if hasattr(module, name)]
    return [getattr(f, "__func__", f) for f in found]
