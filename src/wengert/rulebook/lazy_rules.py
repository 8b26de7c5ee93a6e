"""Rules for a library's functions, loaded at the first lookup after the library has been imported."""

from __future__ import annotations

import importlib
import itertools
import sys

from wengert.errors import RuleError
from wengert.values.fork_lock import lock_of_process
from wengert.values.garbage import collections_paused


class Companions:
    """Modules whose import registers rules, each waiting for the import of the library that the rules are for."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[str]] = {}
        self._importing: set[str] = set()  # by the thread that has the lock: importing rules may look up rules
        self.seen = 0  # how many modules had been imported at the last check
        self._lock = lock_of_process()

    def add(self, library: str, rules: str) -> None:
        """Import the module `rules` as soon as a lookup finds the module `library` imported."""
        with self._lock:
            self._waiting.setdefault(library, []).append(rules)
            self.seen = 0

    def are_due(self) -> bool:
        """Whether modules were imported since the last check, so that an awaited library may be among them."""
        return bool(self._waiting) and self.seen != len(sys.modules)

    def load(self) -> None:
        """Import the rules of the libraries that have been imported; other threads wait meanwhile.

        Errors: RuleError if an import fails; the next lookup tries it again.
        """
        with self._lock, collections_paused():
            while found := next(filter(self._is_due, self._waiting), None):
                self._import(found)
            if not any(library in sys.modules for library in self._waiting):  # else it is being imported just now
                self.seen = len(sys.modules)

    def load_before(self) -> None:
        """Call `load` before a rule is declared, unless a waiting module declares it during its own import."""
        with self._lock:
            rules = itertools.chain(*self._waiting.values())
            if not self._importing and self.are_due() and not any(map(_is_begun, rules)):
                self.load()

    def _is_due(self, library: str) -> bool:
        return library not in self._importing and _is_imported(library)

    def _import(self, library: str) -> None:
        self._importing.add(library)
        rules = self._waiting[library]
        try:
            while rules:
                importlib.import_module(rules[0])
                del rules[0]
            del self._waiting[library]
        except Exception as error:
            raise RuleError(
                f"the rules for {library} could not be loaded: importing {rules[0]} raised "
                f"{type(error).__name__}: {error}. Repair that module, or uninstall its distribution"
            ) from error
        finally:
            self._importing.discard(library)


def _is_imported(name: str) -> bool:
    """Whether a module has been imported to its end."""
    return name in sys.modules and sys.modules[name] is not None and not _is_begun(name)


def _is_begun(name: str) -> bool:
    """Whether a module is being imported."""
    return bool(getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False))
