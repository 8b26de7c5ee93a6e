"""Loops: found in the recorded calls, differentiated once, and optimised together with the code around them."""
