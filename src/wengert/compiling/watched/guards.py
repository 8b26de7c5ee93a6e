"""Guards of a trace: floats and arrays read from outside the function become its inputs, all else is guarded.

An accessor is a Python expression that reaches a value from an argument or a pinned object (the dictionary of a module,
a cell, a function), such as `a1['w'][2]` or `k0['lr']`. A guard is an expression, too, true of the value that was read.
The trace replaces each float and array by a fresh object, one for each accessor: after `a = b = 0.1` one float has two
names. Lists, tuples and dictionaries are read as a whole, objects attribute by attribute as the code reads them.
If the code reads an object of another kind, the trace is used once and not kept.
"""

from __future__ import annotations

import enum
import functools
import re
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.watched.identities import Identities, is_nan
from wengert.compiling.watched.sameness import has_readable_state, is_same_value, literal, may_have_copies
from wengert.compiling.watched.stdlib_types import is_named_tuple, read_enum_member, read_named_tuple, read_partial
from wengert.compiling.watched.swapped_in import SwappedContainers
from wengert.compiling.watched.trusted import is_library_namespace, is_unwatched_class
from wengert.compiling.watched.watchable_types import (
    ATOMS,
    COMPARED_BY_VALUE,
    CONSTANT_CALLABLES,
    has_only_attributes,
    hides_python_function,
    is_tensor_function,
    is_unbound,
)
from wengert.errors import RefusedCallError
from wengert.hooks.code_swap import prepare
from wengert.recording.primitives import INPUT
from wengert.recording.recording import STATE, Recording, users_line
from wengert.recording.shadow import SHADOW
from wengert.recording.subclasses import renewed
from wengert.values.callables import unwrapped
from wengert.values.codes import original
from wengert.values.frames import ENGINE, is_ours
from wengert.values.specs import is_inexact
from wengert.values.transformed import Transformed

MOST_GUARDS = 1000
"""The largest number of guards of one trace, and of inputs; a trace with more is not kept."""
LONGEST_ACCESSOR = 400
"""Characters of the longest accessor; a trace that reads a value deeper than that is not kept."""
GENERATORS = (np.random.Generator, np.random.RandomState)
"""Random generators: each draw changes their state, which `drawing.py` handles."""


class OuterInput(NamedTuple):
    """A number or an array from outside: the fresh object that the trace uses, and the original."""

    traced: Any
    original: Any


class Wrapper:
    """A callable object of this package that calls the function `wrapped`."""

    wrapped: Any


def with_labels(text: str, labels: Mapping[str, str]) -> str:
    """Replace the names of pinned objects in an accessor or a guard by their labels."""
    return re.sub(r"\b[kd]\d+\b", lambda k: labels.get(k[0], k[0]), text)


def _pin_label(thing: Any) -> str:
    """Return the name of a class, function, module or data type; an empty string for other objects."""
    if issubclass(type(thing), (type, types.FunctionType, type(np.sum))):
        return getattr(thing, "__qualname__", "")
    if issubclass(type(thing), np.dtype):
        return str(thing)
    return thing.__name__ if type(thing) is types.ModuleType else ""


def is_root_of_trace(frame: types.FrameType) -> bool:
    """Whether a frame is that of `trace_watched`, which calls the traced function."""
    return frame.f_code.co_name == "trace_watched" and is_ours(frame)


def uninstrumented_library(frame: types.FrameType | None) -> str | None:
    """Return the name of a library function above a frame that runs uninstrumented; None without one."""
    while frame is not None and not is_root_of_trace(frame):
        if not is_ours(frame) and original(frame.f_code) is None and is_library_namespace(frame.f_globals):
            return frame.f_code.co_qualname
        frame = frame.f_back
    return None


