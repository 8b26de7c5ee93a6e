"""Source: runs without the package, gives play's bits, and reads well."""

from __future__ import annotations

import builtins
import collections
import math
import operator
import random
import re
import struct
import traceback
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.special
from tapes import SITE, array_tape, plainly, same_bits, scalar_tape

import wengert as wg
import wengert_rules  # noqa: F401
from wengert.errors import StaleTapeError
from wengert.tape import source
from wengert.tape.tape import Call, Constant, Input, Tape, Variable, mkcall
from wengert.values import functional


def without_package(name: str, *args: Any) -> Any:
    if name.split(".")[0] == "wengert":
        raise ImportError(name)
    return builtins.__import__(name, *args)


def alone(source: str, name: str = "f") -> Any:
    """The emitted function, run where wengert cannot be imported."""
    namespace: dict[str, Any] = {"__builtins__": {**vars(builtins), "__import__": without_package}}
    exec(source, namespace)
    return namespace[name]


def tape_of(*calls: tuple[Any, ...], inputs: dict[str, Any], result: int = -1) -> Tape:
    """Calls on free references (position from 1), after the inputs."""
    tape = Tape()
    for name, value in inputs.items():
        tape.push(Input(value, name))
    made = []
    for fn, *args in calls:
        given = [tape.bound_variable(a) if isinstance(a, Variable) else a for a in args]
        made.append(tape.push(mkcall(fn, *given)))
    tape.result = made[result]
    return tape


V = Variable
ADD, SUB, MUL, DIV, POW, NEG = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.neg)  # fmt: skip
SET, ACC = functional.setitem, functional.additem


STALE = '''\
try:
    from wengert import StaleTapeError
except ImportError:
    class StaleTapeError(RuntimeError):
        """The function would have run differently on these inputs."""
'''
OF_THREE = "type(x) is not np.ndarray or x.shape != (3,) or x.dtype != 'float64'"
OF_FLOAT = """    if type(x) is not float: raise StaleTapeError("x was float when recorded")\n"""


def test_scalars_read_as_a_formula() -> None:
    tape = tape_of((MUL, V(1), V(2)), (math.sin, V(1)), (ADD, V(3), V(4)), inputs={"x1": 2.0, "x2": 3.0})
    assert (
        tape.to_source()
        == f"""\
import math

{STALE}

def f(x1, x2):
    if type(x1) is not float: raise StaleTapeError("x1 was float when recorded")
    if type(x2) is not float: raise StaleTapeError("x2 was float when recorded")
    return x1 * x2 + math.sin(x1)
"""
    )


def test_the_traced_function_is_no_parameter() -> None:
    tape = Tape()
    tape.push(Input(math.sin, "f", callee=True))
    x = tape.push(Input(2.0, "x"))
    tape.result = tape.push(mkcall(operator.neg, x))
    assert tape.to_source("negative") == f"{STALE}\n\ndef negative(x):\n{OF_FLOAT}    return -x\n"
    tape.result = tape.push(mkcall(tape.bound_variable(1), x))
    assert tape.to_source() == f"import math\n\n{STALE}\n\ndef f(x):\n{OF_FLOAT}    return math.sin(x)\n"


def test_arrays_stores_and_checks() -> None:
    tape = tape_of(
        (np.sin, V(1)), (np.copy, V(2)), (SET, V(3), 0, 1.0), (ACC, V(4), slice(1, None), 2.0),
        (np.ndarray.sum, V(5)), (SET, V(2), (0,), V(6)), (ACC, V(2), np.array([1, 1]), 3.0),
        (ADD, V(7), V(8)), (np.sum, V(9)),
        inputs={"x": np.ones(3)},
    )  # fmt: skip
    assert (
        tape.to_source()
        == f"""\
import numpy as np

{STALE}

def f(x):
    if {OF_THREE}: raise StaleTapeError("x was float64[3] when recorded")
    v2 = np.sin(x)
    v3 = np.copy(v2)
    v3[0] = 1.0
    v3[1:] += 2.0
    v7 = v2.copy()
    v7[0,] = v3.sum()
    np.add.at(v2, np.array([1, 1]), 3.0)
    v9 = v7 + v2
    return np.sum(v9)
"""
    )
    x = np.array([0.1, 0.2, 0.3])
    assert same_bits(alone(tape.to_source())(x), plainly(tape, x))


