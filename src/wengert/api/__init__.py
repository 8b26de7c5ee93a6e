"""What users call, a file for each family of functions; `wengert` has all of it."""
