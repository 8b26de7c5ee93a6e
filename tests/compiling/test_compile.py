"""`wg.compile` as it is called: what it takes and gives, what it tells, how many traces it keeps."""

from __future__ import annotations

import functools
import pickle
import re
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiling.compile import MOST_PER_FORM
from wengert.compiling.entries import CompiledTrace
from wengert.compiling.optimising import OptimisedTape
from wengert.compiling.watched.loop_heads import Heads

X = np.array([0.3, -0.4, 0.5])


def f(x: Any, scale: float = 2.0) -> Any:
    return scale * np.sum(np.sin(x) * x)


def traces(g: Any) -> int:
    return int(g.explain().partition(" trace")[0].rpartition(" ")[2])


DERIVATIVES = {
    "grad": (wg.grad(f), (X,)),
    "value_and_grad": (wg.value_and_grad(f, argnums=(0, 1)), (X, 2.0)),
    "jacobian": (wg.jacobian(lambda x: np.sin(x) * x[0]), (X,)),
    "hessian": (wg.hessian(f), (X,)),
    "vjp": (lambda x, y_bar: wg.vjp(np.sin, x)[1](y_bar), (X, X)),
    "jvp": (lambda x, x_dot: wg.jvp(f, (x,), (x_dot,)), (X, X)),
    "hvp": (lambda x, v: wg.hvp(f, x, v), (X, X)),
    "plain": (f, (X,)),
    "at once": (lambda x: [*wg.grad(f, x)[1]], (X,)),
}


def flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in flat(part)]
    return flat([*value.values()]) if isinstance(value, dict) else [value]


@pytest.mark.parametrize("name", DERIVATIVES)
def test_each_derivative(name: str) -> None:
    plain, args = DERIVATIVES[name]
    g = wg.compile(plain)
    for k in range(3):
        given = [a + 0.1 * k for a in args]
        got, want = g(*given), plain(*given)
        assert type(got) is type(want)
        for a, b in zip(flat(got), flat(want), strict=True):
            assert type(a) is type(b)
            assert a is None or np.allclose(a, b, rtol=1e-12)
    assert traces(g) == 1, g.explain()


def test_containers_and_keywords_as_arguments() -> None:
    def loss(p: Any, *, by: float = 1.0) -> Any:
        return by * np.sum(p["w"] ** 2) + p["b"][0] * p["b"][1]

    plain = wg.value_and_grad(loss)
    g = wg.compile(plain)
    for k in range(3):
        p = {"w": X + k, "b": [1.0 + k, 2.0]}
        for kwargs in ({}, {"by": 0.5 + k}):
            (value, bars), (wanted, bars_wanted) = g(p, **kwargs), plain(p, **kwargs)
            assert value == pytest.approx(wanted, rel=1e-13)
            assert np.allclose(bars["w"], bars_wanted["w"])
            assert bars["b"] == pytest.approx(bars_wanted["b"])
    assert traces(g) == 2


@dataclass
class Point:
    x: Any
    y: Any


def test_a_data_class_as_an_argument() -> None:
    g = wg.compile(lambda p: wg.grad(lambda x, y: np.sum(x * x) * y, argnums=(0, 1))(p.x, p.y))
    for k in range(3):
        x_bar, y_bar = g(Point(X + k, 2.0 + k))
        assert np.allclose(x_bar, 2 * (X + k) * (2.0 + k))
        assert y_bar == pytest.approx(np.sum((X + k) ** 2))
    assert traces(g) == 1


@dataclass(frozen=True)
class Fit:
    at: Point
    score: Any
    name: str = "fit"


def test_an_object_as_a_result() -> None:
    def fit(x: Any, y: Any) -> Any:
        return Fit(Point(x * y, [y, 2.0]), np.sum(x)), Point(1, None)

    g = wg.compile(fit, strict=True)
    for k in range(3):
        (got, other), (want, _) = g(X + k, 2.0 + k), fit(X + k, 2.0 + k)
        assert (type(got), type(got.at), got.name, other) == (Fit, Point, "fit", Point(1, None))
        assert np.allclose(got.at.x, want.at.x)
        assert (got.at.y, got.score) == (want.at.y, pytest.approx(want.score))
    assert traces(g) == 1


