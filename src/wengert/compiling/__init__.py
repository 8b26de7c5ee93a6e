"""Compiling: functions that are traced once, and tapes rewritten to do less, laid out in memory and written as code."""
