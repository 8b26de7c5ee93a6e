"""What becomes of the names of numpy.linalg that have no rule."""

MODULES = ("numpy.linalg",)

TRACED = {
    "cross diagonal matmul matrix_norm matrix_power matrix_transpose multi_dot outer svdvals tensordot tensorinv trace",
    "vecdot vector_norm",
}

CONSTANT = {"matrix_rank": "a count", "test": ""}

REFUSED: dict[str, str] = {}
