"""pyswarms: single-objective functions on swarms."""

import numpy as np
from case import case
from pyswarms.utils.functions import single_obj as fx

X = np.array([[0.3, -0.6], [0.2, 1.1], [-0.7, 0.4]])

for _name in (
    "ackley",
    "beale",
    "booth",
    "easom",
    "goldstein",
    "himmelblau",
    "levi",
    "matyas",
    "rastrigin",
    "rosenbrock",
):

    def _run(x, name=_name):
        return getattr(fx, name)(x)

    _run.__name__ = _name
    case(X)(_run)
