"""Compiling: a tape as a graph, rewritten to do less, laid out in memory, and written as NumPy source."""
