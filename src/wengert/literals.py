"""Values as Python text that gives them back bit for bit; what has no such text becomes a bound constant."""

from __future__ import annotations

import ast
import cmath
import math
import struct
import types
from typing import Any, NamedTuple

import numpy as np

from wengert.dump import SHOWN
from wengert.names import LOOSE, SIGN, TIGHT, method_name, place_of


class Expr(NamedTuple):
    """Python text, and how tightly it binds."""

    text: str
    rank: int

    def inside(self, rank: int) -> str:
        """The text as a part of something that binds by rank, in parentheses where it needs them."""
        return self.text if self.rank >= rank else f"({self.text})"


class Outside:
    """What emitted source needs from outside itself: imports, and constants given by keyword."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.constants: dict[str, Any] = {}

    def expr(self, value: Any) -> Expr:
        """The text for one value that is no container."""
        if callable(value) and not isinstance(value, np.generic):
            return self.function(value) or self.bind(value)
        return self._literal(value) or self.bind(value)

    def bind(self, value: Any) -> Expr:
        """A keyword constant that stands for the value."""
        for name, known in self.constants.items():
            if known is value or (isinstance(value, types.MethodType) and known == value):
                return Expr(name, TIGHT)
        name = f"c{len(self.constants) + 1}"
        self.constants[name] = value
        return Expr(name, TIGHT)

    def numpy(self, path: str) -> str:
        """The text of a name in NumPy."""
        self.modules.add("numpy")
        return f"np.{path}"

    def function(self, fn: Any) -> Expr | None:
        """The text for a function that can be imported."""
        if method_name(fn):
            owner = self.function(fn.__objclass__)
            return owner and Expr(f"{owner.text}.{fn.__name__}", TIGHT)
        place = place_of(fn)
        if place is None:
            return None
        if place.module == "builtins":
            return Expr(place.path, TIGHT)
        if place.module.split(".")[0] == "numpy":
            return Expr(self.numpy(f"{place.module}.{place.path}"[len("numpy.") :]), TIGHT)
        self.modules.add(place.module)
        return Expr(f"{place.module}.{place.path}", TIGHT)

    def _literal(self, value: Any) -> Expr | None:
        if value is None or value is Ellipsis or type(value) in (bool, str, bytes):
            return Expr("..." if value is Ellipsis else repr(value), TIGHT)
        if type(value) is int:
            return Expr(repr(value), TIGHT if value >= 0 else SIGN)
        if type(value) is float:
            return self._float(value)
        if type(value) is complex:
            return self._complex(value)
        if isinstance(value, np.generic):
            return self._scalar(value)
        if isinstance(value, np.dtype):
            return (
                None
                if value.hasobject or value.names
                else Expr(f"{self.numpy('dtype')}({value.str!r})", TIGHT)
            )
        return self._array(value) if type(value) is np.ndarray else None

    def _float(self, value: float) -> Expr | None:
        if math.isfinite(value):
            return Expr(repr(value), SIGN if math.copysign(1.0, value) < 0 else TIGHT)
        if math.isnan(value) and struct.pack("d", value) != struct.pack("d", float("nan")):
            return None  # a sign or a payload
        name = "nan" if math.isnan(value) else "inf"
        return Expr(f"-float('{name}')" if value < 0 else f"float('{name}')", SIGN if value < 0 else TIGHT)

    def _complex(self, value: complex) -> Expr | None:
        if cmath.isfinite(value) and _bits(ast.literal_eval(repr(value))) == _bits(value):
            return Expr(repr(value), TIGHT)
        parts = self._float(value.real), self._float(value.imag)
        return Expr(f"complex({parts[0].text}, {parts[1].text})", TIGHT) if parts[0] and parts[1] else None

    def _scalar(self, value: np.generic) -> Expr | None:
        if value.dtype.kind not in "biufc" or value.dtype.itemsize > (16 if value.dtype.kind == "c" else 8):
            return None
        inner = self._literal(value.item())
        return inner if inner is None else Expr(f"{self.numpy(type(value).__name__)}({inner.text})", TIGHT)

    def _array(self, value: np.ndarray) -> Expr | None:
        plain = value.dtype.kind in "biufc" and value.dtype.itemsize <= (16 if value.dtype.kind == "c" else 8)
        if (
            not plain
            or not 0 < value.size <= SHOWN
            or not value.flags.c_contiguous
            or not value.dtype.isnative
        ):
            return None
        inner = self._nested(value.tolist())
        return (
            inner
            if inner is None
            else Expr(f"{self.numpy('array')}({inner}, dtype={self.numpy(value.dtype.type.__name__)})", TIGHT)
        )

    def _nested(self, values: Any) -> str | None:
        if not isinstance(values, list):
            leaf = self._literal(values)
            return leaf and leaf.inside(LOOSE)
        parts = [self._nested(part) for part in values]
        return None if None in parts else f"[{', '.join(map(str, parts))}]"


def _bits(value: complex) -> bytes:
    return struct.pack("dd", value.real, value.imag)
