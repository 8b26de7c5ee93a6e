"""Read a Python function as a program of the tensor language."""
