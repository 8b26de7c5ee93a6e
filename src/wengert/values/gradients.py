"""Gradients that are read by number and by name."""

from __future__ import annotations

from typing import Any


class Gradients(tuple[Any, ...]):
    """The gradients that `grad(f, x, y)` returns: that of f's own arrays, then one for each argument.

    It is a tuple that is also read by the parameters' names.

    >>> _, gradients = wg.grad(lambda x, y: x * y, 2.0, 3.0)
    >>> gradients
    (None, 3.0, 2.0)
    >>> gradients["y"]
    2.0
    """

    names: tuple[str, ...] = ()

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"no argument {key!r}; there are {', '.join(self.names[1:])}")
            return tuple.__getitem__(self, self.names.index(key))
        return tuple.__getitem__(self, key)
