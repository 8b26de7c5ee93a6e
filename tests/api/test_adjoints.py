"""Derivatives as programs: adjoints of a tape, tapes of gradients, pushes and Hessian products, beside numbers."""

from __future__ import annotations

import builtins
import inspect
from typing import Any

import numpy as np
import pytest
from tapes import assert_close, same_bits

import wengert as wg

X, P = np.array([0.5, 1.25]), {"k": 2.0, "n": 3}


def vector(x, p):
    y = np.exp(x) * p["k"]
    return y ** p["n"] + x


def scalar(x, p):
    z = vector(x, p)
    return np.sum(z * z)


def alone(tape: wg.Tape) -> Any:
    """The emitted function, run where wengert cannot be imported; it needs nothing from outside."""

    def without(name: str, *args: Any) -> Any:
        if name.split(".")[0] == "wengert":
            raise ImportError(name)
        return builtins.__import__(name, *args)

    names: dict[str, Any] = {"__builtins__": {**vars(builtins), "__import__": without}}
    exec(tape.to_source("alone"), names)
    assert names["alone"].__kwdefaults__ is None
    return names["alone"]


# -- generate_adjoints


def test_the_seeds_own_example() -> None:
    """y = a x² + b x + c: the adjoints are (x², x, 1, 2 a x + b)."""
    _, tape = wg.trace(lambda a, b, c, x: a * x * x + b * x + c, 2.0, 3.0, 5.0, 1.5)
    assert tape.generate_adjoints().play()[1] == (2.25, 1.5, 1.0, 9.0)
    assert tape.generate_adjoints(wrt=[tape.inputs[4]]).play(2.0, 3.0, 5.0, 1.0)[1] == (7.0,)


def test_a_vector_needs_its_delta() -> None:
    _, tape = wg.trace(vector, X, P)
    with pytest.raises(wg.NonScalarOutputError, match=r"float64\[2\], not a scalar. Pass its cotangent"):
        tape.generate_adjoints()
    with pytest.raises(ValueError, match="shape"):
        tape.generate_adjoints(np.ones(3))
    delta = np.array([1.0, 10.0])
    made = wg.verify(tape.generate_adjoints(delta))
    value, (x_bar, k_bar) = made.play()
    h = 1e-6
    assert same_bits(value, vector(X, P))
    steps = [(vector(X + h * e, P) - vector(X - h * e, P)) @ delta / (2 * h) for e in np.eye(2)]
    assert_close(x_bar, np.array(steps), 1e-7, 0)
    up, down = (vector(X, {**P, "k": 2.0 + s}) for s in (h, -h))
    assert_close(k_bar, float((up - down) @ delta / (2 * h)), 1e-7, 0)


def test_it_takes_what_the_function_takes_and_delta_by_keyword() -> None:
    made = wg.trace(vector, X, P)[1].generate_adjoints(np.ones(2))
    assert str(inspect.signature(made)) == "(x, p, *, delta)"
    delta, other = np.array([2.0, -1.0]), {"k": 1.5, "n": 3}
    _, expected = wg.vjp(vector, X + 1.0, other)
    for run in (made.play, made.compile(), alone(made)):
        value, (x_bar, k_bar) = run(X + 1.0, other, delta=delta)
        assert same_bits(value, vector(X + 1.0, other))
        assert_close([x_bar, k_bar], [expected(delta)[0], expected(delta)[1]["k"]], 1e-15, 0)


def test_calls_share_one_backward_graph() -> None:
    count = []

    def cube(x):
        return x**3

    with wg.rules.scope():

        @wg.rrule(cube)
        def cube_rule(x):
            def pullback(y_bar):
                count.append(1)
                return y_bar * 3 * x * x

            return x**3, pullback

        _, tape = wg.trace(lambda x, k: cube(x) * k, 2.0, 5.0)
        first = tape.generate_adjoints()
        assert len(count) == 1
        for wrt in ([tape.inputs[1]], [tape.inputs[2]], [tape.inputs[2], tape.inputs[1]]):
            found = tape.generate_adjoints(wrt=wrt)
            assert found.play(3.0, 5.0)[1] == tuple({"x": 135.0, "k": 27.0}[tape[v].name] for v in wrt)
        assert len(count) == 1 and first.play(3.0, 5.0) == (135.0, (135.0, 27.0))
        tape.generate_adjoints(3.0)
        assert tape.generate_adjoints(7.0).play(3.0, 5.0, 10.0)[1] == (1350.0, 270.0)
        assert len(count) == 2
        first.replace(first.find("make_tuple")[-1], wg.Constant(None))
        assert tape.generate_adjoints().play(3.0, 5.0)[1] == (135.0, 27.0) and len(count) == 2


def test_an_edited_tape_has_a_new_graph() -> None:
    _, tape = wg.trace(lambda x: np.sin(x) * 2.0, 0.5)
    assert tape.generate_adjoints().play()[1] == (2.0 * np.cos(0.5),)
    (v,) = tape.find(np.sin)
    tape.replace(v, wg.mkcall(np.exp, tape.inputs[1]))
    assert tape.generate_adjoints().play()[1] == (2.0 * np.exp(0.5),)


def test_any_value_of_the_tape_and_inputs_that_it_does_not_depend_on() -> None:
    def f(x, y):
        z = x * x
        return z * y

    _, tape = wg.trace(f, 3.0, 4.0)
    (z, _) = tape.find("mul")
    assert tape.generate_adjoints(of=z).play() == (9.0, (6.0, 0.0))
    assert tape.generate_adjoints(2.0, of=z, wrt=[tape.inputs[1]]).play(5.0, 4.0, 2.0) == (25.0, (20.0,))