class GuardBuilder:
    """The inputs and guards of one trace, built as it reads; `obstacle` says why the trace cannot be kept, if so."""

    def __init__(self, recording: Recording, hooks: Mapping[str, Callable[..., Any]]) -> None:
        self.recording, self.hooks = recording, hooks
        self.obstacle: str | None = None
        self.may_retry = False
        self.pins: list[Any] = []
        self.labels: dict[str, str] = {}
        self.guards: dict[str, None] = {}
        self.class_guards: dict[str, None] = {}  # checked first: if they hold, reading an attribute runs no code
        self.final_guards: dict[str, None] = {}  # those guards that never hold again once they failed
        self.inputs: dict[str, OuterInput] = {}
        self.known_objects: dict[int, tuple[Any, str]] = {}  # by id: an object and its first accessor
        self.cells: dict[int, tuple[Any, str]] = {}
        self.originals: dict[int, tuple[Any, Any]] = {}  # by id: an object made for the trace, and its original
        self.checked_calls: dict[int, Any] = {}  # callables that may be called, by id
        self.classes: dict[int, Any] = {}  # classes that the code read, by id
        self.draws: dict[str, str] = {}  # random draws: the expression of each by its name
        self.generators: dict[str, Any] = {}  # the generators drawn from, by their accessors
        self.seeded_generators: dict[int, Any] = {}  # made in the trace from a constant seed, by id
        self.read_names: dict[tuple[int, str], tuple[Any, Any]] = {}  # of namespaces: original and counterpart
        self.identities = Identities(self)
        self._pin_names: dict[int, str] = {}
        self._namespaces: dict[int, Any] = {}  # the mappingproxies of classes, by id
        self._registrations = ""  # the guard that no class was registered with an ABC
        self._abc_answers: dict[str, None] = {}  # guards that repeat the checks of abstract classes
        self._open_containers: set[int] = set()  # ids of the containers that are being read
        self._swapped = SwappedContainers()
        self._compared_arrays: list[tuple[str, np.ndarray, np.ndarray, int]] = []

    # -- pins and guards

    def give_up(self, reason: str, may_retry: bool = False) -> None:
        """Finish the trace, but do not keep it, for this reason. `may_retry`: a second trace may do better."""
        if self.obstacle is None:
            self.obstacle, self.may_retry = f"{users_line()}: {reason}", may_retry

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

    def describe(self, text: str) -> str:
        """Return an accessor or a guard with the labels of the objects in it."""
        return with_labels(text, self.labels)

    # -- reading

    def read(self, value: Any, accessor: str) -> Any:
        """Guard a value from outside, and return it or the object that replaces it in the trace."""
        if len(accessor) > LONGEST_ACCESSOR or len(self.inputs) > MOST_GUARDS:
            self.give_up(f"it reads too large or too deep a structure ({self.describe(accessor)[:LONGEST_ACCESSOR]} …)")
        if id(value) in self.identities.shared:
            _, made, first = self.identities.shared[id(value)]
            if accessor != first:
                self.add_guard(f"{accessor} is {first}")
            return made
        if self.obstacle is not None or id(value) in SHADOW:
            return value
        if id(value) in self.known_objects:
            self.add_guard(f"{accessor} is {self.known_objects[id(value)][1]}")
            return value
        t = type(value)
        if t is not set and may_have_copies(value):
            self.identities.copyable[id(value)] = value
        if t is float or is_inexact(value):
            return self._read_number(value, accessor)
        if t in ATOMS:
            self._guard_atom(value, accessor)
        elif t is np.ndarray and not value.dtype.hasobject:
            self._guard_array(value, accessor)
        elif issubclass(t, COMPARED_BY_VALUE) and has_readable_state(value):
            self.add_guard(f"{self.pin(is_same_value)}({accessor}, {self.pin(value)})")
        elif t in (list, tuple, dict):
            return self._read_container(value, accessor)
        elif is_named_tuple(t):
            return read_named_tuple(self, value, accessor)
        elif t is functools.partial:
            return read_partial(self, value, accessor)
        elif t in (set, frozenset) and has_readable_state(value):
            self.add_guard(
                f"type({accessor}) is {t.__name__} and {self.pin(is_same_value)}((*{accessor},), {self.pin((*value,))})"
            )
            self.identities.copyable.update({id(item): item for item in value if may_have_copies(item)})
            if t is set:
                self.identities.shared[id(value)] = value, value, accessor
                self._swapped.put(value, t(value))
        else:
            self._read_object(value, accessor, t)
        return value

    def _read_number(self, value: Any, accessor: str) -> Any:
        if type(value) is not float and type(value).__module__ not in ("numpy", "builtins"):
            self.give_up(f"it reads a {type(value).__name__}, an array of another library ({self.describe(accessor)})")
            return value
        if type(value) not in (float, complex, np.ndarray) and not issubclass(type(value), np.generic):
            self.give_up(
                f"it reads a {type(value).__name__}, a subclass of arrays or numbers ({self.describe(accessor)})"
            )
            return value
        if STATE.recording is not self.recording:
            advice = "pass it as an argument with in_axes=None"
            self.give_up(f"a function under wg.vmap reads {self.describe(accessor)}: {advice}")
            return value
        caller = uninstrumented_library(sys._getframe())
        if caller is not None:
            self.give_up(f"{caller}, which runs uninstrumented, calls a function that reads {self.describe(accessor)}")
        found = self.inputs.get(accessor)
        if found is None or found.original is not value:
            if found is not None:
                self.give_up(f"{self.describe(accessor)} changes during the call")
                return value
            self.inputs[accessor] = found = OuterInput(self._new_input(value), value)
            if type(value) is np.ndarray or is_nan(value):
                self.identities.shared[id(value)] = value, found.traced, accessor
            self.originals[id(found.traced)] = found.traced, value
        return found.traced

    def _new_input(self, value: Any) -> Any:
        """Return a fresh copy of a value, recorded as an input of the tape."""
        recording = self.recording
        made, slot = renewed(value), len(recording.entries)
        if issubclass(type(made), np.ndarray):
            recording.memory.arguments.append((made, slot))
            recording.memory.capture(made)
        recording.entries.append((INPUT, made, (), (), None, None))
        recording.levels[0].inputs.add(slot)
        SHADOW[id(made)] = slot
        return made

    def input_name(self, made: Any) -> str | None:
        """Return the variable of the generated code for an input of the trace; None for other objects."""
        for k, (name, outer) in enumerate(self.inputs.items()):
            if outer.traced is made:
                return name if name in self.draws else f"i{k}"
        return None

    def _guard_atom(self, value: Any, accessor: str) -> None:
        if value is None or type(value) in (bool, type(...), type(NotImplemented)):
            self.add_guard(f"{accessor} is {value}")
        else:
            self.add_guard(f"type({accessor}) is {type(value).__name__} and {accessor} == {self.constant(value)}")

    def constant(self, value: Any) -> str:
        """Return the expression of a constant."""
        return literal(value) or self.pin(value)

    def _guard_array(self, value: np.ndarray, accessor: str) -> None:
        """Guard the content of an array of integers, bools, strings or records, on which code may branch."""
        kept = value.copy()
        self._compared_arrays.append((accessor, value, kept, value.flags.num))
        self.identities.shared[id(value)] = value, value, accessor
        like = f"type({accessor}) is {self.pin(np.ndarray)} and {self.dtype_guard(accessor, value.dtype)}"
        lies = f"{accessor}.strides == {value.strides} and {accessor}.flags.num == {value.flags.num}"
        self.add_guard(f"{like} and {accessor}.shape == {value.shape} and {lies}")
        # by bytes, since records may hold floats: -0.0 differs from 0.0, and a nan equals itself
        self.add_guard(f"{accessor}.tobytes() == {self.pin(value.tobytes())}")

    def dtype_guard(self, accessor: str, dtype: np.dtype) -> str:
        """Return the guard that an array has this data type, with all that `==` ignores."""
        name = self.pin(dtype)
        return f"({accessor}.dtype is {name} or {self.pin(is_same_value)}({accessor}.dtype, {name}))"

    def _read_container(self, value: Any, accessor: str) -> Any:
        t = type(value)
        self.add_guard(f"type({accessor}) is {t.__name__}")
        if t is dict:
            items = self._guard_keys(value, accessor)
            if items is None:
                self.give_up(f"it reads a dictionary whose keys wengert cannot compare ({self.describe(accessor)})")
                return value
        else:
            self.add_guard(f"len({accessor}) == {len(value)}")
            items = {key: repr(key) for key in range(len(value))}
        if t is not tuple:
            self.known_objects[id(value)] = value, accessor
        elif id(value) in self._open_containers:
            message = f"{users_line()}: wg.compile cannot read a tuple that contains itself ({self.describe(accessor)})"
            raise self.recording.refuse(RefusedCallError(message))
        self._open_containers.add(id(value))
        parts = {key: self.read(value[key], f"{accessor}[{text}]") for key, text in items.items()}
        self._open_containers.discard(id(value))
        changed = any(part is not value[key] for key, part in parts.items())
        if t is tuple:
            made = tuple(parts.values()) if changed else value
            self.originals[id(made)] = made, value
            return made
        self._swapped.put(value, t(parts) if t is dict else [*parts.values()])
        return value

    def _guard_keys(self, value: dict[Any, Any], accessor: str) -> dict[Any, str] | None:
        """Guard the keys of a dictionary, and return their expressions; None if they cannot be compared."""
        types = [type(key) for key in value]
        self.identities.copyable.update({id(key): key for key in value if may_have_copies(key)})
        if {*types} <= {str, int}:
            keys = self.pin([*value], f"[{', '.join([literal(key) or 'an integer' for key in value])}]")
            self.add_guard(f"[*map(type, {accessor})] == {self.pin(types, 'their types')} and [*{accessor}] == {keys}")
        elif all(issubclass(t, enum.Enum) for t in types):
            names = {key: self.pin(key) for key in value}
            self.add_guard(f"[*map(id, {accessor})] == {[*map(id, names)]}")
            return names
        elif all(map(has_readable_state, value)):
            self.add_guard(
                f"type({accessor}) is dict and {self.pin(is_same_value)}((*{accessor},), {self.pin((*value,))})"
            )
        else:
            return None
        return {key: self.constant(key) for key in value}

    def _read_object(self, value: Any, accessor: str, t: Any) -> None:
        if hides_python_function(value):
            self.give_up(f"it reads {self.describe(accessor)}, which calls a Python function that wengert cannot see")
        elif issubclass(t, enum.Enum):
            read_enum_member(self, value, accessor)
        elif issubclass(t, type):
            self.classes[id(value)] = value
            prepare(value)
            self.add_guard(f"{accessor} is {self.pin(value)}")
        elif t is types.FunctionType or t is Transformed:
            self.add_guard(f"{accessor} is {self.pin(value)}")
            self.read_callable(unwrapped(value))
        elif t is types.ModuleType:
            self.add_guard(f"{accessor} is {self.pin(value, value.__name__)}")
            if not is_library_namespace(vars(value)):
                self.add_guard(f"type({accessor}) is {self.pin(t)}")
        elif issubclass(t, CONSTANT_CALLABLES) and is_unbound(value):
            self.add_guard(f"{accessor} is {self.pin(value)}")
        elif t is types.MethodType:
            self.add_guard(f"type({accessor}) is {self.pin(t)} and {accessor}.__func__ is {self.pin(value.__func__)}")
            self.read(value.__self__, f"{accessor}.__self__")
        elif is_tensor_function(t):
            self.add_guard(f"{accessor} is {self.pin(value)}")
        elif issubclass(t, Wrapper):
            self.add_guard(f"{accessor} is {self.pin(value)}")
            self.read_callable(value.wrapped)
        elif t in GENERATORS or (has_only_attributes(t) and not any(map(is_unwatched_class, t.__mro__))):
            self._read_instance(value, accessor, t)
        else:
            self.give_up(f"it reads a {t.__name__} ({self.describe(accessor)}), which wengert cannot inspect")

    def _read_instance(self, value: Any, accessor: str, t: Any) -> None:
        self.classes[id(t)] = t
        prepare(t)  # C code may call its methods
        if accessor.startswith("a"):
            self.add_guard(f"type({accessor}) is {self.pin(t)}")
        else:
            self.add_guard(f"{accessor} is {self.pin(value)}")
            self.add_guard(f"type({self.pin(value)}) is {self.pin(t)}")
            accessor = self.pin(value)
        for other, where in self.known_objects.values():
            if type(other) is t and (accessor.startswith("a") or where.startswith("a")):
                self.add_guard(f"{accessor} is not {where}")
        self.known_objects[id(value)] = value, accessor
        if t is types.SimpleNamespace:  # C code compares and prints it as a whole
            self.read(vars(value), f"{accessor}.__dict__")

    def read_callable(self, f: Any) -> None:
        """Watch the objects and callables of the user that a function of this package, such as `grad(f)`, holds."""
        todo, seen = [f], set()
        while todo:
            g = todo.pop()
            if id(g) in seen:
                continue
            seen.add(id(g))
            if type(g) is types.FunctionType and g.__code__.co_filename.startswith(ENGINE):
                todo += [cell.cell_contents for cell in g.__closure__ or ()]
            elif type(g) is Transformed:
                todo.append(g.__func__)
            elif type(g) is types.MethodType:
                self.read(g.__self__, f"{self.pin(g)}.__self__")
            elif issubclass(type(g), (list, tuple)):
                todo += g
            elif issubclass(type(g), dict):
                todo += g.values()
            elif not issubclass(type(g), (types.FunctionType, type, *CONSTANT_CALLABLES, *ATOMS, float)):
                self._read_object(g, self.pin(g), type(g))
