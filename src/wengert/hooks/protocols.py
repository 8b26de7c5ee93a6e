"""Operators where no short path applies: Python's own protocols; the user's methods are traced."""

from __future__ import annotations

import array
import collections
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks import data_reads, foreign, table_operators
from wengert.hooks.classes import as_traced, bind_method, defines, python_method, require_primitive
from wengert.hooks.code_swap import is_third_party, prepare
from wengert.hooks.foreign import NOT_FOREIGN
from wengert.hooks.items import dict_argument, each_item, iterable
from wengert.hooks.lookups import HASH_CONTAINERS, guard_hashing, guard_lookup, guard_reachable
from wengert.hooks.operators import COMPARISONS, Binary
from wengert.hooks.search import CARRIER_TYPES, FROZEN, opaque, search
from wengert.hooks.standins.probes import probe
from wengert.hooks.writes import record_write
from wengert.mutation.storage import memory_of
from wengert.mutation.versions import NO_UPDATE
from wengert.recording.caches import compared, found
from wengert.recording.decisions import decided, exact, variables
from wengert.recording.identity import NUMBERS, found_by_identity, is_one
from wengert.recording.plain_calls import is_plain_argument
from wengert.recording.primitives import primitive_of
from wengert.recording.record import as_array, record_call
from wengert.recording.recorders import record_one, record_two
from wengert.recording.recording import C_ONLY_TYPES, STATE, OpenCounts, users_line
from wengert.recording.slots import holds_traced, slot_of
from wengert.values.data_classes import READS
from wengert.values.names import is_heap_type, lookup
from wengert.values.sites import Site
from wengert.values.specs import NUMERIC, is_certain


def apply_protocol(op: Binary, left: Any, right: Any) -> Any:
    """Apply an operator to an object whose class is written in Python: Python calls its methods, which are traced.

    `_apply_with_object` handles operators by which NumPy would call its methods on other numbers. If a method of
    numbers in C answers, the operation is recorded.
    """
    prepare(type(right))  # the left operand's method may leave it to the right one's
    if _is_third_party_method(left, op.method) or _is_third_party_method(right, op.reflected):
        return _run_opaque(op.fn, left, right)
    if _splits_object(left, op.method, right, op.reflected):
        return _apply_with_object(op, left, right)
    if _splits_object(right, op.reflected, left, op.method):
        method = python_method(type(left), op.method)
        value = NotImplemented if method is None else bind_method(method, left)(right)
        return _apply_with_object(op, left, right) if value is NotImplemented else value
    if op.name not in COMPARISONS and _are_numbers(left, right):
        return _ask_methods(op, left, right)
    return op.fn(left, right)


def _is_third_party_method(a: Any, name: str) -> bool:
    """Whether the method `name` of an object is C code of a third-party package."""
    if type(a) in C_ONLY_TYPES:
        return False
    found = lookup(type(a), name)
    return type(found) is types.WrapperDescriptorType and is_third_party(found.__objclass__)


def _run_opaque(fn: Callable[..., Any], *operands: Any) -> Any:
    """Apply an operator in C to third-party objects; refuse if they hold traced values."""
    recording = STATE.recording
    return fn(*operands) if recording is None else opaque(recording, fn, operands, {})


def _splits_object(a: Any, name: str, b: Any, answer: str) -> bool:
    """Whether NumPy's method `name` of `a` converts `b` to an array and calls the methods of its items.

    It does not if b overrides ufuncs or has the higher `__array_priority__`.
    """
    if not (isinstance(a, (np.ndarray, np.generic)) and hasattr(type(a), name) and _is_object(b)):
        return False
    if python_method(type(a), name) is not None:
        return False
    if hasattr(type(b), "__array_ufunc__") or not (python_method(type(b), answer) or _converts_to_numbers(b)):
        return False
    return not getattr(b, "__array_priority__", -1e6) > getattr(a, "__array_priority__", 0.0)


def _is_object(a: Any) -> bool:
    """Whether the class of `a` is written in Python, and derives from no number or container in C."""
    return is_heap_type(type(a)) and not isinstance(a, (*_NUMBER_TYPES, *_SEQUENCE_TYPES, *HASH_CONTAINERS))


