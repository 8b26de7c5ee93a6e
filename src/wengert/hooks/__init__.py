"""Running a function with every site seen: the hooks of operators, items, attributes, calls and classes."""
