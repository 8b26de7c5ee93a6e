"""How many calls a piece of work makes, in Python and in C: a cost that depends on the program alone."""

import gc
import sys
from collections.abc import Callable
from typing import Any


def calls(work: Callable[..., Any], *args: Any) -> int:
    """The calls that `work(*args)` makes, without those of finalisers of what others left."""
    count = 0

    def note(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    gc.collect()
    gc.disable()
    sys.setprofile(note)
    try:
        work(*args)
    finally:
        sys.setprofile(None)
        gc.enable()
    return count
