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
    "eigs eigsh lobpcg svds": "iterations in C, or from random vectors",
    "SuperLU": "users do not call this class",
    "gcrotmk lgmres": "C code updates the factors",
    "spilu": "factors of another matrix",
}
