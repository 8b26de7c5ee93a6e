"""scipy.optimize: what its solvers find, differentiated by the equations that it solves."""

from __future__ import annotations

from wengert_rules.scipy.optimize import least_squares, minima, programs, roots
