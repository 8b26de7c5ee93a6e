"""The meanings of arguments and outer names of a function: inputs, sizes, relations and known objects."""

from __future__ import annotations

import numbers
import types
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from wengert.errors import TensorLanguageError
from wengert.tensor.language.relations import is_relation, relation
from wengert.tensor.language.terms import FALSE, TRUE, AffineExpr, Const, Var
from wengert.tensor.reading.meanings import (
    REAL_KIND,
    Group,
    Index,
    KnownObject,
    Meaning,
    RelationArgument,
    TensorKind,
    Truth,
    Value,
    ValueKind,
)
from wengert.tensor.reading.scopes import ProgramBuilder


def read_argument(name: str, x: Any, builder: ProgramBuilder) -> Meaning:
    """Return the meaning of an argument: an integer is a size, other numbers and arrays are inputs."""
    if isinstance(x, (bool, np.bool_)):
        return Truth(TRUE if x else FALSE)
    if isinstance(x, (int, np.integer)):
        variable = builder.fresh(name)
        builder.bounds.sizes[variable] = int(x)
        return Index(AffineExpr(0, ((variable, 1),)))
    if is_relation(x):
        return _add_relation(name, x, builder)
    if isinstance(x, tuple):
        return Group(tuple(read_argument(f"{name}_{k}", part, builder) for k, part in enumerate(x)))
    if isinstance(x, (numbers.Real, list)) or hasattr(x, "__array__"):
        return _add_input(name, x, builder)
    return KnownObject(x)


def read_outer_value(name: str, x: Any, builder: ProgramBuilder) -> Meaning:
    """Return the meaning of a global or closure variable: numbers are constants, arrays inputs without derivative."""
    if isinstance(x, (bool, np.bool_)):
        return Truth(TRUE if x else FALSE)
    if isinstance(x, (int, np.integer)):
        return Index(AffineExpr(int(x)))
    if isinstance(x, numbers.Real):
        return Value(Const(x if isinstance(x, Fraction) else float(x)), REAL_KIND)
    if isinstance(x, tuple):
        return Group(tuple(read_outer_value(f"{name}_{k}", part, builder) for k, part in enumerate(x)))
    return read_argument(name, x, builder)


def as_float_array(name: str, x: Any) -> np.ndarray:
    """Convert a number, a nested list or an array to an array of floats; errors name it by `name`."""
    array = _array_of_argument(name, x)
    if array.dtype == object and array.size and all(isinstance(v, numbers.Real) for v in array.flat):
        return array.astype(float)
    if array.dtype.kind not in "fiu":
        raise TensorLanguageError(
            f"{name} has dtype {array.dtype}, but the tensor language has only real numbers. Pass floats, or booleans "
            "as a relation"
        )
    return array if array.dtype in (np.float32, np.float64) else array.astype(float)


def _array_of_argument(name: str, x: Any) -> np.ndarray:
    try:
        return np.asarray(x)
    except ValueError as error:
        raise TensorLanguageError(
            f"{name} cannot be converted to an array: {error}. Its rows must all have one length"
        ) from None


def runtime_form(name: str, x: Any) -> Any:
    """Convert an input or relation to the form that programs take when they run."""
    return relation(x) if is_relation(x) else as_float_array(name, x)


def _add_input(name: str, x: Any, builder: ProgramBuilder) -> Value:
    array = as_float_array(name, x)
    variable = builder.fresh(name)
    kind: ValueKind = REAL_KIND
    for axis in reversed(range(array.ndim)):
        default = f"n_{variable}" if array.ndim == 1 else f"n{axis}_{variable}"
        kind = TensorKind(builder.dimension(array.shape[axis], default), kind)
    builder.inputs.append((variable, kind))
    builder.values[variable] = x
    return Value(Var(variable), kind)


def _add_relation(name: str, x: Any, builder: ProgramBuilder) -> RelationArgument:
    found = relation(x)
    variable = builder.fresh(name)
    shape = tuple(builder.dimension(size, f"n{axis}_{variable}") for axis, size in enumerate(found.shape))
    builder.relations.append((variable, shape))
    builder.values[variable] = x
    return RelationArgument(variable, shape, found.closed, numbers=found.numbers)


def _is_floats(x: Any) -> bool:
    """Whether an argument is an array of floats: the common case, which needs no further checks."""
    return type(x) is np.ndarray and (x.dtype == np.float64 or x.dtype == np.float32)


def signature_of_argument(x: Any) -> Any:
    """Return the part of an argument that its program depends on: the shape of an array, the value of an integer."""
    if _is_floats(x):
        return ("array", x.shape)
    if isinstance(x, (bool, np.bool_)):
        return bool(x)
    if isinstance(x, (int, np.integer)):
        return ("size", int(x))
    if is_relation(x):
        found = relation(x)
        return ("relation", found.shape, found.closed, found.numbers)
    if isinstance(x, tuple):
        return tuple(map(signature_of_argument, x))
    if isinstance(x, (numbers.Real, list)) or hasattr(x, "__array__"):
        array = _array_of_argument("an argument", x)
        return ("whole numbers" if array.dtype.kind in "iu" else "array", array.shape)
    if isinstance(x, types.FunctionType):
        further = tuple((name, IdentityKey(value)) for name, value in (x.__kwdefaults__ or {}).items())
        return ("known", x, x.__code__, IdentityKey(x.__defaults__), further)
    if type(x).__hash__ is None:
        raise TensorLanguageError(
            f"an argument is a {type(x).__name__}, whose contents may change between calls: pass the contents as "
            "arguments of their own"
        )
    return ("known", x)


class IdentityKey:
    """A key that keeps an object alive and compares it by identity."""

    def __init__(self, key: Any) -> None:
        self.key = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and self.key is other.key

    def __hash__(self) -> int:
        return id(self.key)


def argument_leaves(name: str, x: Any) -> Iterator[Any]:
    """Yield the arrays and relations in an argument, in the order in which `read_argument` names them."""
    if _is_floats(x):
        yield x
    elif isinstance(x, (int, np.integer, np.bool_)):
        return
    elif is_relation(x):
        yield relation(x)
    elif isinstance(x, tuple):
        for k, part in enumerate(x):
            yield from argument_leaves(f"{name}_{k}", part)
    elif isinstance(x, (numbers.Real, list)) or hasattr(x, "__array__"):
        yield as_float_array(name, x)
