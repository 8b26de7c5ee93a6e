"""Samples of the functions of BLAS and LAPACK that code calls below scipy.linalg."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from samples_linalg import matrices, positive
from sampling import Sample, call, values
from scipy.linalg import blas, get_lapack_funcs, lapack

A, S, C = matrices(4, 4), positive(4, 4), matrices(3, 3, dtype=complex)
X, Y, M = values(4), values(4, low=-1), values(4, 3)


def updated(x: Any, y: Any) -> Any:
    """In place, as BLAS has it."""
    z = y * 1.0
    blas.daxpy(x, z, a=2.0)
    return z + blas.dscal(3.0, x * 1.0, n=2, offx=1)


def overwritten(a: Any, b: Any) -> Any:
    """C, where it is allowed to be, is the very array that was given."""
    c = np.asfortranarray(b * 1.0)
    blas.dgemm(1.0, a, b, beta=0.5, c=c, overwrite_c=1)
    return c


def found(a: Any, b: Any) -> Any:
    """By the way that SciPy finds them."""
    potrf, potrs = get_lapack_funcs(("potrf", "potrs"), (a, b))
    factor, _ = potrf(a, lower=True)
    return potrs(factor, b, lower=True)[0]


def of_lu(a: Any, b: Any) -> Any:
    lu, pivots, _ = lapack.dgetrf(a)
    return lapack.dgetrs(lu, pivots, b)[0] + lapack.dgetrs(lu, pivots, b, trans=1)[0] + lapack.dgetri(lu, pivots)[0] @ b


def of_cholesky(a: Any) -> Any:
    return lapack.dpotri(lapack.dpotrf(a, lower=1)[0], lower=1)[0]


def options(f: Callable[..., Any], **kwargs: Any) -> Callable[..., Any]:
    def called(*args: Any) -> Any:
        return f(*args, **kwargs)

    called.__name__ = called.__qualname__ = " ".join([f.__name__.split()[-1], *kwargs])
    return called


SAMPLES: list[Sample] = []
TRACED: list[Sample] = [
    call(updated, X, Y), call(overwritten, A, M), call(found, S, M), call(of_lu, A, M), call(of_cholesky, S),
    call(options(blas.ddot), X, Y), call(options(blas.zdotc), C[0], C[1]), call(options(blas.dnrm2), X),
    call(options(blas.dznrm2), C[0]), call(options(blas.dasum), Y),
    call(options(blas.dgemv, trans=1), 2.0, A, X), call(options(blas.zgemm, trans_b=2), 1.0, C, C),
    call(options(blas.dger), 1.5, X, Y), call(options(blas.dsymv, lower=1), 1.0, S, X),
    call(options(blas.dsymm, side=1), 1.0, S, M.T.copy()), call(options(blas.zherk), 1.0, C),
    call(options(blas.dsyrk, trans=1, lower=1), 1.0, M),
    call(options(blas.dtrsm, lower=1, trans_a=1), 1.0, A, M),
    call(options(blas.dtrsm, side=1, trans_a=1, lower=1, diag=1), 1.0, A, M.T.copy()),
    call(options(blas.dtrmm, lower=1, diag=1), 1.0, A, M), call(options(blas.dtrsv, trans=1), A, X),
    call(options(blas.dtrmv, lower=1), A, X),
    call(options(lapack.dpotrf, clean=0), S), call(options(lapack.zpotrf), positive(3, 3, dtype=complex)),
    call(options(lapack.dposv), S, M), call(options(lapack.dgesv), A, X),
    call(options(lapack.dtrtrs, lower=1, trans=1), A, X), call(options(lapack.ztrtrs, trans=2), C, C),
    call(options(lapack.dtrtri, lower=1), A), call(options(lapack.dtrtri, unitdiag=1), A),
    call(options(lapack.dlartg), 1.3, -0.4), call(options(lapack.dlartg), -1.3, 0.4),
]  # fmt: skip
