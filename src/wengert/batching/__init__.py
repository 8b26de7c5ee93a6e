"""A function on a batch of examples at once: recorded on the first one, and played on all."""
