"""The code swap: until all traces end, functions called by the user's code, or by C for it, run their twins' code."""

from __future__ import annotations

import collections
import functools
import gc
import itertools
import sys
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert.errors import BytecodeError
from wengert.hooks import data_reads
from wengert.hooks.lazy_instrumentation import SUSPENDED, is_lazy, lazy_code, may_be_lazy
from wengert.hooks.modules import MODULE_DECISIONS
from wengert.recording.aliases import PASSING
from wengert.recording.primitives import primitive_of
from wengert.recording.recording import STATE, Recording, leave_array_fast_path, silent
from wengert.recording.trace_state import exchange, note_born, prepared, replace
from wengert.rewrite import rewriter_of
from wengert.rulebook.registry import rules
from wengert.values.code_names import global_names_in
from wengert.values.codes import code_of, note_original, original
from wengert.values.data_classes import READS
from wengert.values.frames import ENGINE
from wengert.values.names import LIBRARIES, home_of, is_heap_type
from wengert.values.sites import Site
from wengert.values.transformed import Transformed

HOOKS: dict[str, Any] = {}
"""The hooks that twins call, by their names in `rewrite.emitter`; each module of this package registers its own.

It also holds `state`, which has the line that calls a stand-in.
"""

_UNINSTRUMENTED = MODULE_DECISIONS.keys() | {"wengert", "wengert_rules"}


def of_user(f: Any) -> bool:
    """Whether a function or class is the user's, not of a package that runs uninstrumented."""
    return home_of(f).partition(".")[0] not in _UNINSTRUMENTED


def twin_of(code: types.CodeType, deep: bool = True, sees_result: bool = False) -> types.CodeType:
    """Return the twin of a code object.

    `deep`: the functions that it makes are instrumented too. `sees_result`: `prepare_class_of` gets what it returns.
    """
    recording = STATE.recording
    hooks = None if recording is None or recording.reads is None else recording.reads.hooks
    rewriter = rewriter_of(HOOKS if hooks is None else hooks, deep, sees_result, hooks is not None)
    found = rewriter.twins.get(id(code))
    if found is not None:
        return found[1]
    with silent():  # the rewriter uses functions whose code may be swapped
        return rewriter.twin(code)


@functools.cache
def _known_twins() -> dict[int, Any]:
    """Return the twins of traces that watch no outer reads, by the id of the original code."""
    return rewriter_of(HOOKS, True).twins


def swap_in(f: types.FunctionType, sees_result: bool = False) -> types.FunctionType:
    """Have a function run its twin's code, and return it."""
    code, recording = f.__code__, STATE.recording
    watches = sees_result or (recording is not None and recording.reads is not None)
    known = None if watches else _known_twins().get(id(code))
    plain_code = code_of(f) if known is None else code
    twin = twin_of(plain_code, True, sees_result) if known is None else known[1]
    if code is not twin:
        exchange(f, plain_code, twin)
        _prepare_named(f, plain_code)
    return f


_names_by_code: dict[int, tuple[weakref.ref[types.CodeType], frozenset[str]]] = {}
"""Map the id of a code object to the object and the globals that it reads."""


def _prepare_named(f: types.FunctionType, code: types.CodeType) -> None:
    """Prepare the globals and closure variables that a function reads: C may call their methods."""
    space, found = f.__globals__, _names_by_code.get(id(code))
    if found is None:
        forget: Any = functools.partial(_names_by_code.pop, id(code))  # the dead reference becomes the default of `pop`
        found = _names_by_code[id(code)] = weakref.ref(code, forget), global_names_in(code)
    for name in found[1]:
        value = space.get(name)
        if type(value) not in _INERT:
            prepare_value(value)
    for cell in f.__closure__ or ():
        for value in gc.get_referents(cell):
            if type(value) not in _INERT:
                prepare_value(value)


_INERT = frozenset((
    types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.NoneType, type, np.ufunc, type(np.sum),
    bool, int, float, complex, str, bytes, np.float64,
))  # fmt: skip
"""Types of values that have no methods in Python."""
_CALLED_BY_C = frozenset((
    "__bool__", "__len__", "__index__", "__int__", "__float__", "__complex__", "__hash__", "__eq__", "__lt__", "__le__",
    "__gt__", "__ge__", "__repr__", "__str__", "__format__", "__iter__", "__next__", "__contains__", "__call__",
))  # fmt: skip
"""Methods that C functions call on their arguments."""
_MAX_SCANNED = 100  # items of a container, or parts of an iterator, that are scanned
_SCANNED_CONTAINERS = {list, tuple, set, frozenset, dict, collections.deque}
CALLING_ITERATORS = {*PASSING, type(iter(int, 1))}
"""Iterators in C that may call functions."""


