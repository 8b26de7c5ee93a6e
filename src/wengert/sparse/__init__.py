"""Which elements of a result depend on which elements of an input, and how few passes give all of these derivatives."""
