"""Rules that other distributions bring by entry points of the group `wengert.rules`, loaded when first needed."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from wengert.errors import PluginWarning, RuleError
from wengert.values.fork_lock import lock_of_process

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

SWITCH = "WENGERT_SKIP_RULES"


class Plugins:
    """The entry points of a group, each loaded once, whole or not at all.

    An entry point names a module, whose import registers rules, or a function that is given the registry.
    """

    def __init__(self, group: str, registry: Any, undone_on_error: Callable[[], AbstractContextManager[Any]]) -> None:
        self.group, self.registry, self.undone_on_error = group, registry, undone_on_error
        self.skipped = _names(os.environ.get(SWITCH, "").split(","))
        self.loaded: dict[str, list[str]] = {}
        self.done = self._loading = False
        self._lock = lock_of_process()

    def skip(self, distributions: Iterable[str]) -> None:
        """Leave these distributions out; all, where none is named.

        Errors: RuleError once they have been loaded.
        """
        if self.done:
            raise RuleError(
                "the rules of other distributions are loaded at the first gradient or lookup, which has been; "
                f"skip them before it, or set {SWITCH} in the environment"
            )
        self.skipped |= _names(distributions) or {"all"}

    def load(self) -> None:
        """Load the entry points that are not loaded; a thread that comes meanwhile waits until they are."""
        with self._lock:
            if not self.done and not self._loading:  # a plugin being loaded may look up rules itself
                self._loading = True
                for point in self._points():
                    self._load(point)
                self.done = True

    def _points(self) -> Iterable[EntryPoint]:
        from importlib.metadata import entry_points  # 35 ms, which importing wengert need not take

        return [] if "all" in self.skipped else entry_points(group=self.group)

    def _load(self, point: EntryPoint) -> None:
        """Load one entry point; a PluginWarning tells of one that fails, of which nothing stays."""
        name = point.dist.name if point.dist else "an unnamed distribution"
        if _names([name]) & self.skipped:
            return
        try:
            with self.undone_on_error():
                found = point.load()
                if callable(found):
                    found(self.registry)
        except Exception as error:
            warnings.warn(
                f"the rules that {name} brings (entry point {point.name} = {point.value}) are left out: "
                f"{type(error).__name__}: {error}. To silence this, mend or uninstall {name}, or set {SWITCH}={name}",
                PluginWarning,
                stacklevel=2,
            )
        else:
            self.loaded.setdefault(name, []).append(point.value)


def _names(distributions: Iterable[str]) -> set[str]:
    """The names of distributions in the form in which packaging compares them."""
    return {re.sub(r"[-_.]+", "-", name.strip()).lower() for name in distributions if name.strip()}
