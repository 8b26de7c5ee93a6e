"""Methods wait for their first call to be instrumented, and nobody can tell."""

from __future__ import annotations

import gc
import inspect
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import wengert as wg
from wengert.hooks.code_swap import copy_function
from wengert.hooks.lazy_instrumentation import is_lazy, lazy_code
from wengert.rewrite.rewriter import Rewriter


class Sum:
    def __init__(self, x: float) -> None:
        self.x, self.total = x, 0.0

    def add(self, match: Any = None, /, times: float = 2.0, *more: float, power: int = 1, **options: float) -> str:
        self.total = self.total + times * self.x**power + sum(more) + sum(options.values())
        return "y"

    def write(self, text: str) -> None:
        self.total = self.total + len(text) * self.x * (text == "aba")

    def added(self) -> Callable[..., Any]:
        return super().__init_subclass__  # a closure over the class

    @classmethod
    def of(cls, x: float) -> Sum:
        return cls(x)

    @staticmethod
    def squared(x: float) -> float:
        return x * x

    def steps(self) -> Any:
        yield self.x


def test_what_c_calls_first_is_instrumented() -> None:
    def f(x: float) -> float:
        s = Sum(x)
        print("aba", end="", file=s)  # it is written in C, and calls `write`
        return s.total

    assert wg.grad(f)(3.0) == 3.0


def test_each_kind_of_method_and_of_parameter() -> None:
    def f(x: float) -> float:
        s = Sum.of(x)
        s.add(None, 3.0, x, x, power=2, other=x)
        s.added()
        return s.total * Sum.squared(s.x) + next(s.steps())

    x = 0.7
    assert abs(wg.grad(f)(x) - (12 * x**3 + 9 * x**2 + 1)) < 1e-14  # of (3x² + 3x) x² + x


def test_its_signature_is_seen_while_it_waits() -> None:
    seen = []

    def f(x: float) -> float:
        Sum(x)
        seen.extend([is_lazy(Sum.add), inspect.signature(Sum.add), Sum.add.__code__.co_name, Sum.add.__defaults__])
        return x

    plain = inspect.signature(Sum.add), "add", (None, 2.0)
    wg.grad(f)(1.0)
    assert seen == [True, *plain] and not is_lazy(Sum.add)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("def f(): return 'f', ()", lambda f: f()),
        ("def f(a, b=2): return 'f', (a, b)", lambda f: f(1)),
        ("def f(a, /, b, *, c, d=4): return 'f', (a, b, c, d)", lambda f: f(1, b=2, c=3)),
        ("def f(a, *f_a): return 'f', (a, f_a)", lambda f: f(1, 2, 3)),
        ("def f(*args, k=1, **more): return 'f', (args, k, more)", lambda f: f(1, 2, k=3, z=4)),
        ("def f(a, **more): b = a; return 'f', (a, more, b)", lambda f: f(a=1, b=2)),
        ("def f(a, b): return 'f', ((lambda: a)(), [b for _ in (1,)])", lambda f: f(1, b=2)),
    ],
)
def test_arguments_reach_it_as_they_are_given(text: str, call: Callable[..., Any]) -> None:
    space: dict[str, Any] = {}
    exec(text, space)
    f = space["f"]
    stub = copy_function(f, lazy_code(f, lambda f, args, kwargs: f(*args, **kwargs)))
    assert call(stub) == call(f) and inspect.signature(stub) == inspect.signature(f)


def test_wrong_arguments_are_an_error_of_the_call() -> None:
    def f(a: int, *, b: int) -> int:
        return a + b

    stub = copy_function(f, lazy_code(f, lambda f, args, kwargs: f(*args, **kwargs)))
    for call in (lambda: stub(), lambda: stub(1), lambda: stub(1, 2, b=3), lambda: stub(1, b=2, c=3)):
        with pytest.raises(TypeError):
            call()


def test_a_class_with_many_methods_costs_what_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "".join([f"    def m{k}(self, x):\n        return x * {k}\n" for k in range(50)])
    space: dict[str, Any] = {"__name__": __name__}
    exec(f"class Many:\n{body}", space)
    made, own = [], Rewriter.twin
    monkeypatch.setattr(Rewriter, "twin", lambda self, code: (made.append(code.co_name), own(self, code))[1])
    assert wg.grad(lambda x: space["Many"]().m7(x))(1.0) == 7.0
    assert len([name for name in made if name.startswith("m")]) == 1


def test_it_keeps_no_function_alive() -> None:
    def f(x: float) -> float:
        class Inner:
            def waits(self) -> float:
                return x

        Inner()
        gone.append(weakref.ref(vars(Inner)["waits"]))
        return x * x

    gone: list[Any] = []
    wg.grad(f)(2.0)
    gc.collect()
    assert gone[0]() is None


class _Keyed:
    """Numbers whose order NumPy and Python ask for by a method that C calls."""

    def __init__(self, x):
        self.x = x

    def key(self):
        return self.x * 2.0


def _largest(x):
    return _Keyed.key(max([_Keyed(x), _Keyed(2.0 * x)], key=_Keyed.key)) + sum(map(_Keyed.key, [_Keyed(x)]))


def _triple(self):
    return self.x * 3.0


def test_a_method_that_changes_between_traces_runs_what_it_is_then(monkeypatch):
    assert wg.grad(_largest)(1.0) == wg.grad(_largest)(1.0) == 6.0
    own = _Keyed.key.__code__
    _Keyed.key.__code__ = _triple.__code__
    try:
        assert wg.grad(_largest)(1.0) == 9.0
    finally:
        _Keyed.key.__code__ = own
    assert wg.grad(_largest)(1.0) == 6.0 and _Keyed.key.__code__ is own
    monkeypatch.setattr(_Keyed, "key", lambda self: self.x * 5.0)
    assert wg.grad(_largest)(1.0) == 15.0
    monkeypatch.undo()
    assert wg.grad(_largest)(1.0) == 6.0
    monkeypatch.setattr(_Keyed, "key", staticmethod(_triple))
    assert wg.grad(_largest)(1.0) == 9.0


def test_a_method_that_gets_a_rule_between_traces_is_recorded_by_it():
    def f(x):
        return _Doubled(x).twice()

    class _Doubled:
        def __init__(self, x):
            self.x = x

        def twice(self):
            return twice(self.x)

    def twice(x):
        return x * 2.0

    _Doubled.apply = twice
    assert wg.grad(f)(1.0) == wg.grad(f)(1.0) == 2.0
    with wg.rules.scope():
        wg.vjp_rule(twice)(lambda y_bar, y, x: y_bar * 7.0)
        assert wg.grad(f)(1.0) == 7.0
    assert wg.grad(f)(1.0) == 2.0


def test_the_variables_of_a_frame_of_lazy_code_can_be_read() -> None:
    def scaled_by(factor: float) -> Any:
        return lambda x: factor * x

    f = scaled_by(3.0)
    code = lazy_code(f, lambda f, args, kwargs: dict(sys._getframe(2).f_locals))
    found = types.FunctionType(code, {}, "scaled", None, f.__closure__)(2.0)
    assert found["x"] == 2.0
    assert 3.0 in found.values()
