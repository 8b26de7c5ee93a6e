"""Rules for the functions of a library, loaded when a rule is looked for after that library has been imported."""

from __future__ import annotations

import importlib
import itertools
import sys

from wengert.errors import RuleError
from wengert.values.fork_lock import lock_of_process


class Companions:
    """Modules that register rules when they are imported, each waiting for the module whose functions these are for."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[str]] = {}
        self._importing: set[str] = set()  # by the thread that has the lock: importing rules may look up rules
        self._seen = 0
        self._lock = lock_of_process()

    def add(self, library: str, rules: str) -> None:
        """Have the module `rules` imported once the module `library` is."""
        with self._lock:
            self._waiting.setdefault(library, []).append(rules)
            self._seen = 0

    def are_due(self) -> bool:
        """Whether modules were imported since the last look: only then can one be among them that is waited for."""
        return bool(self._waiting) and self._seen != len(sys.modules)

    def load(self) -> None:
        """Import the rules of the libraries that have been imported; a thread that comes meanwhile waits for them.

        Errors: RuleError where one cannot be imported; it is tried again at the next lookup.
        """
        with self._lock:
            while found := next(filter(self._is_due, self._waiting), None):
                self._import(found)
            if not any(library in sys.modules for library in self._waiting):  # else it is being imported just now
                self._seen = len(sys.modules)

    def load_before(self) -> None:
        """`load`, before a rule is declared: by these modules themselves too, while they are imported."""
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
                f"{type(error).__name__}: {error}. Mend it, or uninstall the distribution that brings it"
            ) from error
        finally:
            self._importing.discard(library)


def _is_imported(name: str) -> bool:
    """Whether a module has been imported to its end."""
    return name in sys.modules and sys.modules[name] is not None and not _is_begun(name)


def _is_begun(name: str) -> bool:
    """Whether a module is being imported."""
    return bool(getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False))
