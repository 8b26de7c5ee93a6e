"""`vmap` against the loop over the examples."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from program_table import Program
from programs import PROGRAMS

import wengert as wg

XS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
FACTORS = (1.0, 1.001, 0.998)


@pytest.fixture(autouse=True)
def as_errors() -> Iterator[None]:
    """A loop over the examples is an error, but where it is expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.NoBatchingRuleWarning)
        yield


def stack(results: list[Any]) -> Any:
    """What the examples gave, as one: the oracle, apart from the package."""
    first = results[0]
    if isinstance(first, dict):
        return {key: stack([result[key] for result in results]) for key in first}
    if isinstance(first, (tuple, list)):
        return [stack([result[k] for result in results]) for k in range(len(first))]
    return None if first is None else np.stack(results)


def assert_same(found: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            assert_same(found[key], expected[key])
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for pair in zip(found, expected, strict=True):
            assert_same(*pair)
    elif expected is None:
        assert found is None
    else:
        assert isinstance(found, np.ndarray)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-9 if expected.dtype.char in "dD" else 1e-4, atol=1e-10)


def checked(f: Any, *batches: Any, in_axes: Any = 0) -> None:
    """Check `vmap` of a function of arrays whose examples are on axis 0 against the loop."""
    axes = (in_axes,) * len(batches) if in_axes == 0 else in_axes
    rows = range(len(next(x for x, axis in zip(batches, axes, strict=True) if axis == 0)))
    expected = stack(
        [f(*[x if axis is None else x[i].copy() for x, axis in zip(batches, axes, strict=True)]) for i in rows]
    )
    assert_same(wg.vmap(f, in_axes)(*batches), expected)


# ---- the corpus of programs, on batches of their arguments


def grown(x: Any) -> tuple[Any, Any]:
    """A batch of examples near an argument, and the axes of its leaves."""
    if type(x) in (list, tuple, dict):
        pairs = [grown(part) for part in (x.values() if isinstance(x, dict) else x)]
        values, axes = [value for value, _ in pairs], [axis for _, axis in pairs]
        if all(axis is None for axis in axes):
            return x, None
        if type(x) is dict:
            return dict(zip(x, values, strict=True)), dict(zip(x, axes, strict=True))
        return type(x)(values), axes
    if isinstance(x, (float, complex, np.inexact)) or (type(x) is np.ndarray and x.dtype.kind in "fc"):
        return np.stack([np.asarray(x) * factor for factor in FACTORS]).astype(np.asarray(x).dtype), 0
    return x, None


def taken(x: Any, axes: Any, i: int) -> Any:
    if axes is None:
        return copy.deepcopy(x)
    if isinstance(axes, dict):
        return {key: taken(x[key], axes[key], i) for key in x}
    if isinstance(axes, list):
        return type(x)([taken(part, axis, i) for part, axis in zip(x, axes, strict=True)])
    return x[i].copy()


BATCHES = [(program, [grown(x) for x in program.args]) for program in PROGRAMS]
EACH = [pytest.param(*case, id=case[0].name) for case in BATCHES if any(axes is not None for _, axes in case[1])]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("program", "batch"), EACH)
@pytest.mark.parametrize("gradient", [False, True])
def test_programs(program: Program, batch: list[tuple[Any, Any]], gradient: bool) -> None:
    """Each program, and its gradient, whichever of its examples go another way."""

    def f(*args: Any) -> Any:
        return list(wg.grad(program.f, *args)[1])[1:] if gradient else program.f(*args)

    warnings.simplefilter("ignore", wg.NoBatchingRuleWarning)
    values, axes = [x for x, _ in copy.deepcopy(batch)], tuple(axis for _, axis in batch)
    try:
        expected = stack([f(*[taken(x, axis, i) for x, axis in zip(values, axes, strict=True)]) for i in range(3)])
    except (TypeError, ValueError) as error:
        pytest.skip(f"of NumPy's numbers, or of other shapes for each example, it is no program: {error}")
    assert_same(wg.vmap(f, axes)(*values), expected)


# ---- what is batched without a loop


def in_place(x: Any) -> Any:
    y = x.copy()
    y[y > 3] = 0.5
    y[0] += x[1]
    part = y[1:]
    part *= 2
    return y, part


class Pair(NamedTuple):
    left: Any
    right: Any


def test_what_is_written_in_place_and_seen_through_views() -> None:
    checked(in_place, XS)
    checked(in_place, np.asfortranarray(XS))


