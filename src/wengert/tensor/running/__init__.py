"""Programs as NumPy source and compiled loops."""