def prepare_value(value: Any) -> None:
    """Prepare the class of a value and those of its items or attributes; swap the functions that it calls."""
    t = type(value)
    if t in _SCANNED_CONTAINERS:
        _prepare_items(value.values() if t is dict else value)
    elif t in CALLING_ITERATORS:
        swap_in_iterator(value)
    elif t is np.ndarray:
        _prepare_elements(value)
    elif is_heap_type(t) and id(t) not in prepared and not _are_all_data(t, (value,)):
        _prepare_if_called_by_c(t)
        held = gc.get_referents(value)  # reading `__dict__` would create one, which changes functools.partial
        _prepare_items(itertools.chain(held, *[part.values() for part in held if type(part) is dict]))


def _are_all_data(t: type, things: Sequence[Any]) -> bool:
    """Whether a class has declared reads, and the things of this class hold no traced value."""
    return t in READS and data_reads.are_untraced(STATE.recording, [thing for thing in things if type(thing) is t])


def _prepare_items(items: Any) -> None:
    """Prepare the classes of the first items."""
    scanned = [*itertools.islice(items, _MAX_SCANNED)]
    kinds = {*map(type, scanned)} - _INERT
    for kind in kinds:
        if not _are_all_data(kind, scanned):
            _prepare_if_called_by_c(kind)
    if np.ndarray in kinds:
        for item in scanned:
            if type(item) is np.ndarray:
                _prepare_elements(item)


def _prepare_elements(array: np.ndarray) -> None:
    """Prepare the classes of the first objects in an array: NumPy calls their methods, such as operators."""
    if array.dtype == object:
        kinds = [kind for kind in {*map(type, array.flat[:_MAX_SCANNED])} if is_heap_type(kind)]
        for kind in kinds:
            prepare(kind)
        if kinds:
            leave_array_fast_path()


def _prepare_if_called_by_c(t: type) -> None:
    """Prepare a class if C may call methods of it that are written in Python."""
    if id(t) not in prepared and any(
        [is_heap_type(base) and not _CALLED_BY_C.isdisjoint(vars(base)) for base in t.__mro__]
    ):
        prepare(t)


def swap_in_iterator(iterator: Any) -> None:
    """Have the functions that an iterator in C calls run their twins' code."""
    stack, seen = [iterator], set[int]()
    while stack and len(seen) < _MAX_SCANNED:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if type(part) in CALLING_ITERATORS or type(part) in (tuple, types.MethodType):
            stack.extend(gc.get_referents(part))
        else:
            _swap_in_functions(part, False)
            _prepare_if_called_by_c(type(part))


def start_instrumented(f: types.FunctionType, site: Site | None) -> types.FunctionType:
    """The hook of a new function in a twin: the function runs its twin's code from the start if something records.

    Twins also run where nothing records: in other threads, in open generators, in a call recorded as one.
    """
    if STATE.recording is None:
        f.__code__ = code_of(f)
    else:
        note_born(f, code_of(f))
    return f


def prepare_class_of(value: Any, site: Site | None) -> Any:
    """The hook of a value whose methods C is about to call: prepare its class."""
    prepare(type(value))
    return value


HOOKS |= {"made": start_instrumented, "touched": prepare_class_of, "state": STATE}


RETURNING_TO_C = {"__iter__", "__aiter__", "__anext__", "__await__"}
"""Methods whose results C uses by a protocol, as it does iterators."""
RETURNING_NUMBERS = {
    "__float__",
    "__complex__",
    "__array__",
    "__getitem__",
    "__next__",
    "__repr__",
    "__str__",
    "__format__",
    "__len__",
    "__index__",
    "__length_hint__",
    "__hash__",
}
"""Methods from which C gets numbers or strings; a watched trace sees their results."""


