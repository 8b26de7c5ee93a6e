"""What pandas computes in compiled code on columns of floats; its Python is followed down to it."""

from wengert_rules.pandas import arguments, expressions, filling, gaps, groups, holders, windows