def test_guards_raise_with_the_users_line() -> None:
    tape = tape_of((MUL, V(1), 2.0), inputs={"x": 1.0})
    tape.insert(2, Call(operator.lt, [V(1), 0.0], val=False, guard=True, site=SITE))
    tape.insert(3, Call(math.floor, [V(1)], val=1, guard=True))
    tape.insert(4, Call(operator.truth, [V(1)], val=True, guard=True))
    assert (
        tape.to_source().split("def f")[1]
        == f"""\
(x):
{OF_FLOAT}    # program.py:7 in f
    if x < 0.0:
        raise StaleTapeError('program.py:7 in f: x < 0.0 was False when recorded')
    if math.floor(x) != 1:
        raise StaleTapeError('math.floor(x) was 1 when recorded')
    if not bool(x):
        raise StaleTapeError('bool(x) was True when recorded')
    return x * 2.0
"""
    )
    assert alone(tape.to_source())(1.5) == 3.0
    with pytest.raises(RuntimeError, match=r"program.py:7 in f: x < 0.0 was False"):
        alone(tape.to_source())(-1.5)
    with pytest.raises(StaleTapeError, match=r"math\.floor"):
        tape.compile()(2.5)


def test_a_constant_array_is_stored_to_without_a_second_copy() -> None:
    tape = Tape()
    x = tape.push(Input(2.0, "x"))
    y = tape.push(Constant(np.zeros(9)))
    z = tape.push(mkcall(SET, y, 0, x))
    tape.insert(z, Call(operator.gt, [np.float64(1.0), x], val=np.False_, guard=True))
    tape.result = z
    source = tape.to_source()
    assert (
        source.split("def f")[1]
        == f"""\
(x):
{OF_FLOAT}    if np.float64(1.0) > x:
        raise StaleTapeError('np.float64(1.0) > x was False when recorded')
    v4 = np.zeros((9,))
    v4[0] = x
    return v4
"""
    )
    assert same_bits(alone(source)(2.0), plainly(tape))


def test_shapes_and_dtypes_are_checked() -> None:
    f = tape_of((np.sum, V(1)), inputs={"x": np.ones((2, 3))}).compile()
    assert f(np.full((2, 3), 2.0)) == 12.0
    for other in (np.ones(3), np.ones((2, 3), np.float32)):
        with pytest.raises(StaleTapeError, match=r"x was float64\[2, 3\] when recorded"):
            f(other)


@pytest.mark.parametrize(("calls", "text"), [
    ([(SUB, V(1), V(2)), (SUB, V(1), V(3))], "a - (a - b)"),
    ([(SUB, V(1), V(2)), (SUB, V(3), V(1))], "a - b - a"),
    ([(ADD, V(1), V(2)), (MUL, V(3), V(1))], "(a + b) * a"),
    ([(MUL, V(1), V(2)), (DIV, V(1), V(3))], "a / (a * b)"),
    ([(POW, V(1), V(2)), (POW, V(3), V(2))], "(a**b)**b"),
    ([(POW, V(1), V(2)), (POW, V(1), V(3))], "a**a**b"),
    ([(NEG, V(1)), (POW, V(3), 2)], "(-a)**2"),
    ([(NEG, V(1)), (POW, V(2), V(3))], "b**-a"),
    ([(POW, V(1), 2), (NEG, V(3))], "-a**2"),
    ([(NEG, V(1)), (NEG, V(3))], "-(-a)"),
    ([(POW, -2.0, V(1))], "(-2.0)**a"),
    ([(MUL, -2.0, V(1))], "-2.0 * a"),
    ([(SUB, V(1), -2.0)], "a - -2.0"),
    ([(operator.lt, V(1), V(2)), (operator.eq, V(3), True)], "(a < b) == True"),
    ([(operator.not_, V(1)), (operator.not_, V(3))], "not not a"),
    ([(operator.not_, V(1)), (ADD, V(3), 1)], "(not a) + 1"),
    ([(operator.contains, (1.0, 2.0), V(1))], "a in (1.0, 2.0)"),
    ([(operator.abs, V(1)), (divmod, V(3), V(2)), (functional.getfield, V(4), 0)], None),
    ([(functional.make_list, V(1)), (functional.make_dict, ("k", 2), V(3), V(2))], "{'k': [a], 2: b}"),
    ([(functional.make_tuple, V(1))], "(a,)"),
    ([(getattr, V(1), "real")], "a.real"),
    ([(pow, V(1), 2, None)], "pow(a, 2, None)"),
    ([(MUL, 1j, V(1)), (functional.make_tuple, V(3))], "(1j * a,)"),
])  # fmt: skip
def test_parentheses_where_they_are_needed(calls: list[Any], text: str | None) -> None:
    tape = tape_of(*calls, inputs={"a": 0.5, "b": 2.0})
    source = tape.to_source()
    assert text is None or source.endswith(f"    return {text}\n")
    assert same_bits(tape.compile()(0.5, 2.0), plainly(tape)) or isinstance(plainly(tape), dict)


