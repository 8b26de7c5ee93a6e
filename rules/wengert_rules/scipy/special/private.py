"""Rules for private ufuncs, with which scipy.stats computes; not every version of SciPy has all."""

from __future__ import annotations

from wengert.extend import partials
from wengert_rules.scipy.optional import if_present


def of_private(*names):
    """Return `partials` of the private ufuncs of these names that the installed SciPy has."""
    return if_present(partials, *[f"special._ufuncs.{name}" for name in names])
