"""The derivatives of Python's, NumPy's and SciPy's primitives; importing this package registers them."""

from __future__ import annotations

from wengert.extend import rules
from wengert_rules import (
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
    triangular_factors,
    ufunc_methods,
    vectorized,
    windows,
)

OF_SCIPY = (
    "special", "linalg", "fft", "stats", "integrate", "interpolate", "optimize", "signal", "ndimage", "sparse",
    "spatial", "cluster", "fftpack",
)  # fmt: skip

for name in OF_SCIPY:
    rules.when_imported(f"scipy.{name}", f"wengert_rules.scipy.{name}")
rules.when_imported("scipy.sparse.linalg", "wengert_rules.scipy.sparse.systems")
rules.when_imported("scipy.sparse.csgraph", "wengert_rules.scipy.sparse.graphs")

rules.when_imported("numpy.fft", "wengert_rules.ffts")
rules.when_imported("statistics", "wengert_rules.averages")
rules.when_imported("wengert.rulebook.batched", "wengert_rules.batches")
rules.when_imported("numpy.lib.recfunctions", "wengert_rules.recfunctions")
for name in ("pandas", "bottleneck", "xarray", "pint", "pywt", "wrapt", "numexpr", "autograd"):
    rules.when_imported(name, f"wengert_rules.{name}")
rules.when_imported("arch.univariate.recursions", "wengert_rules.arch")