def prepare(t: type) -> bool:
    """Swap the code of the methods of a class, its metaclass and its descriptors; False if nothing records."""
    if STATE.recording is None:
        return False
    if id(t) in prepared:
        return True
    exposed = RETURNING_TO_C if STATE.recording.reads is None else RETURNING_TO_C | RETURNING_NUMBERS
    rules.load()
    todo, done = [t], {id(t): t}
    while todo:
        kind = todo.pop()
        for base in kind.__mro__ or ():
            if base is not kind and (id(base) in done or id(base) in prepared):
                continue
            done[id(base)] = base
            if is_heap_type(base) and home_of(base).partition(".")[0] not in MODULE_DECISIONS:
                for name, value in [("", base), *vars(base).items()]:
                    if type(value) in _INERT:
                        if type(value) is types.FunctionType:
                            _swap_in_function(value, name in exposed)
                        continue
                    _swap_in_functions(value, name in exposed)
                    if type(value) is functools._lru_cache_wrapper and name.startswith("__"):
                        replace(base, name, value, _without_old_results(value))
                    if id(type(value)) not in done:
                        done[id(type(value))] = type(value)
                        todo.append(type(value))
    prepared.update(done)
    return True


def prepare_module(module: types.ModuleType) -> None:
    """Swap the code of the function by which a module computes the attributes that it does not have."""
    f = vars(module).get("__getattr__")
    is_of_user = type(f) is types.FunctionType and home_of(f).partition(".")[0] not in LIBRARIES
    if STATE.recording is not None and is_of_user:
        _swap_in_functions(f, False)


def _without_old_results(cached: Any) -> Any:
    """Wrap a special method behind `lru_cache`, so that C gets no result that was cached before the trace."""

    @functools.wraps(cached)
    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        return (cached if recording is None else recording.enter(cached))(*args, **kwargs)

    return call


_swapped_before: dict[int, tuple[weakref.ref[types.FunctionType], types.CodeType, Any, types.CodeType | None]] = {}
"""Map the id of a function to it, its code, what else the decision to swap it depends on, and any lazy code."""


def _swap_in_functions(value: Any, sees_result: bool) -> None:
    """Swap the code of the functions that run for an attribute of a class."""
    for f in _functions_in(value):
        _swap_in_function(f, sees_result, type(value) is not property)  # whose frames a debugger would see


def _swap_in_function(f: types.FunctionType, sees_result: bool, lazily: bool = True) -> None:
    """Swap the code of a function that runs for an attribute of a class; `lazily`, at its first call if that may be."""
    reference, code, reasons, lazy = _swapped_before.get(id(f), _NOT_SWAPPED)
    is_known = f.__code__ is code and reference() is f and reasons == (rules.version, f.__module__, f.__name__)
    if not is_known or sees_result:
        primitive = primitive_of(f)
        if primitive is not None and not primitive.is_trusted:
            exchange(f, code_of(f), dispatching_code(f, _recorder_by_rule))
            return
        if not (sees_result or original(f.__code__) is None) or not _is_instrumentable(f) or _is_for_numpy_alone(f):
            return
        lazy = lazy_code(f, _first_call) if lazily and may_be_lazy(f) and not sees_result else None
        if not sees_result:
            forget: Any = functools.partial(_swapped_before.pop, id(f))  # the dead reference becomes the default
            reasons = rules.version, f.__module__, f.__name__
            _swapped_before[id(f)] = weakref.ref(f, forget), f.__code__, reasons, lazy
    if lazy is None:
        _swap_in_or_refuse(f, sees_result and not f.__code__.co_flags & SUSPENDED)
    else:
        exchange(f, f.__code__, lazy)


_NOT_SWAPPED: Any = None, None, None, None


def _swap_in_or_refuse(f: types.FunctionType, sees_result: bool = False) -> None:
    """Have a function run its twin's code; refuse its calls if it cannot be instrumented."""
    try:
        swap_in(f, sees_result)
    except BytecodeError as error:
        exchange(f, code_of(f), dispatching_code(f, functools.partial(_refuse_call, error)))


