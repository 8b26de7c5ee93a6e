"""Forward mode: tangents are pushed while the function runs, or through its recording afterwards."""
