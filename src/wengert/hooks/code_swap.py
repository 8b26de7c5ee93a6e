"""The code swap: functions that the user's code calls, or C for it, run their twins' code until all traces end."""

from __future__ import annotations

import collections
import functools
import gc
import inspect
import itertools
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.errors import BytecodeError
from wengert.hooks.lazy_instrumentation import is_waiting, may_wait, waiting
from wengert.hooks.modules import MODULES
from wengert.recording.aliases import PASSING
from wengert.recording.primitives import primitive_of
from wengert.recording.reachability import nested
from wengert.recording.recording import STATE, Recording, silent, watch_arrays
from wengert.recording.swapped_code import exchange, note_born, replace
from wengert.recording.trace_caches import prepared
from wengert.rewrite import rewriter_of
from wengert.rewrite.rewriter import rewritten
from wengert.rewrite.tables import running_table
from wengert.values.codes import code_of, note_original, original
from wengert.values.frames import ENGINE
from wengert.values.names import home_of, is_heap_type
from wengert.values.sites import Site
from wengert.values.transformed import Transformed

HOOKS: dict[str, Any] = {}
"""The hooks that twins call, by their names in `rewrite.emitter`; each module of this package registers its own.

It also holds `state`, which knows the line that calls a stand-in.
"""

_OURS = MODULES.keys() | {"wengert", "wengert_rules"}


def of_user(f: Any) -> bool:
    """Whether a function or class is the user's: it belongs to no package that runs uninstrumented."""
    return home_of(f).partition(".")[0] not in _OURS


def twin_of(code: types.CodeType, deep: bool = True, giving: bool = False) -> types.CodeType:
    """Return the twin of a code object.

    `deep`: the functions that it makes are instrumented, too. `giving`: `touched` sees what it returns.
    """
    recording = STATE.recording
    reads = None if recording is None else recording.reads
    rewriter = rewriter_of(HOOKS if reads is None else reads.hooks, deep, giving, reads is not None)
    found = rewriter.twins.get(id(code))
    if found is not None:
        return found[1]
    with silent():  # the rewriter uses functions that may be exchanged
        return rewriter.twin(code)


@functools.cache
def _known_twins() -> dict[int, Any]:
    """Return the twins that traces make which watch nothing, by the id of a code."""
    return rewriter_of(HOOKS, True).twins


def put_in(f: types.FunctionType, giving: bool = False) -> None:
    """Have a function run its twin's code."""
    code, recording = f.__code__, STATE.recording
    watches = giving or (recording is not None and recording.reads is not None)
    known = None if watches else _known_twins().get(id(code))
    own = code_of(f) if known is None else code
    twin = twin_of(own, True, giving) if known is None else known[1]
    if code is not twin:
        exchange(f, own, twin)
        _prepare_named(f, own)


_named: dict[int, tuple[weakref.ref[types.CodeType], frozenset[str]]] = {}  # by id: a code, and what it names


def _names_in(code: types.CodeType) -> frozenset[str]:
    """Return the names that a code object and its nested functions read."""
    found = _named.get(id(code))
    if found is None:
        forget: Any = functools.partial(_named.pop, id(code))  # the reference is the default
        names = frozenset([name for part in nested(code) for name in part.co_names])
        found = _named[id(code)] = weakref.ref(code, forget), names
    return found[1]


def _prepare_named(f: types.FunctionType, own: types.CodeType) -> None:
    """Prepare the values that a function names, as globals or in cells: C may call their methods unseen."""
    space = f.__globals__
    for name in _names_in(own):
        value = space.get(name)
        if type(value) not in _INERT:
            prepare_held(value)
    for cell in f.__closure__ or ():
        for value in gc.get_referents(cell):
            if type(value) not in _INERT:
                prepare_held(value)


_INERT = frozenset((
    types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.NoneType, type, np.ufunc, type(np.sum),
    bool, int, float, complex, str, bytes, np.float64,
))  # fmt: skip
"""Types of values that have no methods in Python."""
_ASKED = frozenset((
    "__bool__", "__len__", "__index__", "__int__", "__float__", "__complex__", "__hash__", "__eq__", "__lt__", "__le__",
    "__gt__", "__ge__", "__repr__", "__str__", "__format__", "__iter__", "__next__", "__contains__", "__call__",
))  # fmt: skip
"""Methods that C functions call on their arguments."""
_MOST = 100  # items of a container, and parts of an iterator, that are looked at
_CONTAINERS = {list, tuple, set, frozenset, dict, collections.deque}
HANDING_ON = {*PASSING, type(iter(int, 1))}
"""Iterators of C that may call functions."""


