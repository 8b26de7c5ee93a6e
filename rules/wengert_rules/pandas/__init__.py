"""Rules for pandas' compiled code on float columns. Its Python code is traced down to these functions."""

from wengert_rules.pandas import arguments, expressions, filling, gaps, groups, holders, reads, windows
