"""Locks that a fork releases in the child, which lacks the thread that held them; and Python's global lock."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any


def lock_of_process() -> Any:
    """Make a reentrant lock that is released in the child of a fork."""
    made: Any = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=made._at_fork_reinit)
    return made


def refuse_without_global_lock() -> None:
    """Raise ImportError in a free-threaded build of Python whose global lock is off."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():  # from Python 3.13
        version = ".".join(map(str, sys.version_info[:2]))
        raise ImportError(
            f"wengert needs Python's global lock, which is off in this free-threaded build of Python {version}. "
            "Use the ordinary build, or set PYTHON_GIL=1 before Python starts."
        )


refuse_without_global_lock()
