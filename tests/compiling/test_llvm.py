"""The translation of native code to LLVM: each construct of its source computes what Python computes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from wengert.compiling.native import module

NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.5, -7.25, 3e10, 1e-300, math.inf, -math.inf, math.nan]
FINITE = [x for x in NUMBERS if math.isfinite(x)]
EXPRESSIONS = [
    "x + y * 2.0 - x * 3", "-x", "0.5 - 2", "x if x < y else y", "1 if x <= y else 0.5", "x == y", "x != y",
    "not x < y", "x >= y or x != x and y > 0.0", "0.0 < x <= y", "(x < y) != (y < 0.0)", "abs(x)", "abs(x - y) == inf",
    "nan", "float(int(a) // int(c)) if c != 0.0 else nan", "float(int(a) % int(c)) if c != 0.0 else 0.0",
    "float(7 // int(b)) if b != 0.0 and int(b) != 0 else -1.0", "max(a, b)", "min(a, b)", "float(x < y) + 1",
    "exp(a) if a < 100.0 else 0.0", "log1p(x) if x > 0.0 else sqrt(abs(a))", "atan2(a, b)", "hypot(a, b)", "erf(a)",
    "lgamma(abs(a) + 1.0)", "np.floor(x)", "np.ceil(x)", "np.trunc(x)", "np.rint(x)", "np.copysign(x, y)", "np.cbrt(x)",
    "np.fmod(a, b) if b != 0.0 else nan", "remainder(x, y)", "pow(abs(a), 0.5)", "radd(x, y)",
]  # fmt: skip
BODIES = {
    "a sum over memory": "s = 0.0\nfor i in range(3):\n    s += m[i] * m[2 - i]\nreturn (0, s)",
    "downwards": "s = x\nfor i in range(2, -1, -1):\n    s = s * 0.5 + m[i]\nreturn (0, s)",
    "from a start": "s = x\nfor i in range(1, 3):\n    s = s * 0.5 + m[i]\nreturn (0, s)",
    "loops in loops": "s = 0\nfor i in range(3):\n    for j in range(i + 1):\n        s += i * j\nreturn (0, float(s))",
    "one name, two loops": "s = 0.0\nfor i in range(2): s += m[i]\nfor i in range(3): s += 1.0\nreturn (0, s)",
    "while": "k = -1\nc = True\nwhile c:\n    k += 1\n    c = k < 5\nreturn (0, float(k))",
    "break": "s = 0.0\nfor i in range(9):\n    if i == 4: break\n    s += 1.0\nreturn (0, s)",
    "branches": "r = 0.0\nif x < y:\n    r = x\nelse:\n    r = y + 1.0\nreturn (0, r)",
    "an early return": "FAILED = (1, 0.0,)\nif x < y: return FAILED\nreturn (0, x)",
    "both return": "if x < y:\n    return (1, x)\nelse:\n    return (0, y)",
    "a swap": "r, s = x, y\nr, s = s, r\nreturn (0, r)",
    "a swap in memory": "w = np.empty(2)\nw[0] = x\nw[1] = y\nw[0], w[1] = w[1], w[0]\nreturn (0, w[0])",
    "a number that is counted": "bad = 0\nfor i in range(3):\n    bad |= m[i] - m[i] != 0.0\nreturn (0, float(bad))",
    "a truth that is a number": "s = 1\nif s: return (0, x)\nreturn (1, y)",
    "functions": "r, s = both(x, y)\nput(m, u(1), r)\nreturn (0, m[1] * one(s) if known(x) else 0.0)",
    "a branch-free choice": "t = 2.0 if x < y or not x == x else m[u(0)]\nreturn (0, t)",
}
FUNCTIONS = """
def both(a, b):
    return a + b, a - b


def one(a):
    for i in range(3):
        a = a * 0.5
    return a


def known(a):
    if a != a:
        return False
    return a < 1e9


def put(m, k, a):
    m[k] = a
"""


def by_llvm(text: str) -> Any:
    """Compile the source of a function of two floats and flat memory."""
    numba = pytest.importorskip("numba")
    from numba.extending import intrinsic

    from wengert.compiling.native.llvm import emitter

    number = numba.types.float64
    memory = numba.types.Array(number, 1, "C")
    signature = numba.types.Tuple((numba.types.int64, number))(number, number, memory)

    @intrinsic  # type: ignore[untyped-decorator]
    def called(context: Any, x: Any, y: Any, m: Any) -> Any:
        return signature, emitter(text)

    return numba.njit(signature)(lambda x, y, m: called(x, y, m))


def by_python(text: str) -> Any:
    space = {**vars(math), "np": np, "u": int, "radd": lambda a, b: a + b, "remainder": np.remainder}
    exec(text, space)
    return space["native"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("body", [*BODIES.values(), None], ids=[*BODIES, "expressions"])
def test_computes_what_python_computes(body: str | None) -> None:
    lines = [f"m[{k}] = {each}" for k, each in enumerate(EXPRESSIONS)]
    lines = [
        "a = x if abs(x) < 1e9 else 2.0",
        "b = y if abs(y) < 1e9 else 3.0",
        "c = np.rint(b)",
        *lines,
        "return (0, x)",
    ]
    lines = lines if body is None else body.split("\n")
    text = "\n    ".join([f"{module.PRELUDE}{FUNCTIONS}\n\ndef native(x, y, m):", *lines])
    compiled, plain = by_llvm(text), by_python(text)
    for x, y in itertools.product(NUMBERS, NUMBERS):
        memory = [np.array([0.5, -2.0, 3.0] + [0.0] * len(EXPRESSIONS)) for _ in range(2)]
        found, expected = compiled(x, y, memory[0]), plain(np.float64(x), np.float64(y), memory[1])
        np.testing.assert_allclose(found, [float(part) for part in expected], rtol=1e-14, atol=0.0)
        np.testing.assert_allclose(memory[0], memory[1], rtol=1e-14, atol=0.0)
        np.testing.assert_array_equal(np.signbit(memory[0]), np.signbit(memory[1]))
