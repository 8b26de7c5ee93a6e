"""Native code by columns and by blocks computes what the function as written computes in NumPy."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from native_by_python import interpret_program
from test_native import by_python

import wengert as wg
from wengert.compiling import pipeline, split_columns
from wengert.compiling.blocking import BlockLoop, with_block_loops
from wengert.compiling.native.compiled import compile_native
from wengert.compiling.native.values import UnsupportedOp
from wengert.compiling.split_columns import split_into_columns
from wengert.tape.ops import Call
from wengert.values.trees import leaves

N = 12
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "60"))
RNG = np.random.default_rng(5)
X, Y, V = RNG.normal(size=(N, 3)), RNG.uniform(0.5, 1.5, size=(N, 3)), RNG.uniform(0.5, 1.5, size=N)
PLACES = RNG.integers(-5, 5, N)


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_columns, "FEWEST_ROWS", N)


@pytest.fixture
def any_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Split arrays into columns also where that gains little."""
    monkeypatch.setattr(split_columns, "GAIN", 0)


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have everything that can go by blocks go so, three or four rows at a time."""
    always = pipeline.NATIVE_LIMITS._replace(block=400, least=0, large=0, gain=0, shapes=1)
    monkeypatch.setattr(pipeline, "NATIVE_LIMITS", always)


def same(found: Any, expected: Any) -> None:
    pairs = zip(leaves(found), leaves(expected), strict=True)
    parts = [(a, b) for (_, a), (_, b) in pairs if b is not None]
    largest = max([np.max(np.abs(b)) for _, b in parts])
    for a, b in parts:
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * largest)


def turned(x: Any, y: Any, v: Any) -> Any:
    """Vectors turned about others, and divided by a third."""
    angle = np.sqrt(np.sum(x**2, axis=1))[:, None]
    axis = x / angle
    across = np.stack([axis[:, 1] * y[:, 2] - axis[:, 2] * y[:, 1], axis[:, 0] * y[:, 2], axis[:, 1] * y[:, 0]], axis=1)
    r = y * np.cos(angle) + across * np.sin(angle) + axis * (np.sum(axis * y, axis=1)[:, None] * v[:, None])
    flat = r[:, :2] / (5.0 + r[:, 2:])
    return flat, np.sum(flat * flat)


def stored(x: Any, y: Any, v: Any) -> Any:
    u = np.zeros((N, 4), x.dtype)
    u[:, 1:3] = x[:, ::2]
    u[:, -1] = v
    u[:, 0] = y[:, 1] * x[:, 2]
    most = np.max(np.where(v[:, None] > 0.8, x, 0.25), axis=1)
    return u * 2.0, u[:, 1] * 3.0, most, (u * 2.0).reshape(N, 2, 2)[:, :, 1] + 1.0


def multiplied(x: Any, y: Any, v: Any) -> Any:
    m = x[:3] * 2.0
    a = x[:, :, None] * y[:, None, :2]
    return x @ m, np.einsum("ij,ij->i", x, y), np.einsum("ijk,ij->ik", a, y), np.einsum("ij,ij->", x, y), np.vdot(x, y)


def gathered(x: Any, y: Any, v: Any) -> Any:
    u = x[PLACES] - y
    w = np.tanh(v)[PLACES] * u[:, 1]
    return u + w[:, None], np.sum(u * u) + np.sum(w), x[PLACES, 1] * w


def counted(x: Any, y: Any, v: Any) -> Any:
    return np.bincount(PLACES % 5, v * x[:, 0], 5) * 2.0, np.concatenate([x, y * 2.0], axis=1)[:, 1::2], np.mean(x)


def whole(x: Any, y: Any, v: Any) -> Any:
    """What is read as a whole beside what is taken apart."""
    u = x * v[:, None] + 1.0
    return np.sum(u, axis=0), u.T * 2.0, u[1:] - u[:-1], u[3], np.cumsum(u[:, 0])[-1] * u, x[2, 1] * u + y[0] * y[:1]


def of_bools(x: Any, y: Any, v: Any) -> Any:
    """Bools and ints that arrays of floats are given: there they are floats."""
    u, w = x * 1.0, y * 1.0
    u[:, 0], u[:, 1], u[:, 2], w[:, 2] = x[:, 0] > -5.0, x[:, 1] > -5.0, 0, 1
    stacked = np.stack([x[:, 0] > -5.0, x[:, 1] > -5.0, v], axis=1)
    with np.errstate(divide="ignore"):
        return np.sum(u, axis=1), np.sum(stacked, axis=1), 1.0 / (1.0 + w / u)


PROGRAMS = [turned, stored, multiplied, gathered, counted, whole, of_bools]


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.usefixtures("any_gain")
@pytest.mark.parametrize("f", PROGRAMS)
def test_a_tape_by_columns(f: Callable[..., Any]) -> None:
    tape = split_into_columns(wg.trace(f, X, Y, V)[1].optimise())
    for x in (X, -X * 1.3):
        same(tape.play(x, Y, V), f(x, Y, V))


@pytest.mark.usefixtures("any_gain")
@pytest.mark.parametrize("f", [f for f in PROGRAMS if f not in (whole, of_bools)])
def test_native_code_by_columns(f: Callable[..., Any]) -> None:
    run = by_python(wg.trace(f, X, Y, V)[1].optimise())
    same(run(-X * 1.3, Y, V), f(-X * 1.3, Y, V))


def first(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y, v: np.sum(f(x, y, v)[0] ** 2)


@pytest.mark.usefixtures("any_gain")
@pytest.mark.parametrize("f", [turned, stored, multiplied, gathered])
def test_gradients_by_columns(f: Callable[..., Any]) -> None:
    run = by_python(wg.gradtape(first(f), X, Y, V).optimise())
    found, rng = run(X, Y, V)[1][1:], np.random.default_rng(1)
    for _ in range(3):
        steps = [rng.normal(size=x.shape) for x in (X, Y, V)]
        expected = np.imag(first(f)(*[x + 1e-30j * step for x, step in zip((X, Y, V), steps, strict=True)])) / 1e-30
        assert sum([np.vdot(a, b) for a, b in zip(found, steps, strict=True)]) == pytest.approx(expected, rel=1e-12)


def test_rows_at_places_and_back() -> None:
    """The gradient of what reads rows at places adds what it gives at the same places."""
    run = by_python(wg.gradtape(first(gathered), X, Y, V).optimise())
    assert run.source.count("+= ") >= 2 and "np.bincount" not in run.source


def test_places_that_are_written_over() -> None:
    places = np.arange(N)

    def f(x: Any) -> Any:
        return x[places] * 2.0

    run: Any = compile_native(wg.trace(f, X)[1].optimise(), build=interpret_program)
    same(run(X), X * 2.0)
    places[:] = places[::-1].copy()
    same(run(X), X[::-1] * 2.0)
    places[0] = N
    with pytest.raises(IndexError):
        run(X)


def test_rows_that_a_column_chooses() -> None:
    f = lambda x, y, v: np.sum(x[v > 1.0] * 2.0) + np.sum(y)
    tape = split_into_columns(wg.trace(f, X, Y, V)[1].optimise())
    same(tape.play(-X * 1.3, Y, V), f(-X * 1.3, Y, V))


def test_a_division_by_zero_is_numpys() -> None:
    run: Any = compile_native(wg.trace(lambda x: np.zeros((N, 2)) / x[:, :2], Y)[1].optimise(), build=interpret_program)
    bad = np.where(np.arange(3 * N).reshape(N, 3) % 7 == 0, 0.0, Y)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run(bad), np.zeros((N, 2)) / bad[:, :2])


# -- many programs


def random_program(seed: int) -> Callable[..., Any]:
    """Statements, of random shapes and parts, on arrays of N rows."""
    rng = np.random.default_rng(seed)
    lines = list[str]()
    shapes: dict[str, tuple[int, ...]] = {"x": (3,), "y": (3,), "v": ()}

    def one(row: tuple[int, ...]) -> str:
        fits = [name for name, its in shapes.items() if its == row]
        return str(rng.choice(fits)) if fits else ""

    for k in range(int(rng.integers(4, 14))):
        a = str(rng.choice([*shapes]))
        row, b = shapes[a], one(shapes[a])
        kinds: dict[str, tuple[str, tuple[int, ...]]] = {
            "both": (f"{a} {rng.choice(['+', '-', '*'])} {b}", row),
            "one": (f"np.{rng.choice(['tanh', 'cos', 'exp', 'square'])}(0.3 * {a})", row),
            "where": (f"np.where({a} > 0.1, {b}, 0.5 * {a})", row),
            "less": (f"np.minimum({a}, {b})", row),
        }
        if row:
            n = row[0]
            at = int(rng.integers(-n, n))
            kinds |= {
                "part": (f"{a}[:, {at}]", ()),
                "parts": (f"{a}[:, ::-1]", row),
                "few": (f"{a}[:, ::2]", ((n + 1) // 2,)),
                "sum": (f"np.sum({a}, axis=1)", ()),
                "most": (f"np.max({a}, axis=1)", ()),
                "dots": (f"np.einsum('ij,ij->i', {a}, {b})", ()),
                "scaled": (f"{a} * {one(())}[:, None]", row),
                "moved": (f"{a} - {a}[2]", row),
                "store": (f"put({a}, {at}, {one(())})", row),
                "places": (f"{a}[PLACES]", row),
                "wide": (f"np.concatenate([{a}, {b}], axis=1)[:, {min(2, n - 1)}:]", (2 * n - min(2, n - 1),)),
                "all": (f"{a} / (3.0 + np.sum({b} * {b}))", row),
            }
        else:
            kinds |= {
                "stack": (f"np.stack([{a}, {b}, {one(())}], axis=1)", (3,)),
                "shift": (f"np.concatenate([{a}[1:], {b}[:1]])", ()),
                "all": (f"{a} - np.mean({b})", ()),
                "places": (f"{a}[PLACES]", ()),
            }
        text, row = kinds[str(rng.choice([*kinds]))]
        if row == () or row[0] <= 5:
            lines.append(f"t{k} = {text}")
            shapes[f"t{k}"] = row
    results = ", ".join([*shapes][-4:])
    space: dict[str, Any] = {"np": np, "PLACES": PLACES, "put": put}
    exec("\n    ".join(["def f(x, y, v):", *lines, f"return {results}, np.sum({[*shapes][-1]})"]), space)
    program: Callable[..., Any] = space["f"]
    return program


def put(a: Any, k: int, value: Any) -> Any:
    b = a.copy()
    b[:, k] = value
    return b


def check(count: int) -> Iterator[Any]:
    for seed in range(count):
        f = random_program(seed)
        tape = wg.trace(f, X, Y, V)[1].optimise()
        same(split_into_columns(tape).play(-Y, X, V * 2.0), f(-Y, X, V * 2.0))
        with contextlib.suppress(UnsupportedOp):
            same(by_python(tape)(-Y, X, V * 2.0), f(-Y, X, V * 2.0))
            yield tape


def test_random_programs() -> None:
    assert len([*check(EXAMPLES)]) > EXAMPLES / 2


def test_random_programs_by_blocks(blocks: None) -> None:
    columns = map(split_into_columns, check(EXAMPLES))
    tapes = [with_block_loops(tape, False, pipeline.NATIVE_LIMITS) for tape in columns]
    with_blocks = [any([isinstance(op, Call) and type(op.fn) is BlockLoop for op in tape]) for tape in tapes]
    assert sum(with_blocks) > EXAMPLES / 4


def test_compiled_by_columns() -> None:
    pytest.importorskip("numba")
    for f in (turned, gathered):
        tape = wg.gradtape(first(f), X, Y, V)
        run: Any = compile_native(tape.optimise())
        assert "plain" in run.__kwdefaults__
        run.__kwdefaults__["plain"] = lambda *args: None
        same(run(-X * 1.3, Y, V), tape.play(-X * 1.3, Y, V))
