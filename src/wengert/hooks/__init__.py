"""Running a function with every site seen: calls, operators, items, attributes, classes."""