def _apply_with_object(op: Binary, left: Any, right: Any) -> Any:
    """Apply an operator to a NumPy array or number and an object whose methods NumPy calls number by number."""
    first = isinstance(left, (np.ndarray, np.generic))
    array, obj, answer = (left, right, op.reflected) if first else (right, left, op.method)
    compares, recording = op.name in COMPARISONS, STATE.recording
    if isinstance(array, (np.float64, np.complex128)) and not compares and not _converts_to_numbers(obj):
        number = as_traced(array.item)()  # NumPy passes a Python number to the method
        return op.fn(number, right) if first else op.fn(left, number)
    if recording is None or not search(recording, (left, right)):
        return op.fn(left, right)
    if not compares and python_method(type(obj), answer) is None and not search(recording, (obj,)):
        return _apply_in_c(op, left, right)  # NumPy converts it to constants
    value = op.fn(left, right) if compares else NotImplemented
    if type(value) is bool or getattr(value, "dtype", None) == np.bool_:
        return value
    raise recording.refuse(
        RefusedCallError(
            f"{users_line()}: NumPy would apply {op.symbol} to the items of {type(obj).__name__} one by one, untraced. "
            "Set __array_ufunc__ = None in the class, so that Python calls its own methods."
        )
    )


_NUMBER_TYPES = (int, float, complex, np.ndarray, np.generic)


def _converts_to_numbers(a: Any) -> bool:
    """Whether NumPy converts `a` to an array of numbers, not to one that holds the object."""
    return any([hasattr(type(a), name) for name in _CONVERTING_METHODS])


_CONVERTING_METHODS = ("__getitem__", "__array__", "__array_interface__", "__array_struct__", "__buffer__")


def _are_numbers(left: Any, right: Any) -> bool:
    return isinstance(left, _NUMBER_TYPES) and isinstance(right, _NUMBER_TYPES)


def _ask_methods(op: Binary, left: Any, right: Any) -> Any:
    """Call the methods of the operands in Python's order; record the operation if a method in C answers."""
    tl, tr = type(left), type(right)
    tries = [(left, op.method, right), (right, op.reflected, left)]
    if tl is tr:
        del tries[1]
    elif tl in tr.__mro__ and lookup(tr, op.reflected) is not lookup(tl, op.reflected):
        tries.reverse()
    for a, name, b in tries:
        method, native = python_method(type(a), name), getattr(type(a), name, None)
        if method is None and native is not None and native(probe(a), probe(b)) is not NotImplemented:
            return _apply_in_c(op, left, right)
        value = NotImplemented if method is None else bind_method(method, a)(b)
        if value is not NotImplemented:
            return value
    return op.fn(left, right)  # raises


def binary(op: Binary, left: Any, right: Any) -> Any:
    """`left op right`, recorded if an operand is traced."""
    tl, tr = type(left), type(right)
    if tl in NUMERIC and tr in NUMERIC and STATE.fast is not None:
        return _record_numeric(op, left, right)
    if tl in READS or tr in READS:
        if data_reads.are_data(STATE.recording, (left, right)):
            return data_reads.run_untraced(op.fn, left, right)
        value = table_operators.operate_on_tables(op, left, right)
        if value is not data_reads.NOT_READ:
            return value
    if python_method(tl, op.method) or python_method(tr, op.reflected) or _is_object(left) or _is_object(right):
        return apply_protocol(op, left, right)
    return _apply_in_c(op, left, right)


def _apply_in_c(op: Binary, left: Any, right: Any) -> Any:
    """Compute `left op right` by C: record it if an operand is traced, and guard what C decides by the operands."""
    tl, tr = type(left), type(right)
    recording = STATE.recording
    if recording is None:
        return op.fn(left, right)
    value = foreign.operate(recording, op.fn, (left, right))
    if value is not NOT_FOREIGN:
        return value
    if _is_third_party_method(left, op.method) or _is_third_party_method(right, op.reflected):
        return _run_opaque(op.fn, left, right)
    if recording.keep and _guard_operands(op, left, right):
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


def _guard_operands(op: Binary, left: Any, right: Any) -> bool:
    """Guard which keys of two sets are equal, or how often a sequence is repeated; False for other operands."""
    if issubclass(type(left), HASH_CONTAINERS) and issubclass(type(right), HASH_CONTAINERS):
        guard_hashing([*left, *right])
        return True
    for items, times in ((left, right), (right, left)):
        if op.name == "mul" and issubclass(type(items), _REPEATABLE) and issubclass(type(times), (int, np.integer)):
            guard_reachable(times)
            return True
    return False


_REPEATABLE = (list, tuple, str, bytes, bytearray, collections.deque)


def _repeats(items: Any, count: Any) -> bool:
    """Whether a product repeats a sequence by a NumPy number."""
    return isinstance(items, _SEQUENCE_TYPES) and isinstance(count, np.generic)


