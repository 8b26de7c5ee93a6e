"""`tape.optimise().compile()`: every program computes what its tape does, in memory of its own."""

from __future__ import annotations

import copy
import operator
import warnings
from typing import Any

import numpy as np
import pytest
from compiled_rows import ROWS
from program_table import Program
from programs import PROGRAMS
from tapes import array_tape, numbers, same_bits, scalar_tape

import wengert as wg
from wengert.compiling import placement
from wengert.tape.loops import Loop
from wengert.values.trees import leaves


def close(found: Any, expected: Any) -> None:
    """Equal to 1e-12 of the largest entry, in leaves of the same types, shapes and dtypes."""
    assert [type(leaf) for _, leaf in leaves(found)] == [type(leaf) for _, leaf in leaves(expected)]
    for a, b in zip(numbers(found), numbers(expected), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        largest = np.max(np.abs(b[np.isfinite(b)]), initial=0.0) if b.dtype.kind in "fc" else 0.0
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * largest)


def same(found: Any, expected: Any) -> None:
    assert all([same_bits(a, b) for (_, a), (_, b) in zip(leaves(found), leaves(expected), strict=True)])


@pytest.fixture(autouse=True)
def small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even the smallest arrays go into buffers here."""
    monkeypatch.setattr(placement, "LEAST_BYTES", 1)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_program(program: Program) -> None:
    def arguments() -> Any:
        return copy.deepcopy(program.args)

    tapes = [wg.trace(program.f, *arguments())[1], wg.gradtape(program.f, *arguments())]
    for tape in tapes:
        expected = tape.play(*arguments())
        exact, optimised = tape.optimise(exact=True), tape.optimise()
        with warnings.catch_warnings():
            warnings.simplefilter("error", SyntaxWarning)
            runs = [exact.play, exact.compile()], [optimised.play, optimised.compile()]
        for (play, compiled), agree in zip(runs, (same, close), strict=True):
            for run in (play, compiled, compiled):
                agree(run(*arguments()), expected)


@pytest.mark.parametrize("seed", range(60))
def test_random_tape(seed: int) -> None:
    """Stores, views, windows and reads of all kinds of parts, before and after."""
    import random

    make = array_tape if seed % 3 else scalar_tape
    tape = make(random.Random(seed))
    inputs = [op.val for op in tape if isinstance(op, wg.Input)]
    expected = tape.play(*copy.deepcopy(inputs))
    for optimised in (tape.optimise(exact=True), tape.optimise()):
        for run in (optimised.play, optimised.compile()):
            given = copy.deepcopy(inputs)
            close(run(*given), expected)
            same(given, inputs)


@pytest.mark.parametrize("name", [name for name in ROWS if "1e" not in name and "d=64" not in name])
def test_row_of_the_benchmark(name: str) -> None:
    row = ROWS[name]()
    tape = wg.gradtape(row.f, *row.args, argnums=row.wrt)
    value, gradients = tape.optimise().compile()(*row.args)
    by_hand = row.by_hand(*row.args)
    found = [leaf for _, leaf in leaves([value, *[g for g in gradients if g is not None]])]
    for a, (_, b) in zip(found, leaves(by_hand), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=2e-12 * np.max(np.abs(b)))


# -- whose memory the results are


def shared(*values: Any) -> list[tuple[int, int]]:
    return [(i, j) for i, a in enumerate(values) for j, b in enumerate(values) if i < j and np.shares_memory(a, b)]


def test_a_gradient_that_is_an_argument_is_a_copy_of_it() -> None:
    """The gradient of Σ 1·x·y for x is y, and it is the user's to write."""
    x, y = np.arange(3.0), np.ones(3)
    f = wg.gradtape(lambda x, y: np.sum(1.0 * x * y), x, y).optimise().compile()
    _, (_, x_bar, y_bar) = f(x, y)
    assert not shared(x, y, x_bar, y_bar)
    np.testing.assert_array_equal([x_bar, y_bar], [y, x])


def test_results_that_became_one_are_two() -> None:
    _, tape = wg.trace(lambda x: (np.exp(x), np.exp(x), [np.exp(x)]), np.ones(3))
    a, b, (c,) = tape.optimise().compile()(np.ones(3))
    assert not shared(a, b, c)


