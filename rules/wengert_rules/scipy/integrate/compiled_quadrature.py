"""`quad` in compiled functions: SciPy integrates again, and the derivative has nodes for each call."""

from __future__ import annotations

from scipy import integrate

from wengert.extend import compiled_by
from wengert_rules.scipy.integrate.quadrature import by_code, integral, quad

compiled_by(integrate.quad)(quad)
compiled_by(integral)(by_code)