def windows(x: Any) -> Any:
    """Views of written memory, of which a tape reads windows by strides."""
    y = x.T.copy(order="F")
    view = y[::-1, 1:]
    y[0] = 1.5
    view += y[:, :1]
    return view * 2, y


@pytest.mark.parametrize("order", ["C", "F"])
def test_windows_onto_memory(order: str) -> None:
    x = np.asarray(np.arange(24.0).reshape(2, 3, 4), order=order)
    checked(windows, x)
    checked(lambda x: [wg.grad(lambda x: np.sum(windows(x)[1] ** 2))(x)], x)


def test_a_loop_inside() -> None:
    def recurrence(x: Any, n: int) -> Any:
        for _ in range(n):
            x = np.tanh(x * x[::-1] + 0.1)
        return x

    checked(recurrence, XS, 5, in_axes=(0, None))


def test_containers() -> None:
    def f(d: Any, k: Any) -> Any:
        return {"sum": d["a"] + d["b"][0] * k, "pair": Pair(d["a"] * 2, [k])}

    found = wg.vmap(f, ({"a": 0, "b": (None,)}, None))({"a": XS, "b": (3.0,)}, 2.0)
    assert isinstance(found["pair"], Pair)
    np.testing.assert_array_equal(found["sum"], XS + 6)
    np.testing.assert_array_equal(found["pair"].left, XS * 2)
    np.testing.assert_array_equal(found["pair"].right[0], [2.0, 2.0, 2.0])


def test_axes_of_arguments_and_results() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    for axis, front in ((1, 1), (-1, 2), (-2, 1), (0, 0)):
        found = wg.vmap(lambda x: x * 2, axis)(x)
        np.testing.assert_array_equal(found, np.moveaxis(x, front, 0) * 2)
        np.testing.assert_array_equal(wg.vmap(lambda x: x * 2, axis, axis)(x), x * 2)
    pair = wg.vmap(lambda x: (x, {"t": x.T, "n": 3.0}), out_axes=(2, {"t": -1, "n": None}))(x)
    np.testing.assert_array_equal(pair[0], np.moveaxis(x, 0, 2))
    np.testing.assert_array_equal(pair[1]["t"], np.moveaxis(np.swapaxes(x, 1, 2), 0, 2))
    assert pair[1]["n"] == 3.0


def test_arguments_by_name_have_the_examples_in_front() -> None:
    found = wg.vmap(lambda x, *, scale: x * scale)(XS, scale=np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(found, XS * [[1.0], [2.0], [3.0]])


def test_integers_and_bools_of_each_example() -> None:
    checked(lambda x, k: x[k], XS, np.array([0, 1, 0]))
    checked(lambda x, k: x[k] * k, XS, np.array([[0, 1], [1, 1], [0, 0]]))
    checked(lambda x, keep: np.where(keep, x, 0.5), XS, XS > 3)
    checked(lambda x, keep: x * keep, XS, np.array([True, False, True]))
    checked(lambda x, k: wg.grad(lambda x: x[k] ** 2)(x), XS, np.array([0, 1, 0]))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "g", ">f8"])
def test_dtypes(dtype: str) -> None:
    checked(lambda x: (x * 2.5, x + float(np.real(x[0])), np.mean(x), x / 3), XS.astype(dtype))


def test_a_float_of_python_leaves_the_dtype_of_others() -> None:
    checked(lambda x, a: x * float(a), XS.astype(np.float32), np.array([0.5, 1.5, 2.5]))


def test_functions_of_pythons_numbers() -> None:
    checked(lambda a: math.sin(a) * math.hypot(a, 2.0) + math.log(a, 3) + max(a, 3.5) + abs(-a), XS[:, 0])


def test_what_does_not_depend_on_the_examples() -> None:
    found = wg.vmap(lambda x: (1.5, np.ones(2), 3, True, None, "text", np.float32(2)))(XS)
    assert_same(list(found[:4]), stack([(1.5, np.ones(2), 3, True)] * 3))
    assert found[4:6] == (None, "text")
    assert_same(found[6], np.full(3, 2, np.float32))


def test_one_example_and_none() -> None:
    checked(lambda x: (np.sum(x), x[0], in_place(x)), XS[:1])
    found = wg.vmap(lambda x: (np.sum(x), x * 2))(XS[:0])
    assert found[0].shape == (0,)
    assert found[1].shape == (0, 2)


