"""Differentiation and the simplifications that keep it cheap."""
