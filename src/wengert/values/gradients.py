"""Gradients that are indexed by position or by parameter name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Gradients(tuple[Any, ...]):
    """The gradients that `grad(f, x, y)` returns: that of arrays captured in f, then one for each argument.

    This is a tuple; the names of f's parameters are indices, too.

    >>> _, gradients = wg.grad(lambda x, y: x * y, 2.0, 3.0)
    >>> gradients
    (None, 3.0, 2.0)
    >>> gradients["y"]
    2.0
    """

    names: tuple[str, ...] = ()
    _repr_html_: Callable[..., str]  # set by `api/tape_page.py`

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"no argument {key!r}; the arguments are {', '.join(self.names[1:])}")
            return tuple.__getitem__(self, self.names.index(key))
        return tuple.__getitem__(self, key)