def test_results_are_the_callers_own() -> None:
    """They may be written, and share no memory with arguments or with one another's examples."""
    x = XS.copy()
    for found in (wg.vmap(lambda x: x)(x), wg.vmap(lambda x: x[::-1])(x), wg.vmap(lambda x: np.ones(2))(x)):
        found[0] = -1.0
        np.testing.assert_array_equal(x, XS)
        assert np.all(found[1] != -1)


def test_bools_of_each_example() -> None:
    """A comparison of numbers decides nothing until Python asks for it."""
    checked(lambda x: (np.where(x[0] > 2, x, -x), x[0] > 2, np.any(x > 6), ~(x[0] > 2) & (x[1] < 3)), XS)
    checked(lambda a: np.where(a > 2, a**2, 0.1 * a), XS[:, 0])
    checked(lambda a: wg.grad(lambda a: np.where(a > 2, a**2, 0.1 * a))(a), XS[:, 0])
    checked(lambda x: (x * 2 if x[0] > 0 and not x[1] < 0 else x, max(x[0], x[1], 4.5)), XS)


def test_extremes_of_pythons_numbers_that_tie_or_are_nan() -> None:
    two = np.float64(2.0)
    batch = np.array([1.0, 2.0, 3.0])
    slopes = wg.grad(lambda batch: np.sum(wg.vmap(lambda a: max(two, a, a * 1.0) + min(two, a))(batch)))(batch)
    np.testing.assert_allclose(slopes, [1.0, 2 / 3 + 1 / 2, 1.0])
    checked(lambda a: (max(two, a), max(a, two), min(two, a), min(a, two)), np.array([1.0, np.nan, 3.0]))


def test_masks_that_choose_as_many_of_each_example() -> None:
    x = np.array([[1.0, 5.0, 2.0], [7.0, 0.5, 1.0]])
    checked(lambda x: x[x > 3], x)
    checked(lambda x: x[x < 3] * x[0], x)


# ---- where it is the loop


def test_a_branch_by_value() -> None:
    def branch(x: Any) -> Any:
        return x if x[0] > 2 else -x

    with pytest.warns(wg.NoBatchingRuleWarning, match=r"test_vmap.py:\d+ in .*branch.*different branches"):
        checked(branch, XS)
    checked(branch, XS[1:])


def test_a_write_into_an_argument_is_made_as_in_a_loop() -> None:
    def write(x: Any) -> Any:
        x[0] = 9.0
        return x * 2

    x = XS.copy()
    with pytest.warns(wg.NoBatchingRuleWarning, match="read-only"):
        found = wg.vmap(write)(x)
    np.testing.assert_array_equal(x[:, 0], [9.0, 9.0, 9.0])
    np.testing.assert_array_equal(found, x * 2)


def test_what_cannot_be_recorded() -> None:
    with wg.rules.scope():
        wg.rules.remove(np.fft.fft)
        with pytest.warns(wg.NoBatchingRuleWarning, match="np.fft"):
            checked(lambda x: np.abs(np.fft.fft(x)), XS)


def test_python_raises_where_numpy_does_not() -> None:
    with pytest.raises(ZeroDivisionError):
        wg.vmap(lambda a: 1.0 / float(a))(np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match=r"math domain error|nonnegative"), pytest.warns(wg.NoBatchingRuleWarning):
        wg.vmap(math.sqrt)(np.array([1.0, -1.0]))
    with pytest.warns(wg.NoBatchingRuleWarning):
        checked(lambda a: float(a) ** 0.5, np.array([1.0, -1.0]))


def test_an_error_is_the_functions_own() -> None:
    def fails(x: Any) -> Any:
        if x[0] > 2:
            raise KeyError("of the third")
        return x

    with pytest.raises(KeyError, match="of the third"):
        wg.vmap(fails)(XS)


# ---- derivatives


def loss(w: Any, x: Any, y: Any) -> Any:
    hidden = np.tanh(w["a"] @ x + w["b"])
    return np.sum((w["c"] @ hidden - y) ** 2)


def parameters() -> Any:
    rng = np.random.default_rng(0)
    return {"a": rng.normal(size=(4, 2)), "b": rng.normal(size=4), "c": rng.normal(size=(3, 4))}


