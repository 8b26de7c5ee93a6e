"""Inputs: floats and arrays read from outside the function; all else that it reads is guarded, or the trace gives up.

The trace replaces each float and array by a fresh object, one for each accessor: after `a = b = 0.1` one float has two
names. Containers are read as a whole, objects attribute by attribute as the code reads them.
"""

from __future__ import annotations

import builtins
import enum
import functools
import gc
import inspect
import operator
import re
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any
from weakref import ProxyTypes

import numpy as np

from wengert.compiling.watched.builtin_subclasses import Held, built_in_base, read_held
from wengert.compiling.watched.containers import SwappedContainers, reader_of
from wengert.compiling.watched.effects import Effects
from wengert.compiling.watched.guards import MOST_GUARDS, Guards, OuterInput, is_nan
from wengert.compiling.watched.loaded_modules import LoadedModules
from wengert.compiling.watched.symbolic_ints import record_integer_call, refuse_counter, symbolic_int
from wengert.compiling.watched.trusted import (
    belongs_to_user,
    is_engine_code,
    is_library_namespace,
    is_tensor_function,
    is_unwatched_class,
    uninstrumented_library,
)
from wengert.compiling.watched.watchable import (
    ATOMS,
    COMPARED_BY_VALUE,
    CONSTANT_CALLABLES,
    OUTLETS,
    Wrapper,
    has_only_attributes,
    has_readable_state,
    hides_python_function,
    is_constant_selector,
    is_descriptor_of_user,
    is_of_extension,
    is_same_value,
    is_struct_sequence,
    is_unbound,
    may_have_copies,
    nested_leaves,
    walked,
)
from wengert.hooks.code_swap import prepare
from wengert.hooks.standins.compiled import is_of_numba
from wengert.recording.primitives import INPUT
from wengert.recording.recording import STATE, Recording, flat_slots
from wengert.recording.shadow import SHADOW
from wengert.recording.slots import show_inside
from wengert.recording.subclasses import renewed
from wengert.values.callables import unwrapped
from wengert.values.data_classes import READS
from wengert.values.functional import WHOLE
from wengert.values.names import is_heap_type
from wengert.values.random_states import generator_types
from wengert.values.specs import is_inexact
from wengert.values.transformed import Transformed
from wengert.values.views import owner_of

LONGEST_ACCESSOR = 400
"""Characters of the longest accessor; a trace that reads a value deeper than that is not kept."""
_KEY_FUNCTION = type(functools.cmp_to_key(operator.lt))
_IMMUTABLE = (types.FunctionType, type, *CONSTANT_CALLABLES, *ATOMS, *COMPARED_BY_VALUE, float)
"""Types of values in a function of this package that need no guard beside that of the function."""


_FIXED_CONSTANTS = {str, bytes, bool, type(None)}
"""Types of constants of which no later trace makes inputs."""
_COMPARED_BY_IDENTITY = (types.FunctionType, types.ModuleType, type, enum.Enum, np.ufunc, type(np.sum))
"""Types of objects of which guards compare the identity."""


