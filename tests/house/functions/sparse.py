"""What becomes of the names of scipy.sparse that have no rule."""

MODULES = ("scipy.sparse",)

TRACED = {
    "block_diag bsr_array bsr_matrix coo_array coo_matrix csc_array csc_matrix csr_array csr_matrix",
    "dia_array dia_matrix diags diags_array expand_dims eye eye_array find identity kron kronsum permute_dims",
    "save_npz spdiags swapaxes tril triu matrix_transpose sparray spmatrix",
}

CONSTANT = {
    "issparse isspmatrix isspmatrix_bsr isspmatrix_coo isspmatrix_csc isspmatrix_csr isspmatrix_dia": "a question",
    "isspmatrix_dok isspmatrix_lil get_index_dtype safely_cast_index_arrays": "a question",
    "rand random random_array": "a random pattern with random numbers",
    "load_npz SparseWarning SparseEfficiencyWarning": "data read from outside, and warnings",
}

REFUSED = {
    "lil_array lil_matrix": "C code reads numbers from lists",
}