def test_gradients_of_each_example() -> None:
    w, ys = parameters(), np.random.default_rng(1).normal(size=(3, 3))
    found = wg.vmap(wg.grad(loss), (None, 0, 0))(w, XS, ys)
    assert_same(found, stack([wg.grad(loss)(w, x, y) for x, y in zip(XS, ys, strict=True)]))
    for key in w:
        direction = np.ones_like(w[key]) * 1e-6
        ahead, back = [{**w, key: w[key] + sign * direction} for sign in (1, -1)]
        slopes = [(loss(ahead, x, y) - loss(back, x, y)) / 2e-6 for x, y in zip(XS, ys, strict=True)]
        np.testing.assert_allclose(np.sum(found[key], axis=tuple(range(1, found[key].ndim))), slopes, rtol=1e-6)


def test_gradients_that_are_stopped() -> None:
    checked(lambda x: wg.grad(lambda x: np.sum(x * wg.stop_gradient(x)))(x), XS)


def test_value_and_grad_and_argnums() -> None:
    w, ys = parameters(), np.random.default_rng(1).normal(size=(3, 3))
    both = wg.value_and_grad(loss, argnums=(1, 2))
    found = wg.vmap(both, (None, 0, 0))(w, XS, ys)
    assert_same(found, stack([both(w, x, y) for x, y in zip(XS, ys, strict=True)]))


def test_the_gradient_of_a_batch() -> None:
    w, ys = parameters(), np.random.default_rng(1).normal(size=(3, 3))

    def total(w: Any, xs: Any) -> Any:
        return np.mean(wg.vmap(loss, (None, 0, 0))(w, xs, ys) ** 2)

    def by_loop(w: Any, xs: Any) -> Any:
        return np.mean(np.stack([loss(w, x, y) for x, y in zip(xs, ys, strict=True)]) ** 2)

    found, expected = [wg.grad(f, argnums=(0, 1))(w, XS) for f in (total, by_loop)]
    assert_same(found, list(expected))


def test_variables_of_an_outer_derivative_are_seen_wherever_they_are_read() -> None:
    """In closures, in objects, in views, after writes in place: nothing is a constant by mistake."""

    class Model:
        def __init__(self, w: Any) -> None:
            self.w = w

    def inside(w: Any) -> Any:
        written = w * 2
        written[0] = w[1] ** 2
        model, view, scalar = Model(written), written[::-1], w[0] * w[1]
        return np.sum(wg.vmap(lambda x: np.dot(model.w, x) * scalar + view[0] * x[0] + w[1])(XS) ** 2)

    def by_loop(w: Any) -> Any:
        written = np.stack([w[1] ** 2, w[1] * 2])
        return np.sum(np.stack([np.dot(written, x) * (w[0] * w[1]) + written[1] * x[0] + w[1] for x in XS]) ** 2)

    w = np.array([0.5, -1.5])
    np.testing.assert_allclose(wg.jvp(inside, (w,), (np.ones(2),))[1], np.sum(wg.ngradient(by_loop, w)[0]), rtol=1e-6)
    assert inside(w) == pytest.approx(by_loop(w))
    np.testing.assert_allclose(wg.grad(inside)(w), wg.ngradient(by_loop, w)[0], rtol=1e-6)
    np.testing.assert_allclose(wg.gradtape(inside, w).play(w + 0.1)[1][1], wg.ngradient(by_loop, w + 0.1)[0], rtol=1e-6)


def test_a_loop_over_the_examples_is_differentiated_too() -> None:
    def total(w: Any) -> Any:
        return np.sum(wg.vmap(lambda x: x * w if x[0] > 2 else x * w**2)(XS))

    with pytest.warns(wg.NoBatchingRuleWarning):
        found = wg.grad(total)(2.0)
    assert found == XS[1:].sum() + 4 * XS[0].sum()


def test_writes_into_an_outer_variable_are_refused() -> None:
    def f(w: Any) -> Any:
        kept = w * 1.0

        def note(x: Any) -> Any:
            kept[0] = x[0]
            return x * kept

        return np.sum(wg.vmap(note)(XS))

    with pytest.raises(wg.RefusedCallError, match="note writes into an array of shape"):
        wg.grad(f)(np.ones(2))


TOTAL = np.zeros(2)


def test_writes_into_arrays_from_outside_are_refused() -> None:
    """The loop would go on with what the last example wrote."""
    kept = np.zeros(2)

    def into_a_closure(x: Any) -> Any:
        kept[:] += x
        return kept * 1.0

    def into_a_global(x: Any) -> Any:
        TOTAL[0] += x[0]
        return x

    class Model:
        seen = np.zeros((2, 2))

        def __call__(self, x: Any) -> Any:
            self.seen[1] = x
            return x

    for f in (into_a_closure, into_a_global, Model()):
        with pytest.raises(wg.RefusedCallError, match="writes into an array of shape"):
            wg.vmap(f)(XS)


