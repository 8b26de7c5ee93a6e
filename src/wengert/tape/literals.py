"""Values as Python literals that reproduce them bit for bit; a value without a literal becomes a parameter."""

from __future__ import annotations

import ast
import cmath
import itertools
import math
import struct
import types
from typing import Any, NamedTuple

import numpy as np

from wengert.tape.dump import SHOWN, number_text
from wengert.values.names import LOOSE, SIGN, TIGHT, import_path, method_name

_DEFAULTS = tuple(map(np.dtype, (np.float64, np.int64, np.complex128, np.bool_)))  # of Python's own numbers
RESERVED = frozenset(
    (
        "StaleTapeError",
        "np",
        "Exception",
        "abs",
        "bool",
        "complex",
        "dict",
        "error",
        "float",
        "getattr",
        "int",
        "len",
        "list",
        "slice",
        "tuple",
        "type",
        "vars",
    )
)
"""Names that emitted source uses itself: no parameter, module or function may have one."""


class Snippet(NamedTuple):
    """A Python expression, and the precedence of its outermost operator."""

    text: str
    rank: int

    def inside(self, rank: int) -> str:
        """Return the text as an operand of an operator of precedence `rank`, in parentheses if it needs them."""
        return self.text if self.rank >= rank else f"({self.text})"


class Externals:
    """The external names of emitted source: imports, definitions, and constants passed by keyword."""

    runs_alone = False  # whether the source runs without this package

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.definitions: list[str] = []
        self.checked = False  # whether StaleTapeError is raised
        self.constants: dict[str, Any] = {}
        self.taken: set[str] = set()  # names that constants must not have
        self._names: dict[Any, str] = {}
        self._functions: dict[int, Snippet] = {}

    def expr(self, value: Any) -> Snippet:
        """Return the expression for a value that is not a container."""
        if callable(value) and not isinstance(value, np.generic):
            if id(value) not in self._functions:
                self._functions[id(value)] = self.function(value) or self.bind(value)
            return self._functions[id(value)]
        return self._literal(value) or self.bind(value)

    def bind(self, value: Any) -> Snippet:
        """Return the name of the keyword constant for `value`."""
        method = isinstance(value, types.MethodType)  # each access makes a new object
        key = (id(value.__self__), id(value.__func__)) if method else id(value)
        if key not in self._names:
            names = (f"c{n}" for n in itertools.count(len(self.constants) + 1))
            name = self._names[key] = next(name for name in names if name not in self.taken)
            self.taken.add(name)
            self.constants[name] = value
        return Snippet(self._names[key], TIGHT)

    def numpy(self, path: str) -> str:
        """Import NumPy, and return the text of a name in it."""
        self.modules.add("numpy")
        return f"np.{path}"

    def function(self, fn: Any) -> Snippet | None:
        """Import a function, and return the text that refers to it; None if it cannot be imported."""
        if method_name(fn):
            owner = self.function(fn.__objclass__)
            return owner and Snippet(f"{owner.text}.{fn.__name__}", TIGHT)
        place = import_path(fn)
        if place is None or place.module.split(".")[0] in RESERVED:
            return None
        if place.module == "builtins":
            return Snippet(place.path, TIGHT)
        if place.module.split(".")[0] == "numpy":
            return Snippet(self.numpy(f"{place.module}.{place.path}"[len("numpy.") :]), TIGHT)
        self.modules.add(place.module)
        return Snippet(f"{place.module}.{place.path}", TIGHT)

    def _literal(self, value: Any) -> Snippet | None:
        """Return the literal of a value, or None if it has none."""
        if value is None or value is Ellipsis or type(value) in (bool, str, bytes):
            return Snippet("..." if value is Ellipsis else repr(value), TIGHT)
        if type(value) is int:
            return Snippet(number_text(value), TIGHT if value >= 0 else SIGN)
        if type(value) is float:
            return self._float(value)
        if type(value) is complex:
            return self._complex(value)
        if isinstance(value, np.generic):
            return self._scalar(value)
        if isinstance(value, np.dtype):
            return self._dtype(value)
        return self._array(value) if type(value) is np.ndarray else None

    def _dtype(self, value: np.dtype) -> Snippet | None:
        if value.hasobject or value.names or value.metadata:
            return None
        return Snippet(f"{self.numpy('dtype')}({(str(value) if _fits_python_number(value) else value.str)!r})", TIGHT)

    def _float(self, value: float) -> Snippet | None:
        if math.isfinite(value):
            return Snippet(repr(value), SIGN if math.copysign(1.0, value) < 0 else TIGHT)
        if math.isnan(value) and struct.pack("d", value) != struct.pack("d", float("nan")):
            return None  # a sign or a payload
        name = "nan" if math.isnan(value) else "inf"
        return Snippet(f"-float('{name}')" if value < 0 else f"float('{name}')", SIGN if value < 0 else TIGHT)

    def _complex(self, value: complex) -> Snippet | None:
        if cmath.isfinite(value) and _bits(ast.literal_eval(repr(value))) == _bits(value):
            return Snippet(repr(value), TIGHT)
        parts = self._float(value.real), self._float(value.imag)
        return Snippet(f"complex({parts[0].text}, {parts[1].text})", TIGHT) if parts[0] and parts[1] else None

    def _scalar(self, value: np.generic) -> Snippet | None:
        if not _fits_python_number(value.dtype) or type(value) is not value.dtype.type:
            return None
        if isinstance(value, np.bool_):
            return Snippet(self.numpy(f"{bool(value)}_"), TIGHT)
        inner = self._literal(value.item())
        return inner if inner is None else Snippet(f"{self.numpy(type(value).__name__)}({inner.text})", TIGHT)

    def _array(self, value: np.ndarray) -> Snippet | None:
        if not _fits_python_number(value.dtype) or not value.flags.c_contiguous:
            return None
        if 0 < value.size <= SHOWN:
            inner = self._nested(value.tolist())
            dtype = None if value.dtype in _DEFAULTS else value.dtype
            return None if inner is None else self._made("array", inner, dtype)
        if value.reshape(-1).view(np.uint8).any():
            return None
        return self._made("zeros", str(value.shape), None if value.dtype == np.float64 else value.dtype)

    def _made(self, maker: str, inside: str, dtype: np.dtype | None) -> Snippet:
        given = "" if dtype is None else f", dtype={self.numpy(dtype.type.__name__)}"
        return Snippet(f"{self.numpy(maker)}({inside}{given})", TIGHT)

    def _nested(self, values: Any) -> str | None:
        if not isinstance(values, list):
            leaf = self._literal(values)
            return leaf and leaf.inside(LOOSE)
        parts = [self._nested(part) for part in values]
        return None if None in parts else f"[{', '.join(map(str, parts))}]"


def _fits_python_number(dtype: np.dtype) -> bool:
    """Whether Python numbers hold all values of a dtype exactly."""
    return dtype.kind in "biufc" and dtype.isnative and dtype.itemsize <= (16 if dtype.kind == "c" else 8)


def _bits(value: complex) -> bytes:
    return struct.pack("dd", value.real, value.imag)
