"""The registry of foreign values: values that are neither Python numbers nor plain arrays of numbers.

`interop/` has a handler module for each kind, imported when such a value is first met. A hook (of a call, an operator,
a read, a store or an iteration) asks the handlers of its values in turn.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from wengert.recording.primitives import Primitive
from wengert.recording.recording import C_ONLY_TYPES, Recording, silent

NOT_FOREIGN: Any = object()
"""The result if no handler takes an operation: the operation is done as for other values."""


class ForeignHandler:
    """The handler of values of one kind. A method returns NOT_FOREIGN for an operation that it does not handle."""

    def call(self, recording: Recording, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a primitive."""
        return NOT_FOREIGN

    def operate(self, recording: Recording, fn: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
        """Apply the operator `fn`, a function of the module `operator`, to the operands."""
        return NOT_FOREIGN

    def update(self, recording: Recording, fn: Callable[..., Any], inplace: Any, left: Any, right: Any) -> Any:
        """Do `left op= right` by `inplace`, the in-place form of `fn`."""
        return NOT_FOREIGN

    def item(self, recording: Recording, container: Any, key: Any) -> Any:
        """Read `container[key]`."""
        return NOT_FOREIGN

    def store(self, recording: Recording, container: Any, key: Any, value: Any) -> bool:
        """Do `container[key] = value`; return False if it does not handle this."""
        return False

    def iterate(self, recording: Recording, obj: Any) -> Any:
        """Return an iterable of the items of `obj`."""
        return NOT_FOREIGN


class ForeignKind:
    """A kind of foreign values; its module in `interop/` is imported at the first use."""

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
    def handler(self) -> ForeignHandler:
        handler: ForeignHandler = self.module.HANDLER
        return handler


OVERRIDES, SUBCLASSES, RECORDS, OBJECTS, TEXT, FLAT = KINDS = tuple(
    map(ForeignKind, ("overrides", "array_classes", "records", "object_arrays", "text", "flat_iterators"))
)  # the order in which handlers are asked
FROMPYFUNC = ForeignKind("frompyfunc")  # its ufuncs return arrays of objects
RECORD_METHODS = ForeignKind("record_methods")

_OF_TYPE: dict[type, tuple[ForeignKind, ...]] = {
    str: (TEXT,), bytes: (TEXT,), np.flatiter: (OVERRIDES, FLAT), type: (), slice: (), type(...): (),
}  # fmt: skip
_OF_DTYPE = {"V": (RECORDS,), "O": (OBJECTS,), "U": (TEXT,), "S": (TEXT,)}
_STREAM: Any = io.IOBase.__base__  # that of C
_DTYPE_CONSTRUCTORS = (np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.ndarray.astype)


def kinds_of(a: Any) -> tuple[ForeignKind, ...]:
    """Return the kinds of foreign values to which `a` belongs."""
    t = type(a)
    if t is np.ndarray:
        return _OF_DTYPE.get(a.dtype.char, ())
    if t in _OF_TYPE or t in C_ONLY_TYPES:
        return _OF_TYPE.get(t, ())
    if issubclass(t, np.ndarray):
        return (OVERRIDES, SUBCLASSES, *_OF_DTYPE.get(a.dtype.char, ()))
    if issubclass(t, np.void):
        return (OVERRIDES, RECORDS)
    return (OVERRIDES, TEXT) if issubclass(t, _STREAM) else (OVERRIDES,)


def has_array(operands: Iterable[Any]) -> bool:
    """Whether NumPy, not Python, applies an operator to these operands: Python concatenates lists, for example."""
    return any([isinstance(a, (np.ndarray, np.generic)) for a in operands])


def nested_items(things: Iterable[Any]) -> Iterator[Any]:
    """Yield the things; for lists and tuples among them their items, nested ones too."""
    for thing in things:
        yield from nested_items(thing) if type(thing) is list or type(thing) is tuple else (thing,)


def _kinds_among(values: Iterable[Any], found: set[ForeignKind]) -> set[ForeignKind]:
    """Collect the kinds of the values, and of the items of lists and tuples among them."""
    for a in values:
        t = type(a)
        if t is list or t is tuple:
            _kinds_among(a, found)
        else:
            found.update(kinds_of(a))
    return found


def call_primitive(recording: Recording, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a primitive whose arguments, or whose result, may be foreign."""
    kinds = _kinds_among((*args, *kwargs.values()), set())
    if len(args) > 1 or "dtype" in kwargs:
        kinds |= _kinds_made(primitive.fn, kwargs["dtype"] if "dtype" in kwargs else args[1])
    return _ask_handlers(kinds, "call", recording, primitive, args, kwargs)


def _kinds_made(fn: Callable[..., Any], dtype: Any) -> set[ForeignKind]:
    """Return the kinds of an array that `fn` makes with a dtype."""
    if not any([fn is maker for maker in _DTYPE_CONSTRUCTORS]) or not isinstance(
        dtype, (type, str, list, tuple, dict, np.dtype)
    ):
        return set()
    try:
        return {*_OF_DTYPE.get(np.dtype(dtype).char, ())} - {TEXT}  # type: ignore[arg-type]
    except TypeError:  # NumPy raises it for the user
        return set()


def overridden(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a NumPy function if the class of an argument overrides it."""
    kinds = _kinds_among((*args, *kwargs.values()), set())
    return OVERRIDES.module.call_override(fn, args, kwargs) if OVERRIDES in kinds else NOT_FOREIGN


def operate(recording: Recording, fn: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """Apply an operator to operands that may be foreign."""
    return _ask_handlers(_kinds_of_operands(recording, operands), "operate", recording, fn, operands)


def update(recording: Recording, fn: Callable[..., Any], inplace: Any, left: Any, right: Any) -> Any:
    """Do `left op= right`, of which an operand may be foreign."""
    return _ask_handlers(_kinds_of_operands(recording, (left, right)), "update", recording, fn, inplace, left, right)


def _kinds_of_operands(recording: Recording, operands: tuple[Any, ...]) -> Any:
    """Return the kinds of operands. Beside an array, NumPy converts a list, whose items count too."""
    kinds = kinds_of(operands[0]) if len(operands) == 1 else kinds_of(operands[0]) + kinds_of(operands[1])
    if recording.memory.holds_objects and has_array(operands) and OBJECTS in _kinds_among(operands, set()):
        return (*kinds, OBJECTS)
    return kinds


def item(recording: Recording, container: Any, key: Any) -> Any:
    """Read `container[key]` of a container that may be foreign."""
    return _ask_handlers(kinds_of(container), "item", recording, container, key)


def iterate_over(recording: Recording, obj: Any) -> Any:
    """Return an iterable of the items of an object that may be foreign."""
    return _ask_handlers(kinds_of(obj), "iterate", recording, obj)


def store(recording: Recording, container: Any, key: Any, value: Any) -> bool:
    """Do `container[key] = value` if the container is foreign; else return False."""
    return any([kind.handler.store(recording, container, key, value) for kind in kinds_of(container)])


def _ask_handlers(kinds: Any, operation: str, *args: Any) -> Any:
    """Call the method `operation` of the handlers of these kinds, until one handles it."""
    for kind in KINDS if kinds else ():
        if kind in kinds:
            value = getattr(kind.handler, operation)(*args)
            if value is not NOT_FOREIGN:
                return value
    return NOT_FOREIGN
