"""In what order and shape a program is computed."""
