"""Handlers of foreign values: of what is neither a Python number nor a plain array of numbers."""
