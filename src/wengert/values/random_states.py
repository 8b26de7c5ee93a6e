"""The states of random generators: those of NumPy, and Python's `random.Random`.

Neither module is imported before it is needed: NumPy's takes a tenth of a first gradient.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

_CLASSES = ("random", "Random"), ("numpy.random", "Generator"), ("numpy.random", "RandomState")


_FOUND: dict[Any, None] = {}
"""The classes of random generators that were found so far; a program may have removed their module since."""


def generator_types() -> tuple[type, ...]:
    """Return the classes of random generators of the modules imported so far: each draw changes their state."""
    _FOUND.update(dict.fromkeys([getattr(sys.modules.get(module), name, None) for module, name in _CLASSES]))
    _FOUND.pop(None, None)
    return (*_FOUND,)


def shared_generators() -> tuple[Any, ...]:
    """Import `np.random` and `random`, and return the generators of their functions."""
    import random

    return np.random.mtrand._rand, random._inst


def has_state(rng: Any) -> bool:
    """Whether a generator has a state, which `random.SystemRandom` has not."""
    return not any([(base.__module__, base.__name__) == ("random", "SystemRandom") for base in type(rng).__mro__])


def random_state(rng: Any) -> Any:
    """Return the state of a generator."""
    if hasattr(rng, "getstate"):  # one of Python's
        return rng.getstate()
    return rng.bit_generator.state if isinstance(rng, np.random.Generator) else _legacy_state(rng)


_last_read: dict[str, tuple[Any, bytes, Any]] = {}
"""The last generator whose state was read, its memory then, and the state."""


def _legacy_state(rng: Any) -> Any:
    """Return the state of a RandomState; if its memory is as before, the same object, since NumPy takes 0.1 ms.

    The generators of other libraries may keep their state elsewhere.
    """
    if type(rng._bit_generator) is not np.random.MT19937:
        return rng.get_state(legacy=False)
    memory = b"".join([
        ctypes.string_at(id(part) + object.__basicsize__, type(part).__basicsize__ - object.__basicsize__)
        for part in (rng, rng._bit_generator)
    ])  # fmt: skip
    known, before, state = _last_read.get("last", (None, b"", None))
    if known is not rng or before != memory:
        state = rng.get_state(legacy=False)
        _last_read["last"] = rng, memory, state
    return state


def set_random_state(rng: Any, state: Any) -> None:
    """Set a generator to a state."""
    if hasattr(rng, "setstate"):
        rng.setstate(state)
    elif isinstance(rng, np.random.Generator):
        rng.bit_generator.state = state
    else:
        rng.set_state(state)


def is_same_state(a: Any, b: Any) -> bool:
    """Whether two states of a generator are the same."""
    if a is b:
        return True
    if isinstance(a, dict):
        return all(is_same_state(a[key], b[key]) for key in a)
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a == b)
