"""Methods that C asks for a number of the trace: it computes on that number where nothing is recorded.

`float(a)` and `a[0]` go on with the very number that a method returns. `math.sqrt(a)`, `np.array([a], float)` and
`w[0] = a` take its value in C, so that the result would be a constant of the code.
"""

from __future__ import annotations

import types

from wengert.hooks.classes import lookup
from wengert.values.codes import original
from wengert.values.frames import ENGINE

_CONVERTING = ("__float__", "__complex__")
_GOING_ON = {
    f"{ENGINE}hooks/{name}.py"
    for name in (
        "construction", "items", "standins/containers", "standins/iteration", "standins/listing", "standins/ordering",
        "standins/overrides", "standins/plain", "standins/totals",
    )
}  # fmt: skip
"""Files of this package that ask for items or an array, and go on with what they are given."""
_GOING_ON_WITH_NUMBERS = f"{ENGINE}hooks/standins/conversions.py"


def asked_unseen(frame: types.FrameType) -> bool:
    """Whether C asked the method that runs in a frame for what it returns, and not instrumented code."""
    caller = frame.f_back
    assert caller is not None
    if original(caller.f_code) is not None:
        return False
    file = caller.f_code.co_filename
    return file != _GOING_ON_WITH_NUMBERS if _converts(frame) else file not in _GOING_ON


def _converts(frame: types.FrameType) -> bool:
    """Whether a frame runs the method by which its first argument is converted to a number."""
    code = frame.f_code
    owner = frame.f_locals[code.co_varnames[0]] if code.co_argcount else None
    return any([getattr(lookup(type(owner), name), "__code__", None) is code for name in _CONVERTING])
