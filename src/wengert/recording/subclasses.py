"""Arrays of classes made from `np.ndarray`: a rule is that of plain arrays, and must meet no operators of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.recording.outcomes import flat
from wengert.recording.recording import PLAIN, Recording, here
from wengert.values.callables import callable_name


def is_of_subclass(a: Any) -> bool:
    """Whether a thing is an array of such a class."""
    return type(a) not in PLAIN and type(a) is not np.ndarray and issubclass(type(a), np.ndarray)


def plain(a: Any) -> Any:
    """Such an array as a plain one, all else as it is."""
    return a.view(np.ndarray) if is_of_subclass(a) else a


def refuse_own_value(
    recording: Recording, fn: Callable[..., Any], value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Refuse what a function of NumPy gave of such arrays, by methods of theirs, if it is not what plain ones give."""
    if _gives(fn, value, [[*map(plain, a)] if type(a) in (list, tuple) else plain(a) for a in args], kwargs):
        return
    names = " and ".join(sorted({type(a).__name__ for a in flat(args) if is_of_subclass(a)}))
    raise recording.refuse(
        RefusedCallError(
            f"{here()}: {callable_name(fn)} of {names} gives something else than of a plain array, for which its rule "
            "is. Convert it first: np.asarray(x)."
        )
    )


def _gives(fn: Callable[..., Any], value: Any, args: list[Any], kwargs: dict[str, Any]) -> bool:
    try:
        made = fn(*args, **kwargs)
    except Exception:
        return False
    parts = zip(made, value, strict=True) if isinstance(value, tuple) else [(made, value)]
    return all(np.shape(a) == np.shape(b) and np.array_equal(a, b, equal_nan=True) for a, b in parts)
