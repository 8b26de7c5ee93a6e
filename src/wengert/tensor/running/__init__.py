"""Running plans: as NumPy source, or as compiled loops."""
