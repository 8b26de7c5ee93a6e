"""Loops: found in what was recorded, differentiated once, and optimised across their borders."""
