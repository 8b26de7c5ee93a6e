"""Stand-ins of C callables during a trace: builtins, iteration, the standard library, containers, ufuncs."""

from typing import TYPE_CHECKING

from wengert.values.late_modules import imported_late

if not TYPE_CHECKING:  # a type checker sees the modules themselves
    __getattr__ = imported_late(__name__, "compiled")
