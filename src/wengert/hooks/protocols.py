"""Operators where no short path applies: Python's own protocols, whose methods run their twins."""

from __future__ import annotations

import array
import collections
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks import foreign
from wengert.hooks.classes import bind, constant, defines, enter, lookup, python_method
from wengert.hooks.code_swap import is_foreign, prepare
from wengert.hooks.foreign import NOT_FOREIGN
from wengert.hooks.items import each, iterable, pairs
from wengert.hooks.lookups import HASHED, hashed, looked_up, told
from wengert.hooks.operators import COMPARE, Binary
from wengert.hooks.search import CARRIER_TYPES, FROZEN, opaque, search
from wengert.hooks.standins.probes import probe
from wengert.hooks.writes import record_write
from wengert.recording.caches import compared, found
from wengert.recording.decisions import decided, exact, variables
from wengert.recording.identity import NUMBERS, found_by_identity, is_one
from wengert.recording.primitives import primitive_of
from wengert.recording.record import as_array, record_call
from wengert.recording.recorders import record_one, record_two
from wengert.recording.recording import PLAIN, STATE, Modes, here
from wengert.recording.slots import holds_traced, slot_of
from wengert.values.names import is_heap_type
from wengert.values.sites import Site
from wengert.values.specs import NUMERIC, is_certain


def protocol(op: Binary, left: Any, right: Any) -> Any:
    """An operator of an object whose class is written in Python: Python asks its methods, which run their twins.

    NumPy asks those of what it makes an array of on other numbers. And what C answers of numbers has to be recorded.
    """
    prepare(type(right))  # the left operand's method may leave it to the right one's
    if _is_foreign(left, op.method) or _is_foreign(right, op.reflected):
        return _guarded(op.fn, left, right)
    if _takes_apart(left, op.method, right, op.reflected):
        return _apart(op, left, right)
    if _takes_apart(right, op.reflected, left, op.method):
        method = python_method(type(left), op.method)
        value = NotImplemented if method is None else bind(method, left)(right)
        return _apart(op, left, right) if value is NotImplemented else value
    if op.name not in COMPARE and _are_numbers(left, right):
        return _asked(op, left, right)
    return op.fn(left, right)


def _is_foreign(a: Any, name: str) -> bool:
    """Whether C code of a package that no rule is for answers the operator `name` of an object."""
    if type(a) in PLAIN:
        return False
    found = lookup(type(a), name)
    return type(found) is types.WrapperDescriptorType and is_foreign(found.__objclass__)


def _guarded(fn: Callable[..., Any], *operands: Any) -> Any:
    """Run an operator in C of a foreign object, refused where it holds traced values."""
    recording = STATE.recording
    return fn(*operands) if recording is None else opaque(recording, fn, operands, {})


def _takes_apart(a: Any, name: str, b: Any, answer: str) -> bool:
    """Whether NumPy, asked for this method of its own a, makes an array of b and gets an answer from its items.

    Not where b takes ufuncs over, or has the priority.
    """
    if not (isinstance(a, (np.ndarray, np.generic)) and hasattr(type(a), name) and _is_object(b)):
        return False
    if python_method(type(a), name) is not None:
        return False
    if hasattr(type(b), "__array_ufunc__") or not (python_method(type(b), answer) or _shows_numbers(b)):
        return False
    return not getattr(b, "__array_priority__", -1e6) > getattr(a, "__array_priority__", 0.0)


def _is_object(a: Any) -> bool:
    """Whether `a` is of a class written in Python, and neither a number nor a container of C's."""
    return is_heap_type(type(a)) and not isinstance(a, (*_NUMBERS, *_SEQUENCES, *HASHED))


