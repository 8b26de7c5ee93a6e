"""Rules that other distributions provide, by entry points of the group `wengert.rules`; loaded when first needed."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from wengert.errors import PluginWarning, RuleError
from wengert.values.fork_lock import lock_of_process

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

SWITCH = "WENGERT_SKIP_RULES"


class Plugins:
    """The entry points of a group. Each is loaded once, completely or not at all.

    An entry point names a module, whose import registers rules, or a function that takes the registry.
    """

    def __init__(self, group: str, registry: Any, undone_on_error: Callable[[], AbstractContextManager[Any]]) -> None:
        self.group, self.registry, self.undone_on_error = group, registry, undone_on_error
        self.skipped = _names(os.environ.get(SWITCH, "").split(","))
        self.loaded: dict[str, list[str]] = {}
        self.done = self._loading = False
        self._lock = lock_of_process()

    def skip(self, distributions: Iterable[str]) -> None:
        """Skip these distributions, or all if none is named.

        Errors: RuleError once the entry points have been loaded.
        """
        if self.done:
            raise RuleError(
                "the first gradient or lookup has already loaded the rules of other distributions; "
                f"skip them before that, or set {SWITCH} in the environment"
            )
        self.skipped |= _names(distributions) or {"all"}

    def load(self) -> None:
        """Load the entry points unless that is done; other threads wait meanwhile."""
        with self._lock:
            if not self.done and not self._loading:  # a plugin being loaded may look up rules itself
                self._loading = True
                for point in self._points():
                    self._load(point)
                self.done = True

    def _points(self) -> Iterable[EntryPoint]:
        if "all" in self.skipped or not _may_be_named(self.group):
            return []
        from importlib.metadata import entry_points  # 30 ms

        return entry_points(group=self.group)

    def _load(self, point: EntryPoint) -> None:
        """Load one entry point. If it fails, undo its changes and warn with a PluginWarning."""
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
                f"the rules of {name} (entry point {point.name} = {point.value}) are not loaded: "
                f"{type(error).__name__}: {error}. Repair or uninstall {name}, or skip it by setting {SWITCH}={name}",
                PluginWarning,
                stacklevel=2,
            )
        else:
            self.loaded.setdefault(name, []).append(point.value)


def _names(distributions: Iterable[str]) -> set[str]:
    """Normalise the names of distributions, as packaging tools do to compare them."""
    return {re.sub(r"[-_.]+", "-", name.strip()).lower() for name in distributions if name.strip()}


def _may_be_named(group: str) -> bool:
    """Whether a distribution may have entry points of a group, by the files that importlib.metadata would read."""
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    return finders != [PathFinder] or any([_may_name(folder or ".", group.encode()) for folder in sys.path])


def _may_name(folder: str, group: bytes) -> bool:
    """Whether a distribution in a folder of `sys.path`, or in an archive, may have entry points of a group."""
    try:
        infos = [name for name in os.listdir(folder) if name.lower().endswith(("egg-info", ".dist-info"))]
    except OSError:
        return os.path.isfile(folder)
    return any([group in _content(os.path.join(folder, info, "entry_points.txt")) for info in infos])


def _content(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError:
        return b""