class Inputs(Guards):
    """The inputs and guards of one trace, built as it reads values from outside."""

    def __init__(self, recording: Recording, hooks: Mapping[str, Callable[..., Any]]) -> None:
        super().__init__(recording, hooks)
        self.generators: dict[str, Any] = {}  # the generators drawn from, by their accessors
        self.seeded_generators: dict[int, Any] = {}  # made in the trace from a constant seed, by id
        self.classes: dict[int, Any] = {}  # classes that the code read, by id
        self.addresses: dict[int, Any] = {}  # that the function asked for, and the objects of its own that have them
        self.held: list[Held] = []  # what objects of subclasses of built-in classes hold
        self.swapped = SwappedContainers()
        self.effects = Effects()
        self.open_tuples: set[int] = set()  # ids of the tuples that are being read
        self.counters: dict[str, Any] = {}  # the symbolic integers among the inputs

    def read(self, value: Any, accessor: str) -> Any:
        """Make a value from outside an input, or guard it, or give up; return the object that the trace uses for it."""
        if len(accessor) > LONGEST_ACCESSOR or len(self.inputs) > MOST_GUARDS:
            self.give_up(f"it reads too large or too deep a structure ({self.describe(accessor)[:LONGEST_ACCESSOR]} …)")
        if id(value) in self.shared:
            _, made, first = self.shared[id(value)]
            if accessor != first:
                self.add_guard(f"{accessor} is {first}")
            return made
        if self.obstacle is not None:
            return self.effects.sinks[id(value)][2] if id(value) in self.effects.sinks else value
        if id(value) in SHADOW:
            return value
        if (known := self.accessor_of(value)) is not None:
            if accessor != known:
                self.add_guard(f"{accessor} is {known}")
            return value
        t = type(value)
        if t in ProxyTypes:  # its object may be gone
            self.give_up("it reads a weak proxy", accessor)
            return value
        if value is vars(builtins):  # `eval` puts it into the dictionary of names
            self.guard_is(accessor, value)
            return value
        if value is sys.modules:
            self.guard_is(accessor, value)
            made = LoadedModules(self, accessor)
            self.shared[id(value)] = value, made, accessor
            return self.note_made(made, value)
        if t is not set and may_have_copies(value):
            self.copyable[id(value)] = value
        if (base := built_in_base(t)) is not None:
            self._read_instance(value, accessor, t)
            self.held.append(read_held(self, value, accessor, base))
            return value
        if self.describe(accessor) in self.effects.learned.constants and has_readable_state(value):
            self.add_guard(f"{self.pin(is_same_value)}({accessor}, {self.pin(value)})")
            self.copyable[id(value)] = value
            return value
        if t is float or is_inexact(value):
            return self._read_number(value, accessor)
        if t is int and self.describe(accessor) in self.effects.learned.counted:
            return self._read_counter(value, accessor)
        is_integers = t is np.ndarray and value.dtype.kind in "iu"
        if is_integers and self.describe(accessor) in self.effects.learned.counted:
            return self._read_number(value, accessor)
        if t is list and self.describe(accessor) in self.effects.learned.grown:
            return self._read_grown(value, accessor)
        if self.guard_value(value, accessor):
            return value
        read_container = reader_of(value)
        if read_container is not None:
            return read_container(self, value, accessor)
        self._read_object(value, accessor, t)
        return value

    # -- numbers and arrays

    def _read_number(self, value: Any, accessor: str) -> Any:
        """Return the input for a number or array from outside; give up on those that are hard to replace."""
        t = type(value)
        found = self.inputs.get(accessor)
        if t is not float and t.__module__ not in ("numpy", "builtins"):
            self.give_up(f"it reads a {t.__name__}, an array of another library", accessor)
        elif t not in (float, complex, np.ndarray) and not issubclass(t, np.generic):
            self.give_up(f"it reads a {t.__name__}, a subclass of arrays or numbers", accessor)
        elif found is not None and found.original is value:
            return found.traced
        else:
            caller = uninstrumented_library(sys._getframe())
            if caller is not None:
                reads = f"calls a function that reads {self.describe(accessor)}"
                self.give_up(f"{caller}, which runs uninstrumented, {reads}")
            if found is None:
                made = self._new_input(value, accessor)
                if STATE.recording is not self.recording:
                    show_inside(self.recording, made)
                return made
            self.give_up(f"{self.describe(accessor)} changes during the call")
        return value

    def _new_input(self, value: Any, accessor: str) -> Any:
        """Return a fresh copy of a value, recorded as an input of the tape."""
        recording = self.recording
        made, slot = renewed(value), len(recording.entries)
        if issubclass(type(made), np.ndarray):
            recording.memory.arguments.append((made, slot, None))
            recording.memory.capture(made)
            self.effects.arrays.outer[id(owner_of(made))] = owner_of(made)
        recording.entries.append((INPUT, made, (), (), None, None))
        recording.levels[0].inputs.add(slot)
        if not is_inexact(made):
            recording.inert.add(slot)
        SHADOW[id(made)] = slot
        self.inputs[accessor] = OuterInput(made, value)
        if type(value) is np.ndarray or is_nan(value):
            self.shared[id(value)] = value, made, accessor
        return self.note_made(made, value)

    def want_constants(self, slot: Any) -> bool:
        """Have the next trace read the numbers on which a variable depends as constants; False if it has arguments."""
        accessors = {SHADOW[id(outer.traced)]: accessor for accessor, outer in self.inputs.items()}
        found, todo = set(), {*flat_slots((slot,))}
        while todo:
            at = todo.pop()
            entry: Any = self.recording.entries[at]
            if entry[0] is INPUT:
                found.add(accessors.get(at, "a"))
            else:
                todo |= {part for part in nested_leaves(entry[2]) if type(part) is int}
        if not any([name.startswith(("a", "d")) or type(self.inputs[name].original) is np.ndarray for name in found]):
            self.effects.learned.constants.update(map(self.describe, found))
            return True
        return False

    def want_all_constants(self) -> None:
        """Have the next trace read all numbers from outside as constants, but arrays."""
        found = [name for name, outer in self.inputs.items() if type(outer.original) is not np.ndarray]
        self.effects.learned.constants.update([self.describe(name) for name in found if name[0] not in "ad"])

    def _read_counter(self, value: int, accessor: str) -> Any:
        """Return the symbolic integer of an integer that changes at each call."""
        if accessor in self.inputs:
            return self.counters[accessor]
        if not -WHOLE <= value <= WHOLE:
            refuse_counter("an integer beyond 2**53 changes at each call")
        number = self._new_input(float(value), accessor)
        self.counters[accessor] = symbolic_int(self.recording, number)
        if STATE.recording is not self.recording:
            show_inside(self.recording, number, self.counters[accessor])
        self.inputs[accessor] = self.inputs[accessor]._replace(original=value)
        return self.note_made(self.counters[accessor], value)

    def read_draw(self, value: Any, draw: Any, accessor: str, expression: str) -> Any:
        """Return the input for a random draw of a generator, which the generated code repeats by an expression."""
        if type(value) is int and not self.counts_draws():
            return value
        name = self.note_draw(draw, accessor, expression)
        return self._read_counter(value, name) if type(value) is int else self._read_number(value, name)

    def note_draw(self, draw: Any, accessor: str, expression: str) -> str:
        """Note a random draw, and return its variable in the generated code."""
        name = f"d{len(self.draws)}"
        self.draws[name] = expression
        self.generators[accessor] = draw.__self__
        self.labels[name] = f"{self.describe(accessor)}.{draw.__name__}()"
        return name

    def counts_draws(self) -> bool:
        """Whether the trace can compute with integers that are drawn; else give up, so that the next trace does."""
        counted, may_count = self.effects.learned.counted, self.effects.learned.may_count
        if "drawn integers" not in counted:
            counted.update(["drawn integers"] if may_count else [])
            self.give_up("it draws an integer", may_retry=may_count)
        return "drawn integers" in counted and self.obstacle is None

    def unchanged_input(self, array: np.ndarray) -> str | None:
        """Return the variable of an input array into which nothing was written yet; None for other arrays."""
        found = [name for name, outer in self.inputs.items() if outer.traced is array]
        return self.input_name(array) if found and not self.recording.memory.is_followed(array) else None

    def _read_grown(self, value: list[Any], accessor: str) -> Any:
        """Return what replaces a list that the function only appends to."""
        self.add_guard(f"type({accessor}) is list")
        sink = self.effects.sink(value, accessor)
        if accessor != (first := self.effects.sinks[id(value)][1]):
            self.add_guard(f"{accessor} is {first}")
        self.known_objects[id(sink)] = sink, first
        return self.note_made(sink, value)

    def length_of(self, sink: Any) -> Any:
        """Return the length of a list that the function appends to, as a symbolic integer."""
        own, accessor = self.effects.behind(sink)
        before = self._read_counter(len(own), f"len({accessor})")
        return record_integer_call(operator.add, before, list.__len__(sink)) if list.__len__(sink) else before

    def item_from_end(self, sink: Any, place: int) -> Any:
        """Return an item of a list that the function appends to, counted from the end."""
        own, accessor = self.effects.behind(sink)
        before = place + list.__len__(sink)
        return list.__getitem__(sink, place) if before >= 0 else self.read(own[before], f"{accessor}[{before}]")

    def note_made(self, made: Any, original: Any) -> Any:
        """Remember the original of an object that was made for the trace, and return the object."""
        self.originals[id(made)] = made, original
        return made

    # -- objects, classes and functions

    def _read_object(self, value: Any, accessor: str, t: Any) -> None:
        """Guard the identity of an object, and watch what it holds; give up on one that cannot be watched."""
        if hides_python_function(value):
            self.give_up(f"it reads {self.describe(accessor)}, which calls a Python function that wengert cannot see")
        elif issubclass(t, enum.Enum):
            self._read_enum_member(value, accessor)
        elif issubclass(t, type):
            self._read_class(value)
            self.guard_is(accessor, value)
        elif t is types.FunctionType or t is Transformed:
            self.guard_is(accessor, value)
            self.read_callable(unwrapped(value))
        elif t is types.ModuleType:
            self.guard_is(accessor, value, value.__name__)
            if not is_library_namespace(vars(value)):
                self.add_guard(f"type({accessor}) is {self.pin(t)}")
        elif (issubclass(t, CONSTANT_CALLABLES) and is_unbound(value)) or is_of_extension(t) or is_tensor_function(t):
            self.guard_is(accessor, value)
        elif t is types.MethodType:
            self.add_guard(f"type({accessor}) is {self.pin(t)} and {accessor}.__func__ is {self.pin(value.__func__)}")
            self.read(value.__self__, f"{accessor}.__self__")
        elif is_of_numba(value) or is_constant_selector(value) or t in (classmethod, staticmethod, property):
            self.guard_is(accessor, value)
        elif issubclass(t, Wrapper):
            self.guard_is(accessor, value)
            self.read_callable(value.wrapped)
        elif t is functools._lru_cache_wrapper:
            self.guard_is(accessor, value)
            self.read_callable(value.__wrapped__)
        elif t is _KEY_FUNCTION:  # it is instrumented as its function is
            self.guard_is(accessor, value)
            self.read_callable(next(part for part in gc.get_referents(value) if part is not t))
        elif (
            t in (types.UnionType, re.Pattern, np.datetime64, np.timedelta64)
            or t.__module__ == "typing"
            or (is_struct_sequence(t) and has_readable_state((*value,)))
        ):
            self.guard_is(accessor, value)
        elif t is inspect.Signature:
            self.guard_is(accessor, value)
            for default in [p.default for p in value.parameters.values()]:
                is_constant = type(default) in (*ATOMS, float, complex)
                if not is_constant and self.read(default, self.pin(default)) is not default:
                    self.give_up(f"it reads a signature with a {type(default).__name__} as a default", accessor)
        elif issubclass(t, OUTLETS):
            self.add_guard(f"type({accessor}) is {self.pin(t)}")
            self.known_objects[id(value)] = value, accessor
        elif (
            t in generator_types()
            or t in READS
            or (has_only_attributes(t) and not any(map(is_unwatched_class, t.__mro__)))
        ):
            self._read_instance(value, accessor, t)
        else:
            owner = getattr(value, "__self__", None) if t is types.BuiltinMethodType else None
            if owner is not None and (has_readable_state(owner) or type(owner) in (re.Pattern, *generator_types())):
                self.add_guard(f"type({accessor}) is {self.pin(t)} and {accessor}.__name__ == {value.__name__!r}")
                self.read(owner, f"{accessor}.__self__")
                return
            kind = t.__name__ if owner is None else f"method of a {type(owner).__name__}"
            self.give_up(f"it reads a {kind} ({self.describe(accessor)}), which wengert cannot inspect")

    def _read_enum_member(self, value: Any, accessor: str) -> None:
        """Guard the identity of a member of an enumeration; its attributes are read like those of any object."""
        name = self.pin(value, f"{type(value).__qualname__}.{vars(value)['_name_']}")
        if accessor != name:
            self.add_guard(f"{accessor} is {name}")
        self.known_objects[id(value)] = value, name
        if issubclass(type(value), enum.Flag):
            self.read(vars(value)["_value_"], f"{name}.__dict__['_value_']")

    def _read_instance(self, value: Any, accessor: str, t: Any) -> None:
        if t in generator_types():
            self.effects.watch_generator(value)
        self._read_class(t)
        if self.may_be_another(accessor):
            self.replaceable.setdefault(t, []).append(accessor)
            self.add_guard(f"type({accessor}) is {self.pin(t)}")
        else:
            self.guard_is(accessor, value)
            accessor = self.pin(value)
            self.instances.append(value)
        self.known_objects[id(value)] = value, accessor
        if t is types.SimpleNamespace:  # C code compares and prints it as a whole
            self.read(vars(value), f"{accessor}.__dict__")

    def is_fixed(self, value: Any, accessor: str) -> bool:
        """Whether a value at a place in a container is a constant or an object that must be there in the next call."""
        t: Any = type(value)
        if t in _FIXED_CONSTANTS:
            return True
        is_object = issubclass(t, _COMPARED_BY_IDENTITY) or (has_only_attributes(t) and built_in_base(t) is None)
        known = self.accessor_of(value) if is_object else None
        return is_object and t not in READS and not any(map(self.may_be_another, (accessor, known or "")))

    def may_be_another(self, accessor: str) -> bool:
        """Whether the next call may have another object at a place: inside an argument, or where calls replace it."""
        replaced = self.effects.learned.replaced
        return accessor.startswith("a") or (bool(replaced) and self.describe(accessor).startswith((*replaced,)))

    def _read_class(self, cls: Any) -> None:
        """Note a class, prepare it, since C code may call its methods, and read the user's descriptors in it."""
        if id(cls) in self.classes:
            return
        self.classes[id(cls)] = cls
        if cls in READS:
            return
        prepare(cls)
        for base in filter(is_heap_type, cls.__mro__ or ()):
            for name, raw in [*vars(base).items()] if belongs_to_user(base) else ():
                if is_descriptor_of_user(raw) or built_in_base(type(raw)) is property:
                    self.read(raw, f"{self.namespace(base)}[{name!r}]")

    def read_callable(self, f: Any) -> None:
        """Watch the objects and callables of the user that a function of this package, such as `grad(f)`, holds."""
        for g, todo in walked([f]):
            if type(g) is types.FunctionType and is_engine_code(g.__code__):
                todo += [cell.cell_contents for cell in g.__closure__ or ()]
            elif type(g) is Transformed:
                todo.append(g.__func__)
            elif type(g) is types.MethodType:
                self.read(g.__self__, f"{self.pin(g)}.__self__")
            elif not issubclass(type(g), _IMMUTABLE):
                self._read_object(g, self.pin(g), type(g))