def _record_numeric(op: Binary, left: Any, right: Any) -> Any:
    """Compute `left op right` of arrays and numbers, off the generated path, and record it if one is traced."""
    recording = STATE.recording
    assert recording is not None
    value = foreign.operate(recording, op.fn, (left, right)) if recording.memory.holds_objects else NOT_FOREIGN
    if value is not NOT_FOREIGN:
        return value
    i, j = slot_of(recording, left), slot_of(recording, right)
    if i is None and j is None:
        return op.fn(left, right)
    return record_two(recording, require_primitive(op.fn), left, right, i, j, STATE.site)


def inplace(op: Binary, fn: Callable[[Any, Any], Any], method: str, left: Any, right: Any) -> Any:
    """`left op= right`."""
    t, recording = type(left), STATE.recording
    if recording is not None:
        memory_of(recording).update = NO_UPDATE  # methods of `right` may keep `left`
    found = python_method(t, method)
    if found is not None:
        value = bind_method(found, left)(right)
        return apply_protocol(op, left, right) if value is NotImplemented else value
    if recording is None or (defines(t, method) and lookup(t, method) is None):
        return fn(left, right)
    value = foreign.update(recording, op.fn, fn, left, right)
    if value is not NOT_FOREIGN:
        return value
    if isinstance(left, np.ndarray):
        if _is_object(right):
            return (
                _apply_with_object(op._replace(fn=fn), left, right)
                if _splits_object(left, method, right, op.reflected)
                else fn(left, right)
            )
        if type(right) in (list, tuple) and holds_traced(right):
            right = as_array(right)
        primitive = primitive_of(op.fn)
        if primitive is None:
            return opaque(recording, fn, (left, right), {})
        return record_write(primitive, lambda: fn(left, right), left, (left, right), {})
    if _is_third_party_method(left, method):
        return _run_opaque(fn, left, right)
    if lookup(t, method) is not None:
        return _update_container(op, fn, left, right)
    return binary(op, left, right)


