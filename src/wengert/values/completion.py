"""The names that `dir` and the Tab key offer for public objects: attributes that only wengert uses are left out."""

from __future__ import annotations

from wengert.compiling.compile import CompiledFunction
from wengert.tape.ops import Op
from wengert.tape.tape import Tape
from wengert.values.transformed import Remade

_INTERNAL: dict[type, frozenset[str]] = {
    Remade: frozenset({"by_recipe", "recipe"}),
    CompiledFunction: frozenset({"exact", "generation_errors", "native", "quiet", "strict", "wrapped"}),
    Tape: frozenset({"arguments", "bound", "from_entries", "graphs", "renumberings", "settle"}),
    Op: frozenset({"successor"}),
}


def hide_internal_names() -> None:
    """Leave the internal attributes of public classes out of `dir`, which completion asks."""
    for cls in _INTERNAL:
        cls.__dir__ = _public_names  # type: ignore[assignment, method-assign]


def _public_names(self: object) -> list[str]:
    """Return the attributes of an object but for the internal ones of its classes."""
    internal = frozenset[str]().union(*(_INTERNAL.get(cls, ()) for cls in type(self).__mro__))
    return [name for name in object.__dir__(self) if name not in internal]


__all__ = ["hide_internal_names"]