def test_sets_as_results_are_refused() -> None:
    class Point:
        def __init__(self, x: Any) -> None:
            self.x = x

    with pytest.raises(wg.ArgumentError, match=r"a function under vmap must return .*, not a set"):
        wg.vmap(lambda x: {1.0})(XS)
    np.testing.assert_array_equal(wg.vmap(Point)(XS).x, XS)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(wg.vmap(lambda p, x: p.x * x, (None, 0))(Point(2.0), XS), XS * 2)


def test_vmap_of_vmap() -> None:
    np.testing.assert_array_equal(wg.vmap(wg.vmap(lambda a: a * a + 1))(XS), XS**2 + 1)
    found = wg.vmap(lambda x: wg.vmap(lambda a: a * np.sum(x))(x))(XS)
    np.testing.assert_array_equal(found, XS * XS.sum(1, keepdims=True))
    outer = wg.vmap(wg.vmap(np.multiply, (None, 0)), (0, None))(np.arange(3.0), np.arange(4.0))
    np.testing.assert_array_equal(outer, np.outer(np.arange(3.0), np.arange(4.0)))


def test_second_derivatives_through_batches() -> None:
    def f(x: Any) -> Any:
        return np.sum(wg.vmap(wg.grad(lambda a: a**3))(x) * x)

    np.testing.assert_allclose(wg.vmap(wg.grad(f))(XS), 9 * XS**2)
    np.testing.assert_allclose(wg.grad(lambda x: np.sum(wg.grad(f)(x)))(XS[0]), 18 * XS[0])


def two_by_three(x: Any) -> Any:
    return np.stack([x[0] * x[1], x[0] ** 2, np.sin(x[1])])


def test_the_rows_of_a_jacobian_by_one_pullback() -> None:
    _, pullback = wg.vjp(two_by_three, XS[0])
    (found,) = wg.vmap(pullback)(np.eye(3))
    np.testing.assert_allclose(found, [[2, 1], [2, 0], [0, np.cos(2.0)]])


def test_a_pullback_of_the_function_that_is_differentiated() -> None:
    def squares(x: Any) -> Any:
        _, pullback = wg.vjp(two_by_three, x)
        return np.sum(wg.vmap(pullback)(np.eye(3))[0] ** 2)

    expected = np.stack([10 * XS[:, 0], 2 * XS[:, 1] - 2 * np.cos(XS[:, 1]) * np.sin(XS[:, 1])], axis=1)
    np.testing.assert_allclose(wg.grad(squares)(XS[0]), expected[0])
    np.testing.assert_allclose(wg.vmap(wg.grad(squares))(XS), expected)


def test_tangents_of_batches_and_batches_of_tangents() -> None:
    def each(w: Any) -> Any:
        return wg.vmap(lambda x: np.tanh(x @ w))(XS)

    w, w_dot = np.array([0.5, -0.25]), np.array([1.0, 2.0])
    y = np.tanh(XS @ w)
    expected = (1 - y**2) * (XS @ w_dot)
    np.testing.assert_allclose(wg.jvp(each, (w,), (w_dot,))[1], expected)
    np.testing.assert_allclose(wg.linearize(each, w)[1](w_dot), expected)
    np.testing.assert_allclose(wg.vmap(lambda x: wg.jvp(lambda w: np.tanh(x @ w), (w,), (w_dot,))[1])(XS), expected)
    slopes = np.sum((-2 * y * (1 - y**2) * (XS @ w_dot))[:, np.newaxis] * XS, axis=0)
    np.testing.assert_allclose(wg.grad(lambda w: np.sum(wg.jvp(each, (w,), (w_dot,))[1]))(w), slopes)
    np.testing.assert_allclose(wg.jvp(wg.grad(lambda w: np.sum(each(w))), (w,), (w_dot,))[1] @ w_dot, slopes @ w_dot)
    push = wg.linearize(lambda w: np.tanh(XS @ w), w)[1]
    np.testing.assert_allclose(wg.vmap(push)(np.eye(2)).T, (1 - y**2)[:, np.newaxis] * XS)


def test_a_tape_of_a_batch_asks_again_what_the_examples_decided() -> None:
    def f(xs: Any) -> Any:
        return wg.vmap(lambda x: x * 2 if x[0] > 0 else x)(xs)

    _, tape = wg.trace(f, XS)
    np.testing.assert_array_equal(tape.play(XS + 1), 2 * XS + 2)
    with pytest.raises(wg.StaleTapeError):
        tape.play(XS - 2)