def test_arrays_of_a_number_that_became_one_are_two() -> None:
    _, tape = wg.trace(lambda s: (np.reshape(s, (1,)), np.reshape(s, (1,))), 2.0j)
    for run in (tape.optimise().play, tape.optimise().compile()):
        a, b = run(3.0j)
        assert a == b == 3.0j and not shared(a, b)


def test_results_that_were_one_are_one() -> None:
    def f(x: Any) -> Any:
        y = np.exp(x)
        return x, y, y, y[1:]

    _, tape = wg.trace(f, np.ones(3))
    x = np.ones(3)
    for run in (tape.optimise().play, tape.optimise().compile()):
        a, b, c, d = run(x)
        assert a is x and b is c and np.shares_memory(b, d)


def test_what_a_loop_made_for_nobody_else_is_not_copied() -> None:
    def f(x: Any, p: Any) -> Any:
        for _ in range(100):
            y = np.exp(p)
            x = np.sin(x) * y
        return x, y

    x, p = np.ones(2), np.array([0.1, 0.2])
    optimised = wg.trace(f, x, p)[1].optimise()
    assert any([isinstance(op.fn, Loop) for op in optimised.calls])
    assert not any([op.fn is np.ndarray.copy for op in optimised.calls])
    close(optimised.compile()(x, p), f(x, p))


def test_one_cotangent_of_two_arguments_is_two_arrays() -> None:
    f = wg.gradtape(lambda u, v: np.sum(np.exp(u + v)), np.ones(3), np.ones(3)).optimise().compile()
    _, (_, u_bar, v_bar) = f(np.ones(3), np.ones(3))
    assert not shared(u_bar, v_bar)


def test_a_constant_result_is_new_each_time() -> None:
    f = wg.gradtape(lambda x: np.sum(3.0 * x), np.ones(4)).optimise().compile()
    first, second = (f(np.ones(4))[1][1] for _ in range(2))
    first[:] = 7.0
    np.testing.assert_array_equal(second, 3.0)
    np.testing.assert_array_equal(f(np.ones(4))[1][1], 3.0)


def test_what_is_the_same_everywhere_can_be_written() -> None:
    _, tape = wg.trace(lambda x: np.broadcast_to(np.exp(x), (2, 3)) + 0.0 * np.broadcast_to(x, (2, 3)), np.ones(3))
    y = tape.optimise().compile()(np.ones(3))
    y[0] = 0.0
    assert np.all(y[1] == np.exp(1.0))


def test_asking_for_identity_keeps_equal_arrays_apart() -> None:
    def f(x: Any) -> Any:
        a, b = np.exp(x), np.exp(x)
        return a * b if a is b else a + b

    x = np.ones(3)
    _, tape = wg.trace(f, x)
    close(tape.optimise().compile()(x), f(x))


# -- guards, effects, errors


def test_guards_stay() -> None:
    def f(x: Any) -> Any:
        return x * 2 if np.sum(x) > 0 else x * 3

    _, tape = wg.trace(f, np.ones(3))
    run = tape.optimise().compile()
    np.testing.assert_array_equal(run(np.ones(3)), 2.0)
    for wrong in (-np.ones(3), np.ones(4), np.ones(3, np.float32), [1.0]):
        with pytest.raises(wg.StaleTapeError):
            run(wrong)


def test_calls_with_effects_stay_each_in_its_place() -> None:
    said: list[float] = []

    def say(x: Any) -> Any:
        said.append(float(np.sum(x)))
        return x * 1.0

    wg.rrule(say)(lambda x: (say(x), lambda y_bar: y_bar))
    _, tape = wg.trace(lambda x: say(x + 1) * 0.0 + say(x) + say(x), np.zeros(2))
    run = tape.optimise().compile()
    said.clear()
    run(np.zeros(2))
    assert said == [2.0, 0.0, 0.0]


def test_what_may_raise_stays() -> None:
    def f(x: float, y: float) -> float:
        1 / y
        return x * 2

    _, tape = wg.trace(f, 1.0, 2.0)
    with pytest.raises(ZeroDivisionError):
        tape.optimise().compile()(1.0, 0.0)
    assert [op.fn for op in tape.optimise().calls] == [operator.truediv, operator.mul]


