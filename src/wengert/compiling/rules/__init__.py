"""The rewrite rules of the optimiser."""
