"""Gradients of sums over chunks, with Dask: those of one machine, whatever the chunks are and whoever computes them."""

from __future__ import annotations

import functools
import pickle
import types
from typing import Any

import numpy as np
import pytest

import wengert as wg

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
bag = pytest.importorskip("dask.bag")

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(100, 3)), RNG.normal(size=100)
P = {"w": np.array([1.0, -2.0, 0.5]), "b": 0.5, "name": "line"}


def loss(p: Any, x: Any, y: Any) -> Any:
    return np.sum((x @ p["w"] + p["b"] - y) ** 2)


def loss_of_pair(p: Any, pair: Any) -> Any:
    return loss(p, *pair)


def loss_of_records(p: Any, records: list[Any]) -> Any:
    assert type(records) is list
    total = 0.0
    for record in records:
        total = total + (record["x"] @ p["w"] + p["b"] - record["y"]) ** 2
    return total


def slices(n: int) -> list[slice]:
    return [slice(k, k + n) for k in range(0, 100, n)]


def arrays(n: int) -> Any:
    return loss, (da.from_array(X, chunks=(n, 3)), da.from_array(Y, chunks=n))


def delayed(n: int) -> Any:
    return loss_of_pair, ([dask.delayed(lambda s: (X[s], Y[s]))(s) for s in slices(n)],)


def delayed_within(n: int) -> Any:
    return loss_of_pair, ([(dask.delayed(X[s]), Y[s]) for s in slices(n)],)


def plain(n: int) -> Any:
    return loss, ([X[s] for s in slices(n)], tuple(Y[s] for s in slices(n)))


def records(n: int) -> Any:
    rows = [{"x": x, "y": y} for x, y in zip(X, Y, strict=True)]
    return loss_of_records, (bag.from_sequence(rows, partition_size=n),)


def made_by_a_bag(n: int) -> Any:
    pairs = bag.from_sequence(list(zip(X, Y, strict=True)), partition_size=n)
    return loss_of_records, (pairs.map(lambda pair: {"x": pair[0], "y": pair[1]}),)


def check(found: Any, expected: Any = None) -> None:
    value, gradient = found
    r = X @ P["w"] + P["b"] - Y
    np.testing.assert_allclose(value, r @ r, rtol=1e-13)
    np.testing.assert_allclose(gradient["w"], 2 * X.T @ r, rtol=1e-13)
    assert gradient == {"w": gradient["w"], "b": pytest.approx(2 * r.sum(), rel=1e-13), "name": None}
    assert type(gradient["b"]) is float


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("n", [100, 30, 3])
@pytest.mark.parametrize("chunks", [arrays, delayed, delayed_within, plain, records, made_by_a_bag])
def test_it_is_the_gradient_of_the_whole(chunks: Any, n: int, compiled: bool) -> None:
    if compiled and chunks in (records, made_by_a_bag) and n < 100:
        n = 50
    f, given = chunks(n)
    check(wg.dask.value_and_grad(f, compiled=compiled)(P, *given))


def test_its_bits_do_not_depend_on_who_adds() -> None:
    f, given = arrays(3)
    found = []
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            found.append(wg.dask.value_and_grad(f)(P, *given))
    assert found[0][0] == found[1][0]
    assert found[0][1]["w"].tobytes() == found[1][1]["w"].tobytes()


class Model:
    """Parameters that are an object, one array twice in it."""

    def __init__(self, w: Any) -> None:
        self.w, self.again = w, [w, np.array(2.0), np.float32(3.0)]


def test_the_gradient_has_the_structure_and_kinds_of_the_parameters() -> None:
    def f(m: Any, x: Any) -> Any:
        return np.sum(x * (m.w * m.again[0])) * m.again[1] * m.again[2]

    m = Model(np.array([1.0, 3.0]))
    _, gradient = wg.dask.value_and_grad(f)(m, [np.ones(2), np.ones(2), np.ones(2)])
    _, expected = wg.value_and_grad(f)(m, np.full(2, 3.0))
    assert type(gradient) is Model
    np.testing.assert_allclose(gradient.w, expected.w)
    for mine, other in zip(gradient.again, expected.again, strict=True):
        np.testing.assert_allclose(mine, other)
        assert type(mine) is type(other)
        assert mine.dtype == other.dtype


