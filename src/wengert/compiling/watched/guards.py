"""Guards: expressions that must be true before the code of a trace runs again, or the reason to give the trace up.

An accessor is a Python expression that reaches a value from an argument or a pinned object (the dictionary of a module,
a cell, a function), such as `a1['w'][2]` or `k0['lr']`. A guard is an expression, too, true of the value that was read.
"""

from __future__ import annotations

import abc
import collections
import functools
import gc
import itertools
import re
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.watched.trusted import belongs_to_user
from wengert.compiling.watched.watchable import (
    ATOMS,
    COMPARED_BY_VALUE,
    are_same,
    has_readable_state,
    is_same_value,
    literal,
    runs_functions_only,
)
from wengert.errors import NotCompiledError
from wengert.recording.primitives import primitive_of
from wengert.recording.recording import Recording, users_line
from wengert.recording.slots import slot_of
from wengert.recording.trace_state import is_born, prepared
from wengert.values.functional import WHOLE
from wengert.values.names import is_heap_type

MOST_GUARDS = 5000
"""The largest number of guards of one trace, and of inputs; a trace with more is not kept."""


def with_labels(text: str, labels: Mapping[str, str]) -> str:
    """Replace the names of pinned objects in an accessor or a guard by their labels."""
    return re.sub(r"\b[kd]\d+\b", lambda k: labels.get(k[0], k[0]), text)


class OuterInput(NamedTuple):
    """A number or an array from outside: the fresh object that the trace uses, and the original."""

    traced: Any
    original: Any


MOST_PARTS = 10_000
"""How many parts of a value are looked at, at most, before the program may keep it."""


