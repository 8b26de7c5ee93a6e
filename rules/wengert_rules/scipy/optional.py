"""Functions of SciPy that some of its versions do not have, or have elsewhere."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def present(*paths: str) -> list[Callable[..., Any]]:
    """Those of the functions at these dotted paths below `scipy` that the installed SciPy has."""
    found = [_at(*path.rpartition(".")[::2]) for path in paths]
    return [f for k, f in enumerate(found) if f is not None and not any([f is other for other in found[:k]])]


def if_present(declare: Callable[..., Any], *paths: str, **options: Any) -> Callable[..., Any]:
    """Return what `declare` makes for those of these functions that there are; if there are none, it does nothing."""
    found = present(*paths)
    return declare(*found, **options) if found else lambda rule: rule


def _at(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(f"scipy.{module}"), name, None)
    except ImportError:
        return None
