"""Objects written in C that hold a value per thread or context, which the garbage collector does not list."""

from __future__ import annotations

import contextvars
import threading
from typing import Any


def is_apart(t: type) -> bool:
    """Whether objects of a class hold a value per thread or context; False for classes of this package."""
    return issubclass(t, _APART) and t.__module__.partition(".")[0] != "wengert"


def held_apart(thing: Any) -> Any:
    """Return the current value of a context variable, or this thread's attributes of a `threading.local`."""
    if isinstance(thing, contextvars.ContextVar):
        return thing.get(None)
    return threading.local.__getattribute__(thing, "__dict__")


_APART = (threading.local, contextvars.ContextVar)