PAYLOAD = struct.unpack("d", struct.pack("Q", 0x7FF8000000000001))[0]


@pytest.mark.parametrize("value", [
    1.0, -0.0, 1e300, 5e-324, 0.1, math.inf, -math.inf, math.nan, -math.nan, PAYLOAD,
    3, -3, True, None, "a'b", b"x", ...,
    1j, -1j, complex(-0.0, 1.0), complex(0.0, -0.0), complex(math.inf, math.nan), complex(1, -2), 2 + 0j,
    np.float64(0.1), np.float32(0.1), np.float16(-1.5), np.int8(-3), np.bool_(True), np.complex64(1 + 2j),
    np.longdouble(1) / 3, np.uint64(2**64 - 1), np.float64("nan"),
    np.array([1.0, -0.0, math.inf]), np.array([1, 2], np.int16),
    np.array(2.5), np.array([[True, False]]), np.array([1 + 2j]), np.zeros((0, 3)), np.zeros((4, 5), np.int8),
    -np.zeros(9), np.arange(100.0),
    np.asfortranarray(np.ones((2, 2))), np.arange(3, dtype=">f8"),
    [1, (2.0, [np.ones(2)])], (), slice(1, None, 2),
])  # fmt: skip
def test_constants_come_back_bit_for_bit(value: Any) -> None:
    tape = Tape()
    tape.result = tape.push(Call(functional.make_tuple, [Constant(value).val], val=(value,)))
    (back,) = tape.compile()()
    assert same_bits(back, value) if isinstance(value, np.ndarray | float | complex | list) else back == value
    assert type(back) is type(value)
    if isinstance(value, np.ndarray):
        assert back.strides == value.strides


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1.0},
        np.dtype("f4"),
        np.dtype(">f4"),
        np.dtype([("a", "f8")]),
        object(),
        np.float32,
        {1, 2},
        range(3),
    ],
)
def test_other_constants(value: Any) -> None:
    tape = Tape()
    tape.result = tape.push(Call(functional.make_list, [value]))
    assert tape.compile()() == [value]


def test_what_has_no_text_is_a_keyword() -> None:
    table = np.arange(20.0)

    def local(x: Any) -> Any:
        return x * 2

    tape = tape_of((MUL, V(1), table), (local, V(2)), (ADD, V(3), table), inputs={"c1": 2.0})
    assert (
        tape.to_source()
        == f"""\
{STALE}

def f(xc1, *, c1, c2):
    # c1: float64[20]
    # c2: function
    if type(xc1) is not float: raise StaleTapeError("xc1 was float when recorded")
    v2 = xc1 * c1
    v3 = c2(v2)
    return v3 + c1
"""
    )
    assert same_bits(tape.compile()(3.0), 3.0 * table * 2 + table)
    assert same_bits(alone(tape.to_source())(3.0, c1=table, c2=local), 3.0 * table * 2 + table)


@dataclass(frozen=True)
class Weights:
    a: Any
    b: Any
    name: str = "w"


class Slotted:
    __slots__ = ("a", "b", "name")

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b, self.name = a, b, None


class Table(dict[str, Any]):
    def __getattr__(self, name: str) -> Any:
        return self[name]


class Pair(NamedTuple):
    a: Any
    b: Any


