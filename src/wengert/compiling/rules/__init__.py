"""The rules of the optimiser: what may stand in the place of a call."""
