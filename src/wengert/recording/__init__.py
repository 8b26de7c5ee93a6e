"""The recording of a run: its entries, and which live objects are traced values."""

from typing import TYPE_CHECKING

from wengert.values.late_modules import imported_late

if not TYPE_CHECKING:  # a type checker sees the modules themselves
    __getattr__ = imported_late(__name__, "layout nans no_path pullback_reads reachability rule_reads rule_stores")