def _apart(op: Binary, left: Any, right: Any) -> Any:
    """An operator of an array or number of NumPy's with an object whose methods NumPy asks number by number."""
    first = isinstance(left, (np.ndarray, np.generic))
    array, obj, answer = (left, right, op.reflected) if first else (right, left, op.method)
    compares, recording = op.name in COMPARE, STATE.recording
    if isinstance(array, (np.float64, np.complex128)) and not compares and not _shows_numbers(obj):
        number = enter(array.item)()  # an array of objects, of one number here, hands on Python's own
        return op.fn(number, right) if first else op.fn(left, number)
    if recording is None or not search(recording, (left, right)):
        return op.fn(left, right)
    if not compares and python_method(type(obj), answer) is None and not search(recording, (obj,)):
        return _recorded(op, left, right)  # it shows constants
    value = op.fn(left, right) if compares else NotImplemented
    if type(value) is bool or getattr(value, "dtype", None) == np.bool_:
        return value
    raise recording.refuse(
        RefusedCallError(
            f"{here()}: NumPy would take {type(obj).__name__} apart in {op.symbol} with an array. "
            "Set __array_ufunc__ = None in the class, so that its own methods are called."
        )
    )


_NUMBERS = (int, float, complex, np.ndarray, np.generic)


def _shows_numbers(a: Any) -> bool:
    """Whether NumPy makes an array of the numbers that `a` shows, and not one that holds the object."""
    return any([hasattr(type(a), name) for name in _SHOWING])


_SHOWING = ("__getitem__", "__array__", "__array_interface__", "__array_struct__", "__buffer__")


def _are_numbers(left: Any, right: Any) -> bool:
    return isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS)


def _asked(op: Binary, left: Any, right: Any) -> Any:
    """Ask the methods of the operands in Python's order; record the operation if a method in C answers."""
    tl, tr = type(left), type(right)
    tries = [(left, op.method, right), (right, op.reflected, left)]
    if tl is tr:
        del tries[1]
    elif tl in tr.__mro__ and lookup(tr, op.reflected) is not lookup(tl, op.reflected):
        tries.reverse()
    for a, name, b in tries:
        method, native = python_method(type(a), name), getattr(type(a), name, None)
        if method is None and native is not None and native(probe(a), probe(b)) is not NotImplemented:
            return _recorded(op, left, right)
        value = NotImplemented if method is None else bind(method, a)(b)
        if value is not NotImplemented:
            return value
    return op.fn(left, right)  # raises


def binary(op: Binary, left: Any, right: Any) -> Any:
    """`left op right`, recorded if an operand is traced."""
    tl, tr = type(left), type(right)
    if tl in NUMERIC and tr in NUMERIC and STATE.quick is not None:
        return _numeric(op, left, right)
    if python_method(tl, op.method) or python_method(tr, op.reflected) or _is_object(left) or _is_object(right):
        return protocol(op, left, right)
    return _recorded(op, left, right)


def _recorded(op: Binary, left: Any, right: Any) -> Any:
    """`left op right` of what C computes with: recorded where an operand is traced, with what it decides guarded."""
    tl, tr = type(left), type(right)
    recording = STATE.recording
    if recording is None:
        return op.fn(left, right)
    value = foreign.operate(recording, op.fn, (left, right))
    if value is not NOT_FOREIGN:
        return value
    if _is_foreign(left, op.method) or _is_foreign(right, op.reflected):
        return _guarded(op.fn, left, right)
    if recording.keep and _tell(op, left, right):
        return op.fn(left, right)
    if op.name == "mul" and (_repeats(left, right) or _repeats(right, left)):
        return op.fn(left, right)
    if slot_of(recording, left) is None and slot_of(recording, right) is None:
        numeric = issubclass(tl, (np.ndarray, np.generic)) or issubclass(tr, (np.ndarray, np.generic))
        if not (
            numeric
            and (
                (type(left) in (list, tuple) and holds_traced(left))
                or (type(right) in (list, tuple) and holds_traced(right))
            )
        ):
            return op.fn(left, right)
    primitive = primitive_of(op.fn)
    if primitive is None:
        return opaque(recording, op.fn, (left, right), {})
    return record_call(primitive, (left, right), {})


def _tell(op: Binary, left: Any, right: Any) -> bool:
    """Guard what C decides by the operands: which keys of two sets are equal, how often a sequence is repeated."""
    if issubclass(type(left), HASHED) and issubclass(type(right), HASHED):
        hashed([*left, *right])
        return True
    for items, times in ((left, right), (right, left)):
        if op.name == "mul" and issubclass(type(items), _REPEATED) and issubclass(type(times), (int, np.integer)):
            told(times)
            return True
    return False


_REPEATED = (list, tuple, str, bytes, bytearray, collections.deque)


