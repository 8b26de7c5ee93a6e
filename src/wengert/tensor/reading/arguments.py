"""Arguments and outer names of a function: inputs, sizes, relations, and known things."""

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
    Kind,
    Known,
    Meaning,
    RelationArgument,
    TensorKind,
    Truth,
    Value,
)
from wengert.tensor.reading.scopes import Building


def argument(name: str, x: Any, building: Building) -> Meaning:
    """The meaning of an argument: a whole number is a size, other numbers and arrays are inputs."""
    if isinstance(x, (bool, np.bool_)):
        return Truth(TRUE if x else FALSE)
    if isinstance(x, (int, np.integer)):
        variable = building.fresh(name)
        building.bounds.sizes[variable] = int(x)
        return Index(AffineExpr(0, ((variable, 1),)))
    if is_relation(x):
        return _relation(name, x, building)
    if isinstance(x, tuple):
        return Group(tuple(argument(f"{name}_{k}", part, building) for k, part in enumerate(x)))
    if isinstance(x, (numbers.Real, list)) or hasattr(x, "__array__"):
        return _input(name, x, building)
    return Known(x)


def outside(name: str, x: Any, building: Building) -> Meaning:
    """The meaning of a global or closure variable: numbers are constants, arrays are inputs without derivative."""
    if isinstance(x, (bool, np.bool_)):
        return Truth(TRUE if x else FALSE)
    if isinstance(x, (int, np.integer)):
        return Index(AffineExpr(int(x)))
    if isinstance(x, numbers.Real):
        return Value(Const(x if isinstance(x, Fraction) else float(x)), REAL_KIND)
    if isinstance(x, tuple):
        return Group(tuple(outside(f"{name}_{k}", part, building) for k, part in enumerate(x)))
    return argument(name, x, building)


def numeric(name: str, x: Any) -> np.ndarray:
    """A number, a nested list or an array, as an array of floats; `name` names it in errors."""
    array = _array(name, x)
    if array.dtype == object and array.size and all(isinstance(v, numbers.Real) for v in array.flat):
        return array.astype(float)
    if array.dtype.kind not in "fiu":
        raise TensorLanguageError(
            f"{name} holds {array.dtype}: the tensor language has real numbers. Pass floats, or bools as a relation"
        )
    return array if array.dtype in (np.float32, np.float64) else array.astype(float)


def _array(name: str, x: Any) -> np.ndarray:
    try:
        return np.asarray(x)
    except ValueError as error:
        raise TensorLanguageError(f"{name} is no array: {error}. Its rows must all have one length") from None


def runtime_form(name: str, x: Any) -> Any:
    """An input or relation in the form that programs take when they run."""
    return relation(x) if is_relation(x) else numeric(name, x)


def _input(name: str, x: Any, building: Building) -> Value:
    array = numeric(name, x)
    variable = building.fresh(name)
    kind: Kind = REAL_KIND
    for axis in reversed(range(array.ndim)):
        default = f"n_{variable}" if array.ndim == 1 else f"n{axis}_{variable}"
        kind = TensorKind(building.dimension(array.shape[axis], default), kind)
    building.inputs.append((variable, kind))
    building.values[variable] = x
    return Value(Var(variable), kind)


def _relation(name: str, x: Any, building: Building) -> RelationArgument:
    found = relation(x)
    variable = building.fresh(name)
    shape = tuple(building.dimension(size, f"n{axis}_{variable}") for axis, size in enumerate(found.shape))
    building.relations.append((variable, shape))
    building.values[variable] = x
    return RelationArgument(variable, shape, found.closed, numbers=found.numbers)


def _is_floats(x: Any) -> bool:
    """Whether an argument is an array of doubles, the common case, which needs no more looks."""
    return type(x) is np.ndarray and (x.dtype == np.float64 or x.dtype == np.float32)


def signature_of_argument(x: Any) -> Any:
    """Return what a program depends on of an argument: the shape of an array, the value of an integer."""
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
        array = _array("an argument", x)
        return ("whole numbers" if array.dtype.kind in "iu" else "array", array.shape)
    if isinstance(x, types.FunctionType):
        further = tuple((name, Itself(value)) for name, value in (x.__kwdefaults__ or {}).items())
        return ("known", x, x.__code__, Itself(x.__defaults__), further)
    if type(x).__hash__ is None:
        raise TensorLanguageError(
            f"an argument is a {type(x).__name__}, which may hold something else at the next call: pass what is in it"
        )
    return ("known", x)


class Itself:
    """A key that holds an object and compares it by identity."""

    def __init__(self, it: Any) -> None:
        self.it = it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and self.it is other.it

    def __hash__(self) -> int:
        return id(self.it)


def argument_leaves(name: str, x: Any) -> Iterator[Any]:
    """The arrays and relations in an argument, in the order in which `argument` names them."""
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
        yield numeric(name, x)