B = np.array([1.0, 3.0])
OBJECTS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "data class": (Weights(2.0, B), lambda g: (g.a, g.b, g.name)),
    "object with slots": (Slotted(2.0, B), lambda g: (g.a, g.b, g.name)),
    "namespace": (SimpleNamespace(a=2.0, b=B, name="w"), lambda g: (g.a, g.b, g.name)),
    "dictionary of a subclass": (Table(a=2.0, b=B, name="w"), lambda g: (g["a"], g["b"], g["name"])),
    "named tuple": (Pair(2.0, B), lambda g: (g.a, g.b, None)),
    "object in a list in an object": (Weights(2.0, B, [Weights(1.0, B), ()]), lambda g: (g.a, g.b, g.name[0].name)),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize("name", OBJECTS)
def test_gradients_in_objects_are_written_as_source_that_can_be_called(name: str) -> None:
    p, parts = OBJECTS[name]
    tape = wg.gradtape(lambda p: p.a * np.sum(p.b**2), p)
    value, (_, gradient) = alone(tape.to_source())(p)
    assert type(gradient) is type(p) and value == 20.0
    a, b, other = parts(gradient)
    assert a == 10.0 and np.array_equal(b, 4.0 * B) and other is None


def test_a_class_that_cannot_be_imported_is_a_keyword() -> None:
    class Local(Weights):
        pass

    source = wg.gradtape(lambda p: p.a * np.sum(p.b**2), Local(2.0, B)).to_source()
    assert "    # c1: class test_a_class_that_cannot_be_imported_is_a_keyword.<locals>.Local\n" in source
    gradient = alone(source)(Local(2.0, B), c1=Local)[1][1]
    assert type(gradient) is Local and gradient.a == 10.0


def test_a_container_written_in_c_says_what_to_do() -> None:
    p = collections.OrderedDict(a=2.0, b=B)
    tape = wg.gradtape(lambda p: p["a"] * np.sum(p["b"] ** 2), p)
    with pytest.raises(wg.TapeError, match=r"holds a OrderedDict that cannot be(.|\n)*tape\.compile\(\)"):
        tape.to_source()
    assert tape.compile()(p)[1][1]["a"] == 10.0


def test_functions_are_imported_where_they_are_public() -> None:
    tape = tape_of(
        (np.linalg.inv, V(1)), (scipy.special.erf, V(2)), (np.fft.fft, V(3)), (float, 2), (abs, V(4)),
        (np.float32, 1.0),         (functional.make_tuple, V(6), V(5), V(7)), inputs={"a": np.eye(2)},
    )  # fmt: skip
    source = tape.to_source()
    assert source.startswith("import scipy.special\nimport numpy as np\n")
    for part in (
        "np.linalg.inv(a)",
        "scipy.special.erf(v2)",
        "np.fft.fft(",
        "float(2)",
        "abs(v4)",
        "np.float32(1.0)",
    ):
        assert part in source
    assert same_bits(alone(source)(np.eye(2)), plainly(tape))


def test_names_do_not_collide() -> None:
    tape = tape_of(
        (np.sin, V(1)), (math.cos, V(2)), (ADD, V(6), V(7)), (np.add, V(3), V(4)), (np.add, V(5), V(9)),
        (np.add, V(8), V(10)),         (np.float64, V(11)), (MUL, V(12), V(12)),
        inputs={"np": 0.1, "math": 0.2, "v12": 0.3, "params['w'][0]": 0.4, "lambda": 0.5},
    )  # fmt: skip
    source = tape.to_source()
    assert "def f(np_, math_, v12, params_w_0, lambda_):" in source and "v12_ = " in source
    assert same_bits(alone(source)(0.1, 0.2, 0.3, 0.4, 0.5), plainly(tape))


def test_keywords_methods_and_attributes() -> None:
    tape = Tape()
    x = tape.push(Input(np.arange(6.0).reshape(2, 3), "x"))
    a = tape.push(mkcall(np.ndarray.sum, x, axis=0, keepdims=True))
    b = tape.push(mkcall(getattr, a, "T"))
    c = tape.push(mkcall(np.ndarray.sum, np.ones(2)))
    tape.result = tape.push(mkcall(np.add, b, c))
    source = tape.to_source()
    assert "x.sum(axis=0, keepdims=True)" in source and "v2.T" in source
    assert "np.ndarray.sum(np.array([1.0, 1.0]))" in source
    assert same_bits(alone(source)(x.op.val), plainly(tape))


