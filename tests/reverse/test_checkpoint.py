"""Checkpoints: value and gradient of the plain function bit for bit in less memory, or an error."""

from __future__ import annotations

import functools
import operator
import random
import threading
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from calls import calls

import wengert as wg
from wengert.recording.primitives import primitive_of
from wengert.recording.recording import STATE
from wengert.recording.session import SESSION
from wengert.recording.shadow import SHADOW

X = np.array([0.3, -1.1, 0.7, 2.0])
Wrap = Callable[[Any], Any]


@dataclass
class Cell:
    weight: np.ndarray
    bias: float
    hidden: Any = None

    def step(self, h: Any) -> Any:
        return np.tanh(self.weight * h + self.bias)


def of_an_array(cp: Wrap, x: Any) -> Any:
    return np.sum(cp(lambda v: np.sin(v) * v)(x) ** 2)


def of_floats(cp: Wrap, x: Any) -> Any:
    f = cp(lambda a, b, *, c: (a * b - c) ** 3 / (1 + b * b))
    return f(x[0], f(x[1], x[2], c=1.0), c=x[3])


def of_containers(cp: Wrap, x: Any) -> Any:
    def f(d: dict[str, Any], pair: tuple[Any, ...], cell: Cell) -> Any:
        return {"out": [d["a"] * pair[0], pair[1][0] ** 2], "sum": cell.step(d["a"]).sum()}

    y = cp(f)({"a": x * 2}, (x[1], [x[2], "text"]), Cell(x + 1, x[0]))
    return y["out"][0].sum() + y["out"][1] * y["sum"]


def of_a_closure(cp: Wrap, x: Any) -> Any:
    w = np.exp(x)

    def f(v: Any) -> Any:
        return w * v * scale[0]

    scale = [x[3]]
    return np.sum(cp(f)(x) * w)


def of_a_rebound_closure(cp: Wrap, x: Any) -> Any:
    h = x
    for k in range(4):

        def f() -> Any:
            return np.sin(h) * x + k

        h = cp(f)()
    k = 7
    return np.sum(h * h)


def of_an_object(cp: Wrap, x: Any) -> Any:
    cell = Cell(x * 3, x[1])
    h = x
    for _ in range(3):
        h = cp(cell.step)(h)
        cell.weight = cell.weight * h
        cell.bias = cell.bias + h[0]
    return np.sum(h)


def inner_functions(cp: Wrap, x: Any) -> Any:
    def make(a: Any) -> Any:
        return lambda v: v * a + x[0]

    fs = [make(x[k]) for k in range(3)]

    def f(v: Any) -> Any:
        for g in fs:
            v = g(v)
        return v

    return np.sum(cp(f)(x * x))


def in_place_inside(cp: Wrap, x: Any) -> Any:
    def f(v: Any) -> Any:
        y = np.zeros(4)
        for k in range(4):
            y[k] = v[k] * y[k - 1] + v[k - 1]
        y[1:] *= y[:-1]
        return y

    return np.sum(cp(f)(cp(f)(x)) * x)


def into_its_argument(cp: Wrap, x: Any) -> Any:
    def f(v: Any) -> None:
        v[1:] += v[:-1] * x[1:]
        v[0] = np.sin(v[3])

    u = x * 2
    f = cp(f)
    for _ in range(5):
        f(u)
    return np.sum(u * u)


def into_the_callers_array(cp: Wrap, x: Any) -> Any:
    def f(v: Any) -> Any:
        v[1] = v[0] * v[2]
        return v * v

    return np.sum(cp(f)(x)) + x[1] * np.sum(cp(f)(x[::-1]))


def into_a_view_of_written_memory(cp: Wrap, x: Any) -> Any:
    grid = np.zeros((3, 4))
    grid[0] = x
    rows = [grid[0], grid[1], grid[2]]

    def f(k: int) -> Any:
        rows[k][:] = np.cos(rows[k - 1]) * grid[0]
        return grid.T[1].sum()

    f = cp(f)
    a = f(1)
    b = f(2)
    grid[0, 1] = 5.0
    return a * b + np.sum(rows[2] * grid[0])


