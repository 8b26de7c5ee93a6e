"""Where native code does not support an op, it runs the rest: before, after and beside what NumPy runs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp
from native_by_python import interpret_program
from random_tapes import arguments, random_tape

import wengert as wg
from wengert.compiling.native import parts, source
from wengert.compiling.native.compiled import compile_native
from wengert.compiling.native.parts import TapeCutter
from wengert.compiling.native.values import UnsupportedOp
from wengert.compiling.native.whole import NativeTape
from wengert.tape.ops import Call, Input
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.callables import callable_name

E = np.random.default_rng(0).normal(size=(9, 4))
AT = np.random.default_rng(1).integers(0, 9, 40)


def recurrence(e: np.ndarray, s: Any) -> Any:
    for k in range(40):
        s = s * 0.3 + np.sin(e[AT[k], k % 4] * s)
    return s


def flattened_and_written(y: np.ndarray, x: Any) -> np.ndarray:
    """A result that shows whether `ravel` copies: it does unless the array is in C order."""
    y[1] += x
    flat = y.ravel()
    y[0] = 2.0 + x
    return np.partition(flat, 4)[:5] * flat[:5]


FUNCTIONS: dict[str, Callable[[np.ndarray], Any]] = {
    "before a loop": lambda e: recurrence(e, np.partition(e[:, 0], 3)[3]),
    "before a loop, a function of a number": lambda e: recurrence(e, sp.polygamma(1, 1.0 + e[0, 0] ** 2)),
    "after a loop": lambda e: np.sum(np.partition(recurrence(e, e[0]), 1) * np.arange(4)),
    "between loops": lambda e: recurrence(e, np.sum(np.partition(recurrence(e, e[:, 1]), 4) ** 2)),
    "beside a loop": lambda e: recurrence(e, 0.2) + np.sum(np.partition(e.ravel(), 7)[3:] ** 2),
    "indices for a loop": lambda e: np.sum(recurrence(e, e[0])[np.argpartition(e[1], 1)] * e[np.argmax(e[:, 2])]),
    "eigenvectors, whose rule asks for bools": lambda e: recurrence(
        e, np.sum(np.linalg.eigh(e[:4] + e[:4].T)[1][:, 0] ** 4)
    ),
    "beside complex numbers": lambda e: recurrence(e, np.sum(np.abs(np.fft.fft(e[:, 0] * (1 + 0.5j), 8)) ** 2) * 0.1),
    "beside a question for memory": lambda e: recurrence(e, np.sum(flattened_and_written(e * 0.5, e[0, 0]))),
    "beside a question for new memory": lambda e: recurrence(
        e, np.sum(flattened_and_written(np.zeros((9, 4)), e[0, 0]))
    ),
    "indices by partition": lambda e: recurrence(e, np.sum(e[np.argpartition(e[:, 1], 3)[:3], 0])),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_rest_is_native(name: str) -> None:
    gradient = wg.value_and_grad(FUNCTIONS[name])
    compiled = wg.compile(gradient, native=False)
    compiled(E)
    (entries,) = compiled._entries.values()
    tape = entries[0].tape
    run: Any = compile_native(tape, build=interpret_program)
    assert run.state.startswith("native code in part, since it does not support")
    parts = TapeCutter(tape).parts()
    assert parts and all([part.is_worth_a_call for part in parts.values()])
    assert {callable_name(op.fn) for op in tape if isinstance(op, Call) and "loop of" in callable_name(op.fn)} <= {
        callable_name(op.fn) for part in parts.values() for op in part.ops
    }
    for e in (E, 1.1 * E, E[:, ::-1].copy()):
        try:
            value, x_bar = run(e)[:2]
        except wg.StaleTapeError:
            with pytest.raises(wg.StaleTapeError):
                tape.play(e)
            continue
        assert value == pytest.approx(gradient(e)[0], rel=1e-12)
        np.testing.assert_allclose(x_bar, gradient(e)[1], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", ["beside a question for memory", "beside a question for new memory"])
def test_another_memory_order_is_noticed(name: str) -> None:
    compiled = wg.compile(wg.value_and_grad(FUNCTIONS[name]), native=False)
    compiled(E)
    (entries,) = compiled._entries.values()
    run: Any = compile_native(entries[0].tape, build=interpret_program)
    assert run.state.startswith("native code in part")
    for e in (E, np.asfortranarray(E), E[:, ::-1], 0.7 * E.T.copy().T):
        wanted = FUNCTIONS[name](e)
        try:
            assert run(e)[0] == pytest.approx(wanted, rel=1e-12)
        except wg.StaleTapeError:
            assert not e.flags.c_contiguous
        assert compiled(e)[0] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_random_tapes_without_some_words(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """Whichever ops NumPy runs, the result is the same, and so is the error."""
    plain = source.Body.call

    def call(self: Any, op: Call) -> Any:
        if random.Random(f"{seed} {callable_name(op.fn)} {getattr(op.val, 'shape', None)}").random() < share:
            raise UnsupportedOp("this op")
        return plain(self, op)

    monkeypatch.setattr(source.Body, "call", call)
    monkeypatch.setattr("wengert.compiling.native.parts.LEAST_OPS", 2)
    in_parts = 0
    for seed in range(120):
        tape = random_tape(seed)
        try:
            run: Any = compile_native(tape, build=interpret_program)
        except UnsupportedOp:
            continue
        in_parts += "in part" in run.state
        for values in (seed, seed + 1):
            given = arguments(values)
            try:
                expected = tape.play(*arguments(values))
            except Exception as error:
                with pytest.raises(type(error)):
                    run(*given)
                continue
            for a, b in zip(run(*given), expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12 * np.max(np.abs(b)))
            for a, b in zip(given, arguments(values), strict=True):
                np.testing.assert_array_equal(a, b)
    assert in_parts > 50


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_guard_comes_before_what_it_guards() -> None:
    """NumPy would run `np.partition` first, and raise an IndexError at its result; the tape is stale before."""

    def f(x: np.ndarray, n: float) -> Any:
        s = recurrence(E * x[0], 0.5)
        if s * n > 0.0:
            s = s + np.take(x, np.partition(np.array([n, 0.0]), 0).astype(int))[1] * recurrence(E, s)
        return s

    x = np.arange(1.0, 4.0)
    tape = wg.trace(f, x, 2.0)[1].optimise()
    run: Any = compile_native(tape, build=interpret_program)
    assert "in part" in run.state
    assert run(x, 1.0) == pytest.approx(f(x, 1.0), rel=1e-13)
    sign = np.sign(recurrence(E * x[0], 0.5))
    assert sign > 0.0
    with pytest.raises(wg.StaleTapeError):
        run(x, -7.0)
    with pytest.raises(IndexError):
        run(x, 7.0)


def test_calls_with_side_effects_stay_in_order() -> None:
    seen: list[float] = []

    def noted(x: float) -> float:
        seen.append(x)
        return x

    tape = wg.trace(lambda e: recurrence(e, e[0, 0]), E)[1].optimise()
    first = tape.push(Call(noted, [tape.result], val=0.5))
    more = tape.push(Call(np.sin, [first], val=np.float64(0.5)))
    tape.push(Call(np.greater, [more, -2.0], val=np.bool_(True), guard=True))
    tape.result = tape.push(Call(noted, [more], val=0.5))
    run: Any = compile_native(tape, build=interpret_program)
    assert TapeCutter(tape).is_ordered and "in part" in run.state
    value = recurrence(E, E[0, 0])
    assert run(E) == pytest.approx(np.sin(value), rel=1e-13)
    assert seen == pytest.approx([value, np.sin(value)])


def test_parts_are_compiled() -> None:
    pytest.importorskip("numba")
    gradient = wg.value_and_grad(FUNCTIONS["indices by partition"])
    compiled = wg.compile(gradient, native=True)
    for e in (E, 0.9 * E):
        (value, x_bar), expected = compiled(e), gradient(e)
        assert value == pytest.approx(expected[0], rel=1e-12)
        np.testing.assert_allclose(x_bar, expected[1], rtol=1e-11, atol=1e-13)
    assert "native code in part" in compiled.explain()


def test_integers_that_floats_do_not_represent_are_left_to_numpy() -> None:
    def f(x: np.ndarray) -> Any:
        big = np.sort(np.ceil(np.abs(x)).astype(np.uint64)).astype(np.int64)
        return np.sum(recurrence(E, x[1:]) * (big[1:] == big[:-1] + 1)) + np.sum(x[big % 5])

    tape = wg.trace(f, np.arange(5.0))[1].optimise()
    run: Any = compile_native(tape, build=interpret_program)
    assert "in part" in run.state
    for x in (np.arange(5.0), np.arange(5.0)[::-1].copy(), 2.0**55 + np.arange(5.0) * 8.0):
        assert run(x) == pytest.approx(f(x), rel=1e-13)


def test_a_loop_is_native_beside_too_many_ops_and_too_large_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(e: np.ndarray, x: np.ndarray) -> Any:
        s = recurrence(e, e[0, 0])
        for fn in (np.sin, np.cos, np.tanh, np.exp, np.arctan, np.sinh, np.square, np.cosh, np.negative, np.abs):
            s = fn(s) * e[fn.nargs, 1] + np.sin(e[fn.nin, 2]) - fn(e[0, 0])
        return s + np.sum(np.sin(x))

    large = np.linspace(0.0, 1.0, 100_000)
    for most, x in ((30, E[0]), (3000, large)):
        monkeypatch.setattr(source, "MOST_OPS", most)
        run: Any = compile_native(wg.trace(f, E, x)[1].optimise(), build=interpret_program)
        assert "in part" in run.state and "def native" in run.source
        assert run(E, x) == pytest.approx(f(E, x), rel=1e-13)


def test_a_pair_that_is_returned_and_read() -> None:
    tape = Tape()
    x = tape.push(Input(2.0))
    pair = tape.push(Call(functional.make_tuple, [x, tape.push(Call(math.sin, [x], val=math.sin(2.0)))]))
    pair.op.val = 2.0, math.sin(2.0)
    item = tape.push(Call(functional.getfield, [pair, 1], val=math.sin(2.0)))
    tape.result = tape.push(Call(functional.make_tuple, [pair, item], val=(pair.op.val, math.sin(2.0))))
    run: Any = compile_native(tape, build=interpret_program)
    assert run.state == "native code"
    assert run(0.5) == ((0.5, math.sin(0.5)), math.sin(0.5))


def test_many_parts_take_time_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any, n: int) -> Any:
        v, total = np.sin(x * np.linspace(0.1, 1.0, 12)), 0.0
        for _ in range(n):
            v = np.cos(v * x) * 0.5 + 0.3 * v * v / (1 + v * v) + 0.3
            total = total + np.sum(v) + np.histogram(v, 4)[0].sum()
        return total

    def pieces(n: int) -> int:
        tried.clear()
        assert TapeCutter(wg.trace(f, 0.7, n)[1]).parts()
        return len(tried)

    tried: list[Any] = []
    made = lambda *args, **kwargs: tried.append(args) or NativeTape(*args, **kwargs)
    monkeypatch.setattr(parts, "NativeTape", made)
    assert 0 < pieces(16) <= 2.5 * pieces(8)


def test_an_axis_of_one_element_has_any_stride() -> None:
    """A part reads by strides what another part made, an array of shape (9, 1)."""

    def f(x: np.ndarray) -> Any:
        return np.sum((x / (1 + np.cov(x))) ** 2)

    run: Any = compile_native(wg.trace(wg.value_and_grad(f), E[:, 0])[1].optimise(), build=interpret_program)
    assert run(E[:, 0])[0] == pytest.approx(f(E[:, 0]), rel=1e-12)


def test_machine_code_grows_with_returns_and_with_results_not_with_both() -> None:
    """LLVM would write all results, values that a function returns, at each of its returns."""
    pytest.importorskip("llvmlite")
    from wengert.compiling.native.machine_code import load_code, object_code

    def source(n: int) -> str:
        steps = "".join([f"    t{k} = x * {k + 1}.0\n    if t{k} > 1e9: return FAILED\n" for k in range(n)])
        results = ", ".join([f"t{k}" for k in range(n)])
        return f"def native(x):\n    FAILED = (1, {'0.0, ' * n})\n{steps}    return (0, {results})\n"

    small, large = [object_code(source(n), "native", ["NUMBER"], False) for n in (100, 400)]
    assert len(large) < 6 * len(small)
    run = load_code(large)
    assert run(2.0) == (0, *[2.0 * (k + 1) for k in range(400)])
    assert run(1e8)[0] == 1
