"""A pause of the garbage collector while many objects are made that stay: it would visit them again and again."""

from __future__ import annotations

import gc


class collections_paused:
    """A context without garbage collections.

    A class, because `contextmanager` is Python code, which may be the code being rewritten.
    """

    def __enter__(self) -> None:
        self.was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *error: object) -> None:
        if self.was_enabled:
            gc.enable()