def _repeats(items: Any, count: Any) -> bool:
    """Whether a product repeats a sequence: by a number, also one of NumPy's, but not by an array."""
    return isinstance(items, _SEQUENCES) and isinstance(count, np.generic)


def _numeric(op: Binary, left: Any, right: Any) -> Any:
    """`left op right` of arrays and numbers, where traced memory has been written."""
    recording = STATE.recording
    assert recording is not None
    value = foreign.operate(recording, op.fn, (left, right)) if recording.memory.holds_objects else NOT_FOREIGN
    if value is not NOT_FOREIGN:
        return value
    i, j = slot_of(recording, left), slot_of(recording, right)
    if i is None and j is None:
        return op.fn(left, right)
    return record_two(recording, constant(op.fn), left, right, i, j, STATE.site)


def inplace(op: Binary, fn: Callable[[Any, Any], Any], method: str, left: Any, right: Any) -> Any:
    """`left op= right`."""
    t = type(left)
    found = python_method(t, method)
    if found is not None:
        value = bind(found, left)(right)
        return protocol(op, left, right) if value is NotImplemented else value
    recording = STATE.recording
    if recording is None or (defines(t, method) and lookup(t, method) is None):
        return fn(left, right)
    value = foreign.update(recording, op.fn, fn, left, right)
    if value is not NOT_FOREIGN:
        return value
    if isinstance(left, np.ndarray):
        if _is_object(right):
            return (
                _apart(op._replace(fn=fn), left, right)
                if _takes_apart(left, method, right, op.reflected)
                else fn(left, right)
            )
        if type(right) in (list, tuple) and holds_traced(right):
            right = as_array(right)
        primitive = primitive_of(op.fn)
        if primitive is None:
            return opaque(recording, fn, (left, right), {})
        return record_write(primitive, lambda: fn(left, right), left, (left, right), {})
    if _is_foreign(left, method):
        return _guarded(fn, left, right)
    if lookup(t, method) is not None:
        return _fill(op, fn, left, right)
    return binary(op, left, right)