class Guards:
    """The inputs and guards of one trace; `obstacle` is the reason why the trace cannot be kept, if it gave up."""

    def __init__(self, recording: Recording, hooks: Mapping[str, Callable[..., Any]]) -> None:
        self.recording, self.hooks = recording, hooks
        # inputs and other objects, by accessor or by id
        self.inputs: dict[str, OuterInput] = {}
        self.slots: list[int] = []  # of the values that the generated code returns or leaves outside
        self.draws: dict[str, str] = {}  # random draws: the expression of each by its name
        self.known_objects: dict[int, tuple[Any, str]] = {}  # an object from outside and its first accessor
        self.originals: dict[int, tuple[Any, Any]] = {}  # an object made for the trace, and its original
        self.shared: dict[int, tuple[Any, Any, str]] = {}  # an object, its counterpart, and its first accessor
        self.copyable: dict[int, Any] = {}  # values that guards compare by value, so that the next may be a copy
        self.pins: list[Any] = []
        self.labels: dict[str, str] = {}
        self._pin_names: dict[int, str] = {}
        # guards
        self.class_guards: dict[str, None] = {}  # checked first: if they hold, reading an attribute runs no code
        self.guards: dict[str, None] = {}
        self.final_guards: dict[str, None] = {}  # those guards that never hold again once they failed
        self.absorbed: dict[str, None] = {}  # guards of earlier traces, checked last
        self.integers: dict[str, str] = {}  # accessors of integers and arrays of them, by the guards of their values
        self.cached_arrays: list[tuple[np.ndarray, np.ndarray]] = []  # that functions with a cache returned, and copies
        self._compared_arrays: list[tuple[str, np.ndarray, np.ndarray, int]] = []
        self._asked: dict[int, Any] = {}  # objects that must be distinct, by id
        self.instances: list[Any] = []  # objects from outside that are these very ones
        self.replaceable: dict[type, list[str]] = {}  # accessors of objects that may be others, by their classes
        self._identity_guards: dict[str, None] = {}  # with the names of inputs in them
        self._namespaces: dict[int, Any] = {}  # the mappingproxies of classes, by id
        self._registrations = ""  # the guard that no class was registered with an ABC
        self._abc_answers: dict[str, None] = {}  # guards that repeat the checks of abstract classes
        # giving up
        self.obstacle: str | None = None
        self.is_strict = False  # raise NotCompiledError instead of giving up, and before any effect
        self.may_retry = False
        self.may_be_native = True
        self.unwatched_calls: list[Any] | None = None  # what code calls that runs in `unwatched`

    # -- inputs

    def input_name(self, made: Any) -> str | None:
        """Return the variable of the generated code for an input of the trace; None for other objects."""
        for k, (name, outer) in enumerate(self.inputs.items()):
            if outer.traced is made:
                return name if name in self.draws else f"i{k}"
        return None

    # -- guards of values

    def pin(self, thing: Any, label: str = "") -> str:
        """Keep an object, and return its name in accessors and guards."""
        name = self._pin_names.get(id(thing))
        if name is None:
            name = self._pin_names[id(thing)] = f"k{len(self.pins)}"
            self.pins.append(thing)
            self.labels[name] = label or _pin_label(thing) or f"a {type(thing).__name__}"
        return name

    def add_guard(self, text: str) -> None:
        """Add a guard, an expression that must be true for the code to run."""
        self.guards[text] = None
        if len(self.guards) > MOST_GUARDS:
            self.give_up(f"it reads more than {MOST_GUARDS} values from outside the function")

    def add_final_guard(self, text: str) -> None:
        """Add a guard that never holds again once it failed."""
        self.final_guards[text] = None
        self.add_guard(text)

    def guard_is(self, accessor: str, thing: Any, label: str = "") -> None:
        """Guard that an accessor reaches this very object."""
        name = self.pin(thing, label)
        if accessor != name:
            self.add_guard(f"{accessor} is {name}")

    def describe(self, text: str) -> str:
        """Return an accessor or a guard with the labels of the objects in it."""
        return with_labels(text, self.labels)

    def constant(self, value: Any) -> str:
        """Return the expression of a constant."""
        return literal(value) or self.pin(value)

    def accessor_of(self, thing: Any) -> str | None:
        """Return the first accessor of an object from outside; None for other objects."""
        return self.known_objects[id(thing)][1] if id(thing) in self.known_objects else None

    def guard_value(self, value: Any, accessor: str) -> bool:
        """Guard a value that code can compare; return whether it is one."""
        t = type(value)
        if value is None or t in (bool, type(...), type(NotImplemented)):
            self.add_guard(f"{accessor} is {value}")
        elif t in ATOMS:
            text = f"type({accessor}) is {t.__name__} and {accessor} == {self.constant(value)}"
            if t is int:
                self.integers[text] = accessor
            self.add_guard(text)
        elif t is np.ndarray and not value.dtype.hasobject:
            self.guard_array(value, accessor)
        elif issubclass(t, COMPARED_BY_VALUE) and has_readable_state(value):
            self.add_guard(f"{self.pin(is_same_value)}({accessor}, {self.pin(value)})")
        else:
            return False
        return True

    def guard_array(self, value: np.ndarray, accessor: str) -> None:
        """Guard the content of an array, which is a constant of the code: of integers, bools, strings or records."""
        kept = value.copy()
        self._compared_arrays.append((accessor, value, kept, value.flags.num))
        self.shared[id(value)] = value, value, accessor
        like = f"type({accessor}) is {self.pin(np.ndarray)} and {self.dtype_guard(accessor, value.dtype)}"
        lies = f"{accessor}.strides == {value.strides} and {accessor}.flags.num == {value.flags.num}"
        self.add_guard(f"{like} and {accessor}.shape == {value.shape} and {lies}")
        # by bytes, since records may hold floats: -0.0 differs from 0.0, and a nan equals itself
        same = f"{accessor}.tobytes() == {self.pin(value.tobytes())}"
        if value.dtype.kind in "iu":
            self.integers[same] = accessor
        self.add_guard(same)

    def dtype_guard(self, accessor: str, dtype: np.dtype) -> str:
        """Return the guard that an array has this data type, with all that `==` ignores."""
        name = self.pin(dtype)
        return f"({accessor}.dtype is {name} or {self.pin(is_same_value)}({accessor}.dtype, {name}))"

    def is_compared_array(self, array: np.ndarray) -> bool:
        """Whether an array is from outside and guarded by its content."""
        return any(array is other for _, other, *_ in self._compared_arrays)

    def changed_arrays(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Return the arrays guarded by their content into which the function has written: accessor, array, content."""
        return [
            (accessor, array, kept)
            for accessor, array, kept, flags in self._compared_arrays
            if array.tobytes() != kept.tobytes() or array.flags.num != flags
        ]

    def give_up_on_cached_arrays(self) -> None:
        """Give up if the function has written into an array that a function with a cache returned."""
        if any([array.tobytes() != kept.tobytes() for array, kept in self.cached_arrays]):
            self.give_up("it writes into an array that a function with a cache returned")

    # -- guards of identity
    #
    # A mutable object is one object in the trace, whichever accessors reach it; so is a nan, since containers search by
    # identity. Guards check that each further accessor reaches it, too. Containers and integer arrays, into which the
    # code may write, are guarded to be distinct objects. Float arrays and nans are if code asks, by `is`, `id` (and so
    # `copy.deepcopy`) or a search in a container. Other numbers get a fresh object for each accessor.

    def ask_identity(self, thing: Any) -> None:
        """Guard that a thing of the trace is distinct from all others that are asked about."""
        if issubclass(type(thing), MUTABLE) or is_nan(thing):
            self._asked[id(thing)] = thing

    def is_plain(self, value: Any) -> bool:
        """Whether the trace is given up, and nothing in a value was made for it: the program may keep the value."""
        todo, seen = [value], set[int]()
        while todo and self.obstacle is not None and len(seen) < MOST_PARTS:
            part = todo.pop()
            if id(part) in self.originals:
                return False
            if id(part) not in seen and not issubclass(type(part), (type, types.ModuleType, types.FunctionType)):
                seen.add(id(part))
                todo += gc.get_referents(part)
        return not todo

    def original_of(self, thing: Any) -> Any:
        """Return the original of an object that was made for the trace, or the thing itself."""
        return self.originals.get(id(thing), (thing, thing))[1]

    def are_one(self, a: Any, b: Any) -> bool:
        """Whether two numbers of the trace, of which one is an input, are the same nan outside.

        If they are two objects now, a guard holds that they stay two, or are no nan.
        """
        names = [*filter(None, map(self._identity_name, (a, b)))] if type(a) is type(b) else []
        if len(names) < 2 or not any([name.startswith("i") for name in names]):
            return False
        one, other = self.original_of(a), self.original_of(b)
        if one is other:
            if is_nan(one):
                self._identity_guards[" is ".join(names)] = None
            return is_nan(one)
        either = "" if type(a) is np.ndarray else f" or {names[0]} == {names[0]}"
        self._identity_guards[f"{' is not '.join(names)}{either}"] = None
        return False

    def _identity_name(self, thing: Any) -> str | None:
        """Return the expression of an input, a constant nan or a constant array; None for all else."""
        is_number = issubclass(type(thing), (*_NUMBER_TYPES, np.ndarray))
        name: str | None = self.input_name(thing) if is_number else None
        is_constant = slot_of(self.recording, thing) is None and (type(thing) is np.ndarray or is_nan(thing))
        return self.pin(thing) if name is None and is_constant else name

    def _guards_of_identity(self) -> list[str]:
        """Return all guards of identity; they come after the guards that bind the names of inputs.

        Containers and integer arrays are always guarded to be distinct: the code may write into one of them.
        """
        shared = self.shared.values()
        accessors = {id(made): (made, accessor) for _, made, accessor in shared} | self.known_objects
        held = {
            key
            for key, (thing, accessor) in accessors.items()
            if accessor and type(thing) in (list, collections.deque, dict, set)
        }
        contents = [(made, accessor) for own, made, accessor in shared if own is made and type(made) is np.ndarray]
        apart = {*self._asked, *held, *[id(array) for array, _ in contents]}
        asked = [accessors[key] for key in accessors if key in apart]
        kinds = {type(thing) for thing, _ in asked}
        groups = [[f"id({accessor})" for thing, accessor in asked if type(thing) is t] for t in kinds]
        guards = [
            *self._identity_guards,
            *[f"len({{{', '.join(ids)}}}) == {len(ids)}" for ids in groups if len(ids) > 1],
        ]
        if len(contents) > 1 and any([array.base is not None for array, _ in contents]):
            arrays, reached = zip(*contents, strict=True)
            guards.append(f"{self.pin(memory_distances)}({', '.join(reached)}) == {memory_distances(*arrays)}")
        return guards

    def _guards_of_instances(self) -> Iterator[str]:
        """Yield the guards that objects which may be others are as distinct as in the trace."""
        for t, accessors in self.replaceable.items():
            ids = ", ".join([f"id({accessor})" for accessor in accessors])
            objects = [thing for thing, accessor in self.known_objects.values() if accessor not in accessors]
            fixed = FixedIds([id(thing) for thing in objects if type(thing) is t])
            if fixed:
                yield f"{self.pin(fixed, f'ids of {t.__name__} objects')}.isdisjoint(({ids},))"
            if len(accessors) > 1:
                yield f"len({{{ids}}}) == {len(accessors)}"

    def asked_by_identity(self, numbers: list[Any]) -> None:
        """Note that C code searches by these numbers, and so by the identity of nans."""
        for number in filter(is_nan, numbers):
            self.ask_identity(number)

    def may_be_replaced(self, thing: Any) -> bool:
        """Whether a thing is from outside, and another one may pass its guards in the next call."""
        return id(thing) in self.originals or (type(thing) in (list, dict) and id(thing) in self.known_objects)

    # -- guards of classes

    def namespace(self, cls: Any) -> str:
        """Return the accessor of the dictionary of a class."""
        return self.pin(self._namespaces.setdefault(id(cls), vars(cls)), cls.__qualname__)

    def guard_abc_check(self, t: type, cls: type) -> None:
        """Guard whether a class is a subclass of an abstract one.

        While the cache token of `abc` is the same, nothing was registered and the answer holds; after that the guard
        repeats the check.
        """
        self._registrations = self._registrations or self._registration_guard()
        self._abc_answers[f"issubclass({self.pin(t)}, {self.pin(cls)}) is {issubclass(t, cls)}"] = None

    def guard_registrations(self) -> None:
        """Guard that no class is registered with an abstract class from now on."""
        self.add_final_guard(self._registration_guard())

    def _registration_guard(self) -> str:
        return f"{self.pin(abc)}.get_cache_token() == {abc.get_cache_token()}"

    def guard_used_classes(self) -> None:
        """Guard the user's classes whose methods the trace has instrumented, and the checks of abstract classes."""
        if self._abc_answers:
            self.add_final_guard(f"{self._registrations} or ({' and '.join(self._abc_answers)})")
        for cls in [*prepared.values()]:
            for base in cls.__mro__ or ():
                if is_heap_type(base) and belongs_to_user(base) and not is_born(base):
                    self._guard_class(base)
        if self.instances:
            objects = self.pin([*self.instances], "the objects")
            types = self.pin([*map(type, self.instances)], "their types")
            self.class_guards[f"{self.pin(are_same)}(map(type, {objects}), {types})"] = None

    def _guard_class(self, cls: Any) -> None:
        accessor, space, tests = self.namespace(cls), vars(cls), self.class_guards
        kind = f"{self.pin(cls)}.__flags__ & {_PATTERN_FLAGS} == {cls.__flags__ & _PATTERN_FLAGS}"
        tests[f"{self.pin(cls)}.__mro__ is {self.pin(cls.__mro__)} and {kind}"] = None
        tests[f"len({accessor}) == {len(space)}"] = None
        for name, raw in space.items():
            is_special, item = name.startswith("__"), f"{accessor}[{name!r}]"
            if type(raw) is functools.cached_property:
                tests[f"{item}.func is {self.pin(raw.func)}"] = None
            if name in _CLASS_BOOKKEEPING:
                tests[f"{name!r} in {accessor}"] = None
            elif type(raw) in (*ATOMS, float, np.ndarray) and not is_special:  # where it is read it is guarded
                tests[f"type({item}) is {self.pin(type(raw))}"] = None
            else:
                tests[f"{item} is {self.pin(raw)}"] = None
                if type(raw) is types.FunctionType and primitive_of(raw) is not None:
                    self.give_up(f"{raw.__qualname__} is a method with a custom rule")
                is_object = is_special and callable(raw) and not issubclass(type(raw), type)
                if is_object and not runs_functions_only(raw):
                    self.give_up(f"{cls.__qualname__}.{name} is a {type(raw).__name__}, which may have state")

    # -- all guards together

    def all_guards(self) -> list[str]:
        """Return the guards in the order in which they are checked; those of inputs bind their names for the others."""
        outside = [(f"i{k}", *item) for k, item in enumerate(self.inputs.items()) if item[0] not in self.draws]
        of_inputs = [self._type_guard(name, accessor, outer.original) for name, accessor, outer in outside]
        return [*self.class_guards, *self.guards, *of_inputs, *self.guards_at_end()]

    def guards_at_end(self) -> list[str]:
        """Return the guards that are checked last: they read the names of inputs."""
        return [*self._guards_of_identity(), *self._guards_of_instances(), *self._alias_guard(), *self.absorbed]

    def _type_guard(self, name: str, accessor: str, value: Any) -> str:
        """Return the guard on the type of an input, for arrays also its shape and dtype; it also binds its name."""
        if type(value) is np.ndarray:
            like = f"{name}.shape == {value.shape} and {self.dtype_guard(name, value.dtype)}"
            return f"type({name} := {accessor}) is ndarray and {like}"
        if type(value) is int:
            return f"type({name} := {accessor}) is int and -{WHOLE} <= {name} <= {WHOLE}"
        return f"type({name} := {accessor}) is {'float' if type(value) is float else self.pin(type(value))}"

    def _alias_guard(self) -> list[str]:
        """Return the guard that an array inside an argument occurs nowhere else in them: each is its own input."""
        arrays = [accessor for accessor, outer in self.inputs.items() if type(outer.original) is np.ndarray]
        given = [accessor for accessor in arrays if re.match(r"a\d", accessor)]
        inside = [f"id({accessor})" for accessor in given if not accessor[1:].isdigit()]
        whole = [f"id({accessor})" for accessor in given if accessor[1:].isdigit()]
        if not inside or len(given) < 2:
            return []
        others = f" - {{{', '.join(whole)}}}" if whole else ""
        return [f"len({{{', '.join(inside)}}}{others}) == {len(inside)}"]

    # -- giving up

    def give_up(self, reason: str, accessor: str = "", may_retry: bool = False) -> None:
        """Finish the trace, but do not keep it, for this reason. `may_retry`: a second trace may do better."""
        if self.obstacle is None:
            place = f" ({self.describe(accessor)})" if accessor else ""
            obstacle = f"{users_line()}: {reason}{place}"
            if self.is_strict:
                raise self.recording.refuse(NotCompiledError(obstacle))
            self.obstacle, self.may_retry = obstacle, may_retry

    @contextmanager
    def unwatched(self) -> Iterator[list[Any]]:
        """Run user code where nothing is recorded without giving up: what it reads is guarded apart from this run.

        The value is a list, to which the callables are appended that this code calls.
        """
        calls: list[Any] = []
        before, self.unwatched_calls = self.unwatched_calls, calls
        try:
            yield calls
        finally:
            self.unwatched_calls = before


class FixedIds(frozenset[int]):
    """The ids of objects that pins keep alive. They differ in traces that share their code."""


_PATTERN_FLAGS = 1 << 5 | 1 << 6
"""The flags by which `match` takes a class for a sequence or mapping; registering with an ABC sets them."""
_CLASS_BOOKKEEPING = {
    "__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__annotate_func__", "_abc_impl",
}  # fmt: skip
"""Names in classes that Python itself may set later."""


def _pin_label(thing: Any) -> str:
    """Return the name of a class, function, module or data type; an empty string for other objects."""
    if issubclass(type(thing), (type, types.FunctionType, type(np.sum), functools._lru_cache_wrapper)):
        return getattr(thing, "__qualname__", "")
    if issubclass(type(thing), np.dtype):
        return str(thing)
    return thing.__name__ if type(thing) is types.ModuleType else ""


MUTABLE = (list, collections.deque, dict, set, np.ndarray)
"""Mutable types whose values keep their identity in the trace; instances of classes have guards of their own."""
_NUMBER_TYPES = (float, complex, np.generic)


def is_nan(thing: Any) -> bool:
    """Whether a thing is a nan."""
    return issubclass(type(thing), _NUMBER_TYPES) and bool(thing != thing)


def memory_distances(*arrays: Any) -> dict[tuple[int, int], int]:
    """Return the distances in memory between arrays that may overlap, by the positions of the two."""
    pairs = itertools.combinations(enumerate(arrays), 2)
    near = [((i, j), a, b) for (i, a), (j, b) in pairs if np.may_share_memory(a, b)]
    starts = [(pair, *[array.__array_interface__["data"][0] for array in (a, b)]) for pair, a, b in near]
    return {pair: one - other for pair, one, other in starts}
