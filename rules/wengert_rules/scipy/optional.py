"""Functions of SciPy that some of its versions do not have, or have elsewhere."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def present(*paths: str) -> list[Callable[..., Any]]:
    """Those of the functions at these dotted paths below `scipy` that the installed SciPy has."""
    found = [_at(*path.rpartition(".")[::2]) for path in paths]
    return [f for k, f in enumerate(found) if f is not None and not any([f is other for other in found[:k]])]


def _at(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(f"scipy.{module}"), name, None)
    except ImportError:
        return None