def into_views_updated_before(cp: Wrap, x: Any) -> Any:
    y = np.zeros(6)
    y[:4] = x
    part = y[-4:-1]
    part += x[1:]
    part *= x[0]

    def f(k: int) -> Any:
        operator.iadd(part, x[k])
        operator.imul(part, x[k : k + 3])
        np.sin(part, out=part)
        y[-4:-1] += x[2]
        return np.sum(y**2)

    f = cp(f)
    a = f(0)
    b = f(1)
    return a * b + np.sum(part * y[:3])


def into_a_shared_buffer(cp: Wrap, x: Any) -> Any:
    buffer = np.empty(4)
    h = x

    def f(v: Any) -> Any:
        for k in range(3):
            np.multiply(v, x + k, out=buffer)
            v = np.sin(buffer) + v
        return v

    f = cp(f)
    for _ in range(3):
        h = f(h)
    return np.sum(h * buffer)


def overwritten_later(cp: Wrap, x: Any) -> Any:
    u = x * 3
    data = np.arange(4.0)
    y = cp(lambda v: v * v * (data + 1))(u)
    u[:2] = 0.0
    u *= x
    data[:] = -1.0
    return np.sum(y * u)


def overwritten_in_a_list(cp: Wrap, x: Any) -> Any:
    hs = [x]

    def f() -> None:
        hs.append(np.sin(hs[-1]) * hs[0])

    f = cp(f)
    for _ in range(4):
        f()
    hs[0] = hs[1] * 2
    return sum([np.sum(h) for h in hs])


def left_elsewhere(cp: Wrap, x: Any) -> Any:
    cell = Cell(x, 1.0)

    def f(v: Any) -> Any:
        cell.hidden = (v * v, v[0] * 2)
        cell.bias = cell.bias * v[1]
        return v + 1

    y = cp(f)(x)
    return np.sum(y * cell.hidden[0]) * cell.hidden[1] * cell.bias


def nested(cp: Wrap, x: Any) -> Any:
    inner = cp(lambda v: np.sin(v) * x)

    @cp
    def middle(v: Any) -> Any:
        y = inner(inner(v))
        y[0] = y[1] * v[0]
        return inner(y)

    @cp
    def outer(v: Any) -> Any:
        for _ in range(3):
            v = middle(v)
        return v

    return np.sum(outer(outer(x)))


def results_in_parts(cp: Wrap, x: Any) -> Any:
    def f(v: Any) -> Any:
        half = v[:2] * 2
        return half, v, [half[1], half[1] * v[0]], "note", 3, None

    a, b, (c, d), note, n, nothing = cp(f)(x)
    assert (note, n, nothing, b is x) == ("note", 3, None, True)
    return np.sum(a) * c + d * np.sum(b)


def error_caught(cp: Wrap, x: Any) -> Any:
    u = x * 1.0

    @cp
    def f(v: Any) -> Any:
        u[0] = v[1] * u[0]
        y = v * u
        if y[0] < 10:
            raise ValueError
        return y

    try:
        f(x)
    except ValueError:
        u *= x
    return np.sum(u * u)


def cached(cp: Wrap, x: Any) -> Any:
    @functools.lru_cache
    def slow(a: float) -> float:
        return a * a

    a = x[0] * 2
    y = slow(a)
    return cp(lambda: slow(a) * x[1] + slow(x[2]))() + y + slow(x[2])


def of_random_numbers(cp: Wrap, x: Any) -> Any:
    np.random.seed(3)  # noqa: NPY002 -- the global one, which users' code draws from
    random.seed(4)
    rng = np.random.default_rng(5)

    def dropout(v: Any, rng: Any) -> Any:
        return v * (np.random.rand(4) < 0.7) * random.random() + rng.standard_normal(4) * v  # noqa: NPY002

    h = x
    for _ in range(3):
        h = cp(dropout)(h, rng) + np.random.rand()  # noqa: NPY002
    return np.sum(h * h)


def gradient_inside(cp: Wrap, x: Any) -> Any:
    def f(v: Any) -> Any:
        return wg.grad(lambda z: np.sum(z**3 * v))(v) + wg.vjp(lambda z: z * v, v)[1](x)[0]

    return np.sum(cp(f)(x) * x)


