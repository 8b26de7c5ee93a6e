"""The public functions, one file for each family; the `wengert` namespace exports them all."""
