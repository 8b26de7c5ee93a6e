"""Sparse Jacobians: which elements of a result depend on which of an input, and few passes that find all entries."""
