"""Locks that are free again in the child of a fork, where the thread that held one is gone, and Python's own lock."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any


def lock_of_process() -> Any:
    """A lock for this module's tables; the thread that holds it may take it again."""
    made: Any = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=made._at_fork_reinit)
    return made


def refuse_without_global_lock() -> None:
    """Refuse a free-threaded build of Python whose global lock is off. Errors: ImportError there."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():  # from Python 3.13
        version = ".".join(map(str, sys.version_info[:2]))
        raise ImportError(
            f"wengert needs Python's global lock, which is off in this free-threaded build of Python {version}. "
            "Use the ordinary build, or set PYTHON_GIL=1 before Python starts."
        )


refuse_without_global_lock()
