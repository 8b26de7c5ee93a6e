"""Outer reads: where a trace reads values from outside the function.

Each method takes a value that the code has just read, and the object or namespace that it was read from. It makes the
accessor, and reads or guards the value by it; or it gives up.
"""

from __future__ import annotations

import abc
import dis
import enum
import functools
import importlib.util
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from wengert.compiling.watched.builtin_subclasses import built_in_base
from wengert.compiling.watched.endings import Endings
from wengert.compiling.watched.loaded_modules import LoadedModules
from wengert.compiling.watched.loop_heads import Heads
from wengert.compiling.watched.records import read_stand_in, refuse_record
from wengert.compiling.watched.refusals import refuse_native
from wengert.compiling.watched.trusted import (
    LIBRARY_ONLY,
    belongs_to_user,
    is_engine_code,
    is_known_extension,
    is_library_namespace,
    top_package,
)
from wengert.compiling.watched.watchable import (
    ATOMS,
    Wrapper,
    has_dictionary,
    has_only_attributes,
    has_own_attribute,
    is_same_value,
    is_unset,
    literal,
    lookup_with_owner,
    runs_functions_only,
    slot_names,
    walked,
)
from wengert.hooks.code_swap import prepare
from wengert.hooks.data_reads import is_data_table
from wengert.hooks.lazy_instrumentation import is_lazy
from wengert.recording.recording import STATE, Recording
from wengert.recording.trace_state import is_born
from wengert.values.codes import code_of
from wengert.values.names import home_of
from wengert.values.random_states import generator_types
from wengert.values.sites import Site
from wengert.values.transformed import Transformed


def reads_here() -> Reads | None:
    """Return the Reads of the current trace, if it is watched and may still be kept, or makes effects at its end."""
    recording = STATE.recording
    reads: Any = None if recording is None else recording.reads
    if reads is None or (reads.obstacle is not None and not reads.effects.learned.needs_counters):
        return None
    found: Reads = reads
    return found


def reads_at(site: Site | None) -> Reads | None:
    """Return `reads_here`, if there are any, for the hook at a line of user code."""
    reads = reads_here()
    if reads is not None:
        STATE.site = site
    return reads


def not_native(reason: str) -> None:
    """Have the function that `wg.compile` traces now run uncompiled after this call, for a `reason`.

    A function under `vmap` runs on one example after another then.

    Parameters:
        reason (str): Words for the warning: "it reads the clock".
    Raises:
        NotNativeError: The function runs under `vmap`, and is not compiled.
    See Also:
        compiled_by, NotNativeError

    Examples:
        >>> wg.extend.not_native("it reads the clock")  # outside of a trace this does nothing
    """
    reads, recording = reads_here(), STATE.recording
    if reads is not None:
        reads.give_up(reason)
    elif recording is not None and recording.is_mapped:
        refuse_native(reason)


def give_up_at(reason: str, site: Site | None, may_retry: bool = False) -> None:
    """Give up for a reason at a line of user code, if something is watched."""
    reads = reads_at(site)
    if reads is not None:
        reads.give_up(reason, may_retry=may_retry)