def test_it_is_differentiated_again_in_every_way() -> None:
    _, tape = wg.trace(lambda x: x * x * np.sin(x), 0.7)
    first = tape.generate_adjoints()
    second = 2 * np.sin(0.7) + 4 * 0.7 * np.cos(0.7) - 0.49 * np.sin(0.7)
    assert_close(wg.grad(lambda x: first(x)[1][0])(0.7), second, 1e-14, 0)
    (gradients,) = first.find(where=lambda op: op.note == "gradients")
    x_bar = first[gradients].args[0]
    again = first.generate_adjoints(of=x_bar)
    assert_close(again.play(0.7)[1][0], second, 1e-14, 0)
    (gradients,) = again.find(where=lambda op: op.note == "gradients")
    third = again.generate_adjoints(of=again[gradients].args[0]).play(0.7)[1][0]
    step = 1e-5
    assert_close(third, (again.play(0.7 + step)[1][0] - again.play(0.7 - step)[1][0]) / (2 * step), 1e-8, 0)


def test_guards_come_along_and_sites_are_the_users() -> None:
    def f(x):
        if x[0] > 0.0:
            return np.sum(np.sqrt(x))
        return np.sum(x)

    _, tape = wg.trace(f, X)
    made = tape.generate_adjoints()
    assert str(f.__code__.co_firstlineno + 2) in str(made[made.find(np.sqrt)[0]].site)
    with pytest.raises(wg.StaleTapeError, match="is True"):
        made.play(-X)


def test_a_result_in_a_container_takes_a_delta_like_it() -> None:
    _, tape = wg.trace(lambda x: {"a": x * 2.0, "b": (np.sum(x * x),)}, X)
    with pytest.raises(wg.NonScalarOutputError, match="dict"):
        tape.generate_adjoints()
    _, (x_bar,) = tape.generate_adjoints({"a": np.ones(2), "b": (3.0,)}).play()
    assert_close(x_bar, 2.0 + 6.0 * X, 1e-15, 0)


# -- tapes of gradients, pushes and Hessian products


def plain(found: Any) -> Any:
    """The value and the gradients in a tuple of no class of their own."""
    return found[0], tuple(found[1])


TAPES = {
    "grad": (lambda: wg.gradtape(scalar, X, P), lambda x, p: (x, p), lambda x, p: plain(wg.grad(scalar, x, p))),
    "jvp": (
        lambda: wg.jvptape(vector, (X, P), (X, {"k": 1.0, "n": None})),
        lambda x, p: ((x, p), (x + 1.0, {"k": 0.5, "n": None})),
        lambda x, p: wg.jvp(vector, (x, p), (x + 1.0, {"k": 0.5, "n": None})),
    ),
    "hvp": (
        lambda: wg.hvptape(lambda x: scalar(x, P), X, X),
        lambda x, p: (x, x + 1.0),
        lambda x, p: wg.hvp(lambda x: scalar(x, P), x, x + 1.0),
    ),
    "hvp of two": (
        lambda: wg.hvptape(lambda x, k: scalar(x, {**P, "k": k}), (X, 2.0), (X, 1.0)),
        lambda x, p: ((x, p["k"]), (x + 1.0, 0.5)),
        lambda x, p: wg.hvp(lambda x, k: scalar(x, {**P, "k": k}), (x, p["k"]), (x + 1.0, 0.5)),
    ),
}


@pytest.mark.parametrize("name", TAPES)
def test_they_give_what_the_derivative_gives_in_its_structure(name: str) -> None:
    make, given, derivative = TAPES[name]
    tape, other = wg.verify(make()), (X * 0.5, {"k": 1.5, "n": 3})
    expected = derivative(*other)
    for run in (tape.play, tape.compile(), alone(tape)):
        found = run(*given(*other))
        assert type(found) is type(expected)
        assert_close(found, expected, 1e-14, 0)
    assert all(wg.rules.get(call.fn) is not None for call in tape.calls)


def test_pushes_agree_with_differences() -> None:
    tape, h = wg.jvptape(vector, (X, P), (X, {"k": 1.0, "n": None})), 1e-6
    y, y_dot = tape.play((X, P), (np.ones(2), {"k": 0.5, "n": None}))
    ends = [vector(X + s, {**P, "k": 2.0 + 0.5 * s}) for s in (h, -h)]
    assert same_bits(y, vector(X, P))
    assert_close(y_dot, (ends[0] - ends[1]) / (2 * h), 1e-7, 0)


def test_hessian_products_agree_with_differences_of_gradients() -> None:
    f, h, v = (lambda x: scalar(x, P)), 1e-6, np.array([1.0, -2.0])
    found = wg.hvptape(f, X, v).play(X, v)
    assert_close(found, (wg.grad(f)(X + h * v) - wg.grad(f)(X - h * v)) / (2 * h), 1e-6, 0)


def test_their_inputs_are_named_after_the_functions() -> None:
    tape = wg.jvptape(vector, (X, P), (X, {"k": 1.0, "n": None}))
    assert [tape[v].name for v in tape.inputs[1:]] == ["x", "p['k']", "x_dot", "p_dot['k']"]
    assert "pushforward of" in tape.dump() and "    x_dot = tangents[0]\n" in tape.to_source()
    tape = wg.hvptape(lambda *xs: xs[0] * xs[1], (2.0, 3.0), (1.0, 0.0))
    assert [tape[v].name for v in tape.inputs[1:]] == ["xs", "x2", "xs_dot", "x2_dot"]


def test_inside_a_trace_they_are_refused() -> None:
    for make in (lambda x: wg.jvptape(np.sin, (x,), (x,)), lambda x: wg.hvptape(np.sin, x, x)):
        with pytest.raises(wg.WengertError, match="inside another trace"):
            wg.grad(make)(1.0)
