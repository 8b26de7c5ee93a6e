"""scipy.integrate: integrals, differentiated under the integral and in their bounds; differential equations."""

from __future__ import annotations

from wengert_rules.scipy.integrate import initial_values, native_initial_values, quadrature