class Reads(Endings):
    """The outer reads of a recording: what it reads, from where."""

    def __init__(self, recording: Recording, hooks: Mapping[str, Callable[..., Any]]) -> None:
        super().__init__(recording, hooks)
        self.cells: dict[int, tuple[Any, str]] = {}  # by id: a cell of a function that runs, and its accessor
        self.checked_calls: dict[int, Any] = {}  # callables that may be called, by id
        self.plain_calls: dict[int, int] = {}  # those of them that need no replacement: by id, the version of rules
        self.flags: dict[int, Any] = {}  # flags of arrays from outside, which are guarded as a whole, by id
        self.read_names: dict[tuple[int, str], tuple[Any, Any]] = {}  # of namespaces: original and counterpart
        self.frames: dict[int, types.FrameType] = {}  # that have called `locals`, by id
        self.guarded_errors: dict[int, Any] = {}  # AttributeErrors for which `guard_absence` was called, by id
        self.heads = Heads(self)

    def accessor_of(self, thing: Any) -> str | None:
        """Return the first accessor of an object from outside; None for other objects. Refuse a stand-in for one."""
        refuse_record(thing, "something asks for, or changes,")
        return super().accessor_of(thing)

    # -- names

    def global_name(self, value: Any, name: str, space: dict[str, Any], builtins: Any) -> Any:
        """Guard a global or builtin name, and return its value in the trace."""
        if is_library_namespace(space):
            return value
        if name in space:
            return self._read_global(value, name, space)
        self.add_guard(f"{name!r} not in {self.pin(space, str(space.get('__name__')))}")
        return self.read(value, f"{self.pin(builtins, 'builtins')}[{name!r}]")

    def module_attribute(self, module: Any, name: str, value: Any) -> Any:
        """Read a global name of a module, and guard it."""
        space = vars(module)
        if is_library_namespace(space):
            if name in space and not module.__name__.startswith("wengert"):
                accessor = f"{self.pin(space, module.__name__)}[{name!r}]"
                if top_package(space["__name__"]) in LIBRARY_ONLY:  # user code may set it
                    return self.read(value, accessor)
                self.guard_is(accessor, value)
            return value
        if name not in space:
            self._guard_absence_in_module(module, name)
            return value
        return self._read_global(value, name, space)

    def _read_global(self, value: Any, name: str, space: dict[str, Any]) -> Any:
        if self.effects.is_written(space, name):
            return value
        known, made = self.read_names.get((id(space), name), (None, None))
        if known is not value or value is None:
            made = self.read(value, f"{self.pin(space, str(space.get('__name__')))}[{name!r}]")
            self.read_names[id(space), name] = value, made
        return made

    # -- functions

    def exchanged(self, f: types.FunctionType, code: types.CodeType) -> None:
        """Guard a function of which a trace exchanges the code, now or at its first call."""
        defaults = (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values())
        if not is_lazy(f) or not all(map(_stays_in_trace, defaults)):
            self.entered(f, code)

    def entered(self, f: types.FunctionType, code: types.CodeType) -> None:
        """Guard the code and defaults of a function that now runs instrumented, and note its cells."""
        if is_engine_code(code) or is_library_namespace(f.__globals__) or self.obstacle is not None:
            return
        accessor = self.pin(f)
        self.guard_is(f"{accessor}.__code__", code)
        given = f.__defaults__
        if given is not None and literal(given) is not None:  # a tuple of constants is one itself
            self.guard_is(f"{accessor}.__defaults__", given)
        elif given is not None:
            made = self._read_given(f, given, f"{accessor}.__defaults__")
            if made is not given:
                self.swapped.put_defaults(f, made)
        words = f.__kwdefaults__
        if words is not None and literal((*words.values(),)) is not None:
            pairs = self.pin((*words.items(),), f"the keywords of {f.__qualname__}")
            self.add_guard(f"{self.pin(is_same_value)}((*{accessor}.__kwdefaults__.items(),), {pairs})")
        elif words is not None:
            self._read_given(f, words, f"{accessor}.__kwdefaults__")
        for name, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
            self.cells[id(cell)] = cell, f"{self.pin(cell, f'{f.__qualname__}.{name}')}.cell_contents"

    def _read_given(self, f: types.FunctionType, given: Any, accessor: str) -> Any:
        """Read the defaults of a function; one that is not called yet is entered again when it is."""
        made = self.read(given, accessor)
        if is_lazy(f):
            self.obstacle = None
        return made

    def holder(self, f: Any) -> None:
        """Guard the object that a method is bound to: its arrays are differentiated, too. Give up on closures."""
        if type(f) is types.MethodType:
            f = f.__self__
        if type(f) is types.FunctionType and f.__closure__ and not is_born(f):
            self.give_up(f"it differentiates with respect to variables that {f.__qualname__} captures")
        self.parts([f])

    def function_attribute(self, f: types.FunctionType, name: str, value: Any) -> Any:
        """Guard an attribute of a function from outside; give up on those that are hard to guard."""
        accessor = self.pin(f)
        if is_library_namespace(f.__globals__) or self.effects.is_written(f, name):
            return value
        if name == "__dict__" and not value:
            self.add_guard(f"not {accessor}.__dict__")
        elif name == "__code__":
            self.guard_is(f"{accessor}.__code__", code_of(f))
        elif name in ("__defaults__", "__kwdefaults__") and value is None:
            self.add_guard(f"{accessor}.{name} is None")
        elif name in ("__defaults__", "__kwdefaults__"):
            self.entered(f, code_of(f))
            return getattr(f, name)
        elif name == "__annotations__":
            return self.read(value, f"{accessor}.{name}")
        elif name in ("__annotate__", "__type_params__"):
            self.guard_is(f"{accessor}.{name}", value)
        elif name in ("__name__", "__qualname__", "__module__", "__doc__") and type(value) in ATOMS:
            self.guard_value(value, f"{accessor}.{name}")
        elif name in vars(f):
            return self.read(value, f"{accessor}.__dict__[{name!r}]")
        else:
            self.give_up(f"it reads .{name} of a function, which wengert does not guard")
        return value

    # -- attributes

    def object_attribute(self, obj: Any, name: str, value: Any) -> Any:
        """Guard an attribute of an object from outside, or a class attribute of one created in the trace."""
        t = type(obj)
        if issubclass(t, type):
            return self._class_attribute(obj, name, value)
        if (record := self.heads.records.get(id(obj))) is not None:
            return read_stand_in(self, record, name, value)
        if is_data_table(self.recording, obj):
            return value
        if t in generator_types():
            if not callable(value):
                self.give_up(f"it reads .{name} of a random generator, which draws may change")
            return value
        if issubclass(t, enum.Enum) and belongs_to_user(t):
            self.read(obj, self.pin(obj))
        raw, owner = lookup_with_owner(t, name)
        is_data, is_settable = raw is not None and not hasattr(type(raw), "__get__"), hasattr(type(raw), "__set__")
        accessor = self.accessor_of(obj)
        if self.effects.is_written(obj, name):
            return value
        if accessor is None or (issubclass(t, (list, dict)) and not belongs_to_user(t)):
            if owner is not None and belongs_to_user(owner) and not is_data and not _is_of_known_c(raw):
                self._check_descriptor(raw, name)
            return self._read_class_data(owner, name, value) if is_data and not has_own_attribute(obj, name) else value
        if has_own_attribute(obj, name) and not is_settable:
            return self.read(value, f"{accessor}.__dict__[{name!r}]")
        if type(raw) is types.MemberDescriptorType:
            if is_unset(obj, raw):  # `__getattr__` of the class is traced
                self._guard_unset(accessor, raw)
                return value
            is_computed = hasattr(t, "__getattr__")
            return self.read(value, f"{self.pin(raw)}.__get__({accessor})" if is_computed else f"{accessor}.{name}")
        if has_dictionary(t) and not is_settable:
            self.add_guard(f"{name!r} not in {accessor}.__dict__")
        if is_data:
            return self._read_class_data(owner, name, value)
        if raw is None and issubclass(t, types.ModuleType):
            self._guard_absence_in_module(obj, name)
        if name != "__class__":
            self._check_descriptor(raw, name)
        return value

    def _check_descriptor(self, raw: Any, name: str) -> None:
        """Give up on a descriptor that may have state."""
        is_hidden = type(raw) is property and home_of(raw.fget).startswith("_frozen_importlib")
        if is_hidden or (id(raw) not in self.known_objects and not runs_functions_only(raw)):
            self.give_up(f"it reads .{name}, whose descriptor {type(raw).__name__} may have state")

    def _class_attribute(self, cls: Any, name: str, value: Any) -> Any:
        if not belongs_to_user(cls) or is_born(cls):
            return value
        if issubclass(type(cls), enum.EnumType) and _is_enum_internal(self, cls, name, value):
            return value
        raw, owner = self._raw_of_class(cls, name)
        if lookup_with_owner(type(cls), name)[1] is type and (owner is None or name != "mro"):
            if name in ("__mro__", "__bases__", "__base__", "mro"):
                prepare(cls)  # the guards of a class hold its bases
                return value
            if name in ("__name__", "__qualname__", "__module__"):
                return self.read(value, f"{self.pin(cls)}.{name}")
        is_traced = owner is not None or (belongs_to_user(type(cls)) and hasattr(type(cls), "__getattr__"))
        asking: Any = type(cls).__getattribute__
        if not is_traced or asking is not type.__getattribute__:
            self.give_up(f"it reads .{name} of a class, which its metaclass defines")
        elif owner is not None and not hasattr(type(raw), "__get__"):
            return self._read_class_data(owner, name, value)
        elif owner is not None and belongs_to_user(owner):
            self._check_descriptor(raw, name)
        return value  # of `__getattr__`, which is traced, without an owner

    def _raw_of_class(self, cls: Any, name: str) -> tuple[Any, Any]:
        """Return what a class attribute is before descriptors run, and the class or metaclass that holds it."""
        meta = lookup_with_owner(type(cls), name)
        own = lookup_with_owner(cls, name)
        is_of_user = meta[1] is not None and belongs_to_user(meta[1])
        if belongs_to_user(type(cls)):
            prepare(cls)  # the guards of its metaclass hold the names there
        return meta if is_of_user and (own[1] is None or hasattr(type(meta[0]), "__set__")) else own

    def _read_class_data(self, owner: Any, name: str, value: Any) -> Any:
        is_outside = belongs_to_user(owner) and not is_born(owner)
        return self.read(value, f"{self.namespace(owner)}[{name!r}]") if is_outside else value

    def array_attribute(self, array: np.ndarray, name: str, value: Any) -> Any:
        """Guard an attribute of an array from outside that tells of its memory."""
        self.heads.refuse_row(array)
        found = [(accessor, outer.original) for accessor, outer in self.inputs.items() if outer.traced is array]
        found += [(accessor, own) for accessor, own, *_ in self._compared_arrays if own is array]
        for accessor, own in found:
            if name == "flags":
                self.add_guard(f"{accessor}.flags.num == {own.flags.num}")
                value = own.flags
                self.flags[id(value)] = value
            elif own.base is not None:
                self.give_up(f"it reads .{name} of an array that is a view", accessor)
        return value

    def read_all_attributes(self, obj: Any) -> None:
        """Guard all attributes of an object, if it is from outside."""
        accessor = self.accessor_of(obj)
        if accessor is None or self.obstacle is not None:
            return
        is_written = self.effects.has_written_to(obj)
        is_plain = has_only_attributes(type(obj)) or built_in_base(type(obj)) is not None
        if is_written or not is_plain or slot_names(type(obj)):
            reason = f"it reads all attributes of a {type(obj).__name__} from outside the function"
            self.give_up(reason, may_retry=is_written)
            return
        self.read(vars(obj), f"{accessor}.__dict__")

    def parts(self, things: list[Any]) -> None:
        """Guard all attributes of the outer objects among `things`, and of the objects in them."""
        for thing, todo in walked([thing for thing in things if type(thing) is not LoadedModules]):
            if is_data_table(self.recording, thing):
                continue
            if id(thing) in self.known_objects and type(thing) not in generator_types():
                self.read_all_attributes(thing)
                todo += vars(thing).values() if self.obstacle is None else ()

    def guard_absence(self, obj: Any, name: str) -> None:
        """Guard that an attribute which the code looked for is still missing."""
        obj = obj.__func__ if type(obj) is types.MethodType else obj
        t = type(obj)
        is_member = issubclass(t, enum.Enum) and belongs_to_user(t)
        if is_member and has_own_attribute(obj, "_name_"):  # else it is under construction
            self.read(obj, self.pin(obj))
        accessor = self.accessor_of(obj)
        if self.effects.is_written(obj, name):
            return
        if t is types.ModuleType:
            self._guard_absence_in_module(obj, name)
        elif accessor is not None:
            raw, _ = lookup_with_owner(t, name)
            if issubclass(t, types.ModuleType):
                self._guard_absence_in_module(obj, name)
            if type(raw) is types.MemberDescriptorType:
                self._guard_unset(accessor, raw)
            elif has_dictionary(t):
                self.add_guard(f"{name!r} not in {accessor}.__dict__")
        elif issubclass(t, type):
            prepare(obj)
            for base in obj.__mro__:
                if belongs_to_user(base):
                    self.add_guard(f"{name!r} not in {self.namespace(base)}")
        elif t is types.FunctionType and not is_born(obj):
            self.add_guard(f"{name!r} not in {self.pin(obj)}.__dict__")
        elif issubclass(t, WITH_ATTRIBUTES):
            self.give_up(f"it looks for the missing attribute .{name} of a {t.__name__}")

    def guard_caught(self, error: Any) -> None:
        """Guard that a name is still missing of which the code has caught the exception, or give up."""
        *above, (frame, place) = [(step.tb_frame, step.tb_lasti) for step in _steps(error.__traceback__)]
        instruction = dis.opname[frame.f_code.co_code[place]]
        if id(error) in self.guarded_errors or instruction == "RAISE_VARARGS":
            return
        is_module = isinstance(error, ModuleNotFoundError) and instruction == "IMPORT_NAME" and not above
        if isinstance(error, NameError) and instruction in ("LOAD_GLOBAL", "LOAD_NAME"):
            for space in (frame.f_globals, frame.f_builtins):
                self.add_guard(f"{error.name!r} not in {self.pin(space, str(space.get('__name__')))}")
        elif is_module and type(error.name) is str and "." not in error.name:
            self.add_guard(f"{self.pin(importlib.util.find_spec)}({error.name!r}) is None")
        else:
            self.give_up(f"it catches {type(error).__name__}, but wengert does not guard that a name is missing")

    def _guard_absence_in_module(self, module: Any, name: str) -> None:
        """Guard that a module does not have an attribute, and how it computes missing ones, if it does."""
        space = vars(module)
        accessor, compute = self.pin(space, module.__name__), space.get("__getattr__")
        if "__getattr__" not in space:
            self.add_guard(f"'__getattr__' not in {accessor}")
        elif type(compute) is types.FunctionType:
            self.guard_is(f"{accessor}['__getattr__']", compute)
        if name not in space:
            self.add_guard(f"{name!r} not in {accessor}")
        is_known = name not in space and (compute is None or type(compute) is types.FunctionType)
        if not is_known and not is_library_namespace(space):
            self.give_up(f"it looks for {module.__name__}.{name}, which the module may compute")

    def _guard_unset(self, accessor: str, slot: types.MemberDescriptorType) -> None:
        self.add_guard(f"{self.pin(is_unset)}({accessor}, {self.pin(slot)})")

    # -- checks of classes

    def class_check(self, native: Callable[..., bool], thing: Any, classes: Any) -> None:
        """Guard the answer of isinstance or issubclass, which may change although the object and the class stay."""
        t = type(thing) if native is isinstance else thing
        for cls in _classes_in(classes) if isinstance(t, type) else ():
            check, owner = lookup_with_owner(type(cls), _CLASS_CHECKS[native])
            if owner is abc.ABCMeta:
                for asked in {t, t if native is issubclass else thing.__class__}:
                    self.guard_abc_check(asked, cls)
            elif owner.__module__ == "typing":  # a protocol looks for attributes
                self._protocol_check(thing, cls)
            elif owner is not type and type(getattr(check, "__func__", check)) is not types.FunctionType:
                self.give_up(f"it checks for {cls.__qualname__}, whose metaclass decides by a {type(check).__name__}")

    def _protocol_check(self, thing: Any, cls: type) -> None:
        """Guard whether a thing has the attributes that a protocol names."""
        self.guard_registrations()
        t = type(thing)
        if issubclass(t, (types.FunctionType, types.MethodType, types.ModuleType, *WITH_ATTRIBUTES)):
            names = () if is_born(thing) else typing._get_protocol_attrs(cls)  # type: ignore[attr-defined]
            if not all([hasattr(t, name) for name in names]):
                self.give_up(f"it checks whether a {t.__name__} has the attributes of {cls.__qualname__}")
        self.read_all_attributes(thing)


