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
