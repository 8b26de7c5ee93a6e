"""The search for traced values reachable from the arguments of opaque code, and its refusal."""

from __future__ import annotations

import builtins
import collections
import functools
import gc
import operator
import os
import types
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks import rule_errors
from wengert.hooks.operators import BINARY, COMPARISONS
from wengert.mutation import fields
from wengert.recording import rule_reads
from wengert.recording.aliases import READERS, behind
from wengert.recording.decisions import decided, exact, guard, made_text
from wengert.recording.recording import C_ONLY_TYPES, STATE, Recording, users_line
from wengert.recording.session import run_outside_turn
from wengert.recording.shadow import SHADOW
from wengert.recording.slots import slot_of
from wengert.recording.subclasses import takes_over
from wengert.recording.trace_state import class_parts
from wengert.values.apart import held_apart, is_apart
from wengert.values.callables import fits
from wengert.values.names import home_of, is_heap_type, lookup
from wengert.values.sealed import Sealed
from wengert.values.specs import elements, is_inexact, same_numbers
from wengert.values.views import owner_of

CARRIER_TYPES = (
    list,
    dict,
    tuple,
    set,
    frozenset,
    collections.deque,
    collections.OrderedDict,
    collections.defaultdict,
)
FROZEN = (types.MappingProxyType, *[kind for name, kind in vars(builtins).items() if name == "frozendict"])
"""Immutable mappings; the second is new in Python 3.15."""
MAX_SEARCHED = 10_000
_LEAF_TYPES = (
    str,
    bytes,
    int,
    float,
    complex,
    bool,
    type(None),
    np.dtype,
    np.generic,
    types.ModuleType,
    type,
    types.CodeType,
    types.FrameType,
    types.TracebackType,
    np.ufunc,
    Sealed,
)


_COMMON_LEAF_TYPES = {str, bytes, int, float, bool, type(None), np.float64, types.ModuleType, types.CodeType, type}
"""Those of most leaves, told at once."""

_CLASS_VALUES = (float, complex, np.generic, np.ndarray, list, tuple, dict)


class TooLarge(Exception):
    """The exception of a search for traced values that met too many objects."""


def traced_in(recording: Recording, things: Any, functions: list[Any] | None = None) -> list[Any]:
    """Find all traced values reachable from these things, in containers, attributes, closures and bound objects.

    The Python functions on the way, and the classes of objects that can be called, are added to `functions`. Errors:
    TooLarge past 10,000 objects.
    """
    return [*_find_traced(recording, things, functions)]


def _find_traced(recording: Recording, things: Any, functions: list[Any] | None = None) -> Iterator[Any]:
    """Yield what `traced_in` returns, as the search meets it."""
    stack = list(things)
    seen: set[int] = set()
    while stack:
        thing = stack.pop()
        if type(thing) in _COMMON_LEAF_TYPES:
            if id(thing) in SHADOW or id(thing) in recording.texts:
                yield thing
            continue
        if recording.memory.holds_objects and fields.is_traced_record(recording, thing):
            yield thing
            continue
        if not _has_objects(thing) and (slot_of(recording, thing) is not None or id(thing) in recording.texts):
            yield thing
            continue
        if id(thing) in seen or (issubclass(type(thing), _LEAF_TYPES) and function_of(thing) is None):
            continue
        seen.add(id(thing))
        if len(seen) > MAX_SEARCHED:
            raise TooLarge
        if functions is not None and callable(thing):
            functions.extend(_code_run_by(thing))
        stack.extend(_referents(thing))


def find_traced(recording: Recording, things: Iterable[Any]) -> list[Any]:
    """Return what `traced_in` does. Errors: RefusedCallError if there are too many objects to search."""
    try:
        return traced_in(recording, things)
    except TooLarge:
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: C code reads an object that refers to more than {MAX_SEARCHED} others, too many to "
                "search for traced values. Pass it only the values that it needs."
            )
        ) from None


def function_of(ufunc: Any) -> Callable[..., Any] | None:
    """Return the Python function of a ufunc made by `np.frompyfunc`; None for anything else."""
    if type(ufunc) is not np.ufunc or not ufunc.__name__.endswith(" (vectorized)"):
        return None
    return next((f for f in gc.get_referents(ufunc) if callable(f)), None)


