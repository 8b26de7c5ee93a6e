"""cma: test functions."""

import cma
import numpy as np
from case import case

X = np.array([0.3, -0.6, 0.2, 1.1])

for _name in ("sphere", "elli", "rosen", "cigar", "tablet", "rastrigin", "ackley"):
    if hasattr(cma.ff, _name):

        def _run(x, name=_name):
            return getattr(cma.ff, name)(x)

        _run.__name__ = _name
        case(X)(_run)
