"""Modules that are imported when one of their names is first read, since most derivatives need none of them.

The `__init__.py` of a package names them. `from wengert.package import module` then gives a `LateModule`; to import a
name from such a module imports it at once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from typing import Any

from wengert.values.garbage import collections_paused


class LateModule:
    """A stand-in for a module: at the first read or assignment of a name it imports the module and shares its names.

    `apart` makes a context in which nothing is recorded; `recording` assigns it.
    """

    apart: Callable[[], Any] = nullcontext

    def __init__(self, name: str) -> None:
        self.__dict__["__name__"] = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._imported(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._imported(), name, value)

    def _imported(self) -> Any:
        with LateModule.apart(), collections_paused():
            module = import_module(self.__name__)
        object.__setattr__(self, "__dict__", vars(module))
        return module


def imported_late(package: str, names: str) -> Callable[[str], LateModule]:
    """Return the `__getattr__` of a package, in which these modules are imported late."""
    made = {name: LateModule(f"{package}.{name}") for name in names.split()}

    def __getattr__(name: str) -> LateModule:
        if name in made:
            return made[name]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return __getattr__
