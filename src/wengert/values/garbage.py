"""A garbage collector at rest while many objects are made that stay: it would visit them again and again."""

from __future__ import annotations

import gc

MOST_YOUNG = 20_000
"""The number of young objects after which `fewer_collections` has them collected."""


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


class fewer_collections:
    """A context in which garbage is collected more rarely, for code of the user's, which may make much of it.

    Contexts of several threads may overlap: the one that raised the threshold lowers it.
    """

    def __enter__(self) -> None:
        self.before = gc.get_threshold()
        self.is_raised = 0 < self.before[0] < MOST_YOUNG
        if self.is_raised:
            gc.set_threshold(MOST_YOUNG, *self.before[1:])

    def __exit__(self, *error: object) -> None:
        if self.is_raised and gc.get_threshold()[0] == MOST_YOUNG:
            gc.set_threshold(*self.before)
