"""Signatures, for type checkers, of functions whose result type depends on their arguments: see `signatures.pyi`.

Its protocols are not made when a program runs: that would take a fiftieth of the first gradient's time.
"""

from __future__ import annotations

from typing import Any


def _itself(f: Any) -> Any:
    return f


def __getattr__(name: str) -> Any:
    """Return the decorator that gives a function its type in `signatures.pyi`: it returns the function itself."""
    if name.startswith("__"):
        raise AttributeError(name)
    return _itself
