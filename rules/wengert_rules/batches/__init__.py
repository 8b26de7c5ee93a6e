"""Batching rules of primitives: each takes and returns arrays with one more axis, the first."""

from __future__ import annotations

from wengert.extend import rules
from wengert_rules.batches import (
    decompositions,
    elementwise,
    ffts,
    indexing,
    joins,
    numbers_of_python,
    products,
    reductions,
    shapes,
    windows,
)

rules.when_imported("statistics", "wengert_rules.batches.averages")
