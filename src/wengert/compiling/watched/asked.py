"""Methods that C code calls for a number or string, which it then uses unrecorded.

The hooks of `float(a)` and `a[0]` go on with the very number that the method returns. In `math.sqrt(a)`,
`np.array([a], float)`, `w[0] = a` and `repr([a])` C takes its value: the result would become a constant of the code.
"""

from __future__ import annotations

import types
from typing import Any

from wengert.hooks.classes import lookup
from wengert.values.codes import original
from wengert.values.frames import ENGINE

_NUMBER_METHODS = ("__float__", "__complex__")
_STRING_METHODS = ("__repr__", "__str__", "__format__")
_FILES_ASKING_FOR_ITEMS = {
    f"{ENGINE}{name}.py"
    for name in (
        "hooks/construction", "hooks/items", "hooks/standins/containers", "hooks/standins/iteration",
        "hooks/standins/listing", "hooks/standins/ordering", "hooks/standins/plain", "hooks/standins/totals",
        "interop/overrides",
    )
}  # fmt: skip
"""Files of this package that call a method for items or an array, and keep the returned object."""
_FILE_ASKING_FOR_NUMBERS = f"{ENGINE}hooks/standins/conversions.py"


def is_asked_by_c(frame: types.FrameType) -> bool:
    """Whether C code, not instrumented code, called the method that runs in a frame and uses its result."""
    caller = frame.f_back
    assert caller is not None
    if original(caller.f_code) is not None:
        return False
    if frame.f_code.co_name in _STRING_METHODS:
        return not _is_formatted_by(caller, _self_of(frame))
    file = caller.f_code.co_filename
    return file != _FILE_ASKING_FOR_NUMBERS if _converts(frame) else file not in _FILES_ASKING_FOR_ITEMS


def _converts(frame: types.FrameType) -> bool:
    """Whether a frame runs `__float__` or `__complex__` of its first argument."""
    t = type(_self_of(frame))
    return any([getattr(lookup(t, name), "__code__", None) is frame.f_code for name in _NUMBER_METHODS])


def _self_of(frame: types.FrameType) -> Any:
    """The first argument of the method that runs in a frame."""
    return frame.f_locals[frame.f_code.co_varnames[0]] if frame.f_code.co_argcount else None


def _is_formatted_by(caller: types.FrameType, owner: Any) -> bool:
    """Whether this package converts that very object to a string, and not a container that holds it."""
    names = caller.f_locals
    return names.get("value") is owner or any([a is owner for a in names.get("args", ())])
