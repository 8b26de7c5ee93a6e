"""What a trace writes down: entries, the shadow of traced values, recorders."""
