"""Whether a function reads a value from a place that it also writes, where an earlier call may have stored it.

The written places are read from the bytecode of the code that runs and that it may call. A value that no store can have
put there is a setting (bounds, knots, training data), not the key of a cache.
"""

from __future__ import annotations

import collections
import dis
import functools
import gc
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from wengert.recording.item_stores import UNKNOWN_CONTAINER as UNKNOWN_CONTAINER
from wengert.recording.item_stores import stored_into
from wengert.recording.recording import Recording
from wengert.values.codes import code_of, original
from wengert.values.frames import ENGINE, is_ours
from wengert.values.named_tuples import NamedTuple
from wengert.values.names import is_heap_type
from wengert.values.specs import elements

LIMIT = 10_000
_LIBRARY_NAMES = sys.stdlib_module_names | {"numpy", "wengert", "wengert_rules"}
_OPAQUE_TYPES = (
    str, bytes, int, float, complex, type(None), np.dtype, np.generic, np.ufunc, types.ModuleType, types.CodeType,
    types.FrameType, types.TracebackType, types.BuiltinFunctionType,
)  # fmt: skip

ITEM, FIXED, UNKNOWN_PLACE = "[]", "", "?"
"""In the place of a name: what a container holds, what no store can exchange, and what is held nobody knows how."""

_STORES = ("STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF", "STORE_NAME")
_ANY = {"setattr", "__setattr__", "__dict__", "vars", "globals", "locals", "exec", "eval"}
_BEFORE = {"__init__", "__new__", "__post_init__", "__setstate__"}
_IMMUTABLE_TYPES: tuple[type, ...] = (
    tuple, frozenset, types.MethodType, functools.partial, property, staticmethod, classmethod,
    types.GetSetDescriptorType, types.MemberDescriptorType,
)  # fmt: skip
_CONTAINERS: tuple[type, ...] = (dict, list, set, collections.deque, type({}.keys()), type({}.values()), types.CellType)
_SINGLE: tuple[type, ...] = (float, complex, int, *_IMMUTABLE_TYPES)

NamedReferent = tuple[str, Any]


class Writes(NamedTuple):
    """Stores that code may do: to attributes with these names, to items of containers with these names, or anywhere."""

    names: set[str]
    containers: set[str]
    items: bool
    anything: bool

    def may_reach(self, name: str) -> bool:
        return self.anything or name == UNKNOWN_PLACE or (self.items if name == ITEM else name in self.names)


def is_within(recording: Recording, roots: Any, target: Any) -> bool:
    """Whether `roots` lead to `target` through a place that is written; True also if that is unknown."""
    everything = [*_walk(roots)]
    if len(everything) > LIMIT:
        return True
    functions = [(name, f) for name, f in everything if type(f) is types.FunctionType and not _is_of_library(f)]
    modules = {name for name, part in everything if type(part) is types.ModuleType}
    writes = _writes(_running(recording), functions, modules)
    written = [part for name, part in everything if name != FIXED and writes.may_reach(name)]
    written += [part for name, part in everything if name in writes.containers and _holds_items(part)]
    known: dict[int, Any] = {}
    if any([leads_to(part, target, known) for part in written]):
        return True
    is_single = issubclass(type(target), _SINGLE) and not isinstance(target, np.generic)  # that an array may show
    return writes.items and not is_single and leads_to(roots, target, {})


def leads_to(thing: Any, target: Any, known: dict[int, Any]) -> bool:
    """Whether a value is the target, shows its memory, or holds it at any depth."""
    return _is_or_shows(thing, target) or any([_is_or_shows(part, target) for _, part in _walk(thing, known)])


def _walk(root: Any, known: dict[int, Any] | None = None) -> Iterator[NamedReferent]:
    """Yield everything reachable from `root` with the names of the places that hold it; skip known objects."""
    known = {} if known is None else known
    stack = [root]
    while stack and len(known) <= LIMIT:
        for name, part in _named_referents(stack.pop()):
            yield name, part
            if not issubclass(type(part), _OPAQUE_TYPES) and id(part) not in known:  # isinstance asks the class
                known[id(part)] = part
                stack.append(part)


def _is_or_shows(thing: Any, target: Any) -> bool:
    """Whether a thing is the target, or an array of which the target is a view or an element."""
    if thing is target or not issubclass(type(thing), np.ndarray):
        return thing is target
    if isinstance(target, np.ndarray):
        return target.base is not None and (target.base is thing or target.base is thing.base)
    return isinstance(target, np.generic) and thing.dtype == target.dtype and bool(np.any(thing == target))