def test_objects_that_are_not_made_anew_run_as_they_are() -> None:
    class Counted:
        made = 0

        def __new__(cls) -> Any:
            cls.made += 1
            return object.__new__(cls)

    def local() -> Any:
        class Local:
            pass

        return Local()

    point = Point(1.0, 2.0)
    for f in (lambda x: Counted(), lambda x: local(), lambda x: point, lambda x: (p := Point(x, x), p)):
        g = wg.compile(f)
        with pytest.warns(wg.NotCompiledWarning):
            g(2.0), g(2.0)
    assert g(2.0)[0] is not g(2.0)[0]
    assert wg.compile(lambda x: point)(2.0) is point


def test_as_a_decorator_and_of_a_method() -> None:
    class Model:
        def __init__(self, w: float) -> None:
            self.w = w

        @wg.compile
        def loss(self, x: Any) -> Any:
            return np.sum(x * x) * self.w

    one, two = Model(2.0), Model(3.0)
    assert [one.loss(X), two.loss(X)] == [2.0 * np.sum(X * X), 3.0 * np.sum(X * X)]
    g = wg.compile(wg.grad(one.loss))
    assert np.allclose(g(X), 4.0 * X)
    one.w = 5.0
    assert np.allclose(g(X), 10.0 * X)


def test_arguments_of_other_kinds_have_traces_of_their_own() -> None:
    plain = wg.value_and_grad(lambda x: np.sum(x * x))
    g = wg.compile(plain)
    for k, x in enumerate((X, np.ones(4), X.astype(np.float32), np.ones((2, 2)), 2.0, np.float64(2.0), X + 1j)):
        call, wanted = (h if np.isrealobj(x) else wg.grad(lambda z: np.sum(z * z).real) for h in (g, plain))
        for _ in range(2):
            got, want = call(x), wanted(x)
            assert [type(a) for a in flat(got)] == [type(a) for a in flat(want)]
            assert all(np.array_equal(a, b) for a, b in zip(flat(got), flat(want), strict=True))
        assert traces(g) == min(k + 1, 6)


def test_branches_whose_results_differ_in_shape_have_traces_of_their_own() -> None:
    g = wg.compile(lambda x: np.array([x, x]) if x > 0 else np.array([-x]))
    assert [np.sum(g(x)) for x in (2.0, -2.0, 3.0, -3.0)] == [4.0, 2.0, 6.0, 3.0]
    assert traces(g) == 2


def test_traces_that_differ_in_objects_alone_count_as_one_way() -> None:
    space: dict[str, Any] = {}
    g = wg.compile(wg.grad(lambda x: x * x if isinstance(space["o"], Plain) else x), strict=True)
    for k in range(20):
        space["o"] = Plain() if k % 3 else 1
        assert g(2.0) == g(2.0) == (4.0 if k % 3 else 1.0)
    assert traces(g) == MOST_PER_FORM + 1


class Plain:
    """A class whose objects are asked for."""


def test_too_many_ways_run_as_they_are_and_the_test_is_named() -> None:
    g = wg.compile(lambda x, n: x * len("a" * n))
    with pytest.warns(wg.NotCompiledWarning, match=r"too many traces; .* failed: type\(a1\) is int and a1 ==") as told:
        assert [g(2.0, n) for n in range(20)] == [2.0 * n for n in range(20)]
    assert len(told) == 1
    assert "runs uncompiled: its calls need too many traces" in g.explain()
    g.clear()
    assert g(2.0, 1) == 2.0
    assert traces(g) == 1


def test_an_entry_gives_back_the_very_object_that_it_was_given() -> None:
    W = np.ones(3)
    g, h = wg.compile(lambda x: (x, x, W)), wg.compile(lambda x: {"x": x})
    for x in (X, X + 1.0):
        a, b, c = g(x)
        assert a is x
        assert b is x
        assert c is W
        assert h(x)["x"] is x


