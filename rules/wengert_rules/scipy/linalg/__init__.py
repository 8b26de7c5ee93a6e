"""Rules for scipy.linalg: linear algebra."""

from __future__ import annotations

from wengert_rules.scipy.linalg import (
    banded,
    constants,
    eigenvalues,
    equations,
    factors,
    functions,
    lapack,
    patterns,
    polars,
    spectra,
    systems,
    triangles,
)