def _code_run_by(thing: Any) -> tuple[Any, ...]:
    """Return the Python function that a call of `thing` runs, or the class whose method it runs."""
    if type(thing) is types.FunctionType:
        return (thing,)
    return (type(thing),) if is_heap_type(type(thing)) and not _has_c_attributes(type(thing)) else ()


def _has_c_attributes(t: type) -> bool:
    """Whether a class has attributes of C code only, as Cython's functions have."""
    return all([type(a) in _C_ATTRIBUTES for base in t.__mro__ if is_heap_type(base) for a in vars(base).values()])


_C_ATTRIBUTES = {
    types.WrapperDescriptorType, types.MethodDescriptorType, types.MemberDescriptorType, types.GetSetDescriptorType,
    types.ClassMethodDescriptorType, str, type(None),
}  # fmt: skip


def _has_objects(thing: Any) -> bool:
    return issubclass(type(thing), np.ndarray) and _dtype_of(thing).hasobject


def _has_traced_objects(recording: Recording, thing: Any) -> bool:
    """Whether an element of an array of objects is traced."""
    return _has_objects(thing) and any(slot_of(recording, part) is not None for part in elements(thing))


_dtype_of = np.ndarray.dtype.__get__  # ignores overrides in the class


def _referents(thing: Any) -> list[Any]:
    """List the objects to which an object refers, also those in the hidden state of iterators and generators."""
    t = type(thing)  # `isinstance` would ask the object for its class
    if issubclass(t, np.ndarray):
        return [getattr(thing, "__dict__", None), *(elements(thing) if _dtype_of(thing).kind == "O" else ())]
    if issubclass(t, READERS):
        return [*behind(thing), *gc.get_referents(thing)]
    if t is types.FunctionType:
        return [
            *(thing.__closure__ or ()),
            *(thing.__defaults__ or ()),
            *(thing.__kwdefaults__ or {}).values(),
            *thing.__dict__.values(),
        ]
    if t is functools._lru_cache_wrapper:  # its cache, from before the trace, is not searched
        return [thing.__wrapped__, thing.__dict__]
    known = class_parts.get(id(t))
    if known is None:
        known = class_parts[id(t)] = t, lookup(t, "__globals__"), _closures(t)
    _, space, parts = known
    held = gc.get_referents(thing)
    if type(space) is types.GetSetDescriptorType:  # the globals of the module of a Cython function
        names = space.__get__(thing)
        held = [part for part in held if part is not names]
    return [*held, *parts, held_apart(thing) if is_apart(t) else None]


def _closures(t: type) -> list[Any]:
    """List the closure cells of a class's methods, and the values of its attributes."""
    bases = [vars(base) for base in t.__mro__ if is_heap_type(base)]
    functions = [f.__func__ if type(f) in _BINDING else f for space in bases for f in space.values()]
    methods = [f.fget if type(f) is property else f for f in functions]
    cells = [cell for f in methods if type(f) is types.FunctionType and f.__closure__ for cell in f.__closure__]
    named = [value for space in bases for name, value in space.items() if not name.startswith("__")]
    return cells + [value for value in named if isinstance(value, _CLASS_VALUES)]


_BINDING = (staticmethod, classmethod, types.MethodType)


def search(recording: Recording, things: Any) -> bool:
    """Whether a traced value is reachable from these things; True also if the search grows too large."""
    try:
        return bool(traced_in(recording, things))
    except TooLarge:
        return True


def can_read_traced(recording: Recording, things: Any) -> bool:
    """Whether code that gets these things can read a traced value: in them, or by what they call and name."""
    functions = [thing for thing in things if issubclass(type(thing), type) and is_heap_type(thing)]
    try:
        return bool(traced_in(recording, things, functions)) or _functions_read_traced(recording, functions, things)
    except TooLarge:
        return True


def _functions_read_traced(recording: Recording, functions: list[Any], things: Any) -> bool:
    """Whether these functions, or methods by which C gets numbers from these things, can read a traced value."""
    return (bool(functions) and rule_reads.reads_traced(recording, functions)) or answers_traced(recording, things)