def test_what_is_made_of_constants_is_made_anew() -> None:
    g = wg.compile(lambda x: (np.sum(x), np.zeros(2), [1, 2]))
    first = g(X)
    first[1][0], first[2][0] = 5.0, 5
    second = g(X)
    second[1][0], second[2][0] = 6.0, 6
    assert g(X)[1][0] == 0.0
    assert g(X)[2] == [1, 2]


def test_a_gradient_is_no_argument() -> None:
    plain = wg.grad(lambda x, y: np.sum(x * y))
    g = wg.compile(plain)
    for k in range(3):
        y = X + k
        assert np.array_equal(g(X, y), y)
        assert np.shares_memory(g(X, y), y) == np.shares_memory(plain(X, y), y)


def test_one_container_in_two_places_of_a_result_is_one() -> None:
    def f(x: Any) -> Any:
        pair = [x * 2.0, 1.0]
        return pair, pair

    g = wg.compile(f)
    with pytest.warns(wg.NotCompiledWarning, match="it returns a list"):
        g(2.0)
    one, other = g(2.0)
    assert one is other


@pytest.mark.parametrize("f", [lambda x, p: np.sum(2.0 * x), lambda x, p: p**2 + np.sum(np.full(3, 2.0) * x)])
def test_a_result_is_no_memory_of_the_entry(f: Any) -> None:
    g = wg.compile(wg.grad(f), strict=True)
    first = g(X, 1.5)
    first[:] = 9.0
    assert np.array_equal(g(X, 1.5), [2.0, 2.0, 2.0])


def test_inside_another_derivative_it_is_the_function() -> None:
    g = wg.compile(lambda x: x**3)
    assert g(2.0) == 8.0
    assert wg.grad(g)(2.0) == 12.0
    assert wg.grad(wg.grad(g))(2.0) == 12.0
    assert wg.compile(wg.grad(g))(3.0) == 27.0


def test_inside_a_derivative_a_rule_may_have_no_traced_argument() -> None:
    def scaled(z):
        return z * SCALE

    SCALE = 3.0
    wg.rrule(scaled)(lambda z: (scaled(z), lambda z_bar: z_bar * SCALE))
    g = wg.compile(lambda x, p: wg.grad(lambda y: scaled(y) ** 2 * scaled(p))(x), strict=True)
    assert g(2.0, 0.5) == pytest.approx(54.0)
    SCALE = 1.0
    assert g(2.0, 0.5) == pytest.approx(2.0)


def test_it_follows_the_rules_as_they_are() -> None:
    g = wg.compile(wg.grad(lambda x: np.cbrt(x)))
    assert g(8.0) == pytest.approx(1 / 12)
    assert g(8.0) == pytest.approx(1 / 12)

    own = wg.rules[np.cbrt]
    wg.rules.remove(np.cbrt)
    try:
        wg.rrule(np.cbrt)(lambda x: (np.cbrt(x), lambda y_bar: 7.0 * y_bar))
        with pytest.warns(wg.NotCompiledWarning, match="an object with a custom rule"):
            assert g(8.0) == 7.0
    finally:
        wg.rules.remove(np.cbrt)
        wg.rules.add(own)


def test_source_and_explanation_can_be_read() -> None:
    lr = 0.5

    def step(x: Any) -> Any:
        return np.sum(x * x) * lr

    g = wg.compile(wg.grad(step))
    assert "0 traces" in g.explain()
    g(X)
    compile(g.source(), "source", "exec")
    assert "def run(" in g.source()
    assert "def entry(a0):" in g.source()
    assert "reads a0" in g.explain() and "numpy['sum'] is sum" in g.explain()
    assert re.search(r"called with 1: [3-9] ops of 1\d recorded, \d+ guards", g.explain())
    assert "step.lr.cell_contents" in g.explain()


