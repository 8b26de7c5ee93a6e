"""Outer reads of a trace: where its values come from, and what is checked when it ends."""

from __future__ import annotations

import abc
import enum
import functools
import os
import types
import typing
from typing import Any

import numpy as np

from wengert.compiling.watched.guards import GENERATORS, GuardBuilder, Wrapper
from wengert.compiling.watched.identities import is_nan
from wengert.compiling.watched.loop_states import Heads
from wengert.compiling.watched.stdlib_types import is_of_enumeration
from wengert.compiling.watched.trusted import is_inner, is_library, is_of_user
from wengert.compiling.watched.watchable_types import (
    ATOMS,
    has_attributes_alone,
    has_of_its_own,
    is_followed,
    is_tensor_function,
    is_unset,
    lookup_with_owner,
    slots_of,
)
from wengert.recording.primitives import primitive_of
from wengert.recording.swapped_code import is_born
from wengert.recording.trace_caches import prepared
from wengert.values.frames import ENGINE
from wengert.values.lazy_attribute import computed_once
from wengert.values.names import home_of, is_heap_type
from wengert.values.transformed import Transformed
from wengert.values.views import owner_of


class Reads(GuardBuilder):
    """The outer reads of a recording; `unkept` says why its trace cannot be used again, if it cannot."""

    @computed_once
    def heads(self) -> Heads:
        """The heads of loops that the trace has met."""
        return Heads(self)

    # -- where values come from

    def global_name(self, value: Any, name: str, space: dict[str, Any], builtins: Any) -> Any:
        known, made = self.names.get((id(space), name), (None, None))
        if known is value is not None:
            return made
        if is_library(space):
            return value
        if name in space:
            return self._named(value, name, space)
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
        elif name in ("__name__", "__qualname__", "__module__", "__doc__") and type(value) in ATOMS:
            self._atom(value, f"{place}.{name}")
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
        if issubclass(t, enum.Enum) and is_of_user(t):
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
            if is_unset(obj, raw):  # the class has a __getattr__, which is followed
                self.test(f"{self.pin(is_unset)}({place}, {self.pin(raw)})")
                return value
            return self.read(
                value, f"{self.pin(raw)}.__get__({place})" if hasattr(t, "__getattr__") else f"{place}.{name}"
            )
        if t.__dictoffset__ and not hasattr(type(raw), "__set__"):
            self.test(f"{name!r} not in {place}.__dict__")
        if data:
            return self._class_data(owner, name, value)
        if name != "__class__" and not is_followed(raw):
            self.give_up(f"it reads .{name}, a {type(raw).__name__}, of an object from outside")
        return value

    def _check_descriptor(self, raw: Any, owner: Any, name: str) -> None:
        """Give up where a class has a descriptor that is no function: such an object may have a state."""
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

    def of_array(self, array: np.ndarray, name: str, value: Any) -> Any:
        """An attribute of an array that tells more of one from outside than its numbers: how it lies in memory."""
        found = [(place, outer.own) for place, outer in self.inputs.items() if outer.made is array]
        found += [(place, own) for place, own, *_ in self._contents if own is array]
        for place, own in found:
            if name == "flags":
                self.test(f"{place}.flags.num == {own.flags.num}")
                self.known[id(value := own.flags)] = value, place
            elif own.base is not None:
                self.give_up(f"it reads .{name} of an array that is a view ({self.said(place)})")
        return value

    def parts(self, things: list[Any]) -> None:
        """Take in all attributes of the objects from outside among `things`, and in these: they are walked through."""
        todo, seen = [*things], set()
        while todo:
            thing = todo.pop()
            if id(thing) in seen:
                continue
            seen.add(id(thing))
            if issubclass(type(thing), (list, tuple)):
                todo += thing
            elif issubclass(type(thing), dict):
                todo += thing.values()
            elif self.known.get(id(thing), (seen,))[0] is thing and type(thing) not in GENERATORS:
                self.whole(thing)
                todo += vars(thing).values() if self.unkept is None else ()

    def holder(self, f: Any) -> None:
        """Take in what a function holds, for the derivative with respect to it is taken, too."""
        if type(f) is types.MethodType:
            f = f.__self__
        if type(f) is types.FunctionType and f.__closure__ and not is_born(f):
            self.give_up(f"it takes the derivative with respect to what {f.__qualname__} holds")
        self.parts([f])

    def absent(self, obj: Any, name: str) -> None:
        """Test that an attribute is still not there which was asked for; those of classes are tested anyway."""
        obj = obj.__func__ if type(obj) is types.MethodType else obj
        t = type(obj)
        if issubclass(t, enum.Enum) and is_of_user(t) and has_of_its_own(obj, "_name_"):  # else it is being made
            self.read(obj, self.pin(obj))
        known, place = self.known.get(id(obj), (None, ""))
        if t is types.ModuleType:
            self._absent_in_module(obj, name)
        elif known is obj:
            raw, _ = lookup_with_owner(t, name)
            if type(raw) is types.MemberDescriptorType:
                self.test(f"{self.pin(is_unset)}({place}, {self.pin(raw)})")
            elif t.__dictoffset__:
                self.test(f"{name!r} not in {place}.__dict__")
        elif issubclass(t, type) and home_of(t) in ("builtins", "abc", "enum"):
            for base in obj.__mro__:
                if is_of_user(base):
                    self.test(f"{name!r} not in {self._space(base)}")
        elif (t is types.FunctionType and not is_born(obj)) or issubclass(t, (type, *_WITH_ATTRIBUTES)):
            self.give_up(f"it asks whether there is .{name}")

    def _absent_in_module(self, module: Any, name: str) -> None:
        space = vars(module)
        for absent in (name, "__getattr__"):
            if absent in space and not is_library(space):
                self.give_up(f"it asks whether there is {module.__name__}.{name}, which the module may make")
            elif absent not in space:
                self.test(f"{absent!r} not in {self.pin(space, module.__name__)}")

    def _of_class(self, cls: Any, name: str, value: Any) -> Any:
        if not is_of_user(cls):
            return value
        if issubclass(type(cls), enum.EnumType) and is_of_enumeration(self, cls, name, value):
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
        """Read a global name of a module, and guard it."""
        space = vars(module)
        known, made = self.names.get((id(space), name), (None, None))
        if known is value is not None:
            return made
        if is_library(space):
            if name in space and not module.__name__.startswith("wengert"):
                place = f"{self.pin(space, module.__name__)}[{name!r}]"
                if is_inner(space):  # what the program sets there is its own
                    return self.read(value, place)
                self.test(f"{place} is {self.pin(value)}")
                self.names[id(space), name] = value, value
            return value
        if name not in space:
            self.give_up(f"it reads {module.__name__}.{name}, which the module makes when it is asked")
            return value
        return self._named(value, name, space)

    def _named(self, value: Any, name: str, space: dict[str, Any]) -> Any:
        made = self.read(value, f"{self.pin(space, str(space.get('__name__')))}[{name!r}]")
        self.names[id(space), name] = value, made
        return made

    def abstract(self, t: type, cls: type) -> None:
        """An abstract class was asked whether a class is one of its own."""
        self._token = self._token or self._nothing_registered()
        self._answers[f"issubclass({self.pin(t)}, {self.pin(cls)}) is {issubclass(t, cls)}"] = None

    def protocol(self, thing: Any, cls: type) -> None:
        """A protocol was asked whether a thing has the attributes that it names."""
        self.token()
        t = type(thing)
        if issubclass(t, (types.FunctionType, types.MethodType, types.ModuleType, *_WITH_ATTRIBUTES)):
            names = () if is_born(thing) else typing._get_protocol_attrs(cls)  # type: ignore[attr-defined]
            if not all([hasattr(t, name) for name in names]):
                self.give_up(f"it asks whether a {t.__name__} has the attributes of {cls.__qualname__}")
        self.whole(thing)

    def token(self) -> None:
        """Something was asked that may depend on what is registered with any abstract class."""
        self.test_for_good(self._nothing_registered())

    def _nothing_registered(self) -> str:
        return f"{self.pin(abc)}.get_cache_token() == {abc.get_cache_token()}"

    # -- the end of the trace

    def restore(self) -> None:
        """Put back what stood in containers and defaults; who changed one meanwhile has an effect."""
        for changed in self._lent.restore(self.originals):
            self.give_up(f"it changes a {changed.__name__} from outside", may_be_once=True)

    def has_changed_containers(self) -> bool:
        """Whether containers from outside are not as they were, though they may be again when the trace ends."""
        return self._lent.are_changed()

    def are_one(self, a: Any, b: Any) -> bool:
        """Whether containers find two numbers of the trace as one object, which they are outside."""
        return self.identities.are_one(a, b)

    def asked_by_identity(self, numbers: list[Any]) -> None:
        """C code decides by these numbers, by whose identities where they are nan."""
        for number in filter(is_nan, numbers):
            self.identities.ask(number)

    def is_a_form(self, thing: Any) -> bool:
        """Whether a thing is from outside and may be another one in the next call, of the same form."""
        return id(thing) in self.originals or (type(thing) in (list, dict) and id(thing) in self.known)

    def holds(self, array: np.ndarray) -> bool:
        """Whether an array is one from outside that is compared with what it was."""
        return any(array is other for _, other, *_ in self._contents)

    def finish(self) -> None:
        """Tests of the classes that were used, and a look at what was written."""
        if self._answers:
            self.test_for_good(f"{self._token} or ({' and '.join(self._answers)})")
        for cls in [*prepared.values()]:
            for base in cls.__mro__ or ():
                if is_heap_type(base) and is_of_user(base):
                    self._class(base)
        for primitive in {entry[0] for entry in self.recording.entries if entry is not None}:
            rule = None if type(primitive.fn) is types.FunctionType else getattr(primitive, "rule", None)
            if rule is not None and _OF_WENGERT not in rule.where and not is_tensor_function(type(primitive.fn)):
                self.give_up(f"it is differentiated by a rule that is not wengert's own ({rule.where})")
        for place, outer in self.inputs.items():
            if issubclass(type(outer.made), np.ndarray) and id(owner_of(outer.made)) in self.recording.memory.storages:
                self.give_up(f"it writes into an array that it is given ({self.said(place)})")
        for place, array, kept, flags in self._contents:
            if array.tobytes() != kept.tobytes() or array.flags.num != flags:
                self.give_up(f"it writes into an array from outside ({self.said(place)})")

    def _class(self, cls: Any) -> None:
        place, space, tests = self._space(cls), vars(cls), self.class_tests
        kind = f"{self.pin(cls)}.__flags__ & {_PATTERNS} == {cls.__flags__ & _PATTERNS}"
        tests[f"{self.pin(cls)}.__mro__ is {self.pin(cls.__mro__)} and {kind}"] = None
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
                if name.startswith("__") and callable(raw) and not issubclass(type(raw), type) and not is_followed(raw):
                    self.give_up(f"{cls.__qualname__}.{name} is a {type(raw).__name__}, which may have a state")


_WITH_ATTRIBUTES = (functools.partial, Transformed, Wrapper)
"""Classes of objects which the program may give attributes that nobody sees."""
_OF_WENGERT = f"{os.sep}wengert_rules{os.sep}"
_PATTERNS = 1 << 5 | 1 << 6
"""The flags of classes that patterns take for sequences or mappings; registering sets them."""
OF_MEMORY = {"flags", "base", "data", "ctypes", "__array_interface__", "__array_struct__"}
"""Attributes of arrays that tell how they lie in memory."""
_OF_CLASSES = {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__annotate_func__", "_abc_impl"}
