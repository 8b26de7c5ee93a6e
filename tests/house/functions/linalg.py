"""What becomes of the names of scipy.linalg that have no rule."""

MODULES = ("scipy.linalg",)

TRACED = {
    "sinm cosm tanm sinhm coshm tanhm expm_cond block_diag khatri_rao orth companion convolution_matrix diagsvd",
    "solve_circulant matmul_toeplitz subspace_angles fiedler fiedler_companion leslie",
    "cho_solve lu_solve cho_solve_banded solve_banded solve_toeplitz cdf2rdf",
}

CONSTANT = {
    "hilbert invhilbert helmert hadamard pascal invpascal dft": "made from integers",
    "LinAlgWarning": "",
    "get_blas_funcs get_lapack_funcs find_best_blas_type": "names of routines",
}

REFUSED = {
    "cossin qz ordqz schur hessenberg rsf2csf ldl funm": "the form depends on LAPACK",
    "qr_delete qr_insert qr_update qr_multiply": "C code updates the factors",
    "clarkson_woodruff_transform": "a random sketch",
}
