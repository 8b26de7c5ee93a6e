"""Results of functions with rules that hold a number where no variable can stand for it; digits of texts: refused."""

from __future__ import annotations

import array
import ctypes
import dataclasses
import enum
import functools
import struct
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg


def structured(x: float) -> Any:
    made = np.zeros(2, [("u", float), ("n", int)])
    made["u"] = x
    return made


def nested_structure(x: float) -> Any:
    made = np.zeros(2, [("p", [("u", float)]), ("n", int)])
    made["p"]["u"] = x
    return made


def made_class(x: float) -> Any:
    class Made:
        value = 2 * x

    return Made


def made_class_with_method(x: float) -> Any:
    y = 2 * x

    class Made:
        def value(self) -> float:
            return y

    return Made


def made_enum(x: float) -> Any:
    class Made(enum.Enum):
        VALUE = 2 * x

    return Made.VALUE


def module(x: float) -> Any:
    made = types.ModuleType("made")
    made.value = 2 * x  # type: ignore[attr-defined]
    return made


def c_structure(x: float) -> Any:
    class Pair(ctypes.Structure):
        _fields_ = [("u", ctypes.c_double), ("n", ctypes.c_int)]

    return Pair(x, 1)


REFUSED: dict[str, tuple[Callable[[float], Any], Callable[[Any], float]]] = {
    "structured array": (structured, lambda y: y["u"][0]),
    "record of a structured array": (lambda x: structured(x)[0], lambda y: y["u"]),
    "nested structure": (nested_structure, lambda y: y["p"]["u"][0]),
    "recarray": (lambda x: np.rec.array([(x, 1)], dtype=[("u", float), ("n", int)]), lambda y: y.u[0]),
    "structure of arrays": (lambda x: np.full(1, x, [("u", float, (2,))]), lambda y: y["u"][0, 1]),
    "array of objects": (lambda x: np.array([x, None]), lambda y: y[0]),
    "c_double": (ctypes.c_double, lambda y: y.value),
    "array of c_double": (lambda x: (ctypes.c_double * 2)(x, 1.0), lambda y: y[0]),
    "structure of C": (c_structure, lambda y: y.u),
    "array.array": (lambda x: array.array("d", [x]), lambda y: y[0]),
    "memoryview": (lambda x: memoryview(np.array([x])), lambda y: y[0]),
    "module": (module, lambda y: y.value),
    "class": (made_class, lambda y: y.value),
    "instance of a class": (lambda x: made_class(x)(), lambda y: y.value),
    "class with a closure": (made_class_with_method, lambda y: y().value()),
    "member of an enumeration": (made_enum, lambda y: y.value),
    "closure": (lambda x: lambda y=2 * x: y, lambda y: y()),
    "partial": (lambda x: functools.partial(max, 2 * x), lambda y: y(0.0)),
    "bound method": (lambda x: (2 * x).__add__, lambda y: y(1.0)),
    "iterator": (lambda x: iter([2 * x]), next),
    "frozenset": (lambda x: frozenset([2 * x]), lambda y: next(iter(y))),
    "exception": (lambda x: ValueError(2 * x), lambda y: y.args[0]),
    "slice": (lambda x: slice(2 * x), lambda y: y.stop),
    "key": (lambda x: {2 * x: 1}, lambda y: next(iter(y))),
    "key in a tuple": (lambda x: {(1, 2 * x): 1}, lambda y: next(iter(y))[1]),
    "text": (repr, float),
    "bytes": (lambda x: struct.pack("d", x), lambda y: struct.unpack("d", y)[0]),
    "bytearray": (lambda x: bytearray(struct.pack("d", x)), lambda y: np.frombuffer(y)[0]),
    "array of texts": (lambda x: np.array([repr(x)]), lambda y: y.astype(float)[0]),
    "large integer": (lambda x: int(x * 2**60), lambda y: y / 2**60),
    "large integer of NumPy": (lambda x: np.int64(x * 2**60), lambda y: y / 2**60),
    "large integers": (lambda x: (np.array([x]) * 2**60).astype(np.int64), lambda y: y[0] / 2**60),
    "bits": (lambda x: np.array([x]).view(np.int64), lambda y: y.view(float)[0]),
}


class Known:
    scale = 0.5


LABEL = {0.1: "low", 0.9: "high"}


@dataclasses.dataclass
class Fit:
    slope: float = 0.0
    steps: int = 3


TAKEN: dict[str, tuple[Callable[[Any], Any], Callable[[Any], float], float]] = {
    "class": (lambda x: [Known, x * x], lambda y: y[0].scale * y[1], 1.5),
    "instance": (lambda x: Fit(x * x), lambda y: y.slope * y.steps, 9.0),
    "class of C": (lambda x: [float, x * x], lambda y: y[0](2.0) * y[1], 6.0),
    "dtype": (lambda x: [np.dtype(float), x * x], lambda y: y[1], 3.0),
    "function": (lambda x: [abs, x * x], lambda y: y[0](y[1]), 3.0),
    "text and count": (lambda x: [x * x, "after 12 steps", 12], lambda y: y[0] * y[2], 36.0),
    "names": (lambda x: {"names": np.array(["a", "b"]), "v": x * x}, lambda y: y["v"], 3.0),
    "integers": (lambda x: [np.arange(3), x * x], lambda y: y[0][2] * y[1], 6.0),
    "keys from outside": (lambda x: {q: q * x * x for q in LABEL}, lambda y: y[0.9], 2.7),
    "keys that are literals": (lambda x: {0.25: x * x}, lambda y: y[0.25], 3.0),
}