def _named_referents(thing: Any) -> Iterable[NamedReferent]:
    """Yield what a thing refers to, with the names of the places; a function refers to globals that it names, too."""
    t = type(thing)
    if t is types.FunctionType:
        return _of_function(thing)
    if issubclass(t, type):
        if _is_of_library(thing) or not is_heap_type(thing):
            return ()
        return [*vars(thing).items(), *[(FIXED, base) for base in thing.__bases__]]
    if issubclass(t, np.ndarray):
        return [(ITEM, part) for part in elements(thing)] if thing.dtype.kind == "O" else [(FIXED, thing.base)]
    if issubclass(t, _IMMUTABLE_TYPES):
        return [(FIXED, part) for part in gc.get_referents(thing)]
    names = _attributes(thing)
    known = {id(part) for _, part in names} | {id(t)}
    rest = [part for part in gc.get_referents(thing) if id(part) not in known and not _is_dict_of(part, names)]
    return [*names, (FIXED, t), *[(ITEM if issubclass(t, _CONTAINERS) else UNKNOWN_PLACE, part) for part in rest]]


def _is_dict_of(part: Any, names: list[NamedReferent]) -> bool:
    """Whether a dictionary is a `__dict__` whose attributes have been listed already."""
    return type(part) is dict and all([any([value is p for _, p in names]) for value in part.values()])


def _is_of_library(thing: Any) -> bool:
    return str(thing.__module__).partition(".")[0] in _LIBRARY_NAMES


def _of_function(f: types.FunctionType) -> Iterable[NamedReferent]:
    cells = zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
    closure = [(name, part) for name, cell in cells for part in gc.get_referents(cell)]
    if _is_of_library(f) or f.__code__.co_filename.startswith(ENGINE):
        return closure
    names = {name for code in nested(code_of(f)) for name in code.co_names}
    known = [(name, f.__globals__[name]) for name in names if name in f.__globals__]
    modules = [vars(m) for _, m in known if isinstance(m, types.ModuleType)]
    inside = [(name, module[name]) for module in modules for name in names if name in module]
    given = *(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()
    return [*closure, *[(FIXED, part) for part in given], *vars(f).items(), *known, *inside]


def _attributes(thing: Any) -> list[NamedReferent]:
    """Return the attributes of an object without running its code."""
    found: list[NamedReferent] = []
    for cls in type(thing).__mro__:
        for name, member in vars(cls).items():
            if type(member) is types.MemberDescriptorType and name != "__dict__" and is_heap_type(cls):
                found.extend([(name, part) for part in [_slot_value(member, thing)] if part is not None])
            elif name == "__dict__" and type(member) in (types.GetSetDescriptorType, types.MemberDescriptorType):
                found.extend(member.__get__(thing).items())
    return found


def _slot_value(member: Any, thing: Any) -> Any:
    try:
        return member.__get__(thing)
    except AttributeError:
        return None


# What may be written


def _running(recording: Recording) -> list[types.CodeType]:
    """Return the user's code objects that are running under the derivative."""
    codes, frame = [], sys._getframe()
    while frame.f_back is not None and frame is not recording.frame:
        if not is_ours(frame):
            codes.append(original(frame.f_code) or frame.f_code)
        frame = frame.f_back
    return codes


def _writes(running: list[types.CodeType], functions: list[NamedReferent], modules: set[str]) -> Writes:
    """Collect the stores of the running code and of functions that it may call: those it names, and nameless ones."""
    codes: dict[int, types.CodeType] = {}
    names: set[str] = set()
    new = running
    while new:
        for code in [inner for outer in new for inner in nested(outer)]:
            codes[id(code)] = code
            names.update(code.co_names, code.co_freevars)
        possible = [code_of(f) for name, f in functions if _may_be_called(name, f, names)]
        new = [code for code in possible if id(code) not in codes]
    steps = [step for code in codes.values() for step in dis.get_instructions(code)]
    into = {name for code in codes.values() for name in stored_into(code, modules.__contains__)}
    items = UNKNOWN_CONTAINER in into or _has_out(codes.values())
    stored = {step.argval for step in steps if step.opname in _STORES}
    return Writes(stored, {name for name in into if name is not None}, items, bool(names & _ANY))


def _holds_items(thing: Any) -> bool:
    """Whether a store into items can change a value: not a number or a function."""
    return not issubclass(type(thing), (*_OPAQUE_TYPES, types.FunctionType, type))


def _may_be_called(name: str, f: types.FunctionType, names: set[str]) -> bool:
    if name in (ITEM, FIXED) or name in names or f.__name__ in names:
        return True
    return name.startswith("__") and name.endswith("__") and name not in _BEFORE


def _has_out(codes: Iterable[types.CodeType]) -> bool:
    return any(["out" in names for code in codes for names in code.co_consts if type(names) is tuple])


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """Return a code object and those nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested(constant)
