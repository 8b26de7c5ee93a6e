"""What one trace reads from outside: floats and arrays become inputs of it, for all else there are tests.

Each thing is reached from a pinned object by an accessor, a Python expression such as `k0['lr']` or `a1['w'][2]`: the
dictionary of a module, a cell, a function, or an argument. A test is an expression, too, true of what was read. What
the trace goes on with in place of a number or an array is an object made for this accessor: `a = b = 0.1` is one float
under two names. Lists, tuples and dictionaries are taken in whole, objects attribute by attribute as they are read;
what has parts of another kind cannot be watched, and the trace is not kept.
"""

from __future__ import annotations

import enum
import functools
import os
import re
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.forms import is_named_tuple, is_of_enumeration, read_member, read_named_tuple, read_partial
from wengert.compiling.kinds import (
    ATOMS,
    COMPARED,
    SAME,
    has_attributes_alone,
    has_of_its_own,
    is_bound_to_none,
    is_followed,
    is_made_of_atoms,
    is_tensor_function,
    lookup_with_owner,
    slots_of,
)
from wengert.compiling.lent import Lent
from wengert.compiling.trusted import is_library, is_of_user
from wengert.recording.learnt import prepared
from wengert.recording.primitives import INPUT, primitive_of
from wengert.recording.recording import Recording, here
from wengert.recording.shadow import SHADOW
from wengert.recording.subclasses import renewed
from wengert.values.frames import ENGINE
from wengert.values.names import home_of, is_heap_type
from wengert.values.specs import is_inexact
from wengert.values.views import owner_of

MOST = 1000
"""Tests of one trace, and inputs; with more it is not kept."""
GENERATORS = (np.random.Generator, np.random.RandomState)
DEEPEST = 400
"""Characters of an accessor: what lies deeper is not followed."""


class Outer(NamedTuple):
    """A number or an array that the trace read at an accessor: what stands for it in the trace, and itself."""

    made: Any
    own: Any


class Wrapper:
    """A callable object of this package, and the function that it calls."""

    wrapped: Any


