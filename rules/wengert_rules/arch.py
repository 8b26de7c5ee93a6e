"""arch: its recursions of variances in C are there in Python, too."""

from __future__ import annotations

from arch.univariate import recursions, recursions_python

from wengert.extend import stands_for

for _name in ("garch", "arch", "harch", "egarch", "figarch", "aparch", "midas"):
    _name = f"{_name}_recursion"
    if hasattr(recursions, _name):
        stands_for(getattr(recursions, _name))(getattr(recursions_python, f"{_name}_python"))
