"""Rules for private ufuncs, with which scipy.stats computes; not every version of SciPy has all."""

from __future__ import annotations

from scipy.special import _ufuncs

from wengert.extend import partials


def of_private(*names):
    """`partials` of the private ufuncs of these names, as far as there are any."""
    targets = [getattr(_ufuncs, name) for name in names if hasattr(_ufuncs, name)]
    return partials(*targets) if targets else lambda body: body
