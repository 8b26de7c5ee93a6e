"""`wg.optim` beside closed forms, beside loops written here from the papers, and what it refuses."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import math
import re
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import optim

CURVATURE = np.array([1.0, 3.0, 10.0])
START = np.array([1.0, -2.0, 0.5])
EXAMPLES = [
    optim.sgd(0.1),
    optim.momentum(0.1),
    optim.momentum(0.1, nesterov=True),
    optim.adam(0.1),
    optim.adamw(0.1, weight_decay=0.2),
]


def quadratic(x: Any) -> Any:
    return 0.5 * np.sum(CURVATURE * x * x)


def descended(optimiser: optim.Optimiser, x: Any, gradient: Any, steps: int) -> tuple[Any, Any]:
    state = optimiser.init(x)
    for _ in range(steps):
        x, state = optimiser.update(gradient(x), state, x)
    return x, state


# Formulas


def test_gradient_descent_on_a_parabola_is_a_geometric_series() -> None:
    x, state = descended(optim.sgd(0.05), START, wg.grad(quadratic), 40)
    np.testing.assert_allclose(x, (1 - 0.05 * CURVATURE) ** 40 * START, rtol=1e-12)
    assert state == {"steps": 40.0}


@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_on_a_parabola_is_the_power_of_a_matrix(nesterov: bool) -> None:
    """(v, x) is multiplied by a matrix of two rows in each step."""
    rate, decay = 0.04, 0.7
    x, state = descended(optim.momentum(rate, decay, nesterov), START, wg.grad(quadratic), 25)
    for k, c in enumerate(CURVATURE):
        row = np.array([decay, c])
        moved = decay * row + [0.0, c] if nesterov else row
        both = np.linalg.matrix_power(np.array([row, [0.0, 1.0] - rate * moved]), 25) @ [0.0, START[k]]
        np.testing.assert_allclose([state["velocity"][k], x[k]], both, rtol=1e-10, atol=1e-12)


def test_adam_by_its_algorithm() -> None:
    theta, m, v = START.copy(), np.zeros(3), np.zeros(3)
    for t in range(1, 31):
        g = CURVATURE * theta + np.cos(t)
        m = 0.8 * m + 0.2 * g
        v = 0.95 * v + 0.05 * g**2
        theta = theta - 0.03 * (m / (1 - 0.8**t)) / (np.sqrt(v / (1 - 0.95**t)) + 1e-4)
    optimiser = optim.adam(0.03, mean_decay=0.8, square_decay=0.95, eps=1e-4)
    x, state = START, optimiser.init(START)
    for t in range(1, 31):
        x, state = optimiser.update(CURVATURE * x + np.cos(t), state, x)
    np.testing.assert_allclose(x, theta, rtol=1e-12)
    np.testing.assert_allclose(state["mean"], m, rtol=1e-12)
    np.testing.assert_allclose(state["square"], v, rtol=1e-12)


def test_adam_moves_by_its_rate_under_a_constant_gradient() -> None:
    """m̂ = g and v̂ = g², so that each step is η sign(g), whatever the size of g."""
    x, _ = descended(optim.adam(0.01, eps=0.0), START, lambda x: np.array([1e-9, -3.0, 1e7]), 50)
    np.testing.assert_allclose(x, START - 50 * 0.01 * np.array([1.0, -1.0, 1.0]), rtol=1e-12, atol=1e-12)


def test_weight_decay_is_decoupled_from_the_gradient() -> None:
    """Without a gradient x shrinks by 1 - η λ in each step; a schedule applies to the decay as well."""
    x, _ = descended(optim.adamw(0.1, weight_decay=0.5), START, lambda x: None, 20)
    np.testing.assert_allclose(x, (1 - 0.1 * 0.5) ** 20 * START, rtol=1e-12)
    x, _ = descended(optim.adamw(lambda t: 0.1 / (t + 1), weight_decay=0.5), 1.0, lambda x: None, 4)
    assert x == pytest.approx(math.prod(1 - 0.05 / t for t in (1, 2, 3, 4)), rel=1e-14)
    first, _ = descended(optim.adamw(0.1, eps=0.0, weight_decay=0.5), START, wg.grad(quadratic), 1)
    np.testing.assert_allclose(first, START - 0.1 * (np.sign(START) + 0.5 * START), rtol=1e-12)


@pytest.mark.parametrize("optimiser", EXAMPLES)
def test_complex_parameters_descend_as_two_real_ones(optimiser: optim.Optimiser) -> None:
    z, _ = descended(optimiser, np.array([1 + 2j]), wg.grad(lambda z: np.sum(np.abs(z - 3j) ** 2)), 200)
    goal = 3j if optimiser is not EXAMPLES[-1] else z[0]  # the decay keeps it from the minimum
    np.testing.assert_allclose(z, goal, atol=0.05)
    x, _ = descended(optimiser, np.array([1.0]), lambda x: 2 * (x - 3), 30)
    both, _ = descended(optimiser, np.array([1.0 + 0j]), wg.grad(lambda z: np.sum(np.abs(z - 3) ** 2)), 30)
    np.testing.assert_allclose(both, x, rtol=1e-12)


# Schedules and clipping


def test_schedules_by_their_values() -> None:
    assert [optim.constant(0.3)(t) for t in (0, 100)] == [0.3, 0.3]
    decay = optim.exponential_decay(0.2, 10, 0.1)
    np.testing.assert_allclose([decay(t) for t in (0, 5, 10, 20)], [0.2, 0.2 * 10**-0.5, 0.02, 0.002])
    fall = optim.cosine(0.2, 10, end=0.1)
    np.testing.assert_allclose(
        [fall(t) for t in (0, 2.5, 5, 7.5, 10, 99)], [0.2, 0.15 + 0.05 / 2**0.5, 0.15, 0.15 - 0.05 / 2**0.5, 0.1, 0.1]
    )
    rise = optim.warm_up(0.8, 4)
    assert [rise(t) for t in (0, 1, 2, 3, 4, 50)] == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.8, 0.8])
    assert optim.warm_up(decay, 4)(1) == pytest.approx(0.5 * decay(1))


def test_a_schedule_is_asked_for_the_number_of_earlier_steps() -> None:
    asked: list[float] = []

    def schedule(steps: float) -> float:
        asked.append(steps)
        return 0.5**steps

    x, _ = descended(optim.sgd(schedule), 0.0, lambda x: -1.0, 5)
    assert asked == [0.0, 1.0, 2.0, 3.0, 4.0] and x == 1 + 0.5 + 0.25 + 0.125 + 0.0625


def test_clipping_scales_the_whole_tree() -> None:
    gradient = {"w": np.array([3.0, 0.0], np.float32), "b": [4.0, None], "z": np.array([12j]), "n": 1}
    clipped = optim.clip_by_norm(gradient, 6.5)
    assert clipped["w"].dtype == np.float32 and clipped["w"].tolist() == [1.5, 0.0]
    assert clipped["b"] == [2.0, None] and clipped["z"].tolist() == [6j] and clipped["n"] == 1
    assert optim.clip_by_norm(gradient, 13.0) is gradient
    assert optim.clip_by_norm({"a": 0.0, "b": None}, 1.0) == {"a": 0.0, "b": None}
    large = optim.clip_by_norm(np.full(4, 1e30, np.float32), 1.0)  # its squares are no float32
    np.testing.assert_allclose(large, 0.5, rtol=1e-6)


# Trees


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any
    activation: str = "tanh"


def network() -> Any:
    return {"layers": [Layer(np.array([[1.0, -2.0]]), 0.5), Layer(np.array([3.0]), -1.0)], "size": 2}


@pytest.mark.parametrize("optimiser", EXAMPLES)
def test_a_tree_is_updated_as_its_vector(optimiser: optim.Optimiser) -> None:
    params, (vector, unravel) = network(), wg.ravel(network())

    def loss(p: Any) -> Any:
        first, second = p["layers"]
        return np.sum(np.tanh(first.w) ** 2) * first.b**2 + np.sum(np.cos(second.w)) * second.b**2 / 4

    tree, state = descended(optimiser, params, wg.grad(loss), 10)
    x, of_vector = descended(optimiser, vector, wg.grad(lambda x: loss(unravel(x))), 10)
    np.testing.assert_allclose(wg.ravel(tree)[0], x, rtol=1e-12)
    assert type(tree["layers"][0]) is Layer and tree["layers"][0].activation == "tanh" and tree["size"] == 2
    assert state.keys() == of_vector.keys() and state["steps"] == 10.0
    for name in state.keys() - {"steps"}:
        assert wg.tree_paths(state[name]) == wg.tree_paths(params)
        np.testing.assert_allclose(wg.ravel(state[name])[0], of_vector[name], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("optimiser", EXAMPLES)
def test_no_argument_is_written_into(optimiser: optim.Optimiser) -> None:
    params = {"w": np.array([1.0, 2.0]), "b": [0.5]}
    _, state = optimiser.update(params, optimiser.init(params), params)
    gradient = {"w": np.array([0.1, 0.2]), "b": [None]}
    before = repr((params, state, gradient))
    for array in wg.tree_leaves((params, state, gradient)):
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    first = optimiser.update(gradient, state, params)
    assert repr((params, state, gradient)) == before
    assert repr(optimiser.update(gradient, state, params)) == repr(first)


def test_none_is_zero_for_a_leaf_and_for_a_container() -> None:
    params = {"a": 1.0, "b": [np.ones(2), (3.0,)]}
    optimiser = optim.momentum(0.1)
    _, state = optimiser.update(params, optimiser.init(params), params)
    zeros = {"a": 1.0, "b": [np.zeros(2), (0.0,)]}
    by_zeros = optimiser.update(zeros, state, params)
    assert repr(optimiser.update({"a": 1.0, "b": [None, None]}, state, params)) == repr(by_zeros)
    assert repr(optimiser.update({"a": 1.0, "b": None}, state, params)) == repr(by_zeros)
    after, _ = optim.adam(0.1).update(None, optim.adam().init(params), params)
    assert repr(after) == repr(params)


@pytest.mark.parametrize("optimiser", EXAMPLES)
def test_types_and_dtypes_are_kept(optimiser: optim.Optimiser) -> None:
    params = {
        "single": np.ones(2, np.float32),
        "scalar": np.float32(2.0),
        "zero_axes": np.array(3.0, np.float32),
        "float": 4.0,
        "complex": np.ones(1, np.complex64),
    }
    gradient = wg.tree_map(lambda x: np.ones(np.shape(x)), params)  # in double precision
    after, state = params, optimiser.init(params)
    for rate in (0.1, np.float64(0.1)):
        after, state = optimiser.update(gradient, state, after)
        swapped, _ = optim.sgd(lambda t, rate=rate: rate).update(gradient, {"steps": 0.0}, after)
        for tree in (after, swapped, *[state[name] for name in state.keys() - {"steps"}]):
            for key, x in params.items():
                assert type(tree[key]) is type(x) and np.asarray(tree[key]).dtype == np.asarray(x).dtype


def test_tied_parameters_stay_tied() -> None:
    w = np.array([1.0, 2.0])
    params = {"encoder": w, "decoder": w}
    optimiser = optim.adam(0.1)
    after, state = descended(optimiser, params, wg.grad(lambda p: np.sum(p["encoder"] * p["decoder"])), 3)
    alone, _ = descended(optimiser, w, lambda w: 2 * w, 3)
    assert after["encoder"] is after["decoder"] and state["mean"]["encoder"] is state["mean"]["decoder"]
    np.testing.assert_array_equal(after["encoder"], alone)


def test_the_leaves_are_a_checkpoint(tmp_path: Any) -> None:
    optimiser = optim.adam(optim.warm_up(0.1, 3))
    params = {"w": START, "b": 0.5}
    slope = wg.grad(lambda p: quadratic(p["w"]) * p["b"] ** 2)
    halfway, state = descended(optimiser, params, slope, 5)
    np.savez(tmp_path / "checkpoint.npz", *wg.tree_leaves((halfway, state)))
    with np.load(tmp_path / "checkpoint.npz") as file:
        saved = iter(file.values())
        again, resumed = wg.tree_map(lambda _: next(saved), (params, optimiser.init(params)))
    for _ in range(5):
        halfway, state = optimiser.update(slope(halfway), state, halfway)
        again, resumed = optimiser.update(slope(again), resumed, again)
    for a, b in zip(wg.tree_leaves((halfway, state)), wg.tree_leaves((again, resumed)), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


# Errors


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        ({"w": np.ones(2)}, r"the gradient has nothing at \['b'\]"),
        ({"w": np.ones(2), "b": 1.0, "c": 1.0}, r"the gradient has a float at \['c'\], where params has no leaf"),
        ({"w": [1.0, 1.0], "b": 1.0}, r"the gradient has a list at \['w'\]"),
        ({"w": np.ones((1, 2)), "b": 1.0}, r"the gradient has shape \(1, 2\) at \['w'\].* params has shape \(2,\)"),
        ({"w": np.ones(2), "b": np.ones(1)}, r"the gradient has shape \(1,\) at \['b'\].* params has shape \(\)"),
        (np.ones(2), r"the gradient has nothing at \['w'\]"),
        ((np.ones(2), 1.0), r"the gradient has nothing at \['w'\]"),
    ],
)
@pytest.mark.parametrize("optimiser", EXAMPLES)
def test_a_gradient_of_another_structure_is_refused(optimiser: optim.Optimiser, gradient: Any, message: str) -> None:
    params = {"w": np.ones(2), "b": 1.0}
    with pytest.raises(wg.ArgumentError, match=message):
        optimiser.update(gradient, optimiser.init(params), params)


def test_a_state_of_other_parameters_is_refused() -> None:
    optimiser = optim.adam()
    with pytest.raises(wg.ArgumentError, match=r"state\['mean'\] has shape \(1,\) at its root"):
        optimiser.update(np.ones(3), optimiser.init(np.ones(1)), np.ones(3))
    with pytest.raises(wg.ArgumentError, match=r"state\['mean'\] has a dict at its root"):
        optimiser.update(np.ones(3), optimiser.init({"w": np.ones(3)}), np.ones(3))


# Derivatives and compiled steps


def test_the_loss_after_training_has_a_derivative_by_the_rate() -> None:
    def trained(rate: float, limit: float) -> Any:
        optimiser = optim.adamw(optim.warm_up(rate, 3))
        p = {"x": START, "b": 0.3}
        state = optimiser.init(p)
        for _ in range(6):
            gradient = wg.grad(lambda p: quadratic(p["x"]) + p["b"] ** 2)(p)
            p, state = optimiser.update(optim.clip_by_norm(gradient, limit), state, p)
        return quadratic(p["x"])

    for limit in (1.0, 100.0):
        assert wg.grad(trained)(0.05, limit) == pytest.approx(wg.ngradient(trained, 0.05, limit)[0], rel=1e-6)


def test_a_compiled_step_needs_one_trace_for_all_steps() -> None:
    optimiser = optim.adam(optim.cosine(0.1, 50))

    def step(params: Any, state: Any) -> Any:
        return optimiser.update(wg.grad(lambda p: quadratic(p["x"]))(params), state, params)

    compiled = wg.compile(step)
    plainly = fast = ({"x": START}, optimiser.init({"x": START}))
    for _ in range(20):
        plainly, fast = step(*plainly), compiled(*fast)
    np.testing.assert_allclose(fast[0]["x"], plainly[0]["x"], rtol=1e-9)
    assert fast[1]["steps"] == 20.0 and compiled.explain().startswith("step: compiled (NumPy), 1 trace\n")


# Docstrings


@pytest.mark.parametrize("name", optim.__all__)
def test_a_docstring_has_an_example_that_runs_and_names_each_parameter(name: str) -> None:
    f = getattr(optim, name)
    text = inspect.getdoc(f) or ""
    examples = doctest.DocTestParser().get_doctest(text, {"wg": wg, "np": np}, name, None, None)
    assert examples.examples and doctest.DocTestRunner().run(examples).failed == 0
    listed = re.findall(r"^    \*{0,2}(\w+) \(.+\): ", text, re.MULTILINE)  # the entries of "Parameters:"
    assert not {*inspect.signature(f).parameters} - {*listed}
