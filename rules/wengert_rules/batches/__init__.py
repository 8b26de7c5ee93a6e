"""How primitives are called on a batch of examples: each takes and gives one more axis, the first."""

from __future__ import annotations

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
