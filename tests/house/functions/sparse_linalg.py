"""What becomes of the names of scipy.sparse.linalg that have no rule."""

MODULES = ("scipy.sparse.linalg",)

TRACED = {
    "LinearOperator aslinearoperator bicg bicgstab cg cgs expm expm_multiply factorized gmres inv is_sptriangular",
    "lsmr lsqr matrix_power minres norm qmr spbandwidth splu spsolve spsolve_triangular tfqmr funm_multiply_krylov",
    "LaplacianNd",
}

CONSTANT = {
    "MatrixRankWarning use_solver onenormest": "settings, warnings and estimates",
}

REFUSED = {
    "eigs eigsh lobpcg svds": "vectors from iterations of C code, or from random ones",
    "SuperLU": "a class that nobody calls",
    "gcrotmk lgmres": "factors updated by C code",
    "spilu": "factors of another matrix than the given one",
}
