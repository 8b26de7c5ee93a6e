"""Pages: a tape, and what was measured of a gradient, as one HTML file that needs nothing else."""
