"""Back ends that run plans: NumPy source and compiled loops."""