def a_generator(cp: Wrap, x: Any) -> Any:
    @cp
    def squares(v: Any) -> Any:
        for part in v:
            yield part * part

    return sum(squares(x)) * cp(lambda v: sum(a for a in v))(x)


def of_matrices(cp: Wrap, x: Any) -> Any:
    a = np.outer(x, x) + np.eye(4)

    @cp
    def f(m: Any, b: Any) -> Any:
        return np.einsum("ij,j->i", m, b) @ m.T + np.concatenate([b[:2], np.sort(b)[2:]])

    return np.sum(f(a, f(a, x)) ** 2)


def of_long_doubles(cp: Wrap, x: Any) -> Any:
    """Of a long double, NumPy computes ten bytes and leaves six as they were."""

    def f(v: Any) -> Any:
        wide = v.astype(np.longdouble)
        return float(np.sum(np.sin(wide) * (wide * 0.5)))

    y = cp(f)(x)
    dirty = [np.full(8, 7.0 * k) for k in range(50)]
    return y * x[len(dirty) % 3]


def written_after(cp: Wrap, x: Any) -> Any:
    y = cp(lambda v: np.tile(v, 2))(x)  # a view of memory that is not traced itself
    y[0] = y[3] * x[1]
    half = cp(lambda v: np.tile(v, 2)[2:])(y)
    half[1:3] *= x[0]
    return np.sum(half * half) + y[1] * cp(lambda: half[2] * y[0])()


PROGRAMS = [
    written_after,
    of_an_array, of_floats, of_containers, of_a_closure, of_a_rebound_closure, of_an_object, inner_functions,
    in_place_inside, into_its_argument, into_the_callers_array, into_a_view_of_written_memory, into_a_shared_buffer,
    into_views_updated_before,
    overwritten_later, overwritten_in_a_list, left_elsewhere, nested, results_in_parts, error_caught, cached,
    of_random_numbers, gradient_inside, a_generator, of_matrices, of_long_doubles,
]  # fmt: skip


def assert_same(program: Any, found: Any, expected: Any) -> None:
    """Bit for bit; but views of written memory are read once more, and their cotangents summed in another order."""
    np.testing.assert_array_max_ulp(found, expected, 2 if program is written_after else 0)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_without(program: Any) -> None:
    plain, kept = X.copy(), X.copy()
    value, gradient = wg.value_and_grad(functools.partial(program, lambda f: f))(plain)
    value_again, gradient_again = wg.value_and_grad(functools.partial(program, wg.checkpoint))(kept)
    assert value == value_again == program(wg.checkpoint, X.copy())
    assert_same(program, gradient_again, gradient)
    np.testing.assert_array_equal(plain, kept)
    (differences,) = wg.ngradient(lambda x: program(lambda f: f, x.copy()), X)
    np.testing.assert_allclose(gradient_again, differences, rtol=1e-6, atol=1e-8)
    assert not (SHADOW or SESSION.recordings or STATE.recording)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_under_another_checkpoint(program: Any) -> None:
    gradient = wg.grad(functools.partial(program, lambda f: f))(X.copy())
    f = wg.checkpoint(functools.partial(program, wg.checkpoint))
    assert_same(program, wg.grad(wg.checkpoint(lambda x: f(x) * 1.0))(X.copy()), gradient)


COUNT = [0]
DATA = np.array([1.0, 2.0, 3.0, 4.0])


def counted(x: Any) -> Any:
    COUNT[0] += 1
    return x * COUNT[0]


def read_from_a_global(x: Any) -> Any:
    return x * (DATA @ DATA)


def divided_in_part(x: Any) -> Any:
    """The pullback of the division reads the quotient, and nothing else that depends on the data."""
    y = x * 1.0
    y[:2] += DATA[:2]
    y[:2] /= x[2:] + 1.0
    return y


def longer_each_time(x: Any) -> Any:
    COUNT[0] += 1
    for _ in range(COUNT[0]):
        x = x + 0.0
    return x


def raises_the_second_time(x: Any) -> Any:
    COUNT[0] += 1
    return x * {1: 2.0}[COUNT[0]]


def drawn_out_of_reach(x: Any) -> Any:
    return x * HIDDEN["rng"].random()


