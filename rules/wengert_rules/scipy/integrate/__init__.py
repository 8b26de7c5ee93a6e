"""scipy.integrate: integrals, differentiated under the integral and in their bounds; differential equations."""

from __future__ import annotations

from wengert.extend import rules
from wengert_rules.scipy.integrate import initial_values, integrators, quadrature

for _name in ("native_initial_values", "compiled_quadrature"):
    rules.when_imported("wengert.compiling.watched.call_hooks", f"wengert_rules.scipy.integrate.{_name}")