class Reads:
    """What a recording has read from outside; `unkept` says why its trace cannot be used again, if it cannot."""

    def __init__(self, recording: Recording, hooks: Mapping[str, Callable[..., Any]]) -> None:
        self.recording, self.hooks = recording, hooks
        self.unkept: str | None = None
        self.may_be_once = False
        self.pins: list[Any] = []
        self.labels: dict[str, str] = {}
        self.tests: dict[str, None] = {}
        self.class_tests: dict[str, None] = {}  # these come first: where they hold, reading an attribute runs no code
        self.inputs: dict[str, Outer] = {}
        self.known: dict[int, tuple[Any, str]] = {}  # objects by id, and where each was met first
        self.cells: dict[int, tuple[Any, str]] = {}
        self.originals: dict[int, tuple[Any, Any]] = {}  # by id, what was made for the trace, and for what
        self.called: dict[int, Any] = {}  # what was called, and may be
        self.classes: dict[int, Any] = {}  # those that were read, by their names or of an object
        self.draws: dict[str, str] = {}  # random draws by their names in the code: the expressions that make them
        self.generators: dict[str, Any] = {}  # those drawn from, by their places
        self.seeded: dict[int, Any] = {}  # those made inside, which draw the same in each call
        self._places: dict[int, str] = {}
        self._spaces: dict[int, Any] = {}  # the views of the names of classes
        self._lent = Lent()
        self._contents: list[tuple[str, np.ndarray, np.ndarray]] = []

    # -- what tests are made of

    def give_up(self, words: str, may_be_once: bool = False) -> None:
        """The trace will not be used again, because of `words`; it goes on. `may_be_once`: the next may do without."""
        if self.unkept is None:
            self.unkept, self.may_be_once = f"{here()}: {words}", may_be_once

    def pin(self, thing: Any, label: str = "") -> str:
        """The name of an object that tests are about."""
        name = self._places.get(id(thing))
        if name is None:
            name = self._places[id(thing)] = f"k{len(self.pins)}"
            self.pins.append(thing)
            own = getattr(thing, "__qualname__", "") if isinstance(thing, (type, types.FunctionType)) else ""
            self.labels[name] = label or own or f"a {type(thing).__name__}"
        return name

    def test(self, text: str) -> None:
        self.tests[text] = None
        if len(self.tests) > MOST:
            self.give_up(f"it reads more than {MOST} things from outside")

    def said(self, text: str) -> str:
        """An accessor or a test in the words of the program."""
        return re.sub(r"\b[kd]\d+\b", lambda k: self.labels.get(k[0], k[0]), text)

    # -- reading

    def read(self, value: Any, place: str) -> Any:
        """What the trace goes on with for a value that was read from outside at a place."""
        if len(place) > DEEPEST or len(self.inputs) > MOST:
            self.give_up(f"it reads too much from outside ({self.said(place)[:DEEPEST]} …)")
        if self.unkept is not None or id(value) in SHADOW:
            return value
        if id(value) in self.known:
            self.test(f"{place} is {self.known[id(value)][1]}")
            return value
        t = type(value)
        if t is float or is_inexact(value):
            return self._number(value, place)
        if t in ATOMS:
            self._atom(value, place)
        elif t is np.ndarray and not value.dtype.hasobject:
            self._content(value, place)
        elif t is slice and {type(part) for part in (value.start, value.stop, value.step)} <= {int, type(None)}:
            self.test(f"type({place}) is slice and repr({place}) == {repr(value)!r}")
        elif isinstance(value, COMPARED):
            self.test(f"type({place}) is {self.pin(t)} and {place} == {self.pin(value)}")
        elif t in (list, tuple, dict):
            return self._container(value, place)
        elif is_named_tuple(t):
            return read_named_tuple(self, value, place)
        elif t is functools.partial:
            return read_partial(self, value, place)
        elif t in (set, frozenset) and {type(item) for item in value} <= {int, str}:
            self.test(f"type({place}) is {t.__name__} and {place} == {self.pin(t(value))}")
            self.test(f"{{*map(type, {place})}} == {self.pin({type(item) for item in value})}")
            if t is set:
                self._lent.put(value, t(value))
        else:
            self._object(value, place, t)
        return value

    def _number(self, value: Any, place: str) -> Any:
        if type(value) is not float and type(value).__module__ not in ("numpy", "builtins"):
            self.give_up(f"it reads an array of {type(value).__name__} from outside ({self.said(place)})")
            return value
        if type(value) not in (float, complex, np.ndarray) and not isinstance(value, np.generic):
            self.give_up(f"it reads a {type(value).__name__} from outside ({self.said(place)})")
            return value
        found = self.inputs.get(place)
        if found is None or found.own is not value:
            if found is not None:
                self.give_up(f"{self.said(place)} changes while it runs")
                return value
            self.inputs[place] = found = Outer(self._input(value), value)
            self.originals[id(found.made)] = found.made, value
        return found.made

    def _input(self, value: Any) -> Any:
        """A fresh object, which is an input of the tape wherever the recording stands."""
        recording = self.recording
        made, slot = renewed(value), len(recording.entries)
        if isinstance(made, np.ndarray):
            recording.memory.arguments.append((made, slot))
            recording.memory.capture(made)
        recording.entries.append((INPUT, made, (), (), None, None))
        recording.levels[0].inputs.add(slot)
        SHADOW[id(made)] = slot
        return made

    def input_name(self, made: Any) -> str | None:
        """The name in the code of an input that the trace goes on with."""
        for k, (name, outer) in enumerate(self.inputs.items()):
            if outer.made is made:
                return name if name in self.draws else f"i{k}"
        return None

    def _atom(self, value: Any, place: str) -> None:
        if value is None or type(value) in (bool, type(...), type(NotImplemented)):
            self.test(f"{place} is {value}")
        else:
            text = self.pin(value) if type(value) is int and abs(value) > 2**63 else repr(value)
            self.test(f"type({place}) is {type(value).__name__} and {place} == {text}")

    def _content(self, value: np.ndarray, place: str) -> None:
        """An array of whole numbers, bools or texts, which decide: it has to be as it was."""
        kept = value.copy()
        self._contents.append((place, value, kept))
        like = f"type({place}) is {self.pin(np.ndarray)} and {place}.dtype == {self.pin(value.dtype)}"
        self.test(f"{like} and {place}.strides == {value.strides}")
        self.test(f"{self.pin(np.array_equal)}({place}, {self.pin(kept)})")

    def _container(self, value: Any, place: str) -> Any:
        t = type(value)
        self.test(f"type({place}) is {t.__name__}")
        if t is dict:
            items = self._keys(value, place)
            if items is None:
                self.give_up(f"it reads a dictionary by keys that cannot be compared ({self.said(place)})")
                return value
        else:
            self.test(f"len({place}) == {len(value)}")
            items = {key: repr(key) for key in range(len(value))}
        if t is not tuple:
            self.known[id(value)] = value, place
        parts = {key: self.read(value[key], f"{place}[{said}]") for key, said in items.items()}
        changed = any(part is not value[key] for key, part in parts.items())
        if t is tuple:
            made = tuple(parts.values()) if changed else value
            self.originals[id(made)] = made, value
            return made
        self._lent.put(value, t(parts) if t is dict else [*parts.values()])
        return value

    def _keys(self, value: dict[Any, Any], place: str) -> dict[Any, str] | None:
        """The expressions of a dictionary's keys, with a test that it has these; None where they have none."""
        types = {type(key) for key in value}
        if types <= {str, int}:
            self.test(f"[*{place}] == {[*value]!r}")
            if int in types:
                self.test(f"[*map(type, {place})] == {self.pin([type(key) for key in value])}")
        elif all(issubclass(t, enum.Enum) for t in types):
            names = {key: self.pin(key) for key in value}
            self.test(f"[*map(id, {place})] == {[*map(id, names)]}")
            return names
        elif all(map(is_made_of_atoms, value)):
            self.test(f"type({place}) is dict and repr([*{place}]) == {repr([*value])!r}")
        else:
            return None
        return {key: repr(key) for key in value}

    def _object(self, value: Any, place: str, t: Any) -> None:
        if isinstance(value, enum.Enum):
            read_member(self, value, place)
        elif isinstance(value, type):
            self.classes[id(value)] = value
            self.test(f"{place} is {self.pin(value)}")
        elif t is types.FunctionType:
            self.test(f"{place} is {self.pin(value)}")
            self.inside(value)
        elif t is types.ModuleType:
            self.test(f"{place} is {self.pin(value, value.__name__)}")
        elif isinstance(value, SAME) and is_bound_to_none(value):
            self.test(f"{place} is {self.pin(value)}")
        elif t is types.MethodType:
            self.test(f"type({place}) is {self.pin(t)} and {place}.__func__ is {self.pin(value.__func__)}")
            self.read(value.__self__, f"{place}.__self__")
        elif is_tensor_function(t):
            self.test(f"{place} is {self.pin(value)}")
        elif isinstance(value, Wrapper):
            self.test(f"{place} is {self.pin(value)}")
            self.inside(value.wrapped)
        elif t in GENERATORS or (has_attributes_alone(t) and not home_of(t).startswith("wengert")):
            self._instance(value, place, t)
        else:
            self.give_up(f"it reads a {t.__name__} from outside ({self.said(place)}), which cannot be watched")

    def _instance(self, value: Any, place: str, t: Any) -> None:
        self.classes[id(t)] = t
        if place.startswith("a"):
            self.test(f"type({place}) is {self.pin(t)}")
        else:
            self.test(f"{place} is {self.pin(value)}")
            self.test(f"type({self.pin(value)}) is {self.pin(t)}")
            place = self.pin(value)
        for other, where in self.known.values():
            if type(other) is t and (place.startswith("a") or where.startswith("a")):
                self.test(f"{place} is not {where}")
        self.known[id(value)] = value, place

    def inside(self, f: Any) -> None:
        """What a function of this package holds that calls the user's: the objects of methods, and callable ones."""
        todo, seen = [f], set()
        while todo:
            g = todo.pop()
            if id(g) in seen:
                continue
            seen.add(id(g))
            if type(g) is types.FunctionType and g.__code__.co_filename.startswith(ENGINE):
                todo += [cell.cell_contents for cell in g.__closure__ or ()]
            elif type(g) is types.MethodType:
                self.read(g.__self__, f"{self.pin(g)}.__self__")
            elif isinstance(g, (list, tuple)):
                todo += g
            elif isinstance(g, dict):
                todo += g.values()
            elif type(g) is not types.FunctionType and not isinstance(g, (type, *SAME, *ATOMS, float)):
                self._object(g, self.pin(g), type(g))

    # -- where values come from

    def global_name(self, value: Any, name: str, space: dict[str, Any], builtins: Any) -> Any:
        if is_library(space):
            return value
        if name in space:
            return self.read(value, f"{self.pin(space, str(space.get('__name__')))}[{name!r}]")
        self.test(f"{name!r} not in {self.pin(space, str(space.get('__name__')))}")
        return self.read(value, f"{self.pin(builtins, 'builtins')}[{name!r}]")

    def entered(self, f: types.FunctionType, code: types.CodeType) -> None:
        """A function runs instrumented code from now on: its code, defaults and cells are read from outside."""
        if code.co_filename.startswith(ENGINE) or is_library(f.__globals__) or self.unkept is not None:
            return
        place = self.pin(f)
        self.test(f"{place}.__code__ is {self.pin(code)}")
        given = f.__defaults__
        if given is not None:  # without defaults all is given, and is again
            made = self.read(given, f"{place}.__defaults__")
            if made is not given:
                self._lent.put_defaults(f, made)
        if f.__kwdefaults__ is not None:
            self.read(f.__kwdefaults__, f"{place}.__kwdefaults__")
        for name, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
            self.cells[id(cell)] = cell, f"{self.pin(cell, f'{f.__qualname__}.{name}')}.cell_contents"

    def of_function(self, f: types.FunctionType, name: str, value: Any) -> Any:
        """An attribute of a function from outside: what it is made of may be looked at, not what else it has."""
        place = self.pin(f)
        if is_library(f.__globals__):
            return value
        if name == "__dict__" and not value:
            self.test(f"not {place}.__dict__")
        elif name in ("__code__", "__annotations__", "__annotate__", "__type_params__"):
            self.test(f"{place}.{name} is {self.pin(value)}")
        elif name in vars(f):
            return self.read(value, f"{place}.__dict__[{name!r}]")
        else:
            self.give_up(f"it reads .{name} of a function")
        return value

    def attribute(self, obj: Any, name: str, value: Any) -> Any:
        """The attribute of a known object, or what an object made inside has of its class."""
        t = type(obj)
        if issubclass(t, type):
            return self._of_class(obj, name, value)
        if t in GENERATORS and callable(value):
            return value
        if isinstance(obj, enum.Enum) and is_of_user(t):
            self.read(obj, self.pin(obj))
        raw, owner = lookup_with_owner(t, name)
        data = raw is not None and not hasattr(type(raw), "__get__")
        is_known = id(obj) in self.known and self.known[id(obj)][0] is obj
        if not is_known or t in (list, dict):
            self._check_descriptor(raw, owner, name)
            return self._class_data(owner, name, value) if data and not has_of_its_own(obj, name) else value
        place = self.known[id(obj)][1]
        if has_of_its_own(obj, name) and not (raw is not None and hasattr(type(raw), "__set__")):
            return self.read(value, f"{place}.__dict__[{name!r}]")
        if type(raw) is types.MemberDescriptorType:
            return self.read(value, f"{place}.{name}")
        if t.__dictoffset__ and not hasattr(type(raw), "__set__"):
            self.test(f"{name!r} not in {place}.__dict__")
        if data:
            return self._class_data(owner, name, value)
        if name != "__class__" and not is_followed(raw):
            self.give_up(f"it reads .{name}, a {type(raw).__name__}, of an object from outside")
        return value

    def _check_descriptor(self, raw: Any, owner: Any, name: str) -> None:
        """What a class has for its attributes are functions, or what is made of them: an object may have a state."""
        if owner is not None and is_of_user(owner) and hasattr(type(raw), "__get__") and not is_followed(raw):
            self.give_up(f"it reads .{name}, a {type(raw).__name__} of a class")

    def whole(self, obj: Any) -> None:
        """All attributes of an object are read; one that was made inside has none that are unknown."""
        known, place = self.known.get(id(obj), (None, ""))
        if known is not obj or self.unkept is not None:
            return
        if not has_attributes_alone(type(obj)) or slots_of(type(obj)):
            self.give_up(f"it reads all of a {type(obj).__name__} from outside")
            return
        self.read(vars(obj), f"{place}.__dict__")

    def absent(self, obj: Any, name: str) -> None:
        """An attribute was asked for that is not there; what its class has is tested for all classes."""
        t, (known, place) = type(obj), self.known.get(id(obj), (None, ""))
        if t is types.ModuleType:
            self.test(f"{name!r} not in {self.pin(vars(obj), obj.__name__)}")
        elif known is obj and t.__dictoffset__:
            self.test(f"{name!r} not in {place}.__dict__")
        elif issubclass(t, type) and home_of(t) in ("builtins", "abc", "enum"):
            for base in obj.__mro__:
                if is_of_user(base):
                    self.test(f"{name!r} not in {self._space(base)}")
        elif issubclass(t, type) or t is types.FunctionType:
            self.give_up(f"it asks whether there is .{name}")

    def _of_class(self, cls: Any, name: str, value: Any) -> Any:
        if not is_of_user(cls):
            return value
        if isinstance(cls, enum.EnumType) and is_of_enumeration(self, cls, name, value):
            return value
        raw, owner = lookup_with_owner(cls, name)
        if raw is None and name in ("__name__", "__qualname__", "__module__"):
            return self.read(value, f"{self.pin(cls)}.{name}")
        if home_of(type(cls)) not in ("builtins", "abc", "enum") or owner is None:
            self.give_up(f"it reads .{name} of a class, which its metaclass gives")
            return value
        self._check_descriptor(raw, owner, name)
        return value if hasattr(type(raw), "__get__") else self._class_data(owner, name, value)

    def _class_data(self, owner: Any, name: str, value: Any) -> Any:
        return self.read(value, f"{self._space(owner)}[{name!r}]") if is_of_user(owner) else value

    def _space(self, cls: Any) -> str:
        return self.pin(self._spaces.setdefault(id(cls), vars(cls)), cls.__qualname__)

    def of_module(self, module: Any, name: str, value: Any) -> Any:
        """What a module has under a name."""
        space = vars(module)
        if is_library(space):
            if name in space and not module.__name__.startswith("wengert"):
                self.test(f"{self.pin(space, module.__name__)}[{name!r}] is {self.pin(value)}")
            return value
        if name not in space:
            self.give_up(f"it reads {module.__name__}.{name}, which the module makes when it is asked")
            return value
        return self.read(value, f"{self.pin(space, module.__name__)}[{name!r}]")

    # -- the end of the trace

    def restore(self) -> None:
        """Put back what stood in containers and defaults; who changed one meanwhile has an effect."""
        for changed in self._lent.restore(self.originals):
            self.give_up(f"it changes a {changed.__name__} from outside", may_be_once=True)

    def is_a_form(self, thing: Any) -> bool:
        """Whether a thing is from outside and may be another one in the next call, of the same form."""
        return id(thing) in self.originals or (type(thing) in (list, dict) and id(thing) in self.known)

    def holds(self, array: np.ndarray) -> bool:
        """Whether an array is one from outside that is compared with what it was."""
        return any(array is other for _, other, _ in self._contents)

    def finish(self) -> None:
        """Tests of the classes that were used, and a look at what was written."""
        for cls in [*prepared.values()]:
            for base in cls.__mro__ or ():
                if is_heap_type(base) and is_of_user(base):
                    self._class(base)
        for primitive in {entry[0] for entry in self.recording.entries if entry is not None}:
            rule = None if type(primitive.fn) is types.FunctionType else getattr(primitive, "rule", None)
            if rule is not None and _OF_WENGERT not in rule.where and not is_tensor_function(type(primitive.fn)):
                self.give_up(f"it is differentiated by a rule that is not wengert's own ({rule.where})")
        for place, outer in self.inputs.items():
            if isinstance(outer.made, np.ndarray) and id(owner_of(outer.made)) in self.recording.memory.storages:
                self.give_up(f"it writes into an array that it is given ({self.said(place)})")
        for place, array, kept in self._contents:
            if not np.array_equal(array, kept):
                self.give_up(f"it writes into an array from outside ({self.said(place)})")

    def _class(self, cls: Any) -> None:
        place, space, tests = self._space(cls), vars(cls), self.class_tests
        tests[f"{self.pin(cls)}.__mro__ is {self.pin(cls.__mro__)}"] = None
        tests[f"len({place}) == {len(space)}"] = None
        for name, raw in space.items():
            if type(raw) is functools.cached_property:
                tests[f"{place}[{name!r}].func is {self.pin(raw.func)}"] = None
            if name in _OF_CLASSES:
                tests[f"{name!r} in {place}"] = None
            elif type(raw) in (*ATOMS, float, np.ndarray) and not name.startswith(
                "__"
            ):  # where it is read it is tested
                tests[f"type({place}[{name!r}]) is {self.pin(type(raw))}"] = None
            else:
                tests[f"{place}[{name!r}] is {self.pin(raw)}"] = None
                if type(raw) is types.FunctionType and primitive_of(raw) is not None:
                    self.give_up(f"{raw.__qualname__} is a method with a rule")
                if name.startswith("__") and callable(raw) and not isinstance(raw, type) and not is_followed(raw):
                    self.give_up(f"{cls.__qualname__}.{name} is a {type(raw).__name__}, which may have a state")


_OF_WENGERT = f"{os.sep}wengert_rules{os.sep}"
_OF_CLASSES = {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__annotate_func__", "_abc_impl"}