def test_what_is_given_and_the_parts_are_left_as_they_are() -> None:
    parts = [np.array([1.0]), np.array([2.0])]
    p = np.array([3.0])
    wg.dask.value_and_grad(lambda p, x: np.sum(p * x))(p, parts)
    assert (p, *parts) == ([3.0], [1.0], [2.0])


@pytest.mark.parametrize("compiled", [False, True])
def test_a_loss_cannot_write_what_other_tasks_read(compiled: bool) -> None:
    def centred(p: Any, x: Any) -> Any:
        x["y"] -= np.mean(x["y"])
        return np.sum(p * x["y"])

    def doubled(p: Any, x: Any) -> Any:
        p *= 2.0
        return np.sum(p * x["y"])

    for f in (centred, doubled):
        p, parts = np.ones(2), [{"y": np.array([1.0, 3.0])}, {"y": np.array([2.0, 5.0])}]
        with pytest.raises(ValueError, match="read-only"):
            wg.dask.value_and_grad(f, compiled=compiled)(p, parts)
        assert (p.tolist(), parts[0]["y"].tolist()) == ([1.0, 1.0], [1.0, 3.0])


def test_what_the_loss_reads_from_outside_is_read_at_each_call() -> None:
    scale = [1.0]
    for compiled in (False, True):
        g = wg.dask.value_and_grad(lambda p, x: scale[0] * p * x, compiled=compiled)
        for scale[0] in (1.0, 5.0):
            assert g(2.0, [1.0, 3.0]) == (8.0 * scale[0], 4.0 * scale[0])


def test_scipy_takes_it() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    _, given = arrays(40)
    vector, unravel = wg.ravel(P)
    found = optimize.minimize(
        wg.dask.value_and_grad(lambda v, x, y: loss(unravel(v), x, y)), vector, args=given, jac=True
    )
    expected = np.linalg.lstsq(np.column_stack([X, np.ones(100)]), Y, rcond=None)[0]
    np.testing.assert_allclose(found.x, expected, atol=1e-6)


def both(w: Any, b: Any, x: Any, y: Any) -> Any:
    return np.sum((x @ w + b - y) ** 2)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("argnums", [(0, 1), ("w", "b"), ["w", 1], (0, "b")])
def test_argnums_are_the_parameters_and_the_rest_is_cut(argnums: Any, compiled: bool) -> None:
    _, given = arrays(30)
    value, (w, b) = wg.dask.value_and_grad(both, argnums, compiled=compiled)(P["w"], P["b"], *given)
    check((value, {"w": w, "b": b, "name": None}))


def test_argnums_may_be_anywhere_and_name_a_part() -> None:
    _, given = arrays(30)
    for argnums in (1, "p", -2):
        check(wg.dask.value_and_grad(lambda x, p, y: loss(p, x, y), argnums)(given[0], P, given[1]))
    r = X @ P["w"] + P["b"] - Y
    _, w = wg.dask.value_and_grad(loss, "p['w']")(P, *given)
    np.testing.assert_allclose(w, 2 * X.T @ r, rtol=1e-13)


def test_argnums_that_cannot_be_are_refused() -> None:
    _, (x, y) = arrays(30)
    with pytest.raises(wg.ArgumentError, match=r"argument 2, .* goes to each task whole, but it is cut into chunks"):
        wg.dask.value_and_grad(both, (0, 2))(P["w"], P["b"], x, y)
    with pytest.raises(wg.ArgumentError, match="argnums names 'v'"):
        wg.dask.value_and_grad(both, "v")(P["w"], P["b"], x, y)
    with pytest.raises(wg.ArgumentError, match="names no arguments"):
        wg.dask.value_and_grad(both, 1.5)  # type: ignore[call-overload]