def test_an_optimised_tape_is_a_tape() -> None:
    x = np.linspace(0, 1, 5)
    tape = wg.trace(lambda x: np.sum(3.0 * x**2 + x**2), x)[1].optimise()
    assert wg.verify(tape) is tape
    np.testing.assert_allclose(wg.grad(tape)(x), 8 * x)
    assert "vdot" in tape.to_source()
    close(tape.optimise().play(x), tape.play(x))


@pytest.mark.parametrize("shape", [(), (3,)])
def test_an_array_of_places_is_read_when_the_tape_runs(shape: tuple[int, ...]) -> None:
    """What the function has from outside may be written between runs; no part of it is taken for constant."""
    places = np.arange(2000) % 4
    x = np.random.default_rng(0).normal(size=(4, *shape))
    tape = wg.gradtape(lambda x: np.sum(x[places] ** 2), x)
    run = tape.optimise().compile()
    for k in (0, 1, 2):
        places[:] = (np.arange(2000) // 7 + k) % (k + 1)
        close(run(x), tape.play(x))
        counts = np.bincount(places, minlength=4)
        np.testing.assert_allclose(run(x)[1][1], 2 * x * counts.reshape(-1, *(1,) * len(shape)))


def test_a_tape_without_values() -> None:
    tape = wg.Tape()
    x = tape.push(wg.Input())
    y = tape.push(wg.Call(np.sin, [x]))
    tape.result = tape.push(wg.Call(np.multiply, [y, tape.push(wg.Call(np.sin, [x]))]))
    assert tape.optimise().compile()(2.0) == np.sin(2.0) ** 2


def test_an_edited_tape() -> None:
    _, tape = wg.trace(lambda x, y: np.sum(x * y), np.ones(3), 2.0)
    extra = tape.insert(tape.inputs[1], wg.Input(3.0, "z"))[0]
    tape.result = tape.push(wg.mkcall(operator.add, tape.result, extra))
    args = 5.0, np.ones(3), 2.0
    assert tape.optimise().compile()(*args) == tape.play(*args) == 11.0


@pytest.mark.parametrize("n", [3, 5000])
def test_results_that_are_one_number_everywhere_are_written_once(n: int) -> None:
    f = lambda x, y: 2.0 * np.sum(x) + 2.0 * np.sum(y) + np.sum(x[0] * y)
    x, y = np.random.default_rng(0).normal(size=(2, n))
    tape = wg.gradtape(f, x, y, argnums=(0, 1))
    ones = wg.gradtape(lambda x, y: np.sum(x) + np.sum(y), x, y, argnums=(0, 1))
    for optimised in (tape.optimise(), ones.optimise()):
        run: Any = optimised.compile()
        assert "broadcast_to" not in run.source and "broadcast_to" not in str(optimised)
        (_, (_, *found)), (_, (_, *again)) = run(x, y), run(y, x)
        assert not any([np.shares_memory(a, b) for a in found for b in (*again, x, y)])
        assert not np.shares_memory(*found) and all([a.flags.writeable for a in found])
        for a, b in zip(found, optimised.play(x, y)[1][1:], strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(tape.optimise().compile()(x, y)[1][2], 2.0 + x[0] * np.ones(n))


@pytest.mark.parametrize("x", [2.5, -0.0, np.inf])
def test_floats_of_pythons_are_not_multiplied_by_one(x: float) -> None:
    tape = wg.gradtape(lambda x, a: a * x * x, x, 3.0)
    optimised = tape.optimise()
    assert not [op for op in optimised.calls if 1.0 in op.args]
    close(optimised.play(x, 3.0), tape.play(x, 3.0))
    same(tape.optimise(exact=True).play(x, 3.0), tape.play(x, 3.0))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("n", [0, 1, 7, 5000])
def test_products_of_vectors(n: int) -> None:
    """It gives what np.vdot gives, of every second element, backwards, and of what is not finite."""
    f = lambda x, y: (np.sum(x * y), np.sum(x[::2] * y[::-2]))
    x, y = np.random.default_rng(n).normal(size=(2, n))
    run = wg.trace(f, x, y)[1].optimise().compile()
    assert run.source.count(".dot(") == 2
    for special in (x, np.where(x > 0, x, np.inf), np.where(x > 0, x, np.nan), -0.0 * x):
        expected = np.vdot(special, y), np.vdot(special[::2].copy(), y[::-2].copy())
        np.testing.assert_allclose(run(special, y), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("places", [np.array([2, -1, 0, 2]), np.array([[1, 1], [0, -3]], np.int8), np.array([], int)])
def test_rows_at_places_are_taken(places: np.ndarray) -> None:
    f = lambda x: (x[places], np.exp(x[places]) * 2.0, x.T[places])
    x = np.random.default_rng(0).normal(size=(3, 3))
    run = wg.trace(f, x)[1].optimise().compile()
    assert 0 < run.source.count(".take(") < 3  # x.T is in another order
    for at in (x, -0.0 * x, np.asfortranarray(x)):
        same(run(at), f(at))
    assert not shared(x, *run(x))


def test_a_place_that_there_is_not_is_told() -> None:
    places = np.arange(2000) % 3
    x = np.random.default_rng(0).normal(size=(3, 2))
    run = wg.trace(lambda x: x[places] * 2.0, x)[1].optimise().compile()
    places[1] = 3
    with pytest.raises(IndexError, match="out of bounds"):
        run(x)
    places[:] -= 2
    same(run(x), 2.0 * x[places])


def test_copies_in_any_order_stand_in_nobodys_way() -> None:
    def f(x: np.ndarray, y: np.ndarray) -> Any:
        z = (x.T @ y).copy(order="K")
        return np.sum(z.astype(float, order="K") * x), (x.T + y.T).copy(order="K")

    a, b = np.random.default_rng(0).normal(size=(2, 4, 4))
    optimised = wg.trace(f, a, b)[1].optimise()
    assert any([op.fn is np.vdot for op in optimised.calls])
    for x in (a, a.T, a[::-1]):
        for y in (b, np.asfortranarray(b)):
            for found, expected in zip(optimised.compile()(x, y), f(x, y), strict=True):
                close(found, expected)


@pytest.mark.parametrize("order", ["K", "A"])
def test_what_asks_for_the_order_in_memory_finds_it_as_it_was(order: str) -> None:
    """A copy has rows one after the other; the exponential of an array is laid out as the array is."""
    tape = wg.Tape()
    tape.inputs = [np.ones((2, 3))]
    (x,) = tape.inputs
    for fn, kwargs in ((np.ndarray.copy, {}), (np.exp, {}), (np.ravel, {"order": order})):
        x = tape.push(wg.mkcall(fn, x, **kwargs))
    tape.result = x
    columns = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    for run in (tape.optimise().play, tape.optimise().compile()):
        same(run(columns), np.exp(np.arange(6.0)))


def _filled(x: Any) -> Any:
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = np.sin(x[i]) + 0.5 * y[i - 1]
    return {"all": y, "head": y[:2], "tail": y[2:]}


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    "f",
    [
        _filled, lambda x: (x, *np.split(x, 2)), lambda x: (x[:2], x[2:], np.exp(x)),
        lambda x: (lambda y: (y, y.reshape(2, 2)[0], y[1:]))(x * 2.0), lambda x: (lambda y: (y, *y))(np.outer(x, x)),
        lambda x: (lambda y: (y[::-1], x, y, y[1:], -x))(x * 1.0), lambda x: (lambda y: (y[1:], y[:-1]))(x * 1.0),
    ],
)  # fmt: skip
def test_results_share_the_memory_that_those_of_the_function_share(f: Any, native: bool) -> None:
    if native:
        pytest.importorskip("numba")
    g = wg.compile(f, native=native)
    for x in (np.arange(4.0), np.ones(4)):
        found, plain = [[*(y.values() if isinstance(y, dict) else y), x] for y in (g(x), f(x))]
        assert shared(*found) == shared(*plain)
        np.testing.assert_allclose(np.concatenate([*map(np.ravel, found)]), np.concatenate([*map(np.ravel, plain)]))
