"""The derivatives of Python's, NumPy's and SciPy's primitives; importing this package registers them."""

from __future__ import annotations

from wengert_rules import (
    averages,
    batches,
    choices,
    complexes,
    constants,
    contractions,
    decompositions,
    diagonals,
    elementwise,
    indexing,
    linear_algebra,
    norms,
    products,
    recurrences,
    reductions,
    scalars,
    sequences,
    shapes,
    sorting,
    special_functions,
    ufunc_methods,
    windows,
)