@pytest.mark.parametrize("compiled", [False, True])
def test_aux_is_that_of_each_chunk_in_order(compiled: bool) -> None:
    def with_residual(p: Any, x: Any, y: Any) -> Any:
        return loss(p, x, y), {"residual": x @ p["w"] + p["b"] - y, "rows": len(x)}

    _, given = arrays(30)
    (value, aux), gradient = wg.dask.value_and_grad(with_residual, has_aux=True, compiled=compiled)(P, *given)
    check((value, gradient))
    assert [each["rows"] for each in aux] == [30, 30, 30, 10]
    residual = np.concatenate([each["residual"] for each in aux])
    np.testing.assert_allclose(residual, X @ P["w"] + P["b"] - Y, rtol=1e-13)


def test_aux_needs_a_pair() -> None:
    with pytest.raises(wg.ArgumentError, match="returns a pair"):
        wg.dask.value_and_grad(loss, has_aux=True)(P, *arrays(30)[1])


def wave(p: Any, x: Any, y: Any) -> Any:
    return np.sum((np.sin(x @ p["w"]) * np.exp(p["b"]) - y) ** 2)


def wave_with_rows(p: Any, x: Any, y: Any) -> Any:
    return wave(p, x, y), len(x)


def elsewhere(x: np.ndarray, shift: int) -> np.ndarray:
    """A copy whose memory begins at another address, by a number of bytes after one that 64 divides."""
    memory = np.empty(x.nbytes + 128, np.uint8)
    start = -memory.ctypes.data % 64 + shift
    made = memory[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    made[:] = x
    return made


def test_its_bits_do_not_depend_on_where_the_chunks_lie() -> None:
    """Dask's messages leave arrays at any address, for which NumPy adds products in another order."""
    strided = np.empty((100, 6))[:, ::2]
    strided[:] = X
    g, found = wg.dask.value_and_grad(wave), set()
    for x in (X, strided, *[elsewhere(X, shift) for shift in (1, 4, 8, 32)]):
        value, gradient = g(P, [x[:30], x[30:]], [elsewhere(Y[:30], 3), Y[30:]])
        found.add((float(value), gradient["w"].tobytes(), gradient["b"]))
    assert len(found) == 1


def test_exact_code_has_the_bits_of_the_trace() -> None:
    _, given = arrays(30)
    g = wg.dask.value_and_grad(wave, compiled=True, exact=True)
    with dask.config.set(scheduler="synchronous"):
        found = [f(P, *given) for f in (wg.dask.value_and_grad(wave), g, g)]
    assert len({(value.tobytes(), gradient["w"].tobytes(), gradient["b"]) for value, gradient in found}) == 1


@pytest.mark.parametrize("compiled", [False, True])
def test_products_with_the_hessian_are_those_of_the_whole(compiled: bool) -> None:
    """By differences of the gradient that NumPy computes of all rows at once."""

    def slope(w: Any, b: Any) -> Any:
        s, e = np.sin(X @ w), np.exp(b)
        r = 2 * (s * e - Y)
        return np.append(X.T @ (r * np.cos(X @ w) * e), np.sum(r * s * e))

    w, b, v, u, h = P["w"], P["b"], np.array([0.5, 1.0, -2.0]), 0.3, 1e-5
    found = wg.dask.hvp(wave, compiled=compiled)({"w": w, "b": b}, {"w": v, "b": u}, *arrays(30)[1])
    differences = (slope(w + h * v, b + h * u) - slope(w - h * v, b - h * u)) / (2 * h)
    np.testing.assert_allclose([*found["w"], found["b"]], differences, rtol=1e-7)


def test_scipy_takes_products_with_the_hessian() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    vector, unravel = wg.ravel(P)
    f = functools.partial(loss_of_vector, unravel)
    g, h = wg.dask.value_and_grad(f), wg.dask.hvp(f)
    found = optimize.minimize(g, vector, args=arrays(40)[1], jac=True, hessp=h, method="trust-ncg", tol=1e-10)
    expected = np.linalg.lstsq(np.column_stack([X, np.ones(100)]), Y, rcond=None)[0]
    np.testing.assert_allclose(found.x, expected, rtol=1e-9)
    assert found.nit < 10


def loss_of_vector(unravel: Any, v: Any, x: Any, y: Any) -> Any:
    return loss(unravel(v), x, y)


def test_a_direction_that_does_not_fit_is_refused() -> None:
    h = wg.dask.hvp(lambda p, x: np.sum(p**3) * x)
    with pytest.raises(wg.ArgumentError, match="shape") as info:
        h(np.ones(2), np.ones(3), [1.0])
    assert "chunk 0" in info.value.__notes__[0]
    with pytest.raises(wg.ArgumentError, match=r"argument 1, .*hvp\(loss\) takes \(params, v, \*chunks\)"):
        h(np.ones(2), da.ones(4, chunks=2))


FIELD, MASK = RNG.normal(size=(6, 8)), RNG.uniform(size=(6, 8)) < 0.7


def misfit(p: Any, field: Any, mask: Any) -> Any:
    return np.sum(np.where(mask, (np.tanh(p[0] * field) - p[1]) ** 2, 0.0))


def slope_of_misfit(p: Any) -> Any:
    """By complex steps, of the whole field."""
    steps = 1e-30j * np.eye(2)
    return [np.sum(np.where(MASK, (np.tanh((p + h)[0] * FIELD) - (p + h)[1]) ** 2, 0)).imag / 1e-30 for h in steps]


@pytest.mark.parametrize("chunks", [(6, 8), (4, 8), (6, 3), (4, 3), (1, 1)])
def test_blocks_may_be_cut_along_several_axes(chunks: Any) -> None:
    p = np.array([0.7, 0.2])
    given = da.from_array(FIELD, chunks=chunks), da.from_array(MASK, chunks=chunks)
    value, gradient = wg.dask.value_and_grad(misfit, blocks=True)(p, *given)
    np.testing.assert_allclose(value, misfit(p, FIELD, MASK), rtol=1e-13)
    np.testing.assert_allclose(gradient, slope_of_misfit(p), rtol=1e-13)
    if chunks == (4, 3):
        whole = wg.hvp(misfit)(p, np.ones(2), FIELD, MASK)
        np.testing.assert_allclose(wg.dask.hvp(misfit, blocks=True)(p, np.ones(2), *given), whole, rtol=1e-12)


def test_blocks_may_have_further_axes() -> None:
    x = RNG.normal(size=(6, 8, 3))
    given = da.from_array(x, chunks=(4, 3, 3)), da.from_array(FIELD, chunks=(4, 3))
    _, gradient = wg.dask.value_and_grad(both, (0, 1), blocks=True)(P["w"], P["b"], *given)
    r = x @ P["w"] + P["b"] - FIELD
    np.testing.assert_allclose(gradient[0], 2 * np.tensordot(r, x, axes=2), rtol=1e-13)


def test_blocks_that_do_not_fit_are_refused() -> None:
    x, words = da.ones((4, 4), chunks=(2, 2)), "do not fit together"
    for y in (da.ones((4, 4), chunks=(2, (1, 3))), da.ones(4, chunks=1), da.ones((4, 4), chunks=(1, 4)), [1.0, 2.0]):
        with pytest.raises(wg.ArgumentError, match=words):
            wg.dask.value_and_grad(misfit, blocks=True)(np.ones(2), x, y)
    with pytest.raises(wg.ArgumentError, match=r"rows \(2, 2\) × axis 1 \(2, 2\) and 2 chunks"):
        wg.dask.value_and_grad(misfit, blocks=True)(np.ones(2), x, [1.0, 2.0])


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_progress_is_shown_by_dask(scheduler: str, capsys: pytest.CaptureFixture[str]) -> None:
    f, given = arrays(30)
    with dask.config.set(scheduler=scheduler):
        check(wg.dask.value_and_grad(f, progress=True)(P, *given))
        assert "100% Completed" in capsys.readouterr().out
        check(wg.dask.value_and_grad(f)(P, *given))
    assert not capsys.readouterr().out


REFUSED = {
    "whole rows": lambda: (da.ones((4, 4), chunks=2), da.ones(4, chunks=2)),
    "do not fit together: rows \\(2, 2\\) and rows \\(1, 3\\)": lambda: (
        da.ones((4, 4), chunks=(2, 4)),
        da.ones(4, chunks=((1, 3),)),
    ),
    "rows \\(2, 2\\) and 3 chunks": lambda: (da.ones(4, chunks=2), [1.0, 2.0, 3.0]),
    "not ndarray.*from_array": lambda: (X, Y),
    "not Delayed.*\\[chunk\\]": lambda: (dask.delayed(X),),
    "not dict": lambda: ({"x": X},),
    "without axes": lambda: (da.ones(4).sum(),),
    "no chunks to sum over": lambda: ([],),
    "no chunks": lambda: (),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_does_not_fit_is_refused(words: str) -> None:
    with pytest.raises(wg.ArgumentError, match=words):
        wg.dask.value_and_grad(loss)(P, *REFUSED[words]())


def test_chunks_of_unknown_length_are_taken_as_they_come() -> None:
    x, y = da.from_array(X, chunks=(30, 3)), da.from_array(Y, chunks=30)
    keep = y > 0
    value, _ = wg.dask.value_and_grad(loss)(P, x[keep], y[keep])
    np.testing.assert_allclose(value, loss(P, X[Y > 0], Y[Y > 0]), rtol=1e-13)


def test_no_derivative_goes_through() -> None:
    g = wg.dask.value_and_grad(lambda p, x: p * x)
    with pytest.raises(wg.ArgumentError, match="cannot be differentiated or traced"):
        wg.grad(lambda p: g(p, [1.0])[0])(2.0)


def test_a_function_with_a_rule_of_its_own_is_packed() -> None:
    """It leads to the table of rules, which stays where it is. The rule states no real derivative, to be seen."""
    names: dict[str, Any] = {"__name__": "__main__", "wg": wg, "np": np}
    text = "@wg.custom_derivative\ndef whole(x):\n    return np.floor(x)\n"
    text += "@whole.vjp_rule\ndef back(y_bar, y, x):\n    return 100 * y_bar\n"
    with wg.rules.scope():
        exec(text, names)
        assert pickle.loads(pickle.dumps(wg.dask.packed(wg.grad(names["whole"]))))(2.5) == 100.0


def test_errors_are_those_of_the_loss() -> None:
    with pytest.raises(wg.NoRuleError, match=r"test_dask\.py:\d+.*tobytes"):
        wg.dask.value_and_grad(lambda p, x: p[0] * len(p.tobytes()))(np.ones(2), [1.0])


def test_an_error_says_in_which_chunk() -> None:
    def f(p: Any, x: Any) -> Any:
        if x > 2.0:
            raise KeyError("mine")
        return p * x

    with pytest.raises(KeyError, match="mine") as info:
        wg.dask.value_and_grad(f)(1.0, [1.0, 2.0, 3.0])
    assert info.value.__notes__ == ["The loss failed at chunk 2, counted from 0."]


def test_chunks_have_no_names() -> None:
    with pytest.raises(wg.ArgumentError, match=r"by position, not by name: x, y\. .*functools\.partial"):
        wg.dask.value_and_grad(loss)(P, x=[X], y=[Y])


def test_what_is_made_of_a_loss_is_pickled_and_named() -> None:
    made = wg.dask.value_and_grad(loss, compiled=True, retries=1)
    assert repr(made) == "<wg.value_and_grad of loss>"
    check(pickle.loads(pickle.dumps(made))(P, [X], [Y]))


def test_a_module_that_is_not_there_is_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("only_here")
    exec("def f(x):\n    return x * x", vars(module))
    monkeypatch.setitem(__import__("sys").modules, "only_here", module)
    packed = wg.dask.packed(wg.grad(module.f))
    monkeypatch.delitem(__import__("sys").modules, "only_here")
    with pytest.raises(ModuleNotFoundError, match="only_here") as info:
        packed(2.0)
    assert "register_pickle_by_value" in info.value.__notes__[0]


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "dask", None)
    assert isinstance(wg.dask, types.ModuleType)
    with pytest.raises(ImportError, match=r"pip install 'wengert\[dask\]'"):
        wg.dask.value_and_grad(loss)(P, [X], [Y])
