"""The arguments of a call, by the names of the parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def arguments(f: Callable[..., Any], given: tuple[Any, ...], words: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `f(*given, **words)` by name, with the defaults; those of `**kwargs` too."""
    bound = inspect.signature(f).bind(*given, **words)
    bound.apply_defaults()
    found = dict(bound.arguments)
    found.update(found.pop("kwargs", None) or {})
    return found


def in_tuple(args: Any) -> tuple[Any, ...]:
    """What SciPy takes as `args`: a tuple, or the only one of them."""
    return args if isinstance(args, tuple) else (args,)
