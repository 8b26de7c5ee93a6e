"""Watched traces: what a function reads from outside becomes inputs and tests of its code."""
