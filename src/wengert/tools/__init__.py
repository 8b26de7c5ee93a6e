"""Measuring: what a gradient takes, in time and in memory, by the user's lines and by primitive."""
