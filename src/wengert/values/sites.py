"""Where in the user's code something happened."""

from __future__ import annotations

from typing import NamedTuple


class Site(NamedTuple):
    """A line of the user's code, in a function: printed as "file:line in function"."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


class StoringSite(Site):
    """A Site whose result goes into the user's variable `target` as it is.

    Where it is a call, `called` is the name of what is called: only a result of that goes there.
    """

    target: str
    called: str | None

    @classmethod
    def of(cls, site: Site, target: str, called: str | None) -> StoringSite:
        """The site with what is known of its result."""
        made = cls(*site)
        made.target, made.called = target, called
        return made
