"""Native code compiled by LLVM: each construct of its source computes what Python computes, in calls from Python."""

from __future__ import annotations

import gc
import importlib
import itertools
import math
import pickle
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wengert.compiling.native import module
from wengert.compiling.native.callbacks import kernel
from wengert.values import kernel_cache

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
    "a nest": "s = 0.0\nfor i0 in range(4):\n    for i1 in range(5): s += x * i0 - y * i1\nreturn (0, s)",
    "rows": "s = 0.0\nfor i in range(2):\n    row = m[i:]\n    s += row[0 + 1] + row[0]\nreturn (0, s)",
    "one name, two loops": "s = 0.0\nfor i in range(2): s += m[i]\nfor i in range(3): s += 1.0\nreturn (0, s)",
    "while": "k = -1\nc = True\nwhile c:\n    k += 1\n    c = k < 5\nreturn (0, float(k))",
    "break": "s = 0.0\nfor i in range(9):\n    if i == 4: break\n    s += 1.0\nreturn (0, s)",
    "branches": "r = 0.0\nif x < y:\n    r = x\nelse:\n    r = y + 1.0\nreturn (0, r)",
    "an early return": "FAILED = (1, 0.0,)\nif x < y: return FAILED\nreturn (0, x)",
    "an empty branch": "r = y\nif x < y:\n    pass\nelse:\n    r = x\nreturn (0, r)",
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
    pytest.importorskip("numba")
    return module.compile_source(text, "native", ["NUMBER", "NUMBER", "WRITE"], {})


MEMORY = np.array([0.5, -2.0, 3.0, 1.0])
BIG_ENDIAN, UNALIGNED = MEMORY.astype(">f8"), np.frombuffer(b"x" + MEMORY.tobytes(), np.uint8)[1:].view(np.float64)
LOCKED = MEMORY.copy()
LOCKED.flags.writeable = False
SUM = "def native(x, a, k, o):\n    o[0] = x + a[k[1]]\n    return (0, o[0] + 1.0)\n"
WHOLE, OUTPUT = np.array([0, 2]), np.empty(1)
OTHER_ARGUMENTS = [
    (1.0, MEMORY, WHOLE),
    (1.0, MEMORY, WHOLE, OUTPUT, OUTPUT),
    ("1", MEMORY, WHOLE, OUTPUT),
    (10**400, MEMORY, WHOLE, OUTPUT),
    (1.0, 2.0, WHOLE, OUTPUT),
    (1.0, [0.5, 2.0, 3.0], WHOLE, OUTPUT),
    (1.0, MEMORY[::2], WHOLE, OUTPUT),
    (1.0, MEMORY.astype(np.float32), WHOLE, OUTPUT),
    (1.0, BIG_ENDIAN, WHOLE, OUTPUT),
    (1.0, UNALIGNED, WHOLE, OUTPUT),
    (1.0, MEMORY.view(np.recarray), WHOLE, OUTPUT),
    (1.0, MEMORY, WHOLE.astype(float), OUTPUT),
    (1.0, MEMORY, WHOLE.astype(np.int32), OUTPUT),
    (1.0, MEMORY, WHOLE, LOCKED),
]


def test_calls_with_other_arguments_fail() -> None:
    pytest.importorskip("numba")
    run = module.compile_source(SUM, "native", ["NUMBER", "READ", "PLACES", "WRITE"], {})
    for args in OTHER_ARGUMENTS:
        assert run(*args) == (1, 0.0), args
    unpickled = pickle.loads(pickle.dumps(MEMORY))  # its dtype is another object
    for x, memory in [(-1.0, MEMORY), (np.float64(-1.0), LOCKED), (-1, unpickled)]:
        assert run(x, memory, WHOLE, OUTPUT) == (0, 3.0)
        assert OUTPUT[0] == 2.0


IMPORTED = "SCALE, UNIT = 0.5, 8.0\n\ndef step(x):\n    return SCALE * x\n\ndef half(x):\n    return step(x) * UNIT\n"
IMPORTING = """from imported_kernels import half
SCALE = 3.0

def step(x):
    return SCALE * x

def total(x: float):
    return (0, step(x) + half(x))
"""


def test_kernels_of_two_modules_keep_their_numbers_and_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    for name, text in [("imported_kernels", IMPORTED), ("importing_kernels", IMPORTING)]:
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    kernels = importlib.import_module("importing_kernels")
    assert kernel(kernels, "total", "NUMBER", {})(2.0) == kernels.total(2.0) == (0, 14.0)


def test_many_lines_that_run_once_with_many_arguments_and_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM does not optimise them: it would take minutes for some thousand lines."""
    pytest.importorskip("numba")
    machine_code: Any = importlib.import_module("wengert.compiling.native.machine_code")
    monkeypatch.setattr(machine_code, "MOST_STRAIGHT_LINES", 300)
    names = [f"x{k}" for k in range(250)]
    lines = [f"    y{k} = {name} * {k}.0 + {name if k == 0 else f'y{k - 1}'}" for k, name in enumerate(names)]
    checks = [f"    if y{k} == -1.0: return FAILED" for k in range(100)]
    failed, results = ", ".join(["1", *["0.0"] * 250]), ", ".join(["0", *[f"y{k}" for k in range(250)]])
    source = "\n".join(
        [f"def native({', '.join(names)}):", f"    FAILED = ({failed})", *lines, *checks, f"    return ({results})", ""]
    )
    native = module.compile_source(source, "native", ["NUMBER"] * 250, {})
    given = np.linspace(0.1, 2.0, 250)
    expected = np.cumsum(given * np.arange(250)) + given[0]
    assert machine_code.is_long_and_straight(source)
    np.testing.assert_allclose(native(*given)[1:], expected, rtol=1e-12)
    assert native(-1.0, *given[1:])[0] == 1


def test_calls_lose_no_references() -> None:
    pytest.importorskip("numba")
    run = module.compile_source(SUM, "native", ["NUMBER", "READ", "PLACES", "WRITE"], {})
    x = 1234.5
    before = [sys.getrefcount(each) for each in (x, MEMORY, WHOLE, OUTPUT)]
    found = [run(x, MEMORY, WHOLE, OUTPUT) for _ in range(100)]
    assert [sys.getrefcount(each) for each in (x, MEMORY, WHOLE, OUTPUT)] == before
    plain = [(0, float(k)) for k in range(100)]
    assert _references(found) == _references(plain)
    gone = weakref.ref(run)
    del run
    gc.collect()
    assert gone() is None


def _references(pairs: list[Any]) -> set[tuple[int, int]]:
    return {(sys.getrefcount(pair), sys.getrefcount(pair[1])) for pair in pairs}


def test_machine_code_is_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    from wengert.compiling.native import machine_code

    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path))
    made: list[str] = []
    compiled = machine_code.object_code
    monkeypatch.setattr(machine_code, "object_code", lambda *args: (made.append("x"), compiled(*args))[1])
    source = "def native(x):\n    return (0, x * 2.0)\n"
    for _ in range(2):
        assert machine_code.to_machine_code(source, "native", ["NUMBER"], "a test", {})(3.0) == (0, 6.0)
        assert len(made) == 1
        (path,) = kernel_cache.folder().iterdir()
        kept = path.read_bytes()
    path.write_bytes(kept[:-9])
    assert machine_code.to_machine_code(source, "native", ["NUMBER"], "a test", {})(3.0) == (0, 6.0)
    assert len(made) == 2 and path.read_bytes() == kept


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
