"""The types in signatures as `help` shows them: without the quotes of annotations that are strings."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any


class _Spelled(str):
    """An annotation; `help` shows its `repr`."""

    __repr__ = str.__str__


def spell_types(things: Iterable[Any]) -> None:
    """Have `help` show the types of parameters and results of these functions without quotes."""
    for thing in things:
        if type(thing) is types.FunctionType:
            given = thing.__annotations__
            thing.__annotations__ = {name: _Spelled(t) if type(t) is str else t for name, t in given.items()}
