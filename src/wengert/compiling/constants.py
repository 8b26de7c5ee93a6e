"""Keys of constants: equal for those that code cannot tell apart, so that their calls may be one."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.tape.ops import Variable, with_variables
from wengert.values.callables import TOLD_APART
from wengert.values.specs import Spec

MOST_BYTES_COMPARED = 2**16
"""The size of the largest arrays whose keys have their bits; larger ones have keys of their own."""
_COMPARED_BY_VALUE = {str, bytes, bool, int, type(None), type(...), Spec, Variable}


def constant_key(x: Any) -> Any:
    """Return a key that is equal for constants of the same type and bits, and for containers of such in one order.

    Callables are compared as Python does, other objects by identity, so that no code of the user runs.
    """
    kind = type(x)
    if kind in TOLD_APART:
        return x
    if isinstance(x, (float, complex)):
        return kind, np.asarray(x).tobytes()
    if isinstance(x, np.generic):
        return kind, (x.dtype, x.tobytes())
    if kind is np.ndarray and x.nbytes <= MOST_BYTES_COMPARED:  # as each iteration makes its own np.eye(3)
        return kind, x.dtype, x.shape, x.strides, x.tobytes()
    if isinstance(x, (tuple, list)):
        return (kind, *map(constant_key, x))
    if isinstance(x, dict):
        return kind, *[(constant_key(name), constant_key(part)) for name, part in x.items()]
    if isinstance(x, slice):
        return kind, constant_key(x.start), constant_key(x.stop), constant_key(x.step)
    return kind, x if kind in _COMPARED_BY_VALUE or isinstance(x, np.dtype) else id(x)


def outcome_key(value: Any) -> Any:
    """Return a key that is equal for equal outcomes of a test: for a bool or np.bool_ the bool itself."""
    value = with_variables(value, bool, np.bool_)
    return value if type(value) is bool else constant_key(value)


def are_equal_constants(a: Any, b: Any) -> bool:
    """Whether two constants have the same bits, also if they are large arrays."""
    if type(a) is type(b) is np.ndarray:
        return a is b or ((a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides) and a.tobytes() == b.tobytes())
    return a is b or bool(constant_key(a) == constant_key(b))
