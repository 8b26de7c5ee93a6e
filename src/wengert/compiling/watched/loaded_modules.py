"""`sys.modules` in a trace: the code guards the modules that it looks up, and no others."""

from __future__ import annotations

import sys
from typing import Any


class LoadedModules(dict[str, Any]):
    """A stand-in for `sys.modules` that guards each lookup; a trace that asks it for more is not kept.

    It has the content of `sys.modules`, for C code that reads it past its methods.
    """

    __class__ = property(lambda self: dict)

    def __init__(self, reads: Any, accessor: str) -> None:
        super().__init__(sys.modules)
        vars(self)["reads"], vars(self)["accessor"] = reads, accessor

    def __contains__(self, name: object) -> bool:
        reads, accessor = vars(self)["reads"], vars(self)["accessor"]
        if type(name) is not str:
            reads.give_up("it looks up something other than a string in sys.modules")
        elif name in sys.modules:
            reads.guard_is(f"{accessor}[{name!r}]", sys.modules[name], name)
        else:
            reads.add_guard(f"{name!r} not in {accessor}")
        return name in sys.modules

    def __getitem__(self, name: str) -> Any:
        self.get(name)
        return sys.modules[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the module of a name, or the default."""
        return sys.modules[name] if name in self else default


def _unguarded(name: str) -> Any:
    """Return the method of the stand-in that does what that of `sys.modules` does, in a trace that is not kept."""

    def call(self: LoadedModules, *args: Any, **kwargs: Any) -> Any:
        vars(self)["reads"].give_up(f"it calls {name} of sys.modules")
        return getattr(sys.modules, name)(*args, **kwargs)

    return call


_DEFINED = {*vars(LoadedModules), "__new__", "__getattribute__", "__class_getitem__", "fromkeys", "__hash__"}
for _name in {*vars(dict)} - _DEFINED:
    setattr(LoadedModules, _name, _unguarded(_name))
