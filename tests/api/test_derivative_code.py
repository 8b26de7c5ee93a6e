"""Derivatives by generated code: those of the walks, at every call, whatever a function reads, draws or decides."""

from __future__ import annotations

import functools
import gc
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from samples import SAMPLES
from sampling import Sample

import wengert as wg
from wengert.api import derivative_code
from wengert.errors import NonScalarOutputError, NoRuleError

X = np.array([0.5, -1.0, 2.0, 1.5])
V = np.array([1.0, 2.0, -1.0, 0.5])
STATE = {"scale": 2.0, "matrix": np.arange(16.0).reshape(4, 4) / 8, "n": 2, "calls": 0}


@pytest.fixture(autouse=True)
def _warm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Look for code from the first call on, and forget that of earlier tests."""
    derivative_code._codes_by_function.clear()
    monkeypatch.setattr(derivative_code, "WARM_CALLS", 0)
    monkeypatch.setattr(derivative_code, "OPTIMISED_CALLS", 4)
    before = {key: np.copy(value) if key == "matrix" else value for key, value in STATE.items()}
    yield
    STATE.update(before)


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def reads_outside(x: Any) -> Any:
    return np.sum(np.sin(STATE["scale"] * x) * (STATE["matrix"] @ x)) ** STATE["n"]


def branches(x: Any) -> Any:
    return np.sum(x**3) if x[0] > 0 else np.sum(np.exp(x) * x)


def loops(x: Any) -> Any:
    y = x
    for _ in range(STATE["n"]):
        y = np.tanh(y * y[0]) + x
    return np.sum(y)


def masks(x: Any) -> Any:
    return np.sum(np.where(x > 0, x**3, np.cos(x))) + np.sum(x[x > 1] ** 2)


def keywords(x: Any) -> Any:
    return np.sum(np.sum(np.outer(x, x) ** 2, axis=0) * np.max(x), keepdims=True)[0]


def floats(x: Any) -> Any:
    a, b = float(x[0]) * 1.0, x[1]
    return x[0] * b * x[2] ** 2 + a * 0.0 + np.dot(x, x)


def stores(x: Any) -> Any:
    y = np.zeros(4)
    for k in range(4):
        y[k] = x[k] ** 3
    return np.sum(y * x)


def stops(x: Any) -> Any:
    return np.sum(x * wg.stop_gradient(x) ** 2 + x**3)


def counts(x: Any) -> Any:
    STATE["calls"] += 1
    return np.sum(x**3) * STATE["calls"]


def stacked(x: Any) -> Any:
    return np.sum(np.stack([x, x**2]) ** 2) + np.sum(np.concatenate([x, x * 2.0]) ** 3)


def lists(x: Any) -> Any:
    rows = np.array([[x[0], STATE["scale"]], [x[1] * x[2], 1.0]])
    return np.sum(rows**3) * np.sum(np.where(STATE["matrix"][1, 2] > 1.0, x**2, np.asarray(x)).astype(np.dtype(float)))


def powers(x: Any) -> Any:
    return np.sum(np.abs(x) ** STATE["scale"])


class Model:
    def __init__(self, data: np.ndarray) -> None:
        self.data = data

    def loss(self, x: Any, more: float = 1.0) -> Any:
        return more * (np.sum(np.tanh(x * self.data) ** 2 * STATE["scale"]) + x[0] * x[1])


FUNCTIONS = [
    rosenbrock, reads_outside, branches, loops, masks, keywords, floats, stores, stops, counts, stacked, lists, powers,
    Model(V).loss, functools.partial(Model(V).loss, more=3.0),
]  # fmt: skip


def _closed_kinds(f: Callable[..., Any]) -> dict[str, Callable[[Any], Any]]:
    return {
        "hessian": wg.hessian(f),
        "hvp": lambda x: wg.hvp(f, x, V),
        "vhp": lambda x: wg.vhp(f, (x,), (V,))[0],
        "jacobian": wg.jacobian(lambda x: np.sin(x) * f(x)),
    }


def _by_walks(f: Callable[..., Any], kind: str, x: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(derivative_code, "WARM_CALLS", 1 << 30)
        return _closed_kinds(f)[kind](x)


def _change(step: int) -> Any:
    """Change what the functions read; return the point of a step."""
    STATE["scale"] += 0.25 * (step % 3)
    STATE["matrix"][1, 2] += 0.5 * step
    STATE["n"] = 2 + (step > 6)
    return X * (1.0 if step % 4 < 3 else -1.0) + 0.01 * step


@pytest.mark.parametrize("kind", ["hessian", "hvp", "vhp", "jacobian"])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_every_call_is_that_of_the_walks(f: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    derivative = _closed_kinds(f)[kind]
    for step in range(12):
        x, calls = _change(step), STATE["calls"]
        found = derivative(x)
        assert STATE["calls"] - calls == (f is counts)
        STATE["calls"] = calls
        np.testing.assert_allclose(found, _by_walks(f, kind, x, monkeypatch), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["hessian", "hvp", "vhp", "jacobian"])
@pytest.mark.parametrize("f", [rosenbrock, reads_outside, keywords, powers])
def test_code_rounds_as_before_it_is_optimised(f: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivative_code, "OPTIMISED_CALLS", 1 << 30)
    derivative = _closed_kinds(f)[kind]
    plain = [derivative(X + 0.1 * step) for step in range(6)]
    monkeypatch.setattr(derivative_code, "OPTIMISED_CALLS", 0)
    for step, expected in enumerate(plain):
        np.testing.assert_array_equal(derivative(X + 0.1 * step), expected)
    if kind != "jacobian":  # which is of a function of its own
        (codes,) = derivative_code._codes_by_function[f.__code__].values()
        assert len(codes.optimised) == 1


@pytest.mark.parametrize("make", [wg.hvp, wg.vhp])
def test_products_of_many_numbers(make: Any) -> None:
    """The optimised code computes in buffers that it keeps: no result may be one of them."""
    x, v, scale = np.linspace(0.5, 1.5, 100_000), np.cos(np.arange(100_000.0)), [2.0]
    before = x.copy(), v.copy()

    def f(x: Any) -> Any:
        return np.sum(scale[0] * x**4 + x[::-1] * x)

    found = []
    for step in range(6):
        scale[0] = 2.0 + step
        found.append(make(f, x + 0.01 * step, v))
    for step, product in enumerate(found):
        expected = 12 * (2.0 + step) * (x + 0.01 * step) ** 2 * v + 2 * v[::-1]
        np.testing.assert_allclose(product, expected, rtol=1e-12, atol=1e-12)
        product[:] = 0.0
    np.testing.assert_allclose(make(f, x, v), 84.0 * x**2 * v + 2 * v[::-1], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal((x, v), before)
    codes = derivative_code._codes_by_function[f.__code__][make, (0,)]
    assert len(codes.optimised) == 1


def few_rows(x: Any, w: Any) -> Any:
    a = STATE["scale"] * w
    return np.stack([np.dot(np.sort(x), a), np.max(x * a) * x[3], np.sum(np.cumsum(np.where(x > 0, x**3, a)))])[None]


def with_stores(x: Any, w: Any) -> Any:
    y = np.zeros((2, 2))
    y[0] = np.tanh(x[:2]) * x[2]
    y[1, 0] = np.linalg.norm(x) + w[STATE["n"]]
    return y.T


@pytest.mark.parametrize("way", [wg.jacobian, wg.jacrev])
@pytest.mark.parametrize("argnums", [0, (0, 1), (1, 0)])
@pytest.mark.parametrize("f", [few_rows, with_stores])
def test_few_rows_are_those_of_walks_for_each(f: Any, argnums: Any, way: Any) -> None:
    """The code computes all rows at once; with another option `jacrev` takes a walk for each."""
    jacobian, x, w = way(f, argnums), np.cos(np.arange(16.0)), np.linspace(-1, 1, 16)
    for step in range(12):
        STATE["scale"], STATE["n"] = 2.0 + step % 3, 2 + step // 6
        at = x + 0.3 * step, w * (1 + step)
        found, expected = jacobian(*at), wg.jacrev(f, argnums, allow_int=True)(*at)
        _same(found, expected)


def test_an_error_of_the_function_stays_its_own() -> None:
    def f(x: Any) -> Any:
        if STATE["n"] == 3:
            raise KeyError("three")
        return np.sum(x**3)

    second = wg.hessian(f)
    for step in range(12):
        STATE["n"] = 3 if step in (1, 4, 7, 10) else 2
        if STATE["n"] == 3:
            with pytest.raises(KeyError, match="three"):
                second(X)
        else:
            np.testing.assert_allclose(second(X), np.diag(6 * X))


def test_hessians_are_those_of_differences() -> None:
    second = wg.hessian(rosenbrock)
    for step in range(5):
        x, h = X + 0.1 * step, 1e-5
        rows = [(wg.grad(rosenbrock)(x + e) - wg.grad(rosenbrock)(x - e)) / (2 * h) for e in h * np.eye(4)]
        np.testing.assert_allclose(second(x), rows, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("f", [rosenbrock, reads_outside, keywords, stacked, lists])
def test_small_functions_get_code(f: Any) -> None:
    second = wg.hessian(f)
    for _ in range(3):
        second(X)
    codes = derivative_code._codes_by_function[f.__code__][wg.hessian, 0]
    assert [*map(callable, codes.codes.values())] == [True]


def test_methods_of_several_objects_share_code() -> None:
    models = [Model(V), Model(2 * V), Model(np.append(V, 1.0))]
    for step in range(6):
        for model in models:
            x = np.append(X, 0.5)[: len(model.data)] + 0.1 * step
            expected = wg.jacobian(wg.grad(lambda x, model=model: model.loss(x)))(x)
            np.testing.assert_allclose(wg.hessian(model.loss)(x), expected, rtol=1e-10)
            np.testing.assert_allclose(wg.hvp(functools.partial(model.loss, more=2.0), x, x), 2 * expected @ x)
        models[step % 3].data = models[step % 3].data + 0.25
    made = derivative_code._codes_by_function[Model.loss.__code__]
    assert {make: [*map(callable, codes.codes.values())] for (make, _), codes in made.items()} == {
        wg.hessian: [True, True],
        wg.hvp: [True, True],
    }


def test_a_function_runs_at_every_call_and_once() -> None:
    said: list[Any] = []

    def f(x: Any) -> Any:
        said.append(float(np.sum(wg.stop_gradient(x))))
        return np.sum(x**3)

    second = wg.hessian(f)
    for step in range(6):
        second(X + step)
    assert len(said) == 6


def test_draws_are_new_at_every_call() -> None:
    def f(x: Any, rng: Any) -> Any:
        return np.sum(rng.normal(size=4) * x**3)

    second, rng, first = wg.hessian(f), np.random.default_rng(0), True
    for _ in range(6):
        expected = np.diag(6 * X * np.random.default_rng(0).normal(size=4))
        np.testing.assert_allclose(second(X, np.random.default_rng(0)), expected)
        assert not np.allclose(second(X, rng), expected) or first
        first = False


@pytest.mark.parametrize("argnums", [(0,), (0, 1), (1, 0), 1])
def test_several_arguments(argnums: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def f(a: Any, b: Any) -> Any:
        return np.sum(a**2 * np.sum(b**3)) + np.sum(a)

    second, first = wg.hessian(f, argnums), wg.jacobian(lambda a, b: np.outer(a, b), argnums)
    for step in range(4):
        a, b = X + step, V[:2] - step
        found, jacobian = second(a, b), first(a, b)
        with monkeypatch.context() as patch:
            patch.setattr(derivative_code, "WARM_CALLS", 1 << 30)
            expected, plain = wg.hessian(f, argnums)(a, b), wg.jacobian(lambda a, b: np.outer(a, b), argnums)(a, b)
        _same(found, expected)
        _same(jacobian, plain)


def _same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if type(found) is tuple:
        assert len(found) == len(expected)
        for pair in zip(found, expected, strict=True):
            _same(*pair)
    else:
        np.testing.assert_allclose(found, expected)


def test_results_are_new_arrays() -> None:
    def f(x: Any) -> Any:
        return np.sum(x**2)

    second = wg.hessian(f)
    for _ in range(5):
        found = second(X)
        np.testing.assert_array_equal(found, 2 * np.eye(4))
        found[:] = 7.0


def test_where_a_walk_avoids_a_nan_the_code_does_too() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.sqrt(np.abs(x)) * x, 0.0))

    second = wg.hessian(f)
    for x in (X, X, X, np.array([0.0, -1.0, 2.0, 1.5]), X):
        with np.errstate(all="ignore"):
            expected = _again(f, x)
            np.testing.assert_allclose(second(x), expected)


def _again(f: Any, x: Any) -> Any:
    return wg.hessian(lambda x: f(x) * 1.0)(x)


def test_shapes_and_dtypes_may_change() -> None:
    second = wg.hessian(lambda x: np.sum(x**3))
    for x in (X, X, X, X[:2], X.astype(np.float32), X[:2], np.ones((2, 2)), 3.0, X):
        found = second(x)
        expected = np.diag(6 * np.ravel(x)).reshape(np.shape(x) * 2)
        np.testing.assert_allclose(found, expected)
        assert np.result_type(found) == np.result_type(x)


def test_refusals_stay() -> None:
    def f(x: Any) -> Any:
        return x**2

    for _ in range(4):
        with pytest.raises(NonScalarOutputError):
            wg.hvp(f, X, V)
    for _ in range(4):
        np.testing.assert_allclose(wg.hessian(f)(X)[1], np.diag([0.0, 2.0, 0.0, 0.0]))

    def g(x: Any) -> Any:
        return np.sum(np.frombuffer(x.tobytes()) * x)

    for _ in range(4):
        with pytest.raises(NoRuleError):
            wg.hessian(g)(X)


def test_inside_of_another_derivative() -> None:
    def f(x: Any) -> Any:
        return np.sum(x**4)

    second = wg.hessian(f)
    for _ in range(4):
        second(X)
    np.testing.assert_allclose(wg.grad(lambda x: np.sum(second(x)))(X), 24 * X)


def test_a_new_rule_is_followed() -> None:
    def cube(x: Any) -> Any:
        return x * x * x

    def f(x: Any) -> Any:
        return np.sum(cube(x))

    second = wg.hessian(f)
    for _ in range(4):
        np.testing.assert_allclose(second(X), np.diag(6 * X))

    @wg.partials(cube)
    def _(y: Any, x: Any) -> Any:
        return 7.0 * x

    np.testing.assert_allclose(second(X), np.diag(np.full(4, 7.0)))


def test_codes_end_with_their_function() -> None:
    space: dict[str, Any] = {}
    exec("import numpy as np\ndef f(x): return np.sum(x**3 * 2.5)", space)
    second = wg.hessian(space["f"])
    for _ in range(4):
        second(X)
    code = weakref.ref(space["f"].__code__)
    assert len(derivative_code._codes_by_function[space["f"].__code__]) == 1
    del second
    space.clear()
    gc.collect()
    assert code() is None


OF_ARRAYS = [sample for sample in SAMPLES if type(sample.args[0]) is np.ndarray and sample.args[0].dtype == float]


@pytest.mark.parametrize("sample", OF_ARRAYS[::9], ids=str)
@pytest.mark.parametrize("make", [wg.hessian, wg.jacobian])
def test_samples_by_code(sample: Sample, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.cos(sample.f(x, *sample.args[1:], **sample.kwargs)))

    if type(sample.f(*sample.args, **sample.kwargs)) is not np.ndarray:
        pytest.skip("its result is not one array")
    derivative_code._codes_by_function.clear()
    derivative, x = make(f), sample.args[0]
    for _ in range(3):
        derivative(x)
    moved = np.asarray(x * 1.003 + 0.001)
    found = derivative(moved)
    monkeypatch.setattr(derivative_code, "WARM_CALLS", 1 << 60)
    np.testing.assert_allclose(found, make(f)(moved), rtol=1e-8, atol=1e-10)


def test_the_memory_of_code_is_what_it_still_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 steps compute 80 arrays, and their second derivative 470; some 80 of these are read late."""

    def f(x: Any) -> Any:
        for _ in range(20):
            x = x * 0.99 + np.sin(x) * 0.01
        return np.sum(x * x)

    monkeypatch.setattr(derivative_code, "OPTIMISED_CALLS", 1 << 40)
    x = np.linspace(-1, 1, 10_000)
    for _ in range(3):
        wg.hvp(f, x, x)
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        wg.hvp(f, x, x)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert peak < 200 * x.nbytes
    assert held < 10 * x.nbytes  # nothing waits for the collector


def test_code_is_checked_by_walks() -> None:
    """The functions of one form share no code, but the check of each plays the same recorded calls."""
    for scale in range(4):
        f = eval(f"lambda x: np.sum(np.sin(x) * {scale}.5 * x)", {"np": np})
        for _ in range(3):
            wg.hvp(f, X, V)
    files = {code.co_filename for code in derivative_code._codes_by_function}
    assert derivative_code.__file__ not in files