# ---- errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wg.vmap(np.add)(XS, XS[:2]), "different numbers of examples: .* has 3 on axis 0, .* has 2 on axis 0"),
        (lambda: wg.vmap(lambda x, y: x)(XS, 2.0), "y is a float, which has no axis of examples"),
        (lambda: wg.vmap(lambda x: x, 2)(XS), r"x has shape \(3, 2\), so it has no axis 2"),
        (lambda: wg.vmap(lambda x: x, (0, 0))(XS), "axes for 2 arguments, but the call has 1"),
        (lambda: wg.vmap(lambda x: x, None)(XS), "vmap has no axis of examples"),
        (lambda: wg.vmap(lambda x: x, "0")(XS), "an axis must be an integer or None, not '0'"),
        (lambda: wg.vmap(lambda x: x, ((0, 0),))([XS]), r"x has 1 items, but there are axes for 2"),
        (lambda: wg.vmap(lambda x: x, ({"b": 0},))({"a": XS}), "x has an item 'a', for which there is no axis"),
        (lambda: wg.vmap(lambda x: x, out_axes=2)(XS), r"has shape \(2,\) for each example, so out_axes cannot be 2"),
        (lambda: wg.vmap(lambda x: x, out_axes=None)(XS), "depends on the examples"),
        (lambda: wg.vmap(lambda x: x)(np.array(["a"])), "x is an array of <U1"),
    ],
)
def test_errors_name_the_argument(call: Any, message: str) -> None:
    with pytest.raises(wg.ArgumentError, match=message):
        call()


@pytest.mark.parametrize("f", [lambda x: 1 / (1 + 1 / abs(float(x) - 1)), lambda x: 1 / (1 + float(x) ** 300)])
def test_a_tape_of_a_batch_asks_again_whether_python_raises_errors(f: Any) -> None:
    _, tape = wg.trace(wg.vmap(f), np.array([2.0, 3.0]))
    np.testing.assert_allclose(tape(np.array([3.0, 4.0])), [f(3.0), f(4.0)])
    for x in (1.0, 1000.0):
        try:
            expected = f(x)
        except ArithmeticError:
            with np.errstate(all="ignore"), pytest.raises(wg.StaleTapeError):
                tape(np.array([2.0, x]))
        else:
            np.testing.assert_allclose(tape(np.array([2.0, x])), [f(2.0), expected])


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_products_of_a_sparse_matrix(form: str) -> None:
    from scipy import sparse

    A = sparse.random_array((3, 2), density=0.7, format=form, rng=0)
    checked(lambda x: A @ x, XS)
    checked(lambda x: np.sum(A @ np.stack([x, 2 * x], axis=1), axis=0), XS)
    checked(wg.grad(lambda x: np.sum((A @ x) ** 3)), XS)


@pytest.mark.parametrize("name", ["root", "odeint"])
def test_a_solver_takes_its_own_steps_for_each_example(name: str) -> None:
    from scipy import integrate, optimize

    solved = {
        "root": lambda a: optimize.root(lambda x: x**3 - a, [1.0]).x[0],
        "odeint": lambda a: integrate.odeint(lambda y, t: -a * y, [1.0], [0.0, 1.0])[1, 0],
    }[name]
    examples = np.linspace(1.0, 2.0, 4)
    with pytest.warns(wg.NoBatchingRuleWarning, match="a solver such as solve_ivp or root takes its own steps"):
        np.testing.assert_array_equal(wg.vmap(solved)(examples), [solved(a) for a in examples])


@pytest.mark.parametrize("name", ["standard_gamma", "chisquare", "standard_t"])
def test_a_generator_with_a_seed_draws_anew_for_each_example_and_is_stale_on_a_tape(name: str) -> None:
    def f(shape: Any) -> Any:
        return getattr(np.random.default_rng(3), name)(shape) * shape

    examples = np.array([1.5, 1.7, 0.8, 2.9])
    with pytest.warns(wg.NoBatchingRuleWarning, match="the examples take different branches"):
        np.testing.assert_array_equal(wg.vmap(f)(examples), [f(shape) for shape in examples])
    tape = wg.gradtape(f, examples[0])
    assert tape.play(examples[0])[0] == f(examples[0])
    with pytest.raises(wg.StaleTapeError, match="array_equal"):
        tape.play(examples[2])
