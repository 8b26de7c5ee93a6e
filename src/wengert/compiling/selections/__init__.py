"""Selections such as x[mask], computed on all items of x: one code serves each number of chosen items."""
