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
    for name, parameter in bound.signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            found.update(found.pop(name))
    return found


def in_tuple(args: Any) -> tuple[Any, ...]:
    """What SciPy takes as `args`: a tuple, or the only one of them."""
    return args if isinstance(args, tuple) else (args,)