def refuse_object_results(recording: Recording, result: Any) -> None:
    """Refuse a result with records or object arrays that hold traced values: tangents have no such form."""
    stack, seen = [result], set[int]()
    while stack:
        thing, t = stack[-1], type(stack.pop())
        if recording.memory.holds_objects and fields.is_traced_record(recording, thing):
            raise recording.refuse(
                RefusedCallError(
                    f"{users_line()}: the function returns records with traced values, which have no derivative. "
                    "Return their fields as arrays: a['x'].copy()."
                )
            )
        if issubclass(t, np.ndarray) and thing.dtype == object:
            slot_of(recording, thing)  # raises if an item is traced
        if t in (list, tuple, dict) and id(thing) not in seen:
            seen.add(id(thing))
            stack.extend(thing.values() if t is dict else thing)


def shows_traced_unseen(recording: Recording, things: Any) -> bool:
    """Whether C can get traced values from objects among these things, or in lists of them, by untraced methods."""
    objects = [*_objects_asked_by_c(things)]
    return bool(objects) and can_read_traced(recording, objects)


def answers_traced(recording: Recording, things: Any) -> bool:
    """Whether methods by which C gets numbers from objects can read a traced value, also by a global name."""
    kinds = {base for thing in _objects_asked_by_c(things) for base in type(thing).__mro__ if is_heap_type(base)}
    found = [vars(base).get(name) for base in kinds for name in _NUMBER_METHODS if name not in _INTEGER_METHODS]
    methods = [f for f in found if type(f) is types.FunctionType]
    return bool(methods) and rule_reads.reads_traced(recording, methods)


def _objects_asked_by_c(things: Any) -> Iterator[Any]:
    """Yield the objects from which C gets numbers by their methods, also in lists, tuples and object arrays."""
    for thing in things:
        t = type(thing)
        if t is list or t is tuple:
            yield from _objects_asked_by_c(thing)
        elif t not in C_ONLY_TYPES and issubclass(t, np.ndarray):
            if takes_over(thing):  # other methods are traced
                yield getattr(thing, "__dict__", None)
            if _has_objects(thing):
                yield from [a for a in elements(thing) if is_heap_type(type(a))]
        elif t not in C_ONLY_TYPES and not issubclass(t, np.generic) and not _is_number(t):
            yield thing


def _is_number(t: type) -> bool:
    """Whether C reads the number in objects of this subclass of float or complex without calling its methods."""
    written = [vars(base) for base in t.__mro__ if is_heap_type(base)]
    return issubclass(t, (float, complex)) and not any(
        [name in space for space in written for name in _OVERRIDING_METHODS]
    )


_OVERRIDING_METHODS = (
    "__float__", "__complex__", "__len__", "__getitem__", "__iter__", "__array__", "__array_interface__",
    "__array_struct__", "__array_ufunc__", "__array_function__", "__buffer__", "__getattr__", "__getattribute__",
)  # fmt: skip


def refuse_hidden(recording: Recording, what: str, things: Any) -> None:
    """Refuse to pass NumPy objects from which it would get traced numbers by untraced methods."""
    if shows_traced_unseen(recording, things):
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: {what} converts an object that holds traced values to numbers, "
                "untraced. Pass the numbers themselves: float(x), np.asarray(x)."
            )
        )