def with_rule(give: Callable[[Any], Any], back: Callable[[Any], Any]) -> Any:
    def g(x: Any) -> Any:
        return give(x)

    @wg.rrule(g)
    def rule(x: Any) -> Any:
        return g(x), lambda y_bar: back(y_bar)

    return g


MODES: dict[str, Callable[[Any, float], Any]] = {
    "grad": lambda f, x: wg.grad(f)(x),
    "vjp": lambda f, x: wg.vjp(f, x)[1](1.0)[0],
    "in a gradient": lambda f, x: wg.grad(lambda x: wg.grad(f)(x) * 1.0 + x)(x),
    "checkpoint": lambda f, x: wg.grad(wg.checkpoint(f))(x),
    "tape": lambda f, x: wg.gradtape(f, x).play(x)[1][1],
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("where", ["alone", "in a list"])
@pytest.mark.parametrize("name", REFUSED)
def test_numbers_without_a_variable_are_refused(name: str, where: str, mode: str) -> None:
    give, take = REFUSED[name]
    if where == "alone":
        g = with_rule(give, lambda y_bar: 0.0)
        f = lambda x: take(g(x)) + x
    else:
        g = with_rule(lambda x: [give(x), x], lambda y_bar: y_bar[1])
        f = lambda x: take(g(x)[0]) + g(x)[1]
    assert take(give(1.5)) != 0
    with pytest.raises(wg.WengertError):
        MODES[mode](f, 1.5)


@pytest.mark.parametrize("name", TAKEN)
def test_what_holds_no_number_of_the_call_is_taken(name: str) -> None:
    give, take, expected = TAKEN[name]

    def back(y_bar: Any) -> Any:
        leaves = y_bar.values() if isinstance(y_bar, dict) else vars(y_bar).values() if name == "instance" else y_bar
        scales = {"keys from outside": [*LABEL]}.get(name, [1.0] * len(leaves))
        return sum(s * 2 * 1.5 * b for s, b in zip(scales, leaves, strict=True) if b is not None)

    g = with_rule(give, back)
    np.testing.assert_allclose(wg.grad(lambda x: take(g(x)))(1.5), expected, rtol=1e-14)


TABLE = {str(k): k for k in range(10)}


def number(digits: Any) -> float:
    value = 0
    for digit in digits:
        value = 10 * value + digit
    return value / 100


DIGITS: dict[str, Callable[[float], float]] = {
    "dictionary": lambda x: number([TABLE[c] for c in str(x) if c != "."]),
    "get": lambda x: number([TABLE.get(c) for c in repr(x) if c in TABLE]),
    "map": lambda x: number(map(TABLE.get, f"{x}".replace(".", ""))),
    "index of a list": lambda x: number([list("0123456789").index(c) for c in str(x) if c != "."]),
    "index of a tuple": lambda x: number([tuple("0123456789").index(c) for c in str(x) if c != "."]),
    "index of a text": lambda x: number(["0123456789".index(c) for c in str(x) if c != "."]),
    "bytes": lambda x: number([b - 48 for b in str(x).encode() if b != 46]),
    "bytes by place": lambda x: (str(x).encode()[0] - 48) / 1.0,
    "iterator": lambda x: number([TABLE[c] for c in iter(str(x)) if c != "."]),
    "list": lambda x: number([TABLE[c] for c in list(format(x, ".2f")) if c != "."]),
    "defaultdict": lambda x: number([__import__("collections").defaultdict(int, TABLE)[c] for c in str(x) if c != "."]),
    "parts": lambda x: number([TABLE[c] for part in str(x).split(".") for c in part]),
    "unpacked": lambda x: (lambda a, _, *b: number([TABLE[a], *[TABLE[c] for c in b]]))(*str(x)),
    "reversed": lambda x: number([TABLE[c] for c in reversed(str(x)) if c != "."]),
}


@pytest.mark.parametrize("tape", [False, True])
@pytest.mark.parametrize("name", DIGITS)
def test_digits_of_a_text_are_no_numbers(name: str, tape: bool) -> None:
    f = DIGITS[name]
    assert f(3.25) != 0
    with pytest.raises(wg.WengertError, match=r"test_odd_results\.py:\d+"):
        (wg.gradtape if tape else wg.grad)(lambda x: f(x) + x, 3.25)


def test_labels_from_a_text_are_looked_up() -> None:
    assert wg.grad(lambda x: {"3": 2.0, "4": 5.0}[f"{x:.0f}"] * x)(3.25) == 2.0
    assert wg.grad(lambda x: sum(c in set("0123456789") for c in str(x)) * x)(3.25) == 3.0
