"""scipy.optimize: what its solvers find, differentiated by the equations that it solves."""

from __future__ import annotations

from wengert.extend import rules
from wengert_rules.scipy.optimize import least_squares, minima, programs, roots

rules.when_imported("wengert.compiling.watched.call_hooks", "wengert.api.solver_calls")
