"""Locks that are free again in the child of a fork, where the thread that held one is gone."""

from __future__ import annotations

import os
import threading
from typing import Any


def lock_of_process() -> Any:
    """A lock for this module's tables; the thread that holds it may take it again."""
    made: Any = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=made._at_fork_reinit)
    return made