def opaque(
    recording: Recording,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    owner: Any = None,
    run: Callable[..., Any] | None = None,
    standin: Callable[..., Any] | None = None,
) -> Any:
    """Call `fn`, which cannot be traced: refuse if it can reach a traced value, else call it (or `run`) untraced.

    If there is a `standin`, which can be traced, it runs instead of the refusal. Values without a derivative (masks,
    indices) may pass; a tape guards them.
    """
    things = (*args, *kwargs.values()) if owner is None else (*args, *kwargs.values(), owner)
    if _asks_numbers(fn):
        things = tuple([a for a in things if not _has_no_number(a)])
    functions, guarded = list[Any](), list[tuple[np.ndarray, np.ndarray]]()
    why, find = "", traced_in if standin is None else _find_traced  # the first decides for a stand-in
    try:
        for value in find(recording, things, functions):
            slot = None if fields.is_record(value) else slot_of(recording, value)
            if slot is None or is_inexact(value):
                is_text = slot is None and isinstance(value, (str, bytes))
                why = rule_errors.STRING if is_text else "a traced value reaches it"
                break
            if _is_blank(recording, slot):  # it will be filled from guarded values
                SHADOW.pop(id(value), None)
            else:
                guard(recording, np.array, value, slot)
                guarded += [(value, np.array(value))] if recording.keep and type(value) is np.ndarray else []
    except TooLarge:
        why = f"its arguments refer to more than {MAX_SEARCHED} objects, too many to search"
    if not why and _functions_read_traced(recording, functions, things):
        why = "a function that it may call can read a traced value by its name"
    if why and standin is not None:
        return standin(*args, **kwargs)
    if why and _does_not_know(fn, args):
        return NotImplemented
    if why and not fits(fn, args, kwargs):
        fn(*args, **kwargs)  # raises its own error
    if why:
        rule_errors.refuse_or_survey(recording, fn, why, args)
    call = run or fn
    made = run_watching_writes(
        recording, partial(run_outside_turn, recording, call) if may_wait_for_threads(fn) else call, args, kwargs
    )
    for array, before in guarded:
        if not same_numbers(array, before):  # what it wrote follows from guarded values
            recording.memory.put(recording.memory.join(array), array, array.copy(), None)
    return made


_OPERATORS = {method for op in (*BINARY.values(), *COMPARISONS.values()) for method in (op.method, op.reflected)}


def _does_not_know(fn: Any, args: tuple[Any, ...]) -> bool:
    """Whether an operator's method written in C, as `int.__add__`, leaves these arguments to the other operand."""
    is_method = isinstance(fn, (types.WrapperDescriptorType, types.MethodWrapperType))
    return is_method and fn.__name__ in _OPERATORS and fn(*args) is NotImplemented


def _is_blank(recording: Recording, slot: int) -> bool:
    """Whether a value is a new array, in which there are no numbers of another one."""
    entry = recording.entries[slot]
    return entry is not None and getattr(entry[0], "fn", None) in (np.empty_like, np.zeros_like)


def guarded(f: Any, owner: Any = None) -> Callable[..., Any]:
    """Wrap `f`: a call that traced values can reach is refused."""

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        return f(*args, **kwargs) if recording is None else opaque(recording, f, args, kwargs, owner)

    return call


def may_wait_for_threads(fn: Any) -> bool:
    """Whether a call may wait for other threads, which may want to record."""
    owner = getattr(fn, "__self__", None)
    home = home_of(fn) if owner is None or isinstance(owner, types.ModuleType) else type(owner).__module__
    return home.partition(".")[0] in WAITING_MODULES


WAITING_MODULES = {
    "_thread", "threading", "_queue", "concurrent", "multiprocessing", "_multiprocessing", "asyncio", "_asyncio",
    "subprocess", "_posixsubprocess", "time", "select", "posix", "nt", "_socket", "socket",
}  # fmt: skip
"""Modules whose functions and objects wait for other threads."""


def _asks_numbers(fn: Any) -> bool:
    """Whether a function reads an object only by converting it to a number, array or string."""
    t = type(fn)
    return t is np.ufunc or (t in _NAMED_CALLABLES and (fn in ASKING_NUMBERS or fn.__module__ == "math"))


def _has_no_number(thing: Any) -> bool:
    """Whether an object of a class in Python has no conversion to a number: C raises, or looks at its type."""
    t = type(thing)
    if not is_heap_type(t) or type.__getattribute__(t, "__new__") is not object.__new__:
        return False
    return not any([name in vars(base) for base in t.__mro__ for name in _NUMBER_METHODS])


_NUMBER_METHODS = (
    "__float__", "__int__", "__index__", "__complex__", "__trunc__", "__floor__", "__ceil__", "__round__", "__abs__",
    "__bytes__", "__fspath__", "__buffer__", "__iter__", "__len__", "__getitem__", "__getattr__", "__array__",
    "__array_interface__", "__array_struct__", "__array_ufunc__", "__array_function__",
)  # fmt: skip
_INTEGER_METHODS = {"__index__", "__int__", "__len__", "__fspath__"}
"""Those that return integers and paths, which have no derivative."""
_NAMED_CALLABLES = {type, types.BuiltinFunctionType, type(np.shape)}
ASKING_TYPES = {np.isscalar, np.can_cast, np.issubdtype}
"""Functions that look only at the types of their arguments."""
ASKING_NUMBERS = {
    int, float, complex, abs, round, bytes, bytearray, memoryview, operator.index, os.fspath,
    np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj, np.shares_memory, np.may_share_memory,
}  # fmt: skip