def test_a_first_call_that_returns_its_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    primitive = primitive_of(np.ndarray.conjugate)
    monkeypatch.setattr(primitive, "pairs", [None] * 4)  # as before its first call, which is recorded by another path

    def f(x: Any) -> Any:
        y = x - 1.0
        return np.sum(y * y.conjugate())

    assert np.array_equal(wg.grad(wg.checkpoint(f))(X), 2 * (X - 1.0))


HIDDEN = {"rng": np.random.default_rng(0)}


@pytest.mark.parametrize(
    "f",
    [counted, longer_each_time, raises_the_second_time, drawn_out_of_reach, read_from_a_global, divided_in_part],
)
def test_another_second_run_is_an_error(f: Any) -> None:
    """Also where the value is the same: at x = 0 that of a product is."""
    COUNT[0] = 0

    def loss(x: Any) -> Any:
        y = wg.checkpoint(f)(x)
        DATA[:] = DATA[::-1] + 1
        return y.sum()

    with pytest.raises(wg.RecomputationError, match=rf"(?s)test_checkpoint.*{f.__name__}.*global"):
        wg.grad(loss)(np.zeros(4))
    DATA[:] = [1.0, 2.0, 3.0, 4.0]
    assert not (SHADOW or SESSION.recordings or STATE.recording)


def test_memory_is_as_the_caller_left_it_after_an_error() -> None:
    COUNT[0] = 0
    u = np.ones(4)

    def f(x: Any) -> Any:
        u[:2] = counted(x)[0]
        return x * u

    with pytest.raises(wg.RecomputationError):
        wg.grad(lambda x: wg.checkpoint(f)(x).sum())(X)
    np.testing.assert_array_equal(u, [0.3, 0.3, 1, 1])


def test_an_inner_pullback_does_not_outlive_its_checkpoint() -> None:
    def f(x: Any) -> Any:
        return wg.vjp(lambda z: z**3, x)

    def loss(x: Any) -> Any:
        y, pullback = wg.checkpoint(f)(x)
        return y.sum() + pullback(np.ones(4))[0].sum()

    with pytest.raises(wg.RefusedCallError, match="vjp"):
        wg.grad(loss)(X)


def test_untraced_it_is_the_function() -> None:
    @wg.checkpoint
    def f(x: Any, *, k: int = 2) -> Any:
        """Doc."""
        return x * k

    assert (f.__name__, f.__doc__, f(3.0, k=4)) == ("f", "Doc.", 12.0)
    assert wg.checkpoint_loop(lambda s, i: s * 2 + i, 1, 5) == 58


def test_method_and_builtin_callables() -> None:
    class Model:
        def __init__(self, w: Any) -> None:
            self.w = w

        @wg.checkpoint
        def layer(self, h: Any) -> Any:
            return np.tanh(self.w * h)

        def __call__(self, h: Any) -> Any:
            return self.layer(self.layer(h)).sum()

    model = Model(X * 2)
    w = model.w
    _, (of_model, of_x) = wg.grad(model, X)
    np.testing.assert_allclose(of_model.w, wg.ngradient(lambda w: Model(w)(X), w)[0], rtol=1e-6)
    np.testing.assert_allclose(of_x, wg.ngradient(lambda x: Model(w)(x), X)[0], rtol=1e-6, atol=1e-10)
    assert model.w is w
    np.testing.assert_array_equal(wg.grad(lambda x: wg.checkpoint(np.sin)(x).sum())(X), np.cos(X))


def chain(x: Any) -> Any:
    return np.sum(wg.checkpoint_loop(lambda s, i: np.sin(s) * x + i, x, 9))


def plain_chain(x: Any) -> Any:
    s = x
    for i in range(9):
        s = np.sin(s) * x + i
    return np.sum(s)


def test_in_nested_gradients() -> None:
    def twice(f: Any) -> Any:
        return wg.grad(lambda x: np.sum(wg.grad(f)(x) ** 2))(X)

    np.testing.assert_array_equal(twice(chain), twice(plain_chain))
    around = wg.checkpoint(lambda x: np.sum(wg.grad(plain_chain)(x) ** 2))
    np.testing.assert_array_equal(wg.grad(around)(X), twice(plain_chain))


