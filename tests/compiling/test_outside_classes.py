"""Compiled functions that read objects of classes from the standard library: mappings, sequences and modules."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, MutableMapping, Sequence, Set
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiling.watched.watchable import runs_functions_only


class Rates(Mapping[str, float]):
    """A mapping of the user's: `items`, `get` and the like are those of collections.abc."""

    def __init__(self, held: dict[str, float]) -> None:
        self.held = held

    def __getitem__(self, key: str) -> float:
        return self.held[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.held)

    def __len__(self) -> int:
        return len(self.held)


class Filled(MutableMapping[str, Any]):
    """A mapping that is filled in the function."""

    def __init__(self) -> None:
        self.held: dict[str, Any] = {}

    __getitem__, __iter__, __len__ = Rates.__getitem__, Rates.__iter__, Rates.__len__

    def __setitem__(self, key: str, value: Any) -> None:
        self.held[key] = value

    def __delitem__(self, key: str) -> None:
        del self.held[key]


class Steps(Sequence[float]):
    """A sequence of the user's."""

    def __init__(self, held: list[float]) -> None:
        self.held = held

    def __getitem__(self, k: Any) -> Any:
        return self.held[k]

    def __len__(self) -> int:
        return len(self.held)


class Names(Set[str]):
    """A set of the user's."""

    def __init__(self, held: Any) -> None:
        self.held = list(held)

    def __contains__(self, name: object) -> bool:
        return name in self.held

    def __iter__(self) -> Iterator[str]:
        return iter(self.held)

    def __len__(self) -> int:
        return len(self.held)


class Settings(types.ModuleType):
    """A module with properties, as backends of libraries are."""

    scale = 3.0

    @property
    def doubled(self) -> Any:
        return 2.0 * self.rate

    def __getattr__(self, name: str) -> Any:
        if name == "tripled":
            return 3.0 * self.rate
        raise AttributeError(name)


class Plain(types.ModuleType):
    """A module without more."""


RATES, STEPS, NAMES = Rates({"a": 1.0, "b": 2.0}), Steps([1.0, 2.0]), Names(["a", "c"])
SETTINGS, PLAIN = Settings("settings"), Plain("plain")


def items(x: Any) -> Any:
    return sum(x**k * rate for k, (_, rate) in enumerate(RATES.items()))


def keys_and_values(x: Any) -> Any:
    return x * sum(RATES.values()) + sum(RATES[key] for key in RATES.keys() if key != "a")


def gets(x: Any) -> Any:
    return x * RATES.get("a", 9.0) * RATES.get("z", 4.0) if "a" in RATES and "z" not in RATES else x


def fills(x: Any) -> Any:
    made = Filled()
    made.update({"a": x, "b": x**2})
    made.setdefault("c", 3.0 * x)
    return sum(made.values()) + made.pop("a")


def sequence(x: Any) -> Any:
    return sum(STEPS) * x + next(reversed(STEPS)) * len(STEPS)


def names(x: Any) -> Any:
    return x * len(NAMES & {"a", "b"}) + (x**2 if NAMES <= {"a", "c", "d"} else x)


def module(x: Any) -> Any:
    return x * SETTINGS.rate + SETTINGS.doubled * SETTINGS.scale * x**2 + SETTINGS.tripled


def plain_module(x: Any) -> Any:
    return PLAIN.power(x) * PLAIN.rate


def missing_in_a_module(x: Any) -> Any:
    return x * getattr(PLAIN, "factor", 2.0) if not hasattr(SETTINGS, "factor") else x


def computed_by_a_module(x: Any) -> Any:
    return x * PLAIN.factor if "__getattr__" in vars(PLAIN) else x**2


ALL = [
    items, keys_and_values, gets, fills, sequence, names, module, plain_module, missing_in_a_module,
    computed_by_a_module,
]  # fmt: skip
COMPILED = [f for f in ALL if f not in (missing_in_a_module, computed_by_a_module)]


def results(f: Any) -> list[Any]:
    """The results of calls while the objects change."""
    SETTINGS.__dict__.update(rate=2.0)
    SETTINGS.__dict__.pop("factor", None)
    PLAIN.__dict__.update(rate=1.0, power=lambda x: x**2)
    PLAIN.__dict__.pop("__getattr__", None)
    Settings.scale, NAMES.held, RATES.held, STEPS.held = 3.0, ["a", "c"], {"a": 1.0, "b": 2.0}, [1.0, 2.0]
    found = [f(0.5), f(0.7)]
    SETTINGS.rate, PLAIN.rate, RATES.held, STEPS.held = 2.5, 1.5, {"a": 3.0, "b": 4.0}, [3.0, 2.0]
    found.append(f(0.7))
    Settings.scale, PLAIN.power, NAMES.held = 4.0, lambda x: x**3, ["a", "b", "e"]
    found.append(f(0.7))
    PLAIN.__getattr__ = lambda name: 7.0
    found.append(f(0.7))
    SETTINGS.factor, RATES.held, STEPS.held = 1.0, {"a": 1.0, "z": 2.0}, [1.0]
    return [*found, f(0.7)]


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_changes_of_objects_are_seen(f: Any) -> None:
    assert results(wg.compile(f)) == results(f)
    assert results(wg.compile(wg.grad(f))) == pytest.approx(results(lambda x: wg.grad(f)(x)), rel=1e-12)


@pytest.mark.parametrize("f", COMPILED, ids=lambda f: f.__name__)
def test_reads_of_these_objects_compile(f: Any) -> None:
    results(wg.compile(f, strict=True))


class Doubling:
    def __init__(self, a):
        self.a, self.k = a, 2.0

    def __getattribute__(self, name):
        value = super().__getattribute__(name)
        return value * 2 if name == "k" else value

    @property
    def plain(self):
        return object.__getattribute__(self, "k") * self.a


class Estimator:
    scale = 3.0

    def __init__(self, a):
        self.a = a

    def params(self):
        found = {}
        for name in ("a", "scale", "missing"):
            try:
                found[name] = object.__getattribute__(self, name)
            except AttributeError:
                found[name] = 1.0
        return found


def test_plain_attribute_reads_are_guarded():
    estimator = Estimator(2.0)

    def f(x):
        doubled, params = Doubling(x), estimator.params()
        return np.sum(doubled.plain * doubled.k * params["a"] * params["scale"] * params["missing"])

    compiled = wg.compile(wg.value_and_grad(f))
    x = np.array([1.0, 2.0])
    for change in (None, ("a", 5.0), ("scale", 7.0), ("missing", 11.0)):
        if change is not None:
            setattr(estimator, *change)
        factor = 8.0 * np.prod([*estimator.params().values()])
        value, slope = compiled(x)
        assert value == factor * 3.0
        np.testing.assert_array_equal(slope, [factor, factor])
    assert "uncompiled" not in compiled.explain()


def test_methods_that_nanobind_compiled_have_no_state() -> None:
    """JAX's class of arrays has one: scipy.stats asks each argument whether it is of that class, if JAX is imported."""

    class nb_method:
        def __call__(self, thing: Any) -> bool:
            return False

    assert runs_functions_only(nb_method())
