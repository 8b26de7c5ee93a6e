"""The states of random generators: those of NumPy, and Python's `random.Random`."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

SHARED_GENERATORS: tuple[Any, ...] = (np.random.mtrand._rand, random._inst)
"""The generators of the functions of `np.random` and `random`."""
GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
"""The classes of random generators: each draw changes their state."""


def random_state(rng: Any) -> Any:
    """Return the state of a generator."""
    if isinstance(rng, np.random.Generator):
        return rng.bit_generator.state
    return rng.getstate() if isinstance(rng, random.Random) else rng.get_state(legacy=False)


def set_random_state(rng: Any, state: Any) -> None:
    """Set a generator to a state."""
    if isinstance(rng, np.random.Generator):
        rng.bit_generator.state = state
    elif isinstance(rng, random.Random):
        rng.setstate(state)
    else:
        rng.set_state(state)


def is_same_state(a: Any, b: Any) -> bool:
    """Whether two states of a generator are the same."""
    if isinstance(a, dict):
        return all(is_same_state(a[key], b[key]) for key in a)
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a == b)
