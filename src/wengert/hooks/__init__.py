"""The hooks that instrumented code calls for operators, items, attributes, calls and classes."""
