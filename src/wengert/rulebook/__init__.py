"""Derivative rules: declare, look up, analyse, specialise, call and check them."""

from typing import TYPE_CHECKING

from wengert.values.late_modules import imported_late

if not TYPE_CHECKING:  # a type checker sees the modules themselves
    __getattr__ = imported_late(__name__, "array_steps forward_steps keeping showing steps")
