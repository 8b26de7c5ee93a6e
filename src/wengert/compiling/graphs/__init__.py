"""Tapes as graphs: nodes that are never changed, their vocabulary, their memory, and the order in which they run."""
