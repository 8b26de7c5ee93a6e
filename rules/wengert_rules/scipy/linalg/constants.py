"""Functions of scipy.linalg whose results are counts, answers and routines: they are constant."""

from __future__ import annotations

from scipy import linalg

from wengert.extend import non_differentiable

non_differentiable(
    linalg.bandwidth, linalg.issymmetric, linalg.ishermitian,
    linalg.get_blas_funcs, linalg.get_lapack_funcs, linalg.find_best_blas_type,
)  # fmt: skip
