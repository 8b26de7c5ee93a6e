"""The recording of a run: its entries, and which live objects are traced values."""
