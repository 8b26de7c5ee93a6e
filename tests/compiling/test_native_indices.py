"""Integers in native code: indices from tables, arrays and counters, gathers, and sums at repeated indices."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_by_python import interpret_program
from test_native import by_python

import wengert as wg
from wengert.compiling.native.compiled import compile_native
from wengert.compiling.native.values import UnsupportedOp
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Input
from wengert.tape.tape import Tape
from wengert.values import functional

RNG = np.random.default_rng(0)
E = RNG.normal(size=(9, 4))
CHARS, GRID, SMALL = RNG.integers(0, 9, 40), RNG.integers(-9, 9, (5, 40)), RNG.integers(0, 4, 40).astype(np.int32)
LISTED = [int(k) for k in CHARS]


def embedded(e: np.ndarray) -> Any:
    h = np.zeros(4)
    for c in CHARS:
        h = np.tanh(h + e[c])
    return h @ h


def embedded_list(e: np.ndarray) -> Any:
    s = 0.0
    for k in range(1, 40):
        s = 0.5 * s + e[LISTED[k - 1], SMALL[k]] * e[LISTED[k] - 9, k % 4]
    return s


def embedded_batch(e: np.ndarray) -> Any:
    h = np.zeros((5, 4))
    for t in range(40):
        h = np.tanh(h + e[GRID[:, t]])
    return np.sum(h * h)


def picked_in_a_loop(e: np.ndarray) -> Any:
    total, x = 0.0, e
    for t in range(40):
        x = np.sin(x)
        total = total + np.mean(x[GRID[:, t], np.arange(5) % 4])
    return total


def integers_as_numbers(e: np.ndarray) -> Any:
    s = e[0]
    for t in range(40):
        s = 0.1 * s * CHARS[t] + SMALL[t] / (1 + CHARS[t]) + np.sum(GRID[:, t] * e[1:6, 1])
    return np.sum(s) + np.sum(e[CHARS, SMALL] * CHARS)


def added(e: np.ndarray) -> Any:
    y = np.zeros((9, 4))
    np.add.at(y, CHARS, e[0] * e[1])
    np.add.at(y, (slice(None), SMALL), e[:, :1])
    np.add.at(y, (GRID[:, :2], [[1], [1], [-1], [2], [0]]), e[:5, :2])
    return np.sum(y**2)


def written(e: np.ndarray) -> Any:
    y = e * 2.0
    y[[1, 1, -9]] = e[2:5] * e[1:4]
    y[CHARS[:5], 1:] += e[0, 1:]
    return np.sum(y**2)


def moved(e: np.ndarray) -> Any:
    """An index that branches move, so that the loop has a derivative in which the branch has one."""
    s, k = 0.0, 0
    for i in range(40):
        if k < 7 and 0.31 * i + 0.1 * e[k, 0] > k + 1.1:
            k += 1
        s = 0.5 * s + np.sin(e[k, 1] + s) * e[k + 1, 2]
    return s


FUNCTIONS: dict[str, Callable[[np.ndarray], Any]] = {
    "an index that branches move": moved,
    "rows at characters": embedded,
    "tables of integers": embedded_list,
    "rows of a batch": embedded_batch,
    "elements of a batch": picked_in_a_loop,
    "integers as numbers": integers_as_numbers,
    "np.add.at": added,
    "stores at repeated indices": written,
    "rows": lambda e: np.sum(e[CHARS] ** 2),
    "a matrix of rows": lambda e: np.sum(e[GRID] ** 3),
    "elements": lambda e: np.sum(e[CHARS, SMALL] ** 2),
    "columns": lambda e: np.sum(e[:, -SMALL - 1] ** 3 * np.arange(9.0)[:, None]),
    "broadcast indices": lambda e: np.sum(e[CHARS[:, None], [[0, -1, 1]]] ** 3),
    "an integer and an array": lambda e: np.sum(np.exp(e)[2, SMALL] ** 2) + np.sum(e[CHARS, -1]),
    "axes of indices in front": lambda e: np.sum(e.reshape(3, 3, 4)[[0, 2], :, [1, -1]] * e[:2, :3]),
    "axes of indices in front of a slice": lambda e: np.sum(e.reshape(3, 3, 4)[1, ::-1, SMALL] * np.arange(3)),
    "axes of indices in between": lambda e: np.sum(e.reshape(3, 3, 1, 4)[:, [0, 0, -1], 0, ::2] * np.arange(2)),
    "a new axis": lambda e: np.sum(e[None, CHARS, None, 1:] * np.arange(3)),
    "no axes": lambda e: e[np.array(3), 1] * np.sum(e[np.array(-1)] ** 2),
    "take": lambda e: np.sum(np.take(e, CHARS, axis=0) ** 2) + np.sum(e[:, 1].take(GRID)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_indices_are_numpys(name: str) -> None:
    gradient = wg.value_and_grad(FUNCTIONS[name])
    compiled = wg.compile(gradient, native=False)
    compiled(E)
    (entries,) = compiled._entries.values()
    run = compile_native(entries[0].tape, "run", interpret_program)
    assert run.state == "native code"
    run = by_python(entries[0].tape)
    for e in (E, -0.5 * E[::-1], np.asfortranarray(E + 1.0)):
        value, x_bar = run(e)[:2]
        assert value == pytest.approx(gradient(e)[0], rel=1e-12)
        np.testing.assert_allclose(x_bar, gradient(e)[1], rtol=1e-11, atol=1e-12)


def test_indices_are_numpys_when_compiled() -> None:
    pytest.importorskip("numba")

    def f(e: np.ndarray) -> Any:
        return sum([each(e) for each in FUNCTIONS.values()])

    gradient = wg.value_and_grad(f)
    compiled = wg.compile(gradient, native=True)
    for e in (E, -0.5 * E):
        value, x_bar = compiled(e)
        assert value == pytest.approx(gradient(e)[0], rel=1e-12)
        np.testing.assert_allclose(x_bar, gradient(e)[1], rtol=1e-11, atol=1e-12)
    assert "run by native code" in compiled.explain()


def test_other_integers_are_noticed() -> None:
    at = np.array([1, 1, 2])
    tape = wg.trace(lambda e: np.sum(e[at] * 2.0), E)[1].optimise()
    run = by_python(tape)
    assert run(E) == pytest.approx(2.0 * np.sum(E[at]))
    at[0] = 3
    assert run(E) is None


# -- integers that are computed


def counted(step: Callable[[Tape, Any], Any], n: int = 6) -> Tape:
    """Return the tape of f(x, k): for n iterations, s, k = s + 10 s + x[k], step(k)."""
    body = Tape()
    s, k, x = [body.push(Input(v)) for v in (0.0, 0.0, np.zeros(5))]
    at = body.push(Call(functional.as_index, [k], val=np.int64(0)))
    read = body.push(Call(operator.getitem, [x, at], val=np.float64(0.0)))
    more = body.push(Call(operator.mul, [s, 10.0], val=0.0))
    total = body.push(Call(operator.add, [more, read], val=0.0))
    body.result = body.push(Call(functional.make_tuple, [total, step(body, k)], val=(0.0, 0.0)))
    tape = Tape()
    x, k = [tape.push(Input(v)) for v in (np.zeros(5), 0.0)]
    tape.result = tape.push(Call(Loop(body, n, (), 2), [0.0, k, x], val=(0.0, 0.0)))
    first = tape.push(Call(functional.getfield, [tape.result, 0], val=0.0))
    last = tape.push(Call(functional.getfield, [tape.result, 1], val=0.0))
    tape.result = tape.push(Call(functional.make_tuple, [first, last], val=(0.0, 0.0)))
    return tape


def whole(fn: Any, *more: float) -> Callable[[Tape, Any], Any]:
    return lambda body, k: body.push(Call(functional.whole, [fn, k, *more], val=0.0))


@pytest.mark.parametrize(
    "step",
    [
        whole(operator.add, 0.0),
        whole(operator.sub, 1.0),
        whole(operator.neg),
        whole(abs),
        whole(operator.mul, -1.0),
        whole(operator.floordiv, -2.0),
        whole(operator.mod, -3.0),
        whole(operator.mod, 2.0),
        whole(max, 0.0),
        whole(min, -1.0),
    ],
)
def test_computed_indices_are_numpys(step: Callable[[Tape, Any], Any]) -> None:
    tape, x = counted(step), np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    run = by_python(tape)
    for k in range(-5, 5):
        try:
            expected = tape.play(x, float(k))
        except IndexError:
            assert run(x, float(k)) is None
            continue
        assert run(x, float(k)) == expected
        assert str(run(x, float(k))[1]) == str(expected[1])  # no -0.0


def test_sums_of_known_indices() -> None:
    """Those of a whole table are known, too; those of its rows differ between iterations."""
    table = np.array([[0, 1], [2, 3], [1, 0]])
    body = Tape()
    t, s, e, rows = [body.push(Input(v)) for v in (2, 0.0, np.zeros((9, 4)), table + 5)]
    row = body.push(Call(operator.getitem, [rows, t], val=table[2] + 5))
    places = body.push(Call(operator.sub, [row, 3], val=table[2] + 2))
    read = body.push(Call(operator.getitem, [e, (places, 1)], val=np.zeros(2)))
    more = body.push(Call(operator.mul, [s, 10.0], val=0.0))
    added = body.push(Call(np.sum, [read], val=np.float64(0.0)))
    total = body.push(Call(operator.add, [more, added], val=np.float64(0.0)))
    body.result = body.push(Call(functional.make_tuple, [total], val=(0.0,)))
    tape = Tape()
    e, known = tape.push(Input(np.zeros((9, 4)))), tape.push(Constant(table))
    shifted = tape.push(Call(operator.add, [known, 5], val=table + 5))
    found = tape.push(Call(Loop(body, 3, (1,), 1), [0, 0.0, e, shifted], val=(0.0,)))
    tape.result = tape.push(Call(functional.getfield, [found, 0], val=0.0))
    assert by_python(tape)(E) == pytest.approx(sum([10.0 ** (2 - k) * np.sum(E[table[k] + 2, 1]) for k in range(3)]))


@pytest.mark.parametrize("k", [5.0, -6.0, 2.0**60, np.nan, np.inf])
def test_an_index_out_of_bounds_is_left_to_numpy(k: float) -> None:
    pytest.importorskip("numba")
    tape, x = counted(whole(operator.add, 1.0), 1), np.arange(5.0)
    assert by_python(tape)(x, k) is None
    run: Any = compile_native(tape)
    run.__kwdefaults__["plain"] = lambda *args: None
    assert run(x, k) is None
    assert run(x, -5.0) == (0.0, -4.0)


@pytest.mark.parametrize(
    ("step", "k"),
    [(whole(operator.mul, 2.0**52), 3.0), (whole(operator.floordiv, 0.0), 1.0), (whole(operator.mod, 0.0), 1.0)],
)
def test_what_has_no_integer_result_is_left_to_numpy(step: Callable[[Tape, Any], Any], k: float) -> None:
    assert by_python(counted(step, 1))(np.arange(5.0), k) is None


def test_a_power_of_integers_is_left_to_numpy() -> None:
    with pytest.raises(UnsupportedOp, match="power of integers"):
        compile_native(counted(whole(operator.pow, 2.0)), build=interpret_program)


def test_a_number_indexed_by_a_bool_is_left_to_numpy() -> None:
    run = by_python(wg.trace(lambda x: np.sum(np.reshape(np.sin(x[1:2]), ())[True] * x), E[0])[1])
    assert run(E[1]) == pytest.approx(np.sin(E[1, 1]) * np.sum(E[1]), rel=1e-13)


# -- random ones


def random_key(rng: np.random.Generator, shape: tuple[int, ...], x: np.ndarray) -> Any:
    """Return a key of integers, slices, new axes and arrays of integers, known or computed from x."""
    together = tuple(rng.integers(1, 4, rng.integers(0, 3)))
    key: list[Any] = []
    for n in shape[: rng.integers(1, len(shape) + 1)]:
        kind = rng.integers(0, 6)
        if kind == 0:
            key.append(int(rng.integers(-n, n)))
        elif kind == 1:
            a, b = sorted(map(int, rng.integers(0, n + 1, 2)))
            key.append(slice(a, b) if rng.random() < 0.5 else slice(None, None, int(rng.choice([-1, 2]))))
        elif kind == 2:
            at = (x[rng.integers(0, 24, together)] * 7.0).astype(int) % n
            key.append(at if rng.random() < 0.5 else at - n)
        elif kind == 3:
            key += [None, slice(None)]
        else:
            key.append(rng.integers(-n, n, [k if rng.random() < 0.8 else 1 for k in together]))
    return tuple(key)


def random_reads_and_writes(x: np.ndarray, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    a, b, total = np.sin(x[:24].reshape(2, 3, 4)), x[24:] * 2.0, 0.0
    for _ in range(rng.integers(2, 6)):
        y = (a, b)[rng.integers(0, 2)]
        key, kind = random_key(rng, y.shape, x), rng.integers(0, 3)
        weights = rng.normal(size=np.shape(y[key]))
        if kind == 0:
            total = total + np.sum(y[key] ** 2 * weights)
        elif kind == 1:
            y[key] = np.cos(y[key]) * weights
        else:
            np.add.at(y, key, weights * x[3])
    return total + np.sum(a**2) + np.sum(b**3)


def test_random_indices() -> None:
    for seed in range(60):
        x = np.random.default_rng(seed).normal(size=30)
        gradient = wg.value_and_grad(lambda x, seed=seed: random_reads_and_writes(x, seed))
        tape = wg.trace(gradient, x)[1].optimise()
        run = by_python(tape)
        for other in (x, -0.7 * x, x[::-1].copy()):
            (value, x_bar), expected = run(other), tape.play(other)
            assert value == pytest.approx(expected[0], rel=1e-11)
            np.testing.assert_allclose(x_bar, expected[1], rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_integers_from_floats() -> None:
    def f(x: np.ndarray) -> Any:
        k = (x * 3.0).astype(int)
        return x[k % 5] + k // 2 * x[abs(k) % 3] + x[-np.maximum(k, 0) % 4] + (k * k - k).astype(float)

    tape = wg.trace(f, np.arange(5.0))[1].optimise()
    run = by_python(tape)
    for x in (np.arange(5.0), np.linspace(-3.0, 2.0, 5), np.array([-0.1, -0.4, 0.3, 1e5, -1e5])):
        np.testing.assert_array_equal(run(x), f(x))
    for bad in (np.nan, np.inf, 1e16, -1e8):
        assert run(np.array([0.0, 1.0, bad, 1.0, 2.0])) is None


def test_counters_of_inner_loops_begin_with_constants() -> None:
    def swept(b: np.ndarray, _: Any) -> Any:
        x = np.zeros(12)
        for _ in range(15):
            for i in range(12):
                s = b[i]
                if i > 0:
                    s = s + 0.4 * x[i - 1]
                if i < 11:
                    s = s + 0.4 * x[i + 1]
                x[i] = s / 2.0
        return x @ x

    def windows(k: np.ndarray, image: np.ndarray) -> Any:
        total = 0.0
        for i in range(7):
            for j in range(8):
                total = total + np.tanh(np.sum(image[i : i + 3, j : j + 3] * k)) ** 2
        return total

    image = np.random.default_rng(7).normal(size=(10, 11))
    for f, x in ((swept, np.sin(np.arange(12.0))), (windows, image[:3, :3].copy())):
        gradient = wg.value_and_grad(f)
        compiled = wg.compile(gradient, native=False)
        compiled(x, image)
        (entries,) = compiled._entries.values()
        assert compile_native(entries[0].tape, "run", interpret_program).state == "native code"
        for given in (x, -0.5 * x):
            value, x_bar = by_python(entries[0].tape)(given, image)[:2]
            assert value == pytest.approx(f(given, image), rel=1e-12)
            h = 1e-6 * np.cos(np.arange(x.size)).reshape(x.shape)
            assert np.sum(x_bar * h) == pytest.approx((f(given + h, image) - f(given - h, image)) / 2, rel=1e-5)


def test_sums_of_lists_of_rows() -> None:
    def numbers(w: np.ndarray, given: np.ndarray) -> Any:
        return sum([w[0], *[np.sin(v * w[0]) * w[1] for v in given[0]], w[1] ** 2])

    def arrays(w: np.ndarray, given: np.ndarray) -> Any:
        return np.sum(sum([w * 2.0] + [np.sin(v * w[0]) * w[1] for v in given.T]) ** 2)

    given = np.cos(np.arange(60.0)).reshape(2, 30)
    for f in (numbers, arrays):
        compiled = wg.compile(wg.value_and_grad(f), native=False)
        w = np.array([1.2, 0.7])
        compiled(w, given)
        (entries,) = compiled._entries.values()
        assert compile_native(entries[0].tape, "run", interpret_program).state == "native code"
        for scale in (1.0, -0.5):
            value, w_bar = by_python(entries[0].tape)(scale * w, given)[:2]
            assert value == pytest.approx(f(scale * w, given), rel=1e-12)
            steps = 1e-6 * np.eye(2)
            expected = [(f(scale * w + h, given) - f(scale * w - h, given)) / 2e-6 for h in steps]
            np.testing.assert_allclose(w_bar, expected, rtol=1e-5)