def _first_call(f: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Instrument a lazily instrumented method on its first call from C, then call it."""
    if STATE.recording is None:
        if STATE.silenced is not None and STATE.silenced.reads is not None:
            STATE.silenced.reads.entered(f, code_of(f))
        return copy_function(f)(*args, **kwargs)
    if is_lazy(f):
        _swap_in_or_refuse(f)
    return f(*args, **kwargs)


def _is_for_numpy_alone(f: types.FunctionType) -> bool:
    """Whether only NumPy calls a function, which has no effect on numbers.

    `__array_finalize__` of `np.memmap` and `np.matrix` notes where the memory lies. `interop.overrides` calls
    `__array_function__`.
    """
    of_numpy = f.__name__ in ("__array_finalize__", "__array_wrap__") and home_of(f).partition(".")[0] == "numpy"
    return of_numpy or f.__name__ == "__array_function__"


def _is_instrumentable(f: types.FunctionType) -> bool:
    """Whether a function is the user's, or one of this package that may be traced."""
    return is_entered(f) if f.__code__.co_filename.startswith(ENGINE) else of_user(f)


def is_entered(f: types.FunctionType) -> bool:
    """Whether a function of this package may be traced: its module has a global `ENTERED`, a string that says why."""
    return "ENTERED" in f.__globals__


def _recorder_by_rule(f: types.FunctionType, recording: Recording) -> Any:
    if primitive_of(f) is None:  # its rule was removed
        exchange(f, code_of(f), twin_of(code_of(f)))
    return recording.enter(f)


def _refuse_call(error: BytecodeError, f: types.FunctionType, recording: Recording) -> Any:
    raise recording.refuse(error)


def dispatching_code(f: types.FunctionType, find: Callable[..., Any]) -> types.CodeType:
    """Return code for `f` that calls `find(f, recording)` if something records, else runs the original code."""
    plain, plain_code = copy_function(f), code_of(f)

    def choose(_: Any, site: Site | None) -> Any:
        recording = STATE.recording
        plain.__defaults__, plain.__kwdefaults__ = f.__defaults__, f.__kwdefaults__  # they may have changed
        return plain if recording is None else find(f, recording)

    with silent():
        template = rewriter_of(HOOKS).twin(_dispatch(len(plain_code.co_freevars)))
    consts = tuple([choose if constant is HOOKS["resolve"] else constant for constant in template.co_consts])
    code = template.replace(co_consts=consts, co_freevars=plain_code.co_freevars, co_name=plain_code.co_name)
    note_original(code, plain_code)
    return code


@functools.cache
def _dispatch(count: int) -> types.CodeType:
    """Return the code of a function that passes all its arguments on, with so many free variables, as `f_locals` needs.

    `resolve` replaces the lambda.
    """
    free = ", ".join([f"free_{k}" for k in range(count)])
    source = f"def outer({free}):\n def f(*args, **kwargs):\n"
    source += f"  nonlocal {free}\n" * (count > 0) + "  return (lambda: None)(*args, **kwargs)"
    code = compile(source, __file__, "exec")
    for _ in range(2):
        code = next(part for part in code.co_consts if type(part) is types.CodeType)
    return code


def copy_function(f: types.FunctionType, code: types.CodeType | None = None) -> types.FunctionType:
    """Return a copy of `f` with this code; by default with its original code."""
    copy = types.FunctionType(code or code_of(f), f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    if f.__kwdefaults__ is not None:
        copy.__kwdefaults__ = f.__kwdefaults__
    if f.__qualname__ != copy.__code__.co_qualname:
        copy.__qualname__ = f.__qualname__
    return copy


def instrumented(f: Any) -> types.FunctionType:
    """Return an instrumented copy of a stand-in written in plain Python, with the functions that it makes."""
    return copy_function(f, twin_of(code_of(f)))


def _functions_in(value: Any) -> Iterator[types.FunctionType]:
    """Yield the Python functions that run for an attribute of a class."""
    t = type(value)
    if t is types.FunctionType:
        yield value
    elif issubclass(t, (staticmethod, classmethod, Transformed)):
        yield from _functions_in(value.__func__)
    elif issubclass(t, (functools.partial, functools.partialmethod)):
        yield from _functions_in(value.func)
    elif issubclass(t, property):
        for f in (value.fget, value.fset, value.fdel):
            yield from _functions_in(f)
    elif _is_wrapper(t):
        for part in gc.get_referents(value):
            yield from _functions_in(part)


def _is_wrapper(t: type) -> bool:
    """Whether a class is a third-party C type of callable objects, which may call functions that they hold."""
    calls = [space["__call__"] for space in map(vars, t.__mro__) if "__call__" in space] if is_third_party(t) else []
    return bool(calls) and type(calls[0]) is types.WrapperDescriptorType


def is_third_party(t: type) -> bool:
    """Whether a class is of a third-party package, for which this package has no decisions."""
    return home_of(t).partition(".")[0] not in _KNOWN_PACKAGES


_KNOWN_PACKAGES = sys.stdlib_module_names | {"numpy", "numba", "wengert"}
"""Packages whose C objects have decisions of their own."""
