"""Floats taken apart and put together again: refused, or right, never a zero. Counts and indices may pass."""

from __future__ import annotations

import ast
import base64
import ctypes
import decimal
import fractions
import io
import json
import marshal
import math
import operator
import pickle
import re
import string
import struct
import types
import warnings
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

BIG = 2.0**52


def significand_and_exponent(x: Any) -> Any:
    """As mpmath reads a float."""
    m, e = math.frexp(x)
    man, exp = int(m * (1 << 53)), e - 53
    while not man & 1:
        man, exp = man >> 1, exp + 1
    return man, exp


class Rational:
    """A number of two integers, as libraries of exact arithmetic have it."""

    def __init__(self, man: int, exp: int) -> None:
        self.man, self.exp = man, exp

    def __mul__(self, other: Rational) -> Rational:
        return Rational(self.man * other.man, self.exp + other.exp)

    def __float__(self) -> float:
        return math.ldexp(self.man, self.exp)


WHOLE: dict[str, Callable[[Any], Any]] = {
    "frexp": lambda x: math.ldexp(*significand_and_exponent(x)),
    "frexp in an object": lambda x: float(Rational(*significand_and_exponent(x)) * Rational(1, 1)),
    "np.frexp": lambda x: int(np.frexp(x)[0] * 2.0**53) * 2.0**-52,
    "as_integer_ratio": lambda x: operator.truediv(*x.as_integer_ratio()),
    "float.as_integer_ratio": lambda x: operator.truediv(*float.as_integer_ratio(x)),
    "int": lambda x: int(x * BIG) / BIG,
    "negative int": lambda x: -int(-x * BIG) / BIG,
    "decimal int": lambda x: int(x * 10**18) / 10**18,
    "floor": lambda x: math.floor(x * BIG) / BIG,
    "ceil": lambda x: math.ceil(x * BIG) / BIG,
    "trunc": lambda x: math.trunc(x * BIG) / BIG,
    "round": lambda x: round(x * BIG) / BIG,
    "__int__": lambda x: (x * BIG).__int__() / BIG,
    "__floor__": lambda x: (x * BIG).__floor__() / BIG,
    "__trunc__": lambda x: (x * BIG).__trunc__() / BIG,
    "float.__int__": lambda x: float.__int__(x * BIG) / BIG,
    "astype": lambda x: (np.array([x]) * BIG).astype(np.int64)[0] / BIG,
    "astype unsigned": lambda x: (np.array([x]) * BIG).astype("u8")[0] / BIG,
    "np.int64": lambda x: np.int64(x * BIG) / BIG,
    "len of a range": lambda x: len(range(int(x * BIG))) / BIG,
    "bits": lambda x: sum([int(x * 2.0**k) % 2 * 2.0**-k for k in range(-2, 53)]),
    "hex": lambda x: float.fromhex(x.hex()),
    "float.hex": lambda x: float.fromhex(float.hex(x)),
    "digits of hex": lambda x: int(x.hex().split("p")[0][4:], 16) * 1.0,
    "struct.pack": lambda x: struct.unpack("d", struct.pack("d", x))[0],
    "Struct": lambda x: struct.Struct("<d").unpack(struct.Struct("<d").pack(x))[0],
    "pack_into": lambda x: _packed_into(x),
    "bits of struct": lambda x: int.from_bytes(struct.pack("d", x), "little") * 1e-18,
    "view of a number": lambda x: np.float64(x).view(np.int64) * 1e-18,
    "view of an array": lambda x: np.array([x]).view(np.int64)[0] * 1e-18,
    "view as bytes": lambda x: np.packbits(np.unpackbits(np.array([x]).view(np.uint8))).view(float)[0],
    "view as void": lambda x: np.array([x]).view("V8").view(float)[0],
    "tobytes": lambda x: np.frombuffer(np.array([x]).tobytes())[0],
    "tobytes of a number": lambda x: np.frombuffer((np.float64(1) * x).tobytes())[0],
    "bytes": lambda x: np.frombuffer(bytes(np.array([x])))[0],
    "buffer": lambda x: np.ndarray((1,), buffer=np.array([x]))[0],
    "data": lambda x: np.array([x]).data[0],
    "memoryview": lambda x: memoryview(np.array([x]))[0],
    "tolist": lambda x: np.array([x]).tolist()[0],
    "array.array": lambda x: array("d", [x])[0],
    "ctypes": lambda x: ctypes.c_double(x).value,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "marshal": lambda x: marshal.loads(marshal.dumps(x)),
    "json": lambda x: json.loads(json.dumps(x)),
    "np.save": lambda x: _saved(x),
    "base64": lambda x: struct.unpack("d", base64.b64decode(base64.b64encode(struct.pack("d", x))))[0],
    "__getnewargs__": lambda x: x.__getnewargs__()[0],
    "__reduce_ex__": lambda x: x.__reduce_ex__(2)[1][1],
    "Fraction": lambda x: float(fractions.Fraction(x)),
    "Fraction.from_float": lambda x: float(fractions.Fraction.from_float(x)),
    "Fraction of a text": lambda x: float(fractions.Fraction(str(x))),
    "Decimal": lambda x: float(decimal.Decimal(x)),
    "Decimal.from_float": lambda x: float(decimal.Decimal.from_float(x)),
    "Decimal of a text": lambda x: float(decimal.Decimal(str(x))),
    "repr": lambda x: float(repr(x)),
    "f-string": lambda x: float(f"{x:.17g}"),
    "percent": lambda x: float("%r" % x),  # noqa: UP031
    "format": lambda x: float(format(x, "e").partition("e")[0]),
    "Template": lambda x: float(string.Template("$a").substitute(a=x)),
    "eval": lambda x: eval(repr(x)),
    "literal_eval": lambda x: ast.literal_eval(repr(x)),
    "json of a text": lambda x: json.loads(str(x)),
    "complex of a text": lambda x: complex(str(x)).real,
    "np.float64 of a text": lambda x: np.float64(str(x)),
    "array of texts": lambda x: np.array([str(x)]).astype(float)[0],
    "array as text": lambda x: float(np.array2string(np.array([x]))[1:-1]),
    "regular expression": lambda x: float(re.match(r"[\d.]+", str(x)).group()),
    "digits": lambda x: int(str(x).replace(".", "")) * 0.1,
    "digits by ord": lambda x: sum([(ord(c) - 48) * 10.0**-k for k, c in enumerate(str(x)) if c != "."]),
    "digits by index": lambda x: sum(["0123456789".index(c) * 10.0**-k for k, c in enumerate(str(x)) if c != "."]),
    "digits by find": lambda x: sum(["0123456789".find(c) * 10.0**-k for k, c in enumerate(str(x)) if c != "."]),
}


