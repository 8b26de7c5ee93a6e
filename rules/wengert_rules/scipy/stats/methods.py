"""Methods of distributions: those for which a text in Python stands, and calls of them that nothing records."""

from __future__ import annotations

import numpy as np
from scipy import stats


def own(name, method):
    """The method that the class of a distribution has of its own, where this version of SciPy has both."""
    cls = type(getattr(stats, name, None))
    owner = next((base for base in cls.__mro__ if method in vars(base)), object)
    return [vars(owner)[method]] if owner not in (object, stats.rv_continuous, stats.rv_discrete) else []


def untraced(*args):
    """Copies, of which nothing is recorded where methods of np.vectorize run instrumented."""
    return [np.array(a)[()] for a in args]
