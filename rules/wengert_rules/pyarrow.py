"""pyarrow has no rules: in its arrays, which pandas uses for strings, there are no numbers to differentiate.

That this module exists says that its functions compute from their arguments alone.
"""
