"""Objects from outside that guards compare or read: descriptors, values of the standard library, SciPy's results."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import types
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

import wengert as wg


class Settings:
    scale = 2.0


class Model:
    k = 3.0

    @classmethod
    def of_class(cls) -> float:
        return cls.k * Settings.scale

    @staticmethod
    def alone() -> float:
        return Settings.scale * 2

    @property
    def of_object(self) -> float:
        return Settings.scale * self.k


class ClassProperty:
    """A property of classes, as packages write it."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        return self.function.__get__(owner, cls)()


class Derived(Model):
    scaled: Any = ClassProperty(vars(Model)["of_class"])


HELD: dict[str, Any] = {name: vars(Model)[name] for name in ("of_class", "alone", "of_object")}
DESCRIPTORS: list[Callable[[float], float]] = [
    lambda x: x * HELD["of_class"].__get__(None, Model)(),
    lambda x: x * HELD["alone"].__get__(None, Model)(),
    lambda x: x * HELD["of_object"].fget(Model()),
    lambda x: x * HELD["of_object"].__get__(Model(), Model),
    lambda x: x * Derived.scaled,
    lambda x: x * Derived().scaled,
]


@pytest.mark.parametrize("f", DESCRIPTORS)
def test_descriptors_call_functions_that_are_traced(
    f: Callable[[float], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = wg.compile(wg.value_and_grad(f), strict=True)
    for scale, k in [(2.0, 3.0), (2.0, 3.0), (5.0, 3.0), (5.0, -1.5)]:
        monkeypatch.setattr(Settings, "scale", scale)
        monkeypatch.setattr(Model, "k", k)
        assert compiled(3.0) == (f(3.0), f(1.0))


VALUES: list[tuple[list[Any], Callable[[Any], Any]]] = [
    ([decimal.Decimal("1.5"), decimal.Decimal("1.50"), decimal.Decimal("2")], lambda v: len(str(v)) + float(v)),
    ([uuid.UUID(int=3), uuid.UUID(int=4)], lambda v: v.int),
    (
        [datetime.UTC, datetime.timezone(datetime.timedelta(hours=1)), datetime.timezone(datetime.timedelta())],
        lambda v: v.utcoffset(None).total_seconds() + len(v.tzname(None)),
    ),
    ([np.str_("ab"), np.str_("abc"), "ab"], lambda v: len(v) + (type(v) is str)),
]


@pytest.mark.parametrize(("values", "use"), VALUES)
def test_values_are_compared(values: list[Any], use: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = wg.compile(lambda x: x * use(HELD["value"]), strict=True)
    for value in values * 2:
        monkeypatch.setitem(HELD, "value", value)
        assert compiled(2.0) == 2.0 * use(value)


@dataclasses.dataclass
class Measured:
    value: float = dataclasses.field(default=2.0, metadata={"unit": "m", "digits": 3})


MODES: dict[str, Any] = {"mode": "fast", "on": True}
READ_ONLY = types.MappingProxyType(MODES)


def test_read_only_dictionaries_are_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: float) -> float:
        digits: int = dataclasses.fields(Measured)[0].metadata["digits"]
        return x**digits if READ_ONLY["mode"] == "fast" else x * Measured().value

    compiled = wg.compile(wg.value_and_grad(f), strict=True)
    for mode, on in [("fast", True), ("fast", False), ("slow", False), ("fast", True)]:
        monkeypatch.setitem(MODES, "mode", mode)
        monkeypatch.setitem(MODES, "on", on)
        assert compiled(3.0) == ((27.0, 27.0) if mode == "fast" else (6.0, 2.0))


def test_a_read_only_dictionary_shows_what_the_function_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: float) -> float:
        MODES["mode"] = "slow"
        return x * 2 if READ_ONLY["mode"] == "slow" else x * 3

    compiled = wg.compile(f)
    for mode in ("fast", "slow", "fast"):
        monkeypatch.setitem(MODES, "mode", mode)
        assert compiled(3.0) == 6.0 and MODES["mode"] == "slow"


def test_results_of_scipy_are_read_as_dictionaries() -> None:
    found = OptimizeResult(x=np.array([1.0, 2.0]), fun=0.5, success=True)

    def f(x: float) -> Any:
        return np.sum(found.x) * x * found["fun"] + (x if found.success else 0.0)

    compiled = wg.compile(f, strict=True)
    for change in ({}, {"fun": 4.0}, {"success": False}, {"x": np.array([5.0, 7.0])}):
        found.update(change)
        assert compiled(3.0) == f(3.0)
    found.x[0] = -1.0
    assert compiled(3.0) == f(3.0)