def test_long_lines_are_broken_up() -> None:
    tape = Tape()
    v = x = tape.push(Input(1.01, "x"))
    for _ in range(200):
        v = tape.push(mkcall(operator.add, v, tape.push(mkcall(operator.mul, x, 1.25))))
    tape.result = v
    source = tape.to_source()
    assert max(map(len, source.splitlines())) <= 80 and len(source.splitlines()) < 60
    assert same_bits(alone(source)(1.01), plainly(tape))


def test_a_number_read_twice_is_computed_once() -> None:
    tape = tape_of((MUL, V(1), 3.0), (ADD, V(2), V(2)), inputs={"x": 1.0})
    assert tape.to_source() == f"{STALE}\n\ndef f(x):\n{OF_FLOAT}    v2 = x * 3.0\n    return v2 + v2\n"


def test_a_read_stays_before_the_store_that_follows() -> None:
    tape = Tape()
    x = tape.push(Input(np.arange(3.0), "x"))
    y = tape.push(mkcall(np.copy, x))
    first = tape.push(mkcall(operator.getitem, y, 0))
    z = tape.push(mkcall(functional.setitem, y, 0, 9.0))
    tape.result = tape.push(mkcall(functional.make_tuple, first, z))
    source = tape.to_source()
    assert "    v3 = v2[0]\n    v2[0] = 9.0\n    return (v3, v2)\n" in source
    assert alone(source)(np.arange(3.0))[0] == 0.0


def test_calls_nobody_reads_are_left_out_unless_they_may_act() -> None:
    seen: list[float] = []
    tape = tape_of((np.sin, V(1)), (seen.append, V(1)), (NEG, V(1)), inputs={"x": 1.0})
    assert "sin" not in tape.to_source()
    tape.compile()(2.0)
    assert seen == [1.0, 2.0]


def test_calls_nobody_reads_stay_where_they_may_raise() -> None:
    tape = tape_of((math.log, V(1)), (DIV, 1.0, V(1)), (NEG, V(1)), inputs={"x": 1.0})
    assert tape.compile()(2.0) == -2.0
    for x, error in ((-1.0, ValueError), (0.0, ValueError)):
        with pytest.raises(error):
            tape.compile()(x)
    with pytest.raises(ZeroDivisionError):
        tape_of((DIV, 1.0, V(1)), (NEG, V(1)), inputs={"x": 1.0}).compile()(0.0)


@pytest.mark.parametrize("order", ["C", "F", "strided", "reversed", "transposed"])
def test_a_copy_keeps_the_layout(order: str) -> None:
    base = np.arange(48.0).reshape(4, 12)
    x = {"C": base[:3], "F": np.asfortranarray(base), "strided": base[:, ::2], "reversed": base[::-1],
         "transposed": np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2)}[order]  # fmt: skip
    tape = tape_of((SET, V(1), 0, 1.0), (ACC, V(2), 1, 2.0), inputs={"x": x})
    made, expected = alone(tape.to_source())(x), plainly(tape)
    assert same_bits(made, expected) and made.strides == expected.strides


def test_windows() -> None:
    tape = tape_of(
        (np.copy, V(1)), (functional.setlens, V(2), 8, (2,), (16,), 5.0),
        (functional.addlens, V(3), 40, (2,), (-16,), 0.5),
        (functional.lens, V(4), 0, (2, 2), (8, 16)), inputs={"x": np.arange(6.0).reshape(2, 3)},
    )  # fmt: skip
    source = tape.to_source()
    assert (
        source.split('recorded")\n')[1]
        == """\
    v2 = np.copy(x)
    np.ndarray((2,), v2.dtype, v2, 8, (16,))[...] = 5.0
    np.ndarray((2,), v2.dtype, v2, 40, (-16,))[...] += 0.5
    return np.ndarray((2, 2), v2.dtype, v2, 0, (8, 16)).copy()
"""
    )
    x = np.linspace(0, 1, 6).reshape(2, 3)
    assert same_bits(alone(source)(x), plainly(tape, x))
    with pytest.raises(StaleTapeError):
        tape.compile()(np.asfortranarray(x))