def _stays_in_trace(default: Any) -> bool:
    """Whether a default of a parameter is the same object in a trace."""
    return issubclass(type(default), (*ATOMS, type, enum.Enum, types.FunctionType, types.BuiltinFunctionType))


def _is_of_known_c(raw: Any) -> bool:
    """Whether a descriptor is written in C, of a package for which there are rules."""
    return is_known_extension(home_of(getattr(raw, "__objclass__", type(raw))))


_CLASS_CHECKS: dict[Any, str] = {isinstance: "__instancecheck__", issubclass: "__subclasscheck__"}
_ABC_METHODS = {vars(abc.ABCMeta)[name] for name in _CLASS_CHECKS.values()}
WITH_ATTRIBUTES = (functools.partial, functools._lru_cache_wrapper, Transformed, Wrapper)
"""Classes of objects that user code may give attributes which the hooks do not see."""
MEMORY_ATTRIBUTES = {"flags", "base", "data", "ctypes", "__array_interface__", "__array_struct__"}
"""Attributes of arrays that tell of their memory."""


def _steps(traceback: types.TracebackType | None) -> Iterator[types.TracebackType]:
    """Yield the steps of a traceback in code of the user and of libraries."""
    while traceback is not None:
        if not is_engine_code(traceback.tb_frame.f_code):
            yield traceback
        traceback = traceback.tb_next


def is_abc_method(f: Any) -> bool:
    """Whether a callable is `ABCMeta.__instancecheck__` or `__subclasscheck__`, which a user metaclass may call."""
    return type(f) in (types.FunctionType, types.MethodType) and getattr(f, "__func__", f) in _ABC_METHODS


def _is_enum_internal(reads: Reads, cls: Any, name: str, value: Any) -> bool:
    """Whether an attribute of an enumeration is a member, which this reads, or an internal one such as `_missing_`."""
    if vars(cls).get("_member_map_", {}).get(name) is value and issubclass(type(value), enum.Enum):
        reads.read(value, reads.pin(value))
        return True
    return name[:1] == name[-1:] == "_" and name[:2] != "__" and not callable(value)


def _classes_in(classes: Any) -> Iterator[type]:
    """Yield the classes in tuples and unions, and the origins of generic aliases."""
    if isinstance(classes, type):
        yield classes
    if (origin := typing.get_origin(classes)) is not None:
        yield from _classes_in(origin)
    for part in classes if isinstance(classes, tuple) else typing.get_args(classes):
        yield from _classes_in(part)
