"""Results of solvers in compiled functions, of which some entries are not known."""

from __future__ import annotations

import functools
from typing import Any

from wengert.compiling.watched.outer_reads import not_native

READS_ALL = (
    "__iter__", "__reversed__", "keys", "values", "items", "get", "pop", "popitem", "setdefault", "copy", "__eq__",
    "__ne__", "__or__", "__ror__",
)  # fmt: skip


def partly_known(found: dict[str, Any], known: dict[str, Any]) -> Any:
    """Return a solver's result with the `known` entries; a trace gives up if it reads another one.

    Parameters:
        found (dict): The result, of a class of dictionaries.
        known (dict): The entries that compiled code returns.
    Returns:
        dict: A dictionary of a subclass.
    See Also:
        compiled_by

    Examples:
        >>> wg.extend.partly_known({"x": 1.0, "nit": 3}, {"x": 2.0})["x"]
        2.0
    """
    base, unknown = type(found), found.keys() - known.keys()

    class PartlyKnown(base):  # type: ignore[misc, valid-type]
        """A result that is known in part."""

        __init__ = dict.__init__

        def __getitem__(self, name: str) -> Any:
            if name in unknown:
                not_native(f"it reads {name} of a solution, which compiled code does not return")
            return base.__getitem__(self, name)

        def __getattr__(self, name: str) -> Any:
            try:
                return self[name]
            except KeyError:
                raise AttributeError(name) from None

        def __reduce__(self) -> Any:
            return base, (dict(self),)

    for name in READS_ALL if unknown else ():
        setattr(PartlyKnown, name, _reading_all(getattr(dict, name)))
    PartlyKnown.__name__ = PartlyKnown.__qualname__ = base.__name__
    return PartlyKnown({**found, **known})


def _reading_all(method: Any) -> Any:
    """Return a method of dictionaries that reads all entries, for a result that is known in part."""

    @functools.wraps(method)
    def reading(self: Any, *args: Any) -> Any:
        not_native("it reads all items of a solution, of which compiled code does not return some")
        return method(self, *args)

    return reading


__all__ = ["partly_known"]
