"""Objects of C that hold values for each thread or context, where the collector of cycles does not show them."""

from __future__ import annotations

import contextvars
import threading
from typing import Any


def is_apart(t: type) -> bool:
    """Whether objects of a class hold values for each thread or context, and are none of this package's own."""
    return issubclass(t, _APART) and t.__module__.partition(".")[0] != "wengert"


def held_apart(thing: Any) -> Any:
    """The value that a context variable has now, or the attributes that this thread has of a `threading.local`."""
    if isinstance(thing, contextvars.ContextVar):
        return thing.get(None)
    return threading.local.__getattribute__(thing, "__dict__")


_APART = (threading.local, contextvars.ContextVar)