def test_a_window_that_meets_itself() -> None:
    tape = tape_of((np.copy, V(1)), (functional.addlens, V(2), 0, (3,), (0,), np.ones(3)), inputs={"x": np.zeros(2)})
    assert tape.compile()(np.zeros(2)).tolist() == [3.0, 0.0]


def test_sites_as_comments() -> None:
    tape = tape_of((np.sin, V(1)), inputs={"x": 1.0})
    tape[2].site = SITE
    tape.result = tape.push(mkcall(np.multiply, tape.bound_variable(2), tape.bound_variable(2)))
    assert "    v2 = np.sin(x)  # program.py:7 in f\n" in tape.to_source(sites=True)


def test_tracebacks_show_the_emitted_line() -> None:
    f = tape_of((operator.truediv, 1.0, V(1)), inputs={"x": 2.0}).compile()
    try:
        f(0.0)
    except ZeroDivisionError:
        assert "return 1.0 / x" in traceback.format_exc()
    else:
        pytest.fail("no error")


@pytest.mark.parametrize("seed", range(60))
def test_random_scalars(seed: int) -> None:
    tape = scalar_tape(random.Random(seed))
    f = alone(tape.to_source())
    values = [v.op.val for v in tape.inputs]
    assert same_bits(f(*values), plainly(tape))
    assert max(map(len, tape.to_source().split("def f")[1].splitlines())) < 200


@pytest.mark.parametrize("large", [0, source.DELETED_BYTES])
@pytest.mark.parametrize("seed", range(60))
def test_random_arrays(seed: int, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "DELETED_BYTES", large)
    tape = array_tape(random.Random(seed))
    rng = np.random.default_rng(seed)
    inputs = [rng.normal(size=6), rng.normal(size=6), 2.5]
    kept = [np.copy(x) for x in inputs]
    assert same_bits(tape.compile()(*inputs), plainly(tape, *inputs))
    assert all(map(np.array_equal, inputs, kept))


def test_large_arrays_are_deleted_after_their_last_use() -> None:
    x = np.ones(1 << 12)

    def f(x: Any) -> Any:
        y = np.sin(x)
        for _ in range(30):
            y = np.cos(y) * x
        return np.sum(y)

    run = wg.trace(f, x)[1].compile()
    tracemalloc.start()
    try:
        assert run(x) == f(x)
        assert tracemalloc.get_traced_memory()[1] < 4 * x.nbytes
    finally:
        tracemalloc.stop()
    assert "del " not in wg.trace(f, x[:9])[1].to_source()


def test_an_array_that_a_loop_reads_is_deleted_after_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "DELETED_BYTES", 0)

    def f(x: Any) -> Any:
        y, z = np.sin(x), np.cos(x)
        for _ in range(50):
            y = np.sin(y) * 0.5 + z
        return y * x

    x = np.array([0.5, 1.0, 2.0])
    written = wg.trace(f, x)[1].optimise().to_source()
    assert written.endswith("        y = z + v5_4\n    del z\n    return x * y\n")
    np.testing.assert_allclose(alone(written)(x), f(x), rtol=1e-14)


def test_a_variable_of_the_name_of_a_constant_keeps_its_value() -> None:
    k = [np.arange(300.0) + n for n in range(3)]

    def f(x: Any) -> Any:
        c = x + k[0]
        c = np.sin(c) * k[1]
        c = np.cos(c) * k[2] + k[1]
        return np.sum(c * k[1])

    x = np.ones(300)
    run = wg.trace(f, x)[1].compile()
    assert run(x) == f(x)
    assert run.__kwdefaults__.keys() == {"c1", "c3", "c4"}  # c2 is the second c


def test_saved_source_names_files_without_their_folder(tmp_path) -> None:
    file = tmp_path / "users_model.py"
    file.write_text("def f(x):\n    return x * x if x > 1.0 else x\n")
    space: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    tape = wg.gradtape(space["f"], 2.0)
    source = tape.to_source()
    assert str(tmp_path) not in source
    with pytest.raises(RuntimeError, match=r"^users_model\.py:2 in f: x > 1\.0 was True when recorded"):
        alone(source)(0.5)
    with pytest.raises(StaleTapeError, match=re.escape(str(file))):  # in the same process the path leads to the line
        tape.compile()(0.5)