def _packed_into(x: Any) -> Any:
    buffer = bytearray(8)
    struct.pack_into("d", buffer, 0, x)
    return struct.unpack_from("d", buffer)[0]


def _saved(x: Any) -> Any:
    file = io.BytesIO()
    np.save(file, np.array([x]))
    file.seek(0)
    return np.load(file)[0]


@pytest.mark.parametrize("kind", [float, np.float64])
@pytest.mark.parametrize("name", WHOLE)
def test_a_float_taken_apart_is_refused(name: str, kind: type) -> None:
    """Beside a term with a derivative, so that nothing but the refusal tells."""
    f = WHOLE[name]
    if kind is float:
        assert f(1.7) > 0  # it runs untraced
    for ask in (wg.grad(lambda x: f(x) + x), lambda x: wg.grad(lambda y: y * wg.grad(lambda x: f(x) + x)(x))(1.0)):
        try:
            found = ask(kind(1.7))
        except (wg.RefusedCallError, wg.NoRuleError):
            continue
        except AttributeError:
            assert not hasattr(kind(1.7), name) or name.startswith("__")
        else:
            h = 2.0**-20
            assert found == pytest.approx((f(kind(1.7 + h)) - f(kind(1.7 - h))) / (2 * h) + 1.0, rel=1e-6)


KEPT: dict[str, tuple[Callable[[Any], Any], float]] = {
    "a count": (lambda x: sum([x for _ in range(int(x))]), 2.0),
    "an index": (lambda x: x * [1.0, 2.0, 3.0][int(x)], 3.0),
    "a rounded index": (lambda x: x * np.arange(10.0)[round(x)], 3.0),
    "a floor": (lambda x: x - math.floor(x), 1.0),
    "a million": (lambda x: x * int(x * 1e6), 2_700_000.0),
    "a year in nanoseconds": (lambda x: x * (int(x * 1e15) > 0), 1.0),
    "exponent": (lambda x: x * math.frexp(x)[1], 2.0),
    "significand": (lambda x: math.ldexp(*math.frexp(x)), 1.0),
    "fraction and whole": (lambda x: sum(math.modf(x)), 1.0),
    "integers of an array": (lambda x: x * np.array([x, 2 * x]).astype(int).sum(), 7.0),
    "bins": (lambda x: x * (np.array([x, 2 * x]) * 1e9).astype(np.int64).max(), 5.4e9),
    "a hash": (lambda x: x * (hash(x) != 0), 1.0),
    "a text": (lambda x: x * len(str(x)), 3.0),
    "a place in a text": (lambda x: x * str(x).index("."), 1.0),
    "ord of another text": (lambda x: x * (len(str(x)) + ord("a")), 100.0),
    "a seed that is meant": (lambda x: x * (int(wg.stop_gradient(x) * BIG) > 0), 1.0),
    "a big constant": (lambda x: x * (int(3.5 * BIG) > 0), 1.0),
}


@pytest.mark.parametrize("name", KEPT)
def test_counts_and_indices_pass(name: str) -> None:
    f, expected = KEPT[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wg.grad(f)(2.7) == pytest.approx(expected)


def test_a_library_of_exact_numbers_is_refused_wherever_it_reads_a_float() -> None:
    """A module that reads a float by `frexp`, in functions far from the user's line."""
    library = types.ModuleType("exact")
    exec(
        "import math\n"
        "def convert(x):\n"
        "    m, e = math.frexp(x)\n"
        "    return int(m * (1 << 53)), e - 53\n"
        "class mpf:\n"
        "    def __init__(self, x): self.man, self.exp = convert(x)\n"
        "    def __mul__(self, other):\n"
        "        other = other if isinstance(other, mpf) else mpf(other)\n"
        "        made = mpf(0.0); made.man, made.exp = self.man * other.man, self.exp + other.exp\n"
        "        return made\n"
        "    __rmul__ = __mul__\n"
        "    def __float__(self): return math.ldexp(self.man, self.exp)\n",
        library.__dict__,
    )
    for f in (
        lambda x: float(library.mpf(x)),
        lambda x: float(library.mpf(2.0) * x),
        lambda x: float(x * library.mpf(2.0)),
    ):
        assert f(1.7) > 0
        with pytest.raises(wg.RefusedCallError, match=r"takes a traced float apart"):
            wg.grad(f)(1.7)
