"""Blocks: what is computed some rows at a time is what it is as a whole, also where nothing is too small for it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from programs import PROGRAMS
from random_programs import arguments as drawn_arguments
from random_programs import program, programs
from test_corpus_compiled import test_a_compiled_program as check_program
from test_fuzz_optimising import check as check_tape
from test_placement import on_threads

import wengert as wg
from wengert.compiling import blocking, pipeline, placement
from wengert.values.trees import leaves

N = 23  # rows: a prime number, so that a rest is left


def anything(patch: pytest.MonkeyPatch, block: int = 256) -> None:
    """Have everything go by blocks of so many bytes, and into buffers."""
    always = blocking.NUMPY_LIMITS._replace(block=block, least=0, large=0, gain=0)
    patch.setattr(pipeline, "NUMPY_LIMITS", always)
    patch.setattr(blocking, "FEWEST_CALLS", 1)
    patch.setattr(placement, "LEAST_BYTES", 1)


@pytest.fixture
def small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        anything(patch)
        yield


def chain(x: Any, y: Any) -> Any:
    u = np.exp(x[:, 0]) * np.sin(y)
    return np.sum(u * u / (2.0 + np.cos(u))), u, np.where(u > 0.5, u, y)


def softmax(x: Any, y: Any) -> Any:
    top = np.max(x, axis=1, keepdims=True)
    weights = np.exp(x - top)
    total = np.sum(weights, axis=1)
    return np.log(total) + top[:, 0] + y, weights / total[:, None], np.sum(weights, axis=0)


def views(x: Any, y: Any) -> Any:
    """Views that are read afterwards, of what is given and of what is made."""
    u = np.sin(x) * y[:, None]
    v = u.reshape((N, 1, 4)) + 1.0
    w = np.einsum("ijk->ik", v * v)
    return u[:, 1], v, v[:, 0, ::-1], u[3], x[:, 2] * 2.0, w.reshape((N, 2, 2))


def stores(x: Any, y: Any) -> Any:
    u = np.cos(x) * 2.0
    v = u + 1.0
    u[1:] += v[:-1] * y[1:, None]
    return u * v, np.sum(u, axis=0), v


def as_a_whole(x: Any, y: Any) -> Any:
    """What is read row by row by one, and as a whole by another."""
    u = np.tanh(x)
    return np.exp(u @ u.T) * y, u[0] + u, np.cumsum(np.sin(u) * 2.0, axis=0), y + y[:, None]


def sums(x: Any, y: Any) -> Any:
    """A sum in the middle, which what comes after it reads."""
    u = np.sin(x) * 3.0
    norm = np.sum(u * u)
    v = np.cos(u) / norm
    return norm, v, np.sum(v * u), np.sum(v, axis=(0, 1)), np.vdot(y, y * 2.0), np.mean(u, axis=0)


FUNCTIONS = [chain, softmax, views, stores, as_a_whole, sums]


def total(f: Any) -> Any:
    return lambda x, y: sum([np.sum(np.cos(abs(part))) for part in f(x, y)])


def arguments(seed: int, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    x, y = (np.random.default_rng(seed).uniform(-2, 2, shape) for shape in ((N, 4), N))
    return x.astype(dtype), y.astype(dtype)


def arrays(value: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for _, leaf in leaves(value)]


def assert_close(found: Any, wanted: Any, within: float = 1e-12) -> None:
    for a, b in zip(arrays(found), arrays(wanted), strict=True):
        assert (a.shape, a.dtype, a.strides) == (b.shape, b.dtype, b.strides)
        np.testing.assert_allclose(a, b, rtol=within, atol=within * np.max(np.abs(b), initial=0.0))


@pytest.mark.parametrize("derivative", [False, True])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_blocks_give_what_whole_arrays_give(small: None, f: Any, derivative: bool) -> None:
    tape = wg.gradtape(total(f), *arguments(0)) if derivative else wg.trace(f, *arguments(0))[1]
    plain = wg.value_and_grad(total(f), argnums=(0, 1)) if derivative else f
    for exact in (False, True):
        run: Any = tape.optimise(exact=exact).compile()
        assert run.blocks
        for seed in range(3):
            x, y = arguments(seed)
            found, wanted = run(x, y), plain(x, y)
            for buffer in [buffer for buffers in (run.pool.free if run.pool else ()) for buffer in buffers]:
                buffer.fill(99)
            wanted = (wanted[0], (None, *wanted[1])) if derivative else wanted
            assert_close(found, wanted)
            np.testing.assert_array_equal([*map(np.sum, (x, y))], [*map(np.sum, arguments(seed))])
            assert not any([np.shares_memory(a, b) for a in arrays(found) for b in (x, y)])


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.longdouble])
@pytest.mark.parametrize("f", [chain, sums, stores])
def test_numbers_of_other_kinds(small: None, f: Any, dtype: Any) -> None:
    if dtype is np.complex128 and f is chain:
        f = lambda x, y: (np.exp(x) * y[:, None] + 1j, np.sum(np.conj(x) * x))
    x, y = arguments(1, dtype)
    with np.errstate(all="ignore"):
        run: Any = wg.trace(f, *arguments(0, dtype))[1].optimise().compile()
        assert run.blocks
        assert_close(run(x, y), f(x, y), 1e-5 if dtype is np.float32 else 1e-12)


def test_exactly_means_to_the_bit(small: None) -> None:
    f = lambda x, y: (np.exp(np.sin(x) * 1.1) / 3.0, np.sum(np.cos(x) * 0.1), np.sum(x * x, axis=1) * y)
    tape = wg.trace(f, *arguments(0))[1]
    for a, b in zip(tape.optimise(exact=True).compile()(*arguments(1)), f(*arguments(1)), strict=True):
        np.testing.assert_array_equal(a, b)


LAYOUTS = {
    "Fortran": lambda x, y: (np.asfortranarray(x), y),
    "backwards": lambda x, y: (x[::-1, ::-1], y[::-1]),
    "every other": lambda x, y: (np.repeat(x, 2, axis=0)[::2], np.repeat(y, 2)[1::2]),
    "broadcast": lambda x, y: (np.broadcast_to(x[:1], x.shape), np.broadcast_to(y[:1], y.shape)),
    "overlapping": lambda x, y: (x, x.reshape(-1)[5 : 5 + N]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_arguments_lie_in_memory_as_they_like(small: None, f: Any, layout: str) -> None:
    g = wg.compile(f)
    for seed, how in enumerate([lambda x, y: (x, y), LAYOUTS[layout], lambda x, y: (x, y)]):
        x, y = how(*arguments(seed))
        for a, b in zip(arrays(g(x, y)), arrays(f(x, y)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.max(np.abs(b)))


def test_nan_and_infinities_stay_where_they_are(small: None) -> None:
    x, y = arguments(0)
    x[3, 1], x[7, 2], y[20] = np.nan, np.inf, -np.inf
    g = wg.compile(wg.value_and_grad(total(softmax), argnums=(0, 1)))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        g(*arguments(1))
        for a, b in zip(arrays(g(x, y)), arrays(wg.value_and_grad(total(softmax), argnums=(0, 1))(x, y)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_other_shapes_are_other_traces(small: None) -> None:
    g = wg.compile(wg.grad(lambda x: np.sum(np.exp(x) * x / (1.0 + x * x))))
    for n in (23, 5, 46, 23, 2, 1):
        x = np.linspace(-1.0, 1.0, n)
        dx = np.exp(x) * ((1.0 + x) * (1.0 + x * x) - 2.0 * x * x) / (1.0 + x * x) ** 2
        np.testing.assert_allclose(g(x), dx, rtol=1e-12, atol=1e-14)


def logarithm(x: Any) -> Any:
    return np.sum(np.log(x) * x)


def warned(f: Any, x: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        f(x)
    return [f"{each.category.__name__}: {each.message}" for each in told]


def test_a_warning_is_told_once(small: None) -> None:
    x = np.linspace(1.0, 2.0, 48)  # blocks leave no rest
    run: Any = wg.trace(logarithm, x)[1].optimise().compile()
    assert run.blocks and not warned(run, x)
    bad = np.where(np.arange(48) % 3 == 0, -x, 0.0)
    of_product = ["RuntimeWarning: invalid value encountered in dot"]
    assert sorted(warned(run, bad)) == sorted(warned(np.log, bad) + of_product) and len(warned(np.log, bad)) == 2
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run(bad)
    assert {each.filename for each in told} == {__file__}


def test_floating_point_errors_are_what_the_user_wants(small: None) -> None:
    x = np.linspace(1.0, 2.0, 48)
    run: Any = wg.trace(logarithm, x)[1].optimise().compile()
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero encountered in log"):
        run(0.0 * x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in log"):
            run(0.0 * x)
    with np.errstate(all="ignore"):
        assert not warned(run, 0.0 * x)
    called: list[Any] = []
    with np.errstate(all="call", call=lambda *error: called.append(error)):
        assert not warned(run, 0.0 * x)
    assert called
    assert run(x) == pytest.approx(logarithm(x))
    assert not run.pool or len(run.pool.free) == 1


def test_two_threads(small: None) -> None:
    run: Any = wg.gradtape(total(softmax), *arguments(0)).optimise().compile()

    def work(seed: int) -> None:
        x, y = arguments(seed)
        wanted = wg.value_and_grad(total(softmax), argnums=(0, 1))(x, y)
        for _ in range(20):
            assert_close(run(x, y), (wanted[0], (None, *wanted[1])))

    on_threads(work)


def student(x: Any, scale: Any) -> Any:
    z = x * np.exp(-scale)
    return np.sum(2.5 * np.log(1.0 + z**2 / 4.0) + scale)


def test_long_work_on_large_arrays_needs_buffers_of_a_blocks_size() -> None:
    x = np.linspace(-2.0, 2.0, 400_000)
    g = wg.compile(wg.grad(student, argnums=1), native=False)
    g(x, 0.2)
    z = x * np.exp(-0.1)
    assert g(x, 0.1) == pytest.approx(np.sum(1.0 - 1.25 * z**2 / (1.0 + z**2 / 4.0)), rel=1e-11)
    (line,) = [line for line in g.explain().splitlines() if " in blocks of " in line]
    assert "test_blocks.py" in line and line.endswith(" of 400000 rows")
    run: Any = wg.gradtape(student, x, 0.2, argnums=1).optimise().compile()
    assert 0 < run.pool.size < x.nbytes / 2


@pytest.mark.parametrize(("n", "f"), [(1000, student), (400_000, lambda x, y: (x * y + 1.0, np.sum(y)))])
def test_little_work_stays_as_it_is(n: int, f: Any) -> None:
    run: Any = wg.trace(f, np.ones(n), 0.5 * np.ones(n))[1].optimise().compile()
    assert not run.blocks


@pytest.mark.parametrize("program", PROGRAMS[::20], ids=lambda program: program.name)
def test_programs_by_blocks(small: None, program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    check_program(program, capsys)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(programs)
def test_random_programs_by_blocks(ops: list[Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        anything(patch, block=64)
        f = program(ops)
        try:
            tapes = [wg.trace(f, *drawn_arguments())[1], wg.gradtape(f, *drawn_arguments())]
        except wg.WengertError:
            return
        for tape in tapes:
            check_tape(tape)