def _update_container(op: Binary, fn: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Do `left op= right` for a container in C."""
    if OpenCounts.tapes:
        _guard_operands(op, left, right)
    if _is_object(right):
        prepare(type(right))
        return fn(left, right)
    if isinstance(left, dict):
        return fn(left, dict_argument(right, STATE.site))
    first = type(left) in _SEQUENCE_TYPES or op.name == "mul"  # a subclass uses `+=` of the sequence, not of NumPy
    if first and (isinstance(right, np.ndarray) or (isinstance(right, np.generic) and op.name != "mul")):
        return binary(op, left, right)
    return fn(left, iterable(right, STATE.site) if op.name == "add" else right)


_SEQUENCE_TYPES = (list, tuple, str, bytes, bytearray, collections.deque, array.array)


def compare(op: Binary, left: Any, right: Any) -> Any:
    """`left op right` for a comparison."""
    recording = STATE.recording
    if recording is not None and not recording.keep and is_plain_argument(left) and is_plain_argument(right):
        if op.name in ("eq", "ne"):
            compared(left, right)
        return op.fn(left, right)
    if (type(left) in READS or type(right) in READS) and data_reads.are_data(recording, (left, right)):
        return data_reads.run_untraced(op.fn, left, right)
    if python_method(type(left), op.method) or python_method(type(right), op.reflected):
        return apply_protocol(op, left, right)
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
        both = all(issubclass(type(it), _COMPARED_IN_C) for it in (left, right))
        if both and search(recording, [[*it] if type(it) is _DICT_KEYS else it for it in (left, right)]):
            raise recording.refuse(
                RefusedCallError(
                    f"{users_line()}: C code compares containers of traced values here, which a tape cannot guard. "
                    "Compare their items one by one."
                )
            )
        return op.fn(left, right)
    return record_call(require_primitive(op.fn), (left, right), {})


_DICT_KEYS: Any = type({}.keys())
_COMPARED_IN_C: tuple[type, ...] = (*CARRIER_TYPES, *FROZEN, _DICT_KEYS, type({}.items()))
"""Containers whose items C compares."""


def are_sequences(a: Any, b: Any, method: str) -> bool:
    """Whether two tuples or two lists are compared by C, not by a method of the user's."""
    for kind in (tuple, list):
        if issubclass(type(a), kind) and issubclass(type(b), kind):
            native = getattr(kind, method)
            return lookup(type(a), method) is native and lookup(type(b), method) is native
    return False


def _compare_items(op: Binary, left: Any, right: Any) -> Any:
    """Compare two lists or tuples by their first items that differ, else by their lengths."""
    if op.name in ("eq", "ne") and len(left) != len(right):
        return op.name == "ne"
    for a, b in zip(left, right, strict=False):
        if not is_one(a, b) and not truth(compare(COMPARISONS["eq"], a, b), STATE.site):
            return op.name == "ne" if op.name in ("eq", "ne") else compare(op, a, b)
    return op.fn(len(left), len(right))


def unary(fn: Callable[[Any], Any], method: str, a: Any) -> Any:
    """`-a`, `+a`, `~a`."""
    if type(a) in READS and data_reads.are_data(STATE.recording, (a,)):
        return data_reads.run_untraced(fn, a)
    found = python_method(type(a), method)
    if found is not None:
        return bind_method(found, a)()
    recording = STATE.recording
    value = NOT_FOREIGN if recording is None else foreign.operate(recording, fn, (a,))
    if value is not NOT_FOREIGN:
        return value
    slot = None if recording is None else slot_of(recording, a)
    if recording is None or slot is None:
        return _run_opaque(fn, a) if _is_third_party_method(a, method) else fn(a)
    if type(a) in NUMERIC and STATE.fast is not None:
        return record_one(recording, require_primitive(fn), a, slot)
    return record_call(require_primitive(fn), (a,), {})


def truth(a: Any, site: Site | None) -> bool:
    """Return the truth value of an object in a test; guard it if it depends on an input."""
    if a is True or a is False or a is None:
        return a is True
    t = type(a)
    if t in C_ONLY_TYPES and not OpenCounts.tapes:
        return bool(a)
    STATE.site = site
    if python_method(t, "__bool__") is not None or (not defines(t, "__bool__") and python_method(t, "__len__")):
        return bool(a)
    recording = STATE.recording
    if recording is None or not recording.keep or slot_of(recording, a) is None:
        if type(a) is str and recording is not None and recording.keep:
            decided(recording, bool, (a,), bool(a))
        return bool(a)
    value = record_call(require_primitive(bool), (a,), {})
    return bool(value)


def not_(a: Any, site: Site | None) -> bool:
    """`not a`."""
    return not truth(a, site)


_SEARCHED_IN_ORDER: tuple[Any, ...] = (list, tuple, collections.deque, type({}.values()))


def contains(right: Any, left: Any, site: Site | None) -> bool:
    """`left in right`."""
    if type(left) in NUMBERS and left != left:
        STATE.site = site
        left = found_by_identity(left, right)
    t = type(right)
    if t in C_ONLY_TYPES and not OpenCounts.tapes:
        is_in = left in right
        if is_in and t is not str and not is_certain(left):
            STATE.site = site
            found(right, left)
        return is_in
    STATE.site = site
    method = python_method(t, "__contains__")
    if method is not None:
        return truth(bind_method(method, right)(left), site)
    return holds(right, left, site)


def holds(right: Any, left: Any, site: Site | None) -> bool:
    """`left in right` as the class written in C answers it."""
    recording, t = STATE.recording, type(right)
    if recording is not None and recording.keep:
        if isinstance(right, np.ndarray) and (
            slot_of(recording, right) is not None or slot_of(recording, left) is not None
        ):
            return bool(record_call(require_primitive(operator.contains), (right, left), {}))
        if issubclass(t, _SEARCHED_IN_ORDER):
            items = [*next(base for base in _SEARCHED_IN_ORDER if issubclass(t, base)).__iter__(right)]
            if type(left) not in C_ONLY_TYPES or variables(recording, (left, items)) is not None:
                return any(is_one(left, item) or truth(compare(COMPARISONS["eq"], item, left), site) for item in items)
        if not defines(t, "__contains__") and (python_method(t, "__iter__") or python_method(t, "__getitem__")):
            return any(
                is_one(left, item) or truth(compare(COMPARISONS["eq"], item, left), site) for item in each_item(right)
            )
        if isinstance(right, (str, bytes)):
            outcome = left in right
            decided(recording, operator.contains, (right, left), outcome)
            return outcome
        if issubclass(t, HASH_CONTAINERS):
            guard_lookup(recording, left, right)
        else:
            exact(recording, (left,))
    bases = [base for base in CARRIER_TYPES if issubclass(t, base)] if python_method(t, "__contains__") else ()
    is_in = bases[0].__contains__(right, left) if bases else left in right
    if is_in:
        found(right, left)
    return is_in


def not_contains(right: Any, left: Any, site: Site | None) -> bool:
    """`left not in right`."""
    return not contains(right, left, site)
