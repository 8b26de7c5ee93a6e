"""Methods that C asks for a number or string of the trace, which it uses where nothing is recorded.

`float(a)` and `a[0]` go on with the very number that a method returns. `math.sqrt(a)`, `np.array([a], float)` and
`w[0] = a` take its value in C, so that the result would be a constant of the code, as does `repr([a])`.
"""

from __future__ import annotations

import types
from typing import Any

from wengert.hooks.classes import lookup
from wengert.values.codes import original
from wengert.values.frames import ENGINE

_CONVERTING = ("__float__", "__complex__")
_SHOWING = ("__repr__", "__str__", "__format__")
_GOING_ON = {
    f"{ENGINE}hooks/{name}.py"
    for name in (
        "construction", "items", "standins/containers", "standins/iteration", "standins/listing", "standins/ordering",
        "standins/plain", "standins/totals",
    )
} | {f"{ENGINE}interop/overrides.py"}  # fmt: skip
"""Files of this package that ask for items or an array, and go on with what they are given."""
_GOING_ON_WITH_NUMBERS = f"{ENGINE}hooks/standins/conversions.py"


def asked_unseen(frame: types.FrameType) -> bool:
    """Whether C asked the method that runs in a frame for what it returns, and not instrumented code."""
    caller = frame.f_back
    assert caller is not None
    if original(caller.f_code) is not None:
        return False
    if frame.f_code.co_name in _SHOWING:
        return not _is_asked_of(caller, _owner(frame))
    file = caller.f_code.co_filename
    return file != _GOING_ON_WITH_NUMBERS if _converts(frame) else file not in _GOING_ON


def _converts(frame: types.FrameType) -> bool:
    """Whether a frame runs the method by which its first argument is converted to a number."""
    t = type(_owner(frame))
    return any([getattr(lookup(t, name), "__code__", None) is frame.f_code for name in _CONVERTING])


def _owner(frame: types.FrameType) -> Any:
    """The object of which a method runs in a frame."""
    return frame.f_locals[frame.f_code.co_varnames[0]] if frame.f_code.co_argcount else None


def _is_asked_of(caller: types.FrameType, owner: Any) -> bool:
    """Whether this package asks that very object for its string, and not a container that holds it."""
    names = caller.f_locals
    return names.get("value") is owner or any([a is owner for a in names.get("args", ())])