def test_threads_may_call_it() -> None:
    g, got = wg.compile(wg.grad(lambda x: np.sum(np.sin(x) * x))), []

    def calls() -> None:
        got.extend([g(X + k) for k in range(20)])

    threads = [threading.Thread(target=calls) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    want = [np.cos(X + k) * (X + k) + np.sin(X + k) for k in range(20)]
    assert len(got) == 80
    assert all(any(np.allclose(a, b, rtol=1e-12) for b in want) for a in got)


def test_what_another_thread_traces_meanwhile_is_no_change_of_what_is_read_outside(monkeypatch) -> None:
    begun, ended = threading.Event(), threading.Event()

    def square(x: Any) -> Any:
        return x * x

    def waits(x: Any) -> Any:
        y = square(x)
        begun.set()
        ended.wait(60.0)
        return y

    def made(*args: Any, **kwargs: Any) -> Any:
        entry = CompiledTrace(*args, **kwargs)
        if not begun.is_set():
            thread.start()
            assert begun.wait(60.0)
        return entry

    monkeypatch.setattr("wengert.compiling.compile.CompiledTrace", made)
    thread = threading.Thread(target=wg.grad(waits), args=(1.0,))
    g = wg.compile(wg.grad(lambda x: square(x) + x))
    assert g(1.0) == 3.0
    assert "0 traces" in g.explain() and "runs uncompiled" not in g.explain()
    ended.set()
    thread.join()
    assert (g(2.0), g(3.0)) == (5.0, 7.0)
    assert "1 trace" in g.explain()


def test_a_thread_waits_for_what_another_one_traces() -> None:
    got: list[Any] = []
    g = wg.compile(wg.grad(lambda x: x * x))
    g._tracer = threading.get_ident()
    assert g(1.0) == 2.0  # what breaks in on a trace of this thread runs as it is
    thread = threading.Thread(target=lambda: got.append(g(3.0)))
    thread.start()
    thread.join(0.2)
    assert thread.is_alive() and "0 traces" in g.explain()
    g._tracer = None
    thread.join(60.0)
    assert got == [6.0] and "1 trace" in g.explain()


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
def test_a_thread_does_not_wait_for_one_that_waits_for_it(monkeypatch) -> None:
    monkeypatch.setattr("wengert.compiling.compile.LONGEST_WAIT", 1e6)
    got: list[Any] = []

    def f(x: Any) -> Any:
        if x < 5.0:
            thread = threading.Thread(target=lambda: got.append(g(7.0)), daemon=True)
            thread.start()
            thread.join(60.0)
        return x * x

    g = wg.compile(wg.grad(f))
    assert g(2.0) == 4.0 and got == [14.0]


def test_containers_and_defaults_are_put_back_whatever_happens() -> None:
    inner, lst = [1.0, 2.0], [0.5, np.ones(2)]
    before = [*lst]

    def f(x: Any, given: Any = inner) -> Any:
        if x > 1.0:
            raise KeyError("no")
        return x * lst[0] * given[0] + np.sum(lst[1])

    g = wg.compile(f)
    kept = f.__defaults__
    assert g(1.0) == 2.5
    with pytest.raises(KeyError):
        g(2.0)
    assert f.__defaults__ is kept
    assert all(a is b for a, b in zip(lst, before, strict=True))
    assert [type(v) for v in inner] == [float, float]


def test_strict_raises_where_it_would_run_as_it_is() -> None:
    log: set[int] = {0}

    @wg.compile(strict=True)
    def noting(x: Any) -> Any:
        log.add(len(log))
        return x * x

    assert noting(2.0) == 4.0
    for _ in range(2):
        with pytest.raises(wg.NotCompiledError, match=r"(?s)test_compile.py:.*changes a set.*strict=True"):
            noting(2.0)
    assert log == {0, 1, 2}
    assert wg.compile(lambda x: x * x, strict=True)(3.0) == 9.0
    with pytest.raises(wg.NonScalarOutputError):
        wg.compile(wg.grad(lambda x: x * x), strict=True)(X)


def test_reasons_about_a_whole_gradient_name_the_line_of_its_function() -> None:
    log: set[int] = {0}

    def noting(x: Any) -> Any:
        log.add(len(log))
        return x * x

    g = wg.compile(wg.grad(wg.grad(noting)), strict=True)
    g(2.0)
    line = noting.__code__.co_firstlineno
    with pytest.raises(wg.NotCompiledError, match=rf"test_compile.py:{line} in noting: it changes a set"):
        g(2.0)


def test_what_is_changed_in_the_first_call_only_is_kept_from_the_second_on() -> None:
    class Model:
        def __init__(self) -> None:
            self.a, self.matrix, self.memo = 2.0, None, {}

        @functools.cached_property
        def weights(self) -> Any:
            return np.array([1.0, 2.0, 3.0]) * self.a

        def loss(self, x: Any) -> Any:
            if self.matrix is None:
                self.matrix = np.diag(np.ones(3))
            if "k" not in self.memo:
                self.memo["k"] = 2.0
            return np.sum(self.weights * (self.matrix @ x) ** 2) * self.memo["k"] * self.a

    model, other = Model(), Model()
    plain, g = wg.value_and_grad(other.loss), wg.compile(wg.value_and_grad(model.loss), strict=True)
    for k in range(4):
        assert all(np.allclose(a, b) for a, b in zip(g(X + k), plain(X + k), strict=True))
        assert traces(g) == min(k, 1)
    for m in (model, other):
        m.a, m.memo["k"], m.weights[0] = 3.0, 5.0, 7.0
    assert all(np.allclose(a, b) for a, b in zip(g(X), plain(X), strict=True))
    for m in (model, other):
        del m.weights
        m.memo.clear()
    assert all(np.allclose(a, b) for a, b in zip(g(X), plain(X), strict=True))
    assert model.memo == other.memo


def test_too_many_branches_name_the_line_of_the_branch() -> None:
    def steps(x: Any) -> Any:
        halved = ()
        while x > 1.0:
            x = x / 2.0
            halved = (*halved, x)
        return halved

    g = wg.compile(steps)
    with pytest.warns(wg.NotCompiledWarning, match=r"many traces; .*: .*test_compile.py:\d+ in .*steps: .*1.0 was"):
        assert [len(g(2.0**k)) for k in range(1, 15)] == [*range(1, 15)]


def test_the_trace_that_fitted_last_is_tried_first() -> None:
    g = wg.compile(lambda x, n: x * len("a" * n))
    assert [g(2.0, 1), g(2.0, 2), g(2.0, 2)] == [2.0, 4.0, 4.0]
    assert g.explain().index("a1 == 2") < g.explain().index("a1 == 1")


def test_a_tensor_function_inside() -> None:
    weights = np.array([1.0, 2.0, 3.0])

    @wg.tensor.function(backend="numpy")
    def weighted(a):  # type: ignore[no-untyped-def]
        return sum(weights[i] * a[i] * a[i] for i in range(len(a)))

    plain = wg.value_and_grad(lambda x: weighted(x * 2.0) * weighted(x))
    g = wg.compile(plain, strict=True)
    for k in range(4):
        assert all(np.allclose(a, b, rtol=1e-12) for a, b in zip(g(X + k), plain(X + k), strict=True))
        if k == 1:
            weights[1] = 5.0
        if k == 2:
            weights = np.array([2.0, 2.0, 7.0])
    assert traces(g) == 1


def test_what_scipy_uses_for_itself_is_kept() -> None:
    spline = pytest.importorskip("scipy.interpolate").CubicSpline
    g = wg.compile(wg.grad(lambda y: spline([0.0, 1.0, 2.0], y)(1.3) ** 2), strict=True)
    for k in range(2):
        assert np.allclose(g(X + k), wg.grad(lambda y: spline([0.0, 1.0, 2.0], y)(1.3) ** 2)(X + k))
    assert traces(g) == 1


def test_an_array_that_stands_in_containers_twice_is_one_input() -> None:
    def f(parts: list[np.ndarray]) -> Any:
        return np.sum(parts[0] * 2 + parts[1] * 3)

    def g(x: np.ndarray, held: dict[str, np.ndarray]) -> Any:
        return np.sum(x * 2 + held["w"] * 3)

    a, b = np.ones(2), np.zeros(2)
    one, two = wg.compile(wg.grad(f)), wg.compile(wg.grad(g, argnums=(0, 1)))
    for parts in ([a, b], [a, a], [b, a], [a, a[:]], [b, b]):
        np.testing.assert_array_equal(one(parts), wg.grad(f)(parts))
    for x, w in ((a, b), (a, a), (b, a)):
        found, expected = two(x, {"w": w}), wg.grad(g, argnums=(0, 1))(x, {"w": w})
        np.testing.assert_array_equal([found[0], found[1]["w"]], [expected[0], expected[1]["w"]])
    assert traces(one) == traces(two) == 2
    first = wg.compile(wg.grad(f))
    for parts in ([a, a], [b, b]):
        np.testing.assert_array_equal(first(parts), wg.grad(f)(parts))
    assert traces(first) == 1


def test_a_mistake_of_ours_in_making_code_is_told_and_the_function_runs_as_it_is(monkeypatch) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise AttributeError("no such thing")

    monkeypatch.undo()
    monkeypatch.setattr("wengert.compiling.compile.CompiledTrace", fails)
    g = wg.compile(wg.grad(lambda x: x * x))
    with pytest.warns(wg.NotCompiledWarning, match="no such thing.*, a bug in wengert"):
        assert g(3.0) == 6.0
    assert g(4.0) == 8.0


def test_code_that_refuses_its_own_trace_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    written = CompiledTrace._source_text

    def refusing(self: CompiledTrace, returned: str) -> str:
        return written(self, returned).replace("r = run(", "raise StaleTapeError; r = run(")

    monkeypatch.setattr(CompiledTrace, "_source_text", refusing)
    compiled = wg.compile(wg.grad(lambda x: x * x))
    assert compiled(3.0) == 6.0
    with pytest.warns(wg.NotCompiledWarning, match="refuses the values of its trace, a bug in wengert"):
        assert compiled(3.0) == 6.0
    assert compiled(4.0) == 8.0


def test_a_partial_function_that_is_read_stays_what_it_was() -> None:
    part = functools.partial(lambda a, b, c=1.0: a * b * c, 2.0)
    assert wg.compile(lambda x: part(x))(1.5) == 3.0
    assert functools.partial(part, c=5.0).func is part.func


def test_an_array_that_was_pickled_needs_no_new_trace():
    """Its data type is a copy, which differs from NumPy's own in `isbuiltin` alone."""
    compiled = wg.compile(wg.grad(lambda x: np.sum(x**2)))
    for x in (np.ones(3), pickle.loads(pickle.dumps(np.ones(3)))):
        np.testing.assert_array_equal(compiled(x), 2 * x)
    assert "1 trace" in compiled.explain()


def test_no_code_is_generated_for_a_trace_that_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(x: float, n: int) -> float:
        k = 0
        while k < n:
            if x > 0.0:
                x = x * 0.9
            k += 1
        return x

    for frees in (True, False):
        made: list[Any] = []
        compiled = OptimisedTape.compile

        def counted(tape: Any, *args: Any, made: list[Any] = made, **words: Any) -> Any:
            made.append(tape)
            return compiled(tape, *args, **words)

        with monkeypatch.context() as patch:
            patch.setattr(OptimisedTape, "compile", counted)
            if not frees:
                patch.setattr(Heads, "frees_loops", False)
            g = wg.compile(wg.grad(steps), native=False)
            assert g(2.0, 5) == pytest.approx(0.9**5)
            assert g(2.0, 5) == pytest.approx(0.9**5)
        assert len(made) == 1
