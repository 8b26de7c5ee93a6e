"""Lines of the user's code."""

from __future__ import annotations

from typing import NamedTuple


class Site(NamedTuple):
    """A line of the user's code, in a function: printed as "file:line in function"."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


class UpdatingSite(Site):
    """The Site of the read in `a[key] op= v`: only the operator, and the store that follows it, have its result."""


class StoringSite(Site):
    """A Site whose result is assigned to the user's variable `target`.

    If it is a call, `called` is the name of the callee: only its own result is assigned.
    """

    target: str
    called: str | None

    @classmethod
    def of(cls, site: Site, target: str, called: str | None) -> StoringSite:
        """Make the StoringSite of `site`."""
        made = cls(*site)
        made.target, made.called = target, called
        return made
