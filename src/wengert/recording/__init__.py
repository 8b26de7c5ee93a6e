"""What a run writes down: its entries, and which live objects are traced values."""
