"""How many calls a piece of work makes, in Python and in C: a cost that depends on the program alone."""

import sys
from collections.abc import Callable
from typing import Any


def calls(work: Callable[..., Any], *args: Any) -> int:
    """The calls that `work(*args)` makes."""
    count = 0

    def note(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work(*args)
    finally:
        sys.setprofile(None)
    return count
