"""In-place writes: versions of arrays, views as lenses on them, the undo log, and residuals."""

from typing import TYPE_CHECKING

from wengert.values.late_modules import imported_late

if not TYPE_CHECKING:  # a type checker sees the modules themselves
    __getattr__ = imported_late(__name__, "fields lent_views placed_views residuals")
