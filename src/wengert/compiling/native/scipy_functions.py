"""Words for ufuncs of `scipy.special`: native code calls SciPy's own C functions, which `cython_special` exports."""

from __future__ import annotations

import ctypes
import re
import sys
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from wengert.compiling.ops import ScalarOp, float_ufunc

EXPORTS = "scipy.special.cython_special"
_DOUBLES = re.compile(r'"double \((double(?:, double)*)(, int __pyx_skip_dispatch)?\)"')


def scipy_op(fn: Any, args: int) -> ScalarOp | None:
    """Return the word of a ufunc of `scipy.special` for `args` floats; None if SciPy exports no such C function."""
    is_ufunc = type(fn) is np.ufunc and getattr(sys.modules.get("scipy.special"), fn.__name__, None) is fn
    found = exported(fn) if is_ufunc and fn.nin == args else None
    if found is None:
        return None
    operands = [f"{{{k}}}" for k in range(args)]
    return ScalarOp(f"{c_name(fn)}({', '.join([*operands, *['0'] * found[1]])})")


def c_name(ufunc: np.ufunc) -> str:
    """Return the name by which native code calls the C function of a ufunc."""
    return f"scipy_{ufunc.__name__}"


@cache
def exported(ufunc: np.ufunc) -> tuple[str, bool] | None:
    """Return the name under which a C function of floats is exported, and whether its last argument is a 0."""
    if float_ufunc(ufunc) is None:
        return None
    exports = getattr(import_module(EXPORTS), "__pyx_capi__", {})
    for name in (ufunc.__name__, f"__pyx_fuse_0{ufunc.__name__}", f"__pyx_fuse_1{ufunc.__name__}"):
        signature = _DOUBLES.search(repr(exports.get(name)))
        if signature and signature[1].count("double") == ufunc.nin:
            return name, bool(signature[2])
    return None


def c_address(ufunc: np.ufunc) -> int:
    """Return the address of the C function of a ufunc."""
    return exported_address(EXPORTS, (exported(ufunc) or ("",))[0])


def exported_address(module: str, name: str) -> int:
    """Return the address of a C function that a module of Cython exports."""
    capsule = import_module(module).__pyx_capi__[name]
    known = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))(capsule)
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    return int(pointer(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, known))