def test_in_vjp() -> None:
    value, pullback = wg.vjp(chain, X)
    expected = wg.grad(plain_chain)(X)
    np.testing.assert_array_equal(pullback(1.0)[0], expected)
    np.testing.assert_array_equal(pullback(1.0)[0], expected)
    assert value == plain_chain(X)


def test_on_tapes() -> None:
    _, tape = wg.trace(chain, X)
    assert tape.play(X + 1) == plain_chain(X + 1)
    gradient = wg.gradtape(chain, X)
    for run in (gradient.play, gradient.compile()):
        np.testing.assert_allclose(run(X + 1)[1][1], wg.grad(plain_chain)(X + 1))
    namespace: dict[str, Any] = {}
    exec(gradient.to_source("df"), namespace)
    np.testing.assert_allclose(namespace["df"](X)[1][1], wg.grad(plain_chain)(X))


def test_on_several_threads() -> None:
    found: list[Any] = [None] * 6

    def work(k: int) -> None:
        for _ in range(10):
            found[k] = wg.grad(lambda x: chain(x * k))(X)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for k, gradient in enumerate(found):
        np.testing.assert_array_equal(gradient, wg.grad(lambda x, k=k: plain_chain(x * k))(X))


def test_others_record_while_the_walk_goes_on_behind_a_checkpoint() -> None:
    """A pullback that comes after a second run waits for another thread's gradient: the run has left its turn."""
    found: list[Any] = []

    def g(x: Any) -> Any:
        return x**3

    @wg.rrule(g)
    def rule(x: Any) -> Any:
        def pullback(y_bar: Any) -> Any:
            other = threading.Thread(target=lambda: found.append(wg.grad(lambda y: y * y)(5.0)), daemon=True)
            other.start()
            other.join(5)
            found.append("waited")
            return 3 * y_bar * x * x

        return g(x), pullback

    assert wg.grad(lambda x: wg.checkpoint(lambda y: y * y)(g(x)))(2.0) == 192.0
    assert found == [10.0, "waited"]


def test_side_effects_happen_twice(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        print("run")
        return x * x

    wg.grad(wg.checkpoint(f))(3.0)
    assert capsys.readouterr().out == "run\nrun\n"


# Cost


def diffuse(u: np.ndarray, i: int) -> np.ndarray:
    u = u + 0.1 * np.sin(u)
    u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def in_loop(n: int) -> Any:
    return lambda u: np.sum(wg.checkpoint_loop(diffuse, u, n) ** 2)


def in_plain_loop(n: int) -> Any:
    def f(u: Any) -> Any:
        for i in range(n):
            u = diffuse(u, i)
        return np.sum(u**2)

    return f


def peak(work: Callable[[], Any]) -> int:
    work()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_loop_takes_the_memory_of_the_root_of_its_steps() -> None:
    u = np.linspace(0, 1, 2000)
    np.testing.assert_array_equal(wg.grad(in_loop(30))(u), wg.grad(in_plain_loop(30))(u))
    few, many = (peak(lambda n=n: wg.grad(in_loop(n))(u)) for n in (64, 1024))
    assert np.log(many / few) / np.log(1024 / 64) < 0.55
    assert many < peak(lambda: wg.grad(in_plain_loop(1024))(u)) / 3


@pytest.mark.parametrize("u", [np.linspace(0, 1, 50), 0.7], ids=["array", "float"])
def test_a_loop_takes_a_bounded_multiple_of_the_calls(u: Any) -> None:
    """Two runs that are recorded, the comparison of the two, and one walk back."""

    def step(s: Any, i: int) -> Any:
        return s * 0.9 + 0.1 * np.sin(s)

    def plain(u: Any, n: int) -> Any:
        for i in range(n):
            u = step(u, i)
        return np.sum(u)

    def split(u: Any, n: int) -> Any:
        return np.sum(wg.checkpoint_loop(step, u, n))

    def made(f: Any, n: int) -> int:
        wg.grad(f)(u, n)
        return calls(lambda: wg.grad(f)(u, n))

    assert made(split, 900) <= 4 * made(plain, 900)