def run_watching_writes(
    recording: Recording, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Run code that may write an array which a pullback reads, and add what it overwrites to the undo log.

    Refuse it if its own callbacks put traced values into an array of objects, where a tape does not see them.
    """
    memory = recording.memory
    things = (*args, *kwargs.values())
    inputs = [a for a in things if issubclass(type(a), np.ndarray)]
    inputs += [a for thing in things if issubclass(type(thing), READERS) for a in behind(thing)]
    arrays = [a for a in inputs if id(owner_of(a)) in memory.captured]
    before = [(a, np.array(a)) for a in arrays]
    untraced = [a for a in inputs if _has_objects(a) and not _has_traced_objects(recording, a)]
    try:
        value = fn(*args, **kwargs)
        if any(
            [_has_traced_objects(recording, a) for a in (*untraced, *(value if type(value) is tuple else (value,)))]
        ):
            raise recording.refuse(rule_errors.object_array_error(fn))
        return value
    finally:
        for array, saved in before:
            if not same_numbers(array, saved):
                memory.undo.append([len(recording.entries), array, ..., saved])


def note_made_text(
    recording: Recording, text: Any, sources: tuple[Any, ...], fn: Any = None, words: dict[str, Any] | None = None
) -> Any:
    """Note a string (or the strings in a list) made from a traced value, so that parsing it is refused.

    `fn` is the C function that made it from the `sources` and the keyword arguments `words`; a tape calls it again.
    """
    if not isinstance(text, (str, bytes, list, tuple)):
        return text
    try:
        found: list[Any] | None = traced_in(recording, (*sources, *(words or {}).values()))
    except TooLarge:
        found = None  # any value may be in it
    if found or found is None:
        if recording.keep and fn is not None:
            _note_origin(recording, text, fn, sources, words or {})
        parts = text if isinstance(text, (list, tuple)) else (text,)
        recording.texts.update([(id(part), part) for part in parts if isinstance(part, (str, bytes))])
        if type(text) is str and found and len(found) == 1 and isinstance(found[0], float):
            is_fixed = fn is format and sources[1][-1:] in ("f", "F")
            recording.caches.setdefault(note_made_text, {})[id(text)] = text, found[0], is_fixed
    return text


def number_in(recording: Recording, text: Any) -> Any:
    """Return the traced float that was formatted to this string, and whether to a fixed number of decimal places."""
    return recording.caches.get(note_made_text, {}).get(id(text), (text, None, False))[1:]


def _note_origin(recording: Recording, text: Any, fn: Any, sources: tuple[Any, ...], words: dict[str, Any]) -> None:
    """Record on a tape that `fn(*sources, **words)` made this string, and guard traced values within the sources."""
    things = (*sources, *words.values())
    if _holds_itself(things):  # a cyclic list cannot be recorded
        exact(recording, find_traced(recording, things))
        return
    direct = {id(a) for a in _flat_items(things)}
    exact(recording, [value for value in find_traced(recording, things) if id(value) not in direct])
    if isinstance(text, (str, bytes)):
        made_text(recording, text, fn, sources, words)
    else:
        decided(recording, fn, sources, text, words)


def _holds_itself(things: Any, around: tuple[int, ...] = ()) -> bool:
    """Whether a list, tuple or dictionary among these things, or in one of them, contains itself."""
    parts = [thing for thing in things if issubclass(type(thing), (list, tuple, dict))]
    items = [(id(part), part.values() if issubclass(type(part), dict) else part) for part in parts]
    return any([key in around or _holds_itself(held, (*around, key)) for key, held in items])


def _flat_items(things: Any) -> Iterator[Any]:
    """Yield the items of nested lists and tuples."""
    for thing in things:
        yield from _flat_items(thing) if isinstance(thing, (list, tuple)) else (thing,)
