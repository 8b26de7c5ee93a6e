"""Compiled functions that ask how functions are declared: the code is traced again where a declaration changes."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np
import pytest

import wengert as wg


def scaled(x: Any, a: float = 2.0, *, b: float = 3.0) -> Any:
    return x * a * b


def of_two(x: Any, y: Any) -> Any:
    return x + y


def replacement(x: Any, a: float = 5.0, /, *, b: float = 6.0) -> Any:
    return x * (a + b)


@functools.wraps(scaled)
def wrapped(*args: Any, **kwargs: Any) -> Any:
    return scaled(*args, **kwargs)


class Model:
    """Parameters by name, as estimators of scikit-learn have them."""

    def __init__(self, p: float = 1.0, q: float = 2.0) -> None:
        self.p, self.q = p, q

    def names(self) -> list[str]:
        return [name for name in inspect.signature(type(self).__init__).parameters if name != "self"]


MODEL = Model()


def by_parameters(x: Any) -> Any:
    return sum(getattr(MODEL, name) * x for name in MODEL.names())


def a_default(x: Any) -> Any:
    return inspect.signature(scaled).parameters["a"].default * x


def bound(x: Any) -> Any:
    given = inspect.signature(scaled).bind(x, b=5.0)
    given.apply_defaults()
    return scaled(*given.args, **given.kwargs)


def of_a_wrapper(x: Any) -> Any:
    return x * len(inspect.signature(wrapped).parameters)


def of_a_class(x: Any) -> Any:
    return x * len(inspect.signature(Model).parameters) * len(inspect.signature(MODEL.names).parameters)


def by_annotation(x: Any) -> Any:
    first, second = [inspect.signature(g).return_annotation for g in (scaled, of_two)]
    return x * (2.0 if first is second else 3.0)


def by_names(x: Any) -> Any:
    return x * len(inspect.getfullargspec(scaled).kwonlyargs) if inspect.isfunction(scaled) else x


ALL = [by_parameters, a_default, bound, of_a_wrapper, of_a_class, by_annotation, by_names]


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_changed_declarations_are_seen(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, gradient = wg.compile(f, strict=True), wg.compile(wg.grad(f), strict=True)

    def check() -> None:
        for x in (0.5, 0.7):
            assert compiled(x) == f(x)
            assert gradient(x) == pytest.approx((f(x + 1.0) - f(x - 1.0)) / 2.0, rel=1e-12)  # f is linear in x

    check()
    MODEL.p = 7.0
    check()
    monkeypatch.setattr(scaled, "__defaults__", (4.0,))
    check()
    monkeypatch.setattr(scaled, "__kwdefaults__", {"b": 9.0})
    check()
    monkeypatch.setitem(scaled.__kwdefaults__, "b", 8.0)
    check()
    monkeypatch.setitem(scaled.__annotations__, "return", int)
    check()
    monkeypatch.setattr(scaled, "__code__", replacement.__code__)
    check()
    monkeypatch.setattr(wrapped, "__wrapped__", of_two)
    check()
    monkeypatch.setattr(Model, "__init__", lambda self, p=1.0: setattr(self, "p", p))
    check()


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
def test_signatures_of_partials_run_uncompiled() -> None:
    asked = functools.partial(scaled, a=1.0)
    compiled = wg.compile(lambda x: x * len(inspect.signature(asked).parameters))
    assert compiled(2.0) == 6.0 == compiled(2.0)
    assert "asks for the signature" in compiled.explain()


def _bound(f):
    signature = inspect.signature(f)

    def call(*args, **words):
        given = signature.bind(*args, **words)
        given.apply_defaults()
        return f(*given.args, **given.kwargs)

    return call


def test_a_signature_from_outside() -> None:
    """A decorator keeps it; numbers in it cannot change, but the content of an array can."""
    g = wg.compile(wg.grad(_bound(lambda x, k=2.0, *, w=3.0: x * k * w)), strict=True)
    assert [g(1.0), g(1.0, w=1.0)] == [6.0, 2.0]
    scale = np.array([2.0])
    g = wg.compile(wg.grad(_bound(lambda x, k=scale: x * k[0])), quiet=True)
    assert g(1.0) == 2.0
    scale[0] = 5.0
    assert g(1.0) == 5.0
