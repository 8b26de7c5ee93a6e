"""Rules for SciPy: one module for each of its subpackages, loaded when that has been imported."""