def prepare_held(value: Any) -> None:
    """Prepare the class of a value, those of the items or attributes that it holds, and functions that it calls."""
    t = type(value)
    if t in _CONTAINERS:
        _prepare_items(value.values() if t is dict else value)
    elif t in HANDING_ON:
        put_in_held(value)
    elif t is np.ndarray:
        _prepare_elements(value)
    elif is_heap_type(t) and id(t) not in prepared:
        _prepare_asked(t)
        held = gc.get_referents(value)  # to read `__dict__` would make one: functools.partial behaves otherwise then
        _prepare_items(itertools.chain(held, *[part.values() for part in held if type(part) is dict]))


def _prepare_items(items: Any) -> None:
    """Prepare the classes of the first of these items."""
    looked_at = [*itertools.islice(items, _MOST)]
    kinds = {*map(type, looked_at)} - _INERT
    for kind in kinds:
        _prepare_asked(kind)
    if np.ndarray in kinds:
        for item in looked_at:
            if type(item) is np.ndarray:
                _prepare_elements(item)


def _prepare_elements(array: np.ndarray) -> None:
    """Prepare the classes of the first objects that an array holds: NumPy calls their methods, operators among them."""
    if array.dtype == object:
        kinds = [kind for kind in {*map(type, array.flat[:_MOST])} if is_heap_type(kind)]
        for kind in kinds:
            prepare(kind)
        if kinds:
            watch_arrays()


def _prepare_asked(t: type) -> None:
    """Prepare a class of which C may call methods that are written in Python."""
    if id(t) not in prepared and any([is_heap_type(base) and not _ASKED.isdisjoint(vars(base)) for base in t.__mro__]):
        prepare(t)


def put_in_held(iterator: Any) -> None:
    """Have the functions that an iterator of C calls run their twins' code."""
    stack, seen = [iterator], set[int]()
    while stack and len(seen) < _MOST:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if type(part) in HANDING_ON or type(part) in (tuple, types.MethodType):
            stack.extend(gc.get_referents(part))
        else:
            _put_in_all(part, False)
            _prepare_asked(type(part))


def made(f: types.FunctionType, site: Site | None) -> types.FunctionType:
    """The hook of a function that a twin has made: it runs its twin's code from birth, but not where nothing records.

    Twins run there, too: in other threads, in a generator that is left open, in what is recorded as one call.
    """
    if STATE.recording is None:
        f.__code__ = code_of(f)
    else:
        note_born(f, code_of(f))
    return f


def touched(value: Any, site: Site | None) -> Any:
    """The hook of a value of which C is about to call methods: its class is prepared."""
    prepare(type(value))
    return value


HOOKS |= {"made": made, "touched": touched, "state": STATE}


GIVING = {"__iter__", "__aiter__", "__anext__", "__await__"}
"""Methods whose results C uses by a protocol, such as iterators."""
SHOWING = {"__float__", "__complex__", "__array__", "__getitem__", "__next__", "__repr__", "__str__", "__format__"}
"""Methods that C asks for numbers or strings: a trace that is watched looks at what they return."""
_SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def prepare(t: type) -> bool:
    """Have Python's own protocols run the twins of the methods of a class, and of its metaclass and descriptors.

    False where nothing records: then they run what they run.
    """
    if STATE.recording is None:
        return False
    if id(t) in prepared:
        return True
    giving = GIVING if STATE.recording.reads is None else GIVING | SHOWING
    todo, done = [t], {id(t): t}
    while todo:
        for base in todo.pop().__mro__ or ():
            if is_heap_type(base) and home_of(base).partition(".")[0] not in MODULES:
                for name, value in [("", base), *vars(base).items()]:
                    _put_in_all(value, name in giving)
                    if type(value) is functools._lru_cache_wrapper and name.startswith("__"):
                        replace(base, name, value, _with_a_cache_of_the_trace(value))
                    if id(type(value)) not in done:
                        done[id(type(value))] = type(value)
                        todo.append(type(value))
    prepared.update(done)
    return True


def _with_a_cache_of_the_trace(cached: Any) -> Any:
    """Wrap a special method behind `lru_cache`, so that C gets no result that was cached before the trace."""

    @functools.wraps(cached)
    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        return (cached if recording is None else recording.enter(cached))(*args, **kwargs)

    return call


