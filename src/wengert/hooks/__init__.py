"""The hooks that instrumented code calls for operators, items, attributes, calls and classes."""

from typing import TYPE_CHECKING

from wengert.values.late_modules import imported_late

if not TYPE_CHECKING:  # a type checker sees the modules themselves
    __getattr__ = imported_late(
        __name__,
        "advice data_reads flat_iterators native_values reshaping rule_errors solver_callbacks solver_effects "
        "table_operators",
    )
