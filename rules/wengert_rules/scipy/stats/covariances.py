"""Covariance matrices of multivariate distributions: by Cholesky's factor, which repeated eigenvalues do not hurt."""

from __future__ import annotations

import numpy as np
from scipy.stats import _multivariate

from wengert.extend import stands_for


@stands_for(_multivariate._PSD)
def positive(M, cond=None, rcond=None, lower=True, check_finite=True, allow_singular=True):
    """SciPy takes eigenvectors of all matrices; here only those of singular ones are."""
    made = object.__new__(_multivariate._PSD)
    M = np.asarray(M)
    s = np.linalg.eigvalsh(M, "L" if lower else "U")
    eps = _multivariate._eigvalsh_to_eps(s, cond, rcond)
    if not np.min(s) > eps:
        made.__init__(M, cond, rcond, lower, check_finite, allow_singular)
        return made
    factor = np.linalg.cholesky(M if lower else M.T)
    made._M, made._pinv, made.rank, made.eps, made.V = M, None, len(s), 1e3 * eps, np.zeros((len(s), 0))
    made.U = np.linalg.inv(factor).T
    made.log_pdet = 2 * np.sum(np.log(np.diagonal(factor)))
    return made
