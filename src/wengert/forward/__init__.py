"""Forward mode: tangents, pushed along while the function runs, or over what was recorded of it."""
