"""Compile sources of native functions, with the functions that all of them may call."""

from __future__ import annotations

import hashlib
import math
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from wengert.compiling.native import lapack
from wengert.compiling.native.scipy_functions import c_address, c_name, exported_address
from wengert.compiling.native.source import TapeProgram
from wengert.compiling.native.values import Scalar, UnsupportedOp, real_parts

_TERMS = [f"({1 / math.factorial(k)!r} + r * {1 / math.factorial(k + 1)!r})" for k in range(0, 14, 2)]
_ATANH = " + z * (".join([repr(2 / k) for k in range(3, 25, 2)]) + ")" * 10
PRELUDE = f"""
def remainder(x, y):
    r = np.fmod(x, y)
    return np.copysign(0.0, y) if r == 0.0 else r + y if (r < 0.0) != (y < 0.0) else r


def fast_log(x):
    # log without branches: of x = 2**k (1 + s) / (1 - s), by the series of artanh
    small = x < 2.2250738585072014e-308
    m, k = parted(x * 18014398509481984.0 if small else x)
    k = k - 6755399441055744.0 - (54.0 if small else 0.0)
    f = m - 1.0
    s = f / (m + 1.0)
    z = s * s
    low = k * 1.90821492927058770002e-10 + s * z * ({_ATANH})
    y = k * 0.693147180369123816490 + (f - s * f + low)
    y = y if x < inf else x
    y = -inf if x == 0.0 else y
    return nan if x < 0.0 else y


def fast_exp(x):
    # exp without branches, for SIMD: 2**k exp(r), by the series of exp
    n = x * 1.4426950408889634 + 6755399441055744.0
    k = n - 6755399441055744.0
    r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10
    s = r * r
    q = s * s
    p = {_TERMS[0]} + s * {_TERMS[1]}
    p += q * ({_TERMS[2]} + s * {_TERMS[3]} + q * ({_TERMS[4]} + s * {_TERMS[5]} + q * {_TERMS[6]}))
    y = scaled(p, n)
    y = inf if x > 709.782712893384 else y
    y = 0.0 if x < -708.3 else y
    return y if x == x else x


def fast_tanh(x):
    # tanh without branches: by exp, or by a continued fraction for small x
    a = abs(x)
    a = a if a < 20.0 else 20.0
    s = x * x
    e = fast_exp(2.0 * a)
    up = x * (10395.0 + s * (1260.0 + s * 21.0)) if a < 0.25 else (e - 1.0 if x > 0.0 else 1.0 - e)
    down = 10395.0 + s * (4725.0 + s * (210.0 + s)) if a < 0.25 else e + 1.0
    y = up / down
    return y if x == x else x


"""


def parameter_kinds(program: TapeProgram) -> list[str]:
    """Return the kinds of the parameters of `native`."""
    kinds = [_parameter_kind(source, x) for source, x in program.parameters.values()]
    views = [x for _, result in program.results if not isinstance(x := real_parts(result)[0], Scalar)]
    kinds += ["WRITE_COMPLEX" if x.memory.is_complex else "WRITE" for x in views]
    return kinds + ["WRITE"] * bool(program.size) + ["FUNCTION", "WRITE", "WRITE"] * len(program.callouts)


def _parameter_kind(source: Any, x: Any) -> str:
    if isinstance(x, Scalar):
        return "NUMBER"
    if x.is_complex:
        return "COMPLEX"
    return "PLACES" if getattr(source, "dtype", None) == np.int64 else "READ"


@cache
def _versions() -> str:
    """Return the versions that machine code depends on, for the cache key."""
    import llvmlite

    files = [Path(__file__).with_name(f"{name}.py").read_bytes() for name in ("llvm", "python_calls", "machine_code")]
    translator = hashlib.sha256(b"".join(files)).hexdigest()[:8]
    python = f"Python {platform.python_version()}, whose objects begin with {object.__basicsize__} bytes"
    return f"Emitted by wengert ({translator}), for llvmlite {llvmlite.__version__}, numpy {np.__version__}, {python}."


def compile_program(program: TapeProgram, unlocked: bool = False) -> Any:
    """Return the compiled native function, from the cache on disk if that is safe to use.

    If `unlocked`, it runs without the lock of the interpreter.
    """
    if unlocked and program.callouts:
        raise UnsupportedOp("a call of a function in Python by several threads")
    source = "\n\n\n".join([*program.helpers, *program.functions, program.text])
    return compile_source(source, "native", parameter_kinds(program), program.ufuncs, unlocked)


def compile_source(
    source: str, name: str, kinds: Sequence[str], ufuncs: Mapping[str, np.ufunc], unlocked: bool = False
) -> Any:
    """Return a function of a source, which calls `ufuncs` of SciPy, as a Python function."""
    from wengert.compiling.native.machine_code import to_machine_code

    symbols = {c_name(ufunc): c_address(ufunc) for ufunc in ufuncs.values()}
    for routine, (exports, known) in lapack.routines_in(source).items():
        symbols[routine] = exported_address(exports, known)
    return to_machine_code(f"{PRELUDE}\n{source}", name, kinds, _versions(), symbols, unlocked)
