"""Outer reads of a trace: the sources of values from outside the function, and the checks when the trace ends."""

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
from wengert.compiling.watched.stdlib_types import is_enum_internal
from wengert.compiling.watched.trusted import belongs_to_user, is_library_namespace, is_library_only
from wengert.compiling.watched.watchable_types import (
    ATOMS,
    has_only_attributes,
    has_own_attribute,
    is_tensor_function,
    is_unset,
    lookup_with_owner,
    runs_functions_only,
    slot_names,
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
    """The outer reads of a recording; `obstacle` says why its trace cannot be kept, if so."""

    @computed_once
    def heads(self) -> Heads:
        """The loops of the trace."""
        return Heads(self)

    # -- sources of values

    def global_name(self, value: Any, name: str, space: dict[str, Any], builtins: Any) -> Any:
        """Guard a global or builtin name, and return its value in the trace."""
        known, made = self.read_names.get((id(space), name), (None, None))
        if known is value is not None:
            return made
        if is_library_namespace(space):
            return value
        if name in space:
            return self._read_global(value, name, space)
        self.add_guard(f"{name!r} not in {self.pin(space, str(space.get('__name__')))}")
        return self.read(value, f"{self.pin(builtins, 'builtins')}[{name!r}]")

    def entered(self, f: types.FunctionType, code: types.CodeType) -> None:
        """Guard the code and defaults of a function that now runs instrumented, and note its cells."""
        if code.co_filename.startswith(ENGINE) or is_library_namespace(f.__globals__) or self.obstacle is not None:
            return
        accessor = self.pin(f)
        self.add_guard(f"{accessor}.__code__ is {self.pin(code)}")
        given = f.__defaults__
        if given is not None:
            made = self.read(given, f"{accessor}.__defaults__")
            if made is not given:
                self._swapped.put_defaults(f, made)
        if f.__kwdefaults__ is not None:
            self.read(f.__kwdefaults__, f"{accessor}.__kwdefaults__")
        for name, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
            self.cells[id(cell)] = cell, f"{self.pin(cell, f'{f.__qualname__}.{name}')}.cell_contents"

    def function_attribute(self, f: types.FunctionType, name: str, value: Any) -> Any:
        """Guard an attribute of a function from outside; give up on those that are hard to guard."""
        accessor = self.pin(f)
        if is_library_namespace(f.__globals__):
            return value
        if name == "__dict__" and not value:
            self.add_guard(f"not {accessor}.__dict__")
        elif name in ("__code__", "__annotations__", "__annotate__", "__type_params__"):
            self.add_guard(f"{accessor}.{name} is {self.pin(value)}")
        elif name in ("__name__", "__qualname__", "__module__", "__doc__") and type(value) in ATOMS:
            self._guard_atom(value, f"{accessor}.{name}")
        elif name in vars(f):
            return self.read(value, f"{accessor}.__dict__[{name!r}]")
        else:
            self.give_up(f"it reads .{name} of a function, which wengert does not guard")
        return value

    def object_attribute(self, obj: Any, name: str, value: Any) -> Any:
        """Guard an attribute of an object from outside, or a class attribute of one created in the trace."""
        t = type(obj)
        if issubclass(t, type):
            return self._class_attribute(obj, name, value)
        if t in GENERATORS and callable(value):
            return value
        if issubclass(t, enum.Enum) and belongs_to_user(t):
            self.read(obj, self.pin(obj))
        raw, owner = lookup_with_owner(t, name)
        data = raw is not None and not hasattr(type(raw), "__get__")
        is_known = id(obj) in self.known_objects and self.known_objects[id(obj)][0] is obj
        if not is_known or t in (list, dict):
            self._check_descriptor(raw, owner, name)
            return self._read_class_data(owner, name, value) if data and not has_own_attribute(obj, name) else value
        accessor = self.known_objects[id(obj)][1]
        if has_own_attribute(obj, name) and not (raw is not None and hasattr(type(raw), "__set__")):
            return self.read(value, f"{accessor}.__dict__[{name!r}]")
        if type(raw) is types.MemberDescriptorType:
            if is_unset(obj, raw):  # `__getattr__` of the class is traced
                self.add_guard(f"{self.pin(is_unset)}({accessor}, {self.pin(raw)})")
                return value
            return self.read(
                value, f"{self.pin(raw)}.__get__({accessor})" if hasattr(t, "__getattr__") else f"{accessor}.{name}"
            )
        if t.__dictoffset__ and not hasattr(type(raw), "__set__"):
            self.add_guard(f"{name!r} not in {accessor}.__dict__")
        if data:
            return self._read_class_data(owner, name, value)
        if name != "__class__" and not runs_functions_only(raw):
            self.give_up(f"it reads .{name}, whose descriptor {type(raw).__name__} may have state")
        return value

    def _check_descriptor(self, raw: Any, owner: Any, name: str) -> None:
        """Give up if a user class has a descriptor that may have state."""
        is_users = owner is not None and belongs_to_user(owner)
        if is_users and hasattr(type(raw), "__get__") and not runs_functions_only(raw):
            self.give_up(f"it reads .{name}, whose descriptor {type(raw).__name__} may have state")

    def read_all_attributes(self, obj: Any) -> None:
        """Guard all attributes of an object, if it is from outside."""
        known, accessor = self.known_objects.get(id(obj), (None, ""))
        if known is not obj or self.obstacle is not None:
            return
        if not has_only_attributes(type(obj)) or slot_names(type(obj)):
            self.give_up(f"it reads all attributes of a {type(obj).__name__} from outside the function")
            return
        self.read(vars(obj), f"{accessor}.__dict__")

    def array_attribute(self, array: np.ndarray, name: str, value: Any) -> Any:
        """Guard an attribute of an array from outside that tells of its memory."""
        found = [(accessor, outer.original) for accessor, outer in self.inputs.items() if outer.traced is array]
        found += [(accessor, own) for accessor, own, *_ in self._compared_arrays if own is array]
        for accessor, own in found:
            if name == "flags":
                self.add_guard(f"{accessor}.flags.num == {own.flags.num}")
                self.known_objects[id(value := own.flags)] = value, accessor
            elif own.base is not None:
                self.give_up(f"it reads .{name} of an array that is a view ({self.describe(accessor)})")
        return value

    def parts(self, things: list[Any]) -> None:
        """Guard all attributes of the outer objects among `things`, and of the objects in them."""
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
            elif self.known_objects.get(id(thing), (seen,))[0] is thing and type(thing) not in GENERATORS:
                self.read_all_attributes(thing)
                todo += vars(thing).values() if self.obstacle is None else ()

    def holder(self, f: Any) -> None:
        """Guard the object that a method is bound to: its arrays are differentiated, too. Give up on closures."""
        if type(f) is types.MethodType:
            f = f.__self__
        if type(f) is types.FunctionType and f.__closure__ and not is_born(f):
            self.give_up(f"it differentiates with respect to variables that {f.__qualname__} captures")
        self.parts([f])

    def guard_absence(self, obj: Any, name: str) -> None:
        """Guard that an attribute which the code looked for is still missing."""
        obj = obj.__func__ if type(obj) is types.MethodType else obj
        t = type(obj)
        is_member = issubclass(t, enum.Enum) and belongs_to_user(t)
        if is_member and has_own_attribute(obj, "_name_"):  # else it is under construction
            self.read(obj, self.pin(obj))
        known, accessor = self.known_objects.get(id(obj), (None, ""))
        if t is types.ModuleType:
            self._guard_absence_in_module(obj, name)
        elif known is obj:
            raw, _ = lookup_with_owner(t, name)
            if type(raw) is types.MemberDescriptorType:
                self.add_guard(f"{self.pin(is_unset)}({accessor}, {self.pin(raw)})")
            elif t.__dictoffset__:
                self.add_guard(f"{name!r} not in {accessor}.__dict__")
        elif issubclass(t, type) and home_of(t) in ("builtins", "abc", "enum"):
            for base in obj.__mro__:
                if belongs_to_user(base):
                    self.add_guard(f"{name!r} not in {self._namespace(base)}")
        elif (t is types.FunctionType and not is_born(obj)) or issubclass(t, (type, *_WITH_ATTRIBUTES)):
            self.give_up(f"it looks for the missing attribute .{name} of a {t.__name__}")

    def _guard_absence_in_module(self, module: Any, name: str) -> None:
        space = vars(module)
        for absent in (name, "__getattr__"):
            if absent in space and not is_library_namespace(space):
                self.give_up(f"it looks for {module.__name__}.{name}, which the module may compute")
            elif absent not in space:
                self.add_guard(f"{absent!r} not in {self.pin(space, module.__name__)}")

    def _class_attribute(self, cls: Any, name: str, value: Any) -> Any:
        if not belongs_to_user(cls):
            return value
        if issubclass(type(cls), enum.EnumType) and is_enum_internal(self, cls, name, value):
            return value
        raw, owner = lookup_with_owner(cls, name)
        if raw is None and name in ("__name__", "__qualname__", "__module__"):
            return self.read(value, f"{self.pin(cls)}.{name}")
        if home_of(type(cls)) not in ("builtins", "abc", "enum") or owner is None:
            self.give_up(f"it reads .{name} of a class, which its metaclass defines")
            return value
        self._check_descriptor(raw, owner, name)
        return value if hasattr(type(raw), "__get__") else self._read_class_data(owner, name, value)

    def _read_class_data(self, owner: Any, name: str, value: Any) -> Any:
        return self.read(value, f"{self._namespace(owner)}[{name!r}]") if belongs_to_user(owner) else value

    def _namespace(self, cls: Any) -> str:
        return self.pin(self._namespaces.setdefault(id(cls), vars(cls)), cls.__qualname__)

    def module_attribute(self, module: Any, name: str, value: Any) -> Any:
        """Read a global name of a module, and guard it."""
        space = vars(module)
        known, made = self.read_names.get((id(space), name), (None, None))
        if known is value is not None:
            return made
        if is_library_namespace(space):
            if name in space and not module.__name__.startswith("wengert"):
                accessor = f"{self.pin(space, module.__name__)}[{name!r}]"
                if is_library_only(space):  # user code may set it
                    return self.read(value, accessor)
                self.add_guard(f"{accessor} is {self.pin(value)}")
                self.read_names[id(space), name] = value, value
            return value
        if name not in space:
            self.give_up(f"it reads {module.__name__}.{name}, which the module computes")
            return value
        return self._read_global(value, name, space)

    def _read_global(self, value: Any, name: str, space: dict[str, Any]) -> Any:
        made = self.read(value, f"{self.pin(space, str(space.get('__name__')))}[{name!r}]")
        self.read_names[id(space), name] = value, made
        return made

    def guard_abc_check(self, t: type, cls: type) -> None:
        """Guard whether a class is a subclass of an abstract one."""
        self._registrations = self._registrations or self._registration_guard()
        self._abc_answers[f"issubclass({self.pin(t)}, {self.pin(cls)}) is {issubclass(t, cls)}"] = None

    def guard_protocol_check(self, thing: Any, cls: type) -> None:
        """Guard whether a thing has the attributes that a protocol names."""
        self.guard_registrations()
        t = type(thing)
        if issubclass(t, (types.FunctionType, types.MethodType, types.ModuleType, *_WITH_ATTRIBUTES)):
            names = () if is_born(thing) else typing._get_protocol_attrs(cls)  # type: ignore[attr-defined]
            if not all([hasattr(t, name) for name in names]):
                self.give_up(f"it checks whether a {t.__name__} has the attributes of {cls.__qualname__}")
        self.read_all_attributes(thing)

    def guard_registrations(self) -> None:
        """Guard that no class is registered with an abstract class from now on."""
        self.add_final_guard(self._registration_guard())

    def _registration_guard(self) -> str:
        return f"{self.pin(abc)}.get_cache_token() == {abc.get_cache_token()}"

    # -- the end of the trace

    def restore(self) -> None:
        """Restore containers and defaults; give up if the function changed one."""
        for changed in self._swapped.restore(self.originals):
            self.give_up(f"it changes a {changed.__name__} from outside the function", may_retry=True)

    def has_changed_containers(self) -> bool:
        """Whether the function has changed a container from outside so far."""
        return self._swapped.are_changed()

    def are_one(self, a: Any, b: Any) -> bool:
        """Whether containers treat two numbers of the trace as one object, as they are one nan outside."""
        return self.identities.are_one(a, b)

    def asked_by_identity(self, numbers: list[Any]) -> None:
        """Note that C code searches by these numbers, and so by the identity of nans."""
        for number in filter(is_nan, numbers):
            self.identities.ask(number)

    def may_be_replaced(self, thing: Any) -> bool:
        """Whether a thing is from outside, and another one may pass its guards in the next call."""
        return id(thing) in self.originals or (type(thing) in (list, dict) and id(thing) in self.known_objects)

    def is_compared_array(self, array: np.ndarray) -> bool:
        """Whether an array is from outside and guarded by its content."""
        return any(array is other for _, other, *_ in self._compared_arrays)

    def add_final_guards(self) -> None:
        """Guard the classes that were used; give up if an array from outside was written."""
        if self._abc_answers:
            self.add_final_guard(f"{self._registrations} or ({' and '.join(self._abc_answers)})")
        for cls in [*prepared.values()]:
            for base in cls.__mro__ or ():
                if is_heap_type(base) and belongs_to_user(base):
                    self._guard_class(base)
        for primitive in {entry[0] for entry in self.recording.entries if entry is not None}:
            rule = None if type(primitive.fn) is types.FunctionType else getattr(primitive, "rule", None)
            if rule is not None and _RULES_FOLDER not in rule.where and not is_tensor_function(type(primitive.fn)):
                self.give_up(f"it calls an object with a custom rule ({rule.where})")
        for accessor, outer in self.inputs.items():
            if (
                issubclass(type(outer.traced), np.ndarray)
                and id(owner_of(outer.traced)) in self.recording.memory.storages
            ):
                self.give_up(f"it writes into an input array ({self.describe(accessor)})")
        for accessor, array, kept, flags in self._compared_arrays:
            if array.tobytes() != kept.tobytes() or array.flags.num != flags:
                self.give_up(f"it writes into an array from outside the function ({self.describe(accessor)})")

    def _guard_class(self, cls: Any) -> None:
        accessor, space, tests = self._namespace(cls), vars(cls), self.class_guards
        kind = f"{self.pin(cls)}.__flags__ & {_PATTERN_FLAGS} == {cls.__flags__ & _PATTERN_FLAGS}"
        tests[f"{self.pin(cls)}.__mro__ is {self.pin(cls.__mro__)} and {kind}"] = None
        tests[f"len({accessor}) == {len(space)}"] = None
        for name, raw in space.items():
            if type(raw) is functools.cached_property:
                tests[f"{accessor}[{name!r}].func is {self.pin(raw.func)}"] = None
            if name in _CLASS_BOOKKEEPING:
                tests[f"{name!r} in {accessor}"] = None
            elif type(raw) in (*ATOMS, float, np.ndarray) and not name.startswith(
                "__"
            ):  # where it is read it is tested
                tests[f"type({accessor}[{name!r}]) is {self.pin(type(raw))}"] = None
            else:
                tests[f"{accessor}[{name!r}] is {self.pin(raw)}"] = None
                if type(raw) is types.FunctionType and primitive_of(raw) is not None:
                    self.give_up(f"{raw.__qualname__} is a method with a custom rule")
                if (
                    name.startswith("__")
                    and callable(raw)
                    and not issubclass(type(raw), type)
                    and not runs_functions_only(raw)
                ):
                    self.give_up(f"{cls.__qualname__}.{name} is a {type(raw).__name__}, which may have state")


_WITH_ATTRIBUTES = (functools.partial, Transformed, Wrapper)
"""Classes of objects that user code may give attributes which the hooks do not see."""
_RULES_FOLDER = f"{os.sep}wengert_rules{os.sep}"
_PATTERN_FLAGS = 1 << 5 | 1 << 6
"""The flags by which `match` takes a class for a sequence or mapping; registering with an ABC sets them."""
MEMORY_ATTRIBUTES = {"flags", "base", "data", "ctypes", "__array_interface__", "__array_struct__"}
"""Attributes of arrays that tell of their memory."""
_CLASS_BOOKKEEPING = {
    "__dict__",
    "__weakref__",
    "__doc__",
    "__module__",
    "__annotations__",
    "__annotate_func__",
    "_abc_impl",
}
