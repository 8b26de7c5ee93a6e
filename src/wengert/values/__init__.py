"""Values, views, trees, cotangents and lines of the user's code. This package imports neither rules nor traces."""

from typing import TYPE_CHECKING

from wengert.values.late_modules import imported_late

if not TYPE_CHECKING:  # a type checker sees the modules themselves
    __getattr__ = imported_late(__name__, "gradients tree_parts")
