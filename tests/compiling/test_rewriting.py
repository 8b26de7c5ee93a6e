"""Each rule alone: what it makes of a program that was written for it, which computes what NumPy computes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.fft

import wengert as wg
from wengert.compiling.graphs.graph import Graph
from wengert.compiling.rules.rewriting import EXACT, RULES
from wengert.tape.ops import Call
from wengert.values.names import display


class Case(NamedTuple):
    """A function of arrays of these shapes, and the calls that stay of it."""

    f: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    calls: list[str]
    exact: bool = True


V, M, N = (5,), (4, 3), (3, 3)
CASES = {
    "one computation of equal calls": Case(lambda x: np.sin(x) * np.exp(np.sin(x)), (V,), ["np.sin", "np.exp", "mul"]),
    "one transform of equal arrays": Case(
        lambda x: np.abs(scipy.fft.dct(x)) * scipy.fft.dct(x), (V,), ["scipy.fft.dct", "np.absolute", "mul"]
    ),
    "broadcast number": Case(lambda x: np.full(5, 2.0 * x[0]) * x, (V,), ["getitem", "mul", "mul"]),
    "broadcast rows": Case(lambda x, y: np.exp(np.broadcast_to(x, (4, 3))) + y, ((3,), M), ["np.exp", "add"]),
    "broadcast to its shape": Case(lambda x: np.diag(np.broadcast_to(np.exp(x), (5,))), (V,), ["np.exp", "np.diag"]),
    "products written in two ways": Case(lambda x, y: (y @ x) * np.matmul(y, x), ((3,), M), ["matmul", "mul"]),
    "factor of one": Case(lambda x: (1.0 * x) * np.cos(x), (V,), ["np.cos", "mul"]),
    "term of zero": Case(lambda x: (x + -0.0) + np.cos(x), (V,), ["np.cos", "add"]),
    "factor of minus one": Case(lambda x: -1.0 * x, (V,), ["neg"]),
    "sign of a product": Case(lambda x, y: -((-x) * y), (V, V), ["mul"]),
    "sign and number": Case(lambda x: 3.0 * (-x), (V,), ["mul"]),
    "sign of a quotient": Case(lambda x, y: -((-x) / y), (V, V), ["truediv"]),
    "sign of a multiple": Case(lambda x: -(3.0 * x), (V,), ["mul"]),
    "added negative": Case(lambda x, y: x + (-y), (V, V), ["sub"]),
    "added to a negative": Case(lambda x, y: (-x) + y, (V, V), ["sub"]),
    "power of two": Case(lambda x: x**2, (V,), ["mul"]),
    "power of a half": Case(lambda x: x**0.5, (V,), ["np.sqrt"]),
    "power of one": Case(lambda x: np.cos(x**1), (V,), ["np.cos"]),
    "cube": Case(lambda x: x**3, (V,), ["mul", "mul"], exact=False),
    "fourth power": Case(lambda x: x**4, (V,), ["mul", "mul"], exact=False),
    "numbers that meet": Case(lambda x: 3.0 * (5.0 * x), (V,), ["mul"], exact=False),
    "numbers past arrays": Case(lambda x, y: (3.0 * x) * (5.0 * y), (V, V), ["mul", "mul"], exact=False),
    "computed number past arrays": Case(
        lambda x: np.sum(np.exp(x) * (x[0] * x)), (V,), ["np.exp", "getitem", "np.vdot", "mul"], exact=False
    ),
    "numbers past a sum": Case(lambda x, y: 3.0 * np.sin(x) - 3.0 * y, (V, V), ["np.sin", "sub", "mul"], exact=False),
    "numbers of two signs": Case(lambda x, y: 3.0 * x + np.sin(y) * -3.0, (V, V), ["np.sin", "sub", "mul"], False),
    "factor that is computed anyway": Case(
        lambda x, y: 6.0 * np.sin(x) * y + 2.0 * (x + np.exp(3.0 * np.sin(x))),
        (V, V),
        ["np.sin", "mul", "np.exp", "add", "mul", "add", "mul"],
        exact=False,
    ),
    "factors that stay": Case(lambda x, y: 3.0 * x + 5.0 * y, (V, V), ["mul", "mul", "add"]),
    "mean": Case(np.mean, (M,), ["np.add.reduce", "truediv"]),
    "sum of a number": Case(
        lambda x: np.sum(np.full((4, 3), x[0]), axis=1), (V,), ["getitem", "mul", "np.full"], False
    ),
    "sum of a multiple": Case(lambda x: np.sum(3.0 * x), (V,), ["np.add.reduce", "mul"], exact=False),
    "sum of a negative": Case(lambda x: np.sum(-x, axis=0), (M,), ["np.add.reduce", "neg"], exact=False),
    "sum of rows times one": Case(lambda x, y: np.sum(x * y, axis=0), ((3,), M), ["np.add.reduce", "mul"], exact=False),
    "sum of squares": Case(
        lambda x, y: np.sum(3.0 * x**2 + y**2), (V, V), ["np.vdot", "mul", "np.vdot", "add"], exact=False
    ),
    "scalar product": Case(lambda x, y: np.sum(x * y), (M, M), ["np.vdot"], exact=False),
    "scalar products by rows": Case(lambda x, y: np.sum(x * y, axis=1), (M, M), ["np.einsum"], exact=False),
    "columns weighted": Case(lambda x, y: np.sum(x[:, None] * y, axis=0), ((4,), M), ["np.einsum"], False),
    "squares weighted by rows": Case(
        lambda z, w: np.sum(z * (np.exp(w)[:, :, None] * z), axis=0),
        ((4, 3, 2), M),
        ["np.exp", "mul", "np.einsum"],
        False,
    ),
    "factor of sums of products": Case(
        lambda f, v, u: np.exp(f * v)[0] + f * np.sum(v * u, axis=0),
        ((3,), M, M),
        ["mul", "np.exp", "getitem", "np.einsum", "add"],
        False,
    ),
    "reshape of reshape": Case(lambda x: np.reshape(np.reshape(x, 12), (3, 4)) * 2.0, (M,), ["ndarray.reshape", "mul"]),
    "transpose of transpose": Case(lambda x: x.T.T * 2.0, (M,), ["mul"]),
    "reshape of the same shape": Case(lambda x: np.reshape(x, (4, 3)) * 2.0, (M,), ["mul"]),
    "sign of what is transposed": Case(lambda x: -np.transpose(-x), (M,), ["ndarray.transpose", "ndarray.copy"]),
    "copy": Case(lambda x: np.exp(x.copy()), (V,), ["np.exp"]),
    "part of a number": Case(lambda x: np.full((4, 3), x[0])[1:, 0] * x[:3], (V,), ["getitem", "getitem", "mul"]),
    "trace of a diagonal": Case(lambda x: np.trace(np.diag(x)), (V,), ["np.add.reduce"]),
    "diagonal of a diagonal": Case(lambda x: np.diagonal(np.diag(x)) * 2.0, (V,), ["mul"]),
    "transposed diagonal": Case(lambda x: np.diagonal(np.transpose(np.diag(x))) * 2.0, (V,), ["mul"]),
    "trace of an outer product": Case(lambda x, y: np.trace(np.outer(x, y)), (V, V), ["np.vdot"], exact=False),
    "sum of a diagonal": Case(lambda x: np.sum(np.diag(x)), (V,), ["np.add.reduce"], exact=False),
    "sum of an outer product": Case(
        lambda x, y: np.sum(np.outer(x, y)), (V, V), ["np.add.reduce", "np.add.reduce", "mul"], exact=False
    ),
    "diagonal times vector": Case(lambda x, y: np.diag(x) @ y, (V, V), ["mul"], exact=False),
    "diagonal times matrix": Case(lambda x, y: np.diag(x) @ y, ((4,), M), ["ndarray.reshape", "mul"], exact=False),
    "matrix times diagonal": Case(lambda x, y: y @ np.diag(x), ((3,), M), ["mul"], exact=False),
    "number times matrix": Case(
        lambda x, y: np.full((2, 4), x[0]) @ y,
        (V, M),
        ["getitem", "np.add.reduce", "mul", "np.broadcast_to", "ndarray.copy"],
        False,
    ),
    "matrix times number": Case(
        lambda x, y: y @ np.full((3, 2), x[0]),
        (V, M),
        ["getitem", "np.add.reduce", "ndarray.reshape", "mul", "np.broadcast_to", "ndarray.copy"],
        exact=False,
    ),
}
each = pytest.mark.parametrize("name", CASES)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5])


def drawn(case: Case, kind: str, seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    if kind == "special":
        return [random.choice(SPECIAL, shape) for shape in case.shapes]
    return [
        random.uniform(0.5, 2.0, shape) * random.choice([1, -1 if kind == "mixed" else 1], shape)
        for shape in case.shapes
    ]


def calls(tape: wg.Tape) -> list[str]:
    return [display(op.fn) for op in tape if isinstance(op, Call) and not op.guard]


def same(found: Any, expected: Any) -> None:
    """Equal, with nan where it was, and zeros of the same signs."""
    np.testing.assert_array_equal(found, expected)
    signs = [np.where(np.isnan(a), False, np.signbit(a)) for a in (found, expected)]
    np.testing.assert_array_equal(*signs)


@each
def test_what_stays(name: str) -> None:
    case = CASES[name]
    _, tape = wg.trace(case.f, *drawn(case, "positive"))
    assert calls(tape.optimise()) == case.calls
    if not case.exact:
        assert calls(tape.optimise(exact=True)) != case.calls


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@each
@pytest.mark.parametrize("kind", ["positive", "mixed", "special"])
def test_what_it_gives(name: str, kind: str) -> None:
    case = CASES[name]
    _, tape = wg.trace(case.f, *drawn(case, "positive"))
    exact, optimised = tape.optimise(exact=True), tape.optimise()
    for seed in range(8 if kind == "special" else 2):
        args = drawn(case, kind, seed)
        expected = case.f(*args)
        for run in (exact.play, exact.compile()):
            same(run(*args), expected)
        for run in (optimised.play, optimised.compile()):
            found = run(*args)
            assert type(found) is type(expected)
            if case.exact:
                same(found, expected)
            elif kind != "special":
                np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
            elif "product" not in name and "times" not in name and "outer" not in name:
                np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1,), (1, 1), ()])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_empty_and_single(shape: tuple[int, ...]) -> None:
    def f(x: Any, s: Any) -> Any:
        rows = np.sum(x * s, axis=-1) if x.ndim else x
        return (
            np.sum(s * x) + np.sum(x * x) + np.sum(np.full(x.shape, s)),
            rows,
            x**2 * 1.0,
            x + (-x),
            np.sum(x * x + x * x),
        )

    x = np.arange(np.prod(shape, dtype=int)).reshape(shape) + 0.5
    _, tape = wg.trace(f, x, 3.0)
    for s in (3.0, np.inf, np.nan, 0.0):
        for run in (tape.optimise().play, tape.optimise().compile()):
            for found, expected in zip(run(x, s), f(x, s), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-14)
                assert type(found) is type(expected) and np.shape(found) == np.shape(expected)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: 0.0 * x,
        lambda x: x - x,
        lambda x: x / x,
        lambda x: x + 0.0,
        lambda x: x * 0.0 + 1.0,
        lambda x: -(x - 1.5),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_zeros_are_not_taken_for_nothing(f: Callable[..., Any]) -> None:
    _, tape = wg.trace(f, np.ones(len(SPECIAL)))
    for run in (tape.optimise().play, tape.optimise().compile()):
        same(run(SPECIAL), f(SPECIAL))


def test_a_sum_that_cancels_stays_one() -> None:
    """Σ (u − v) is exact where u and v are near; Σ u − Σ v is not."""
    f = lambda u, v: np.sum(u - v)
    u = 1e8 + np.arange(100.0)
    _, tape = wg.trace(f, u, u + 1e-7)
    assert tape.optimise().compile()(u, u + 1e-7) == f(u, u + 1e-7)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_that_are_huge_stay_apart() -> None:
    f = lambda x: 1e200 * (1e200 * x)
    _, tape = wg.trace(f, np.ones(2))
    x = np.array([1e-300, 1e-5])
    same(tape.optimise().compile()(x), f(x))


def test_what_decides_is_computed_as_it_was_recorded() -> None:
    """3·(5·x) == 15·x is False for some x: a rule that multiplies 3 and 5 would make it True."""
    x = np.array([0.1, 0.7, 1.1])
    f = lambda x: x * (3.3 * (5.1 * x) == 3.3 * 5.1 * x)
    assert 0 < np.count_nonzero(f(x)) < 3
    _, tape = wg.trace(f, x)
    np.testing.assert_array_equal(tape.optimise().compile()(x), f(x))


def test_a_product_that_is_needed_anyway_is_summed_as_it_is() -> None:
    f = lambda x, y: (x * y, np.sum(x * y, axis=0))
    _, tape = wg.trace(f, np.ones(M), np.ones(M))
    assert calls(tape.optimise()) == ["mul", "np.add.reduce", "make_tuple"]


def test_rules_of_the_exact_are_among_all() -> None:
    assert all([rule in RULES[fn] for fn, rules in EXACT.items() for rule in rules])
    assert sum(map(len, EXACT.values())) < sum(map(len, RULES.values()))


@pytest.mark.parametrize("shape", [(7,), (7, 3), (7, 2, 2)])
def test_rows_added_at_known_places(shape: tuple[int, ...]) -> None:
    places = np.array([3, 0, 3, 3, 6, 0])
    f = lambda x: np.sum(np.sin(x[places]) * x[places])
    x = np.random.default_rng(0).normal(size=shape)
    tape = wg.gradtape(f, x)
    for exact in (True, False):
        optimised = tape.optimise(exact=exact)
        assert "np.bincount" in calls(optimised)
        _, (_, found) = optimised.compile()(x)
        np.testing.assert_allclose(found, wg.ngradient(f, x)[0], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    "places", [np.array([-1, 2]), np.array([], int), np.array([True, False, True]), np.array([True, True, True])]
)
def test_rows_added_elsewhere(places: np.ndarray) -> None:
    tape = wg.gradtape(lambda x: np.sum(x[places] ** 2), np.arange(3.0))
    assert "np.bincount" not in calls(tape.optimise())
    np.testing.assert_array_equal(tape.optimise().compile()(np.ones(3))[1][1], tape.play(np.ones(3))[1][1])


@pytest.mark.parametrize(
    ("key", "shape", "whole"),
    [
        ((slice(None), 0), (4, 1), True),
        ((slice(None), None), (4,), True),
        (Ellipsis, (4, 3), True),
        ((slice(0, 4), slice(None, 3)), (4, 3), True),
        (slice(None, None, -1), (4,), False),
        (slice(1, None), (4,), False),
        (0, (4, 1), False),
        (0, (1,), True),
    ],
)
def test_what_is_added_to_all_of_an_array(key: Any, shape: tuple[int, ...], whole: bool) -> None:
    f = lambda x: np.sum(np.exp(x[key]) * x[key]) + np.sum(np.sin(x))
    x = np.random.default_rng(0).normal(size=shape)
    tape = wg.gradtape(f, x)
    for exact in (True, False):
        optimised = tape.optimise(exact=exact)
        assert ("additem" not in calls(optimised)) == whole
        np.testing.assert_allclose(optimised.compile()(-x)[1][1], tape.play(-x)[1][1], rtol=1e-14)
    zeros = wg.gradtape(lambda x: np.sum(x[key] * -0.0), x).optimise(exact=True).compile()
    same(zeros(x)[1][1], np.zeros(shape))


PARTS = {
    "one twice": (lambda x: np.sum(np.exp(x[1:]) * x[1:]) + np.sum(np.sin(x[1:])), ["setitem"]),
    "two that meet": (lambda x: np.sum(np.exp(x[:-1]) * x[1:]) + np.sum(np.sin(x[:-1])), ["setitem", "additem"]),
    "two apart": (lambda x: np.sum(np.exp(x[:2]) * x[2:4]) + np.sum(np.sin(x[2:4])), ["setitem", "setitem"]),
    "one inside another": (lambda x: np.sum(np.exp(x[:4])) * x[2] + np.sum(np.sin(x[:4])), ["setitem", "additem"]),
    "columns": (lambda x: np.sum(x[:, 0] * np.exp(x[:, 2]) + np.sin(x[:, 0])), ["setitem", "setitem"]),
    "every other": (lambda x: np.sum(x[::2] ** 3) + np.sum(np.exp(x[1::2])), ["setitem", "additem"]),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", PARTS)
def test_what_is_added_to_one_part_is_added_together(name: str) -> None:
    f, stores = PARTS[name]
    x = np.random.default_rng(0).normal(size=(6, 3) if name == "columns" else 6)
    tape = wg.gradtape(f, x)
    optimised = tape.optimise()
    assert [call for call in calls(optimised) if call.endswith("item") and call != "getitem"] == stores
    assert "setitem" not in calls(tape.optimise(exact=True))
    special = np.random.default_rng(1).choice(SPECIAL, x.shape)
    for run in (optimised.play, optimised.compile(), tape.optimise(exact=True).compile()):
        for at in (x, -x, special, np.zeros(x.shape)):
            np.testing.assert_allclose(run(at)[1][1], tape.play(at)[1][1], rtol=1e-13)
    np.testing.assert_allclose(optimised.play(x)[1][1], wg.ngradient(f, x)[0], rtol=1e-6, atol=1e-6)


def test_what_is_put_somewhere_in_between_stays_in_its_place() -> None:
    """Rows that are added to, cleared in part, and added to again."""
    tape = wg.Tape()
    tape.inputs = [np.ones(5), np.array([1.0, 2.0, np.inf])]
    d, v = tape.inputs
    for fn, key, value in [
        (wg.extend.additem, slice(1, 4), v),
        (wg.extend.setitem, slice(2, 5), 0.0),
        (wg.extend.additem, slice(1, 4), v),
    ]:
        d = tape.push(wg.mkcall(fn, d, key, value))
    tape.result = d
    for run in (tape.optimise().play, tape.optimise().compile()):
        np.testing.assert_array_equal(run(np.ones(5), np.array([1.0, 2.0, 3.0])), [1, 3, 2, 3, 0])


WEIGHTS = [np.sum, lambda y: -3.0 * np.mean(y), lambda y: np.sum(y * y)]
SHIFTED = {
    "rows": lambda x: np.log(np.sum(np.exp(x - (top := np.max(x, axis=1))[:, None]), axis=1)) + top,
    "columns": lambda x: np.log(np.sum(np.exp(x - (top := np.max(x, axis=0))), axis=0)) + top,
    "kept": lambda x: (top := np.max(x, axis=1, keepdims=True)) + np.log(np.sum(np.exp(x - top), 1, keepdims=True)),
    "all": lambda x: np.log(np.sum(np.exp(x - (top := np.max(x))))) + top,
    "a column": lambda x: np.log(np.sum(np.exp(x - (top := np.max(x, 1, keepdims=True))), axis=1)) + top[:, 0],
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("name", SHIFTED)
def test_shifts_of_exponents_get_no_cotangent(name: str, weight: Callable[..., Any]) -> None:
    f = lambda x: weight(SHIFTED[name](x))
    x = np.random.default_rng(0).normal(size=M)
    tape = wg.gradtape(f, x)
    optimised = tape.optimise()
    assert "np.where" not in calls(optimised) and "np.where" in calls(tape.optimise(exact=True))
    ties, ends = np.round(x), np.where(x > 1.0, -np.inf, x)
    for at in (x, 1e3 * x, ties, ends, *([np.where(x > 1.0, np.nan, x)] * (name != "all"))):
        (_, (_, found)), (_, (_, expected)) = optimised.compile()(at), tape.play(at)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    axes = {"columns": 0, "all": None}.get(name, 1)
    share = np.exp(x) / np.sum(np.exp(x), axis=axes, keepdims=True)
    total = np.asarray(SHIFTED[name](x))
    slopes = [np.ones_like(total), np.full_like(total, -3.0 / total.size), 2.0 * total]
    bar = np.reshape(slopes[WEIGHTS.index(weight)], np.sum(x, axis=axes, keepdims=True).shape)
    np.testing.assert_allclose(optimised.play(x)[1][1], bar * share, rtol=1e-12)


def test_shifts_that_are_no_shifts_keep_their_cotangents() -> None:
    without = lambda x: np.sum(np.log(np.sum(np.exp(x - np.max(x, axis=1, keepdims=True)), axis=1)))
    twice = lambda x: np.sum(np.log(np.sum(np.exp(x - np.max(x, axis=1)[:, None]), axis=1)) + 2.0 * np.max(x, axis=1))
    other = lambda x: np.sum(np.log(np.sum(np.exp(2.0 * x - np.max(x, 1)[:, None]), axis=1)) + np.max(x, axis=1))
    x = np.random.default_rng(0).normal(size=M)
    for f in (without, twice, other):
        tape = wg.gradtape(f, x)
        np.testing.assert_allclose(tape.optimise().compile()(x)[1][1], tape.play(x)[1][1], rtol=1e-12, atol=1e-14)
        assert "np.where" in calls(tape.optimise())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_shifts_of_other_exponents_keep_what_is_not_a_number() -> None:
    """Where exp(y - max x) is 0 for all y, the maximum gets p - 0·(p / 0)."""
    f = lambda x, y: np.log(np.sum(np.exp(y - (top := np.max(x))))) + top
    y = np.array([1.0, 2.0])
    compiled = wg.gradtape(f, np.array([1.0, 3.0]), y).optimise().compile()
    np.testing.assert_array_equal(compiled(np.array([1000.0, 3.0]), y)[1][1], [np.nan, 0.0])


def test_where_the_largest_is_does_not_hinder() -> None:
    """The pullback of a maximum asks which elements are equal to it: some are, however they are rounded."""
    f = lambda x, y: np.sum(np.max(np.sum(x * y, axis=1, keepdims=True) * np.ones(3), axis=1))
    g = lambda x, y: np.sum(np.max(np.sum(x * y, axis=1), axis=0))
    x, y = np.random.default_rng(0).normal(size=(2, *M))
    for h in (f, g):
        tape = wg.gradtape(h, x, y)
        _, (_, *found) = tape.optimise().compile()(x, y)
        _, (_, *expected) = tape.play(x, y)
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert "np.einsum" in calls(tape.optimise())


def relaxed(u, c):
    for _ in range(2):
        u = u.copy()
        u[1:-1] = u[1:-1] + c * (u[:-2] + u[2:])
    return np.sum(u * u)


def test_what_a_pullback_clears_and_gives_back_is_not_cleared():
    u = np.random.default_rng(0).normal(size=6)
    tape = wg.gradtape(relaxed, u, 0.3)
    made = tape.optimise()
    assert sum(op.fn is wg.extend.setitem and op.args[-1] == 0.0 for op in tape.calls) == 2
    assert not any(op.fn is wg.extend.setitem and op.args[-1] == 0.0 for op in made.calls)
    assert any(op.fn is wg.extend.setitem and op.args[-1] == 0.0 for op in tape.optimise(exact=True).calls)
    for given in (u, 2 * u):
        for found, expected in zip(made.play(given, 0.7)[1][1:], tape.play(given, 0.7)[1][1:], strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize(("key", "same"), [(slice(1, -1), True), (slice(0, 4), False), (slice(4, 0, -1), False)])
def test_only_the_very_part_is_given_back(key, same):
    d, w = np.random.default_rng(1).normal(size=6), np.array([1.0, np.inf, np.nan, -0.0])
    tape = wg.Tape()
    tape.inputs = [d, w]
    x, more = tape.inputs
    part = tape.push(wg.mkcall(operator.getitem, x, slice(1, 5)))
    cleared = tape.push(wg.mkcall(wg.extend.setitem, x, slice(1, 5), 0.0))
    total = tape.push(wg.mkcall(operator.add, part, more))
    tape.result = tape.push(wg.mkcall(wg.extend.additem, cleared, key, total))
    made = tape.optimise()
    assert any(op.fn is wg.extend.setitem for op in made.calls) is not same
    np.testing.assert_allclose(made.play(2 * d, w), tape.play(2 * d, w), rtol=1e-14)
    assert np.array_equal(d, tape[x].val)


def test_the_sum_of_squares_of_scaled_columns_ends() -> None:
    """Two rules undid one another: f·Σ x² = Σ (f·x)·x = f·Σ x²."""
    x, w = np.random.default_rng(3).normal(size=(40, 3)), np.array([1.0, 2.0, 3.0])
    for f in (lambda w: np.sum((x * w) ** 2), lambda w: np.sum((x * w) * (x * w))):
        compiled = wg.compile(wg.grad(f), strict=True)
        for k in range(3):
            np.testing.assert_allclose(compiled(w + k), 2 * (w + k) * np.sum(x * x, axis=0), rtol=1e-12)


def test_rules_that_undo_one_another_end() -> None:
    graph = Graph({np.sin: [lambda graph, x: graph.call(np.cos, x)], np.cos: [lambda graph, x: graph.call(np.sin, x)]})
    node = graph.call(np.sin, graph.constant(np.ones(3)))
    assert node.fn in (np.sin, np.cos)
