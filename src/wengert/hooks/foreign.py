"""The registry of foreign values: of what is neither a Python number nor a plain array of numbers.

`interop/` handles them, a module for each kind, which is imported when such a value is first met. Each door of the
hooks (a call, an operator, a read, a store, an iteration) asks once which handlers take its values.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import numpy as np

from wengert.recording.primitives import Primitive
from wengert.recording.recording import PLAIN, Recording, silent

NOT_FOREIGN: Any = object()
"""The result where no handler takes an operation: it is done as with any other values."""


class Handler:
    """Handles the values of one kind. A method returns NOT_FOREIGN where the operation is none of its own."""

    def call(
        self, recording: Recording, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call a primitive."""
        return NOT_FOREIGN

    def operate(self, recording: Recording, fn: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
        """Compute the operator `fn`, a function of the module `operator`, of the operands."""
        return NOT_FOREIGN

    def update(self, recording: Recording, fn: Callable[..., Any], inplace: Any, left: Any, right: Any) -> Any:
        """Do `left op= right` by `inplace`, the operator in place of `fn`."""
        return NOT_FOREIGN

    def item(self, recording: Recording, container: Any, key: Any) -> Any:
        """Read `container[key]`."""
        return NOT_FOREIGN

    def store(self, recording: Recording, container: Any, key: Any, value: Any) -> bool:
        """Do `container[key] = value`; return False where it is none of its own."""
        return False

    def iterate(self, recording: Recording, obj: Any) -> Any:
        """Return an iterable of the items of `obj`."""
        return NOT_FOREIGN


class ForeignKind:
    """A kind of foreign values: the module of `interop/` that is for it is imported when it is first asked for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._module: Any = None

    @property
    def module(self) -> Any:
        if self._module is None:
            with silent():  # the trace that meets the value may run the import system's code instrumented
                self._module = import_module(f"wengert.interop.{self.name}")
        return self._module

    @property
    def handler(self) -> Handler:
        handler: Handler = self.module.HANDLER
        return handler


OVERRIDES, SUBCLASSES, RECORDS, OBJECTS, TEXT, FLAT = KINDS = tuple(
    map(ForeignKind, ("overrides", "array_classes", "records", "object_arrays", "text", "flat_iterators"))
)  # in the order in which they are asked
FROMPYFUNC = ForeignKind("frompyfunc")  # whose ufuncs give arrays of objects
RECORD_METHODS = ForeignKind("record_methods")

_OF_TYPE: dict[type, tuple[ForeignKind, ...]] = {
    str: (TEXT,), bytes: (TEXT,), np.flatiter: (OVERRIDES, FLAT), type: (), slice: (), type(...): (),
}  # fmt: skip
_OF_DTYPE = {"V": (RECORDS,), "O": (OBJECTS,), "U": (TEXT,), "S": (TEXT,)}
_MAKERS = (np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.ndarray.astype)


def kinds_of(a: Any) -> tuple[ForeignKind, ...]:
    """The kinds of foreign values to which `a` belongs."""
    t = type(a)
    if t is np.ndarray:
        return _OF_DTYPE.get(a.dtype.char, ())
    if t in _OF_TYPE or t in PLAIN:
        return _OF_TYPE.get(t, ())
    if issubclass(t, np.ndarray):
        return (OVERRIDES, SUBCLASSES, *_OF_DTYPE.get(a.dtype.char, ()))
    if issubclass(t, np.void):
        return (OVERRIDES, RECORDS)
    return (OVERRIDES, TEXT) if issubclass(t, io.StringIO) else (OVERRIDES,)


def _among(values: Iterable[Any], found: set[ForeignKind]) -> set[ForeignKind]:
    """Collect the kinds of the values, and of the items of lists and tuples among them."""
    for a in values:
        t = type(a)
        if t is list or t is tuple:
            _among(a, found)
        else:
            found.update(kinds_of(a))
    return found


def call(recording: Recording, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a primitive whose arguments, or whose result, may be foreign."""
    kinds = _among((*args, *kwargs.values()), set())
    if len(args) > 1 or "dtype" in kwargs:
        kinds |= _made(primitive.fn, kwargs["dtype"] if "dtype" in kwargs else args[1])
    for kind in KINDS if kinds else ():
        if kind in kinds:
            value = kind.handler.call(recording, primitive, args, kwargs)
            if value is not NOT_FOREIGN:
                return value
    return NOT_FOREIGN


def _made(fn: Callable[..., Any], dtype: Any) -> set[ForeignKind]:
    """The kinds of an array that `fn` makes with a dtype."""
    if not any([fn is maker for maker in _MAKERS]) or not isinstance(dtype, (type, str, list, tuple, dict, np.dtype)):
        return set()
    try:
        return {*_OF_DTYPE.get(np.dtype(dtype).char, ())} - {TEXT}  # type: ignore[arg-type]
    except TypeError:  # which NumPy raises for the user
        return set()


def overridden(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of NumPy's that the class of an argument overrides."""
    kinds = _among((*args, *kwargs.values()), set())
    return OVERRIDES.module.taken_over(fn, args, kwargs) if OVERRIDES in kinds else NOT_FOREIGN


def operate(recording: Recording, fn: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """Compute an operator of operands that may be foreign."""
    return _asked(_of_operands(recording, operands), "operate", recording, fn, operands)


def update(recording: Recording, fn: Callable[..., Any], inplace: Any, left: Any, right: Any) -> Any:
    """Do `left op= right` where an operand may be foreign."""
    return _asked(_of_operands(recording, (left, right)), "update", recording, fn, inplace, left, right)


def _of_operands(recording: Recording, operands: tuple[Any, ...]) -> set[ForeignKind]:
    """The kinds of operands, and of their items where arrays may hold traced objects."""
    if recording.memory.holds_objects:
        return _among(operands, set())
    return set().union(*map(kinds_of, operands))


def item(recording: Recording, container: Any, key: Any) -> Any:
    """Read `container[key]` of a container that may be foreign."""
    return _asked(kinds_of(container), "item", recording, container, key)


def iterate(recording: Recording, obj: Any) -> Any:
    """Return an iterable of the items of an object that may be foreign."""
    return _asked(kinds_of(obj), "iterate", recording, obj)


def store(recording: Recording, container: Any, key: Any, value: Any) -> bool:
    """Do `container[key] = value` where the container is foreign; return False where it is not."""
    return any([kind.handler.store(recording, container, key, value) for kind in kinds_of(container)])


def _asked(kinds: Any, door: str, *given: Any) -> Any:
    for kind in KINDS if kinds else ():
        if kind in kinds:
            value = getattr(kind.handler, door)(*given)
            if value is not NOT_FOREIGN:
                return value
    return NOT_FOREIGN
