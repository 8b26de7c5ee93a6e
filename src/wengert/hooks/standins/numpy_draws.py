"""The stand-ins of NumPy's draws, loaded with the rules once a program has imported `numpy.random`."""

from __future__ import annotations

import numpy as np

from wengert.hooks.decide import HASHABLE
from wengert.hooks.policy import CALLABLES, stand_in_for
from wengert.hooks.standins.randomness import DISCRETE, DISCRETE_DRAW, FAMILIES

HASHABLE.add(type(np.random.Generator.normal))
for _generator in (np.random.Generator, np.random.RandomState):
    for _name, _make in FAMILIES.items():
        if _fn := getattr(_generator, _name, None):
            stand_in_for(_fn)(_make(_fn))
    for _name in DISCRETE:
        if _fn := getattr(_generator, _name, None):
            CALLABLES[_fn] = DISCRETE_DRAW
