"""Graphs of tapes: immutable nodes, the vocabulary of their calls, who owns their memory, and their order."""