def _fill(op: Binary, fn: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """`left op= right` of a container in C."""
    if Modes.guarding:
        _tell(op, left, right)
    if _is_object(right):
        prepare(type(right))
        return fn(left, right)
    if isinstance(left, dict):
        return fn(left, pairs(right, STATE.site))
    first = type(left) in _SEQUENCES or op.name == "mul"  # the `+=` of subclasses comes first
    if first and (isinstance(right, np.ndarray) or (isinstance(right, np.generic) and op.name != "mul")):
        return binary(op, left, right)
    return fn(left, iterable(right, STATE.site) if op.name == "add" else right)


_SEQUENCES = (list, tuple, str, bytes, bytearray, collections.deque, array.array)


def compare(op: Binary, left: Any, right: Any) -> Any:
    """`left op right` for a comparison."""
    if python_method(type(left), op.method) or python_method(type(right), op.reflected):
        return protocol(op, left, right)
    recording = STATE.recording
    value = NOT_FOREIGN if recording is None else foreign.operate(recording, op.fn, (left, right))
    if value is not NOT_FOREIGN:
        return value
    if recording is None or not recording.keep:
        if op.name in ("eq", "ne"):
            compared(left, right)
        return op.fn(left, right)
    if slot_of(recording, left) is None and slot_of(recording, right) is None:
        if are_sequences(left, right, op.method):
            return _compare_items(op, left, right)
        if type(left) in (str, bytes) and recording.texts:
            outcome = op.fn(left, right)
            decided(recording, op.fn, (left, right), outcome)
            return outcome
        both = all(issubclass(type(it), _WHOLE) for it in (left, right))
        if both and search(recording, [[*it] if type(it) is _KEYS else it for it in (left, right)]):
            raise recording.refuse(
                RefusedCallError(
                    f"{here()}: containers of traced values are compared where a tape cannot see it, so that a "
                    "replay might go another way unnoticed. Compare their items."
                )
            )
        return op.fn(left, right)
    return record_call(constant(op.fn), (left, right), {})


_KEYS: Any = type({}.keys())
_WHOLE: tuple[type, ...] = (*CARRIER_TYPES, *FROZEN, _KEYS, type({}.items()))
"""Containers that C compares with each other."""


def are_sequences(a: Any, b: Any, method: str) -> bool:
    """Whether two tuples or two lists are compared as C does it, and by no method of the user's."""
    for kind in (tuple, list):
        if issubclass(type(a), kind) and issubclass(type(b), kind):
            own = getattr(kind, method)
            return lookup(type(a), method) is own and lookup(type(b), method) is own
    return False


def _compare_items(op: Binary, left: Any, right: Any) -> Any:
    """The order of two lists or tuples: that of the first items that differ, else of their lengths."""
    if op.name in ("eq", "ne") and len(left) != len(right):
        return op.name == "ne"
    for a, b in zip(left, right, strict=False):
        if not is_one(a, b) and not truth(compare(COMPARE["eq"], a, b), STATE.site):
            return op.name == "ne" if op.name in ("eq", "ne") else compare(op, a, b)
    return op.fn(len(left), len(right))


def unary(fn: Callable[[Any], Any], method: str, a: Any) -> Any:
    """`-a`, `+a`, `~a`."""
    found = python_method(type(a), method)
    if found is not None:
        return bind(found, a)()
    recording = STATE.recording
    value = NOT_FOREIGN if recording is None else foreign.operate(recording, fn, (a,))
    if value is not NOT_FOREIGN:
        return value
    slot = None if recording is None else slot_of(recording, a)
    if recording is None or slot is None:
        return _guarded(fn, a) if _is_foreign(a, method) else fn(a)
    if type(a) in NUMERIC and STATE.quick is not None:
        return record_one(recording, constant(fn), a, slot)
    return record_call(constant(fn), (a,), {})


def truth(a: Any, site: Site | None) -> bool:
    """The truth value of an object in a test; a guard where it depends on an input."""
    if a is True or a is False or a is None:
        return a is True
    t = type(a)
    if t in PLAIN and not Modes.guarding:
        return bool(a)
    STATE.site = site
    if python_method(t, "__bool__") is not None or (not defines(t, "__bool__") and python_method(t, "__len__")):
        return bool(a)
    recording = STATE.recording
    if recording is None or not recording.keep or slot_of(recording, a) is None:
        if type(a) is str and recording is not None and recording.keep:
            decided(recording, bool, (a,), bool(a))
        return bool(a)
    value = record_call(constant(bool), (a,), {})
    return bool(value)


def not_(a: Any, site: Site | None) -> bool:
    """`not a`."""
    return not truth(a, site)


_LISTED: tuple[Any, ...] = (list, tuple, collections.deque, type({}.values()))


def contains(right: Any, left: Any, site: Site | None) -> bool:
    """`left in right`."""
    if type(left) in NUMBERS and left != left:
        STATE.site = site
        left = found_by_identity(left, right)
    t = type(right)
    if t in PLAIN and not Modes.guarding:
        is_in = left in right
        if is_in and t is not str and not is_certain(left):
            STATE.site = site
            found(right, left)
        return is_in
    STATE.site = site
    method = python_method(t, "__contains__")
    if method is not None:
        return truth(bind(method, right)(left), site)
    recording = STATE.recording
    if recording is not None and recording.keep:
        if isinstance(right, np.ndarray) and (
            slot_of(recording, right) is not None or slot_of(recording, left) is not None
        ):
            return bool(record_call(constant(operator.contains), (right, left), {}))
        if issubclass(t, _LISTED):
            items = [*next(base for base in _LISTED if issubclass(t, base)).__iter__(right)]
            if type(left) not in PLAIN or variables(recording, (left, items)) is not None:
                return any(is_one(left, item) or truth(compare(COMPARE["eq"], item, left), site) for item in items)
        if not defines(t, "__contains__") and (python_method(t, "__iter__") or python_method(t, "__getitem__")):
            return any(is_one(left, item) or truth(compare(COMPARE["eq"], item, left), site) for item in each(right))
        if isinstance(right, (str, bytes)):
            outcome = left in right
            decided(recording, operator.contains, (right, left), outcome)
            return outcome
        if issubclass(t, HASHED):
            looked_up(recording, left, right)
        else:
            exact(recording, (left,))
    is_in = left in right
    if is_in:
        found(right, left)
    return is_in


def not_contains(right: Any, left: Any, site: Site | None) -> bool:
    """`left not in right`."""
    return not contains(right, left, site)
