"""Native code: loops over numbers and small arrays, compiled by numba."""
