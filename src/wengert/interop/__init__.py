"""Handlers of foreign values: values that are neither Python numbers nor plain arrays of numbers."""