def _put_in_all(value: Any, giving: bool) -> None:
    for f in _functions_in(value):
        primitive = primitive_of(f)
        if primitive is not None and not primitive.vouched:
            exchange(f, code_of(f), _through(f, _by_rule))
        elif (giving or original(f.__code__) is None) and _is_followed(f) and not _is_numpys_to_call(f):
            if may_wait(f) and type(value) is not property:
                exchange(f, f.__code__, waiting(f, _first_call))
            else:
                _put_in_or_refuse(f, giving and not f.__code__.co_flags & _SUSPENDED)


def _put_in_or_refuse(f: types.FunctionType, giving: bool = False) -> None:
    """Have a function run its twin's code, or refuse its calls where there can be none."""
    try:
        put_in(f, giving)
    except BytecodeError as error:
        exchange(f, f.__code__, _through(f, functools.partial(_refused, error)))


def _first_call(f: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Instrument a lazily instrumented method on its first call from C, then call it."""
    if STATE.recording is None:
        return copied(f)(*args, **kwargs)
    if is_waiting(f):
        _put_in_or_refuse(f)
    return f(*args, **kwargs)


def _is_numpys_to_call(f: types.FunctionType) -> bool:
    """Whether NumPy alone calls a function, which has no effect on numbers.

    Those of `np.memmap` and `np.matrix` keep where the memory lies; what `__array_function__` makes of a call is taken
    over by `hooks.standins.overrides`, or compared with what plain arrays give.
    """
    of_numpy = f.__name__ in ("__array_finalize__", "__array_wrap__") and home_of(f).partition(".")[0] == "numpy"
    return of_numpy or f.__name__ == "__array_function__"


def _is_followed(f: types.FunctionType) -> bool:
    return "ENTERED" in f.__globals__ if f.__code__.co_filename.startswith(ENGINE) else of_user(f)


def _by_rule(f: types.FunctionType, recording: Recording) -> Any:
    if primitive_of(f) is None:  # it has none any more
        exchange(f, code_of(f), twin_of(code_of(f)))
    return recording.enter(f)


def _refused(error: BytecodeError, f: types.FunctionType, recording: Recording) -> Any:
    raise recording.refuse(error)


def _through(f: types.FunctionType, found: Callable[..., Any]) -> types.CodeType:
    """Code for `f` that calls what is `found` for it where something records, and runs as it is elsewhere."""
    plain, own = copied(f), code_of(f)

    def chosen(_: Any, site: Site | None) -> Any:
        recording = STATE.recording
        plain.__defaults__, plain.__kwdefaults__ = f.__defaults__, f.__kwdefaults__  # it may be given others
        return plain if recording is None else found(f, recording)

    if not _template:
        with silent():
            _template.append(rewritten(_calling.__code__, {**HOOKS, "resolve": _calling}, running_table()))
    consts = tuple([chosen if constant is _calling else constant for constant in _template[0].co_consts])
    made = _template[0].replace(co_consts=consts, co_freevars=own.co_freevars, co_name=own.co_name)
    note_original(made, own)
    return made


def _calling(*args: Any, **kwargs: Any) -> Any:
    return (lambda: None)(*args, **kwargs)  # what is called is exchanged


_template: list[types.CodeType] = []


def copied(f: types.FunctionType, code: types.CodeType | None = None) -> types.FunctionType:
    """Another function like `f`, with this code, or with the code that f was written with."""
    made = types.FunctionType(code or code_of(f), f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    if f.__kwdefaults__ is not None:
        made.__kwdefaults__ = f.__kwdefaults__
    if f.__qualname__ != made.__code__.co_qualname:
        made.__qualname__ = f.__qualname__
    return made


def instrumented(f: Any) -> types.FunctionType:
    """Return an instrumented copy of a stand-in written in plain Python, with the functions that it makes."""
    return copied(f, twin_of(code_of(f)))


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
    """Whether objects of a class of another package's C are called, and may call functions that they hold."""
    calls = [space["__call__"] for space in map(vars, t.__mro__) if "__call__" in space] if is_foreign(t) else []
    return bool(calls) and type(calls[0]) is types.WrapperDescriptorType


def is_foreign(t: type) -> bool:
    """Whether a class is of a package that has no decisions here."""
    return home_of(t).partition(".")[0] not in _OTHERWISE


_OTHERWISE = sys.stdlib_module_names | {"numpy", "numba", "wengert"}
"""Packages whose objects of C have decisions of their own."""
