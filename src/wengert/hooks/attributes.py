"""The hooks of attributes. CPython looks them up; attributes of traced values are recorded."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks import data_reads, flat_iterators, reshaping
from wengert.hooks.classes import as_traced, require_primitive
from wengert.hooks.code_swap import prepare, prepare_module
from wengert.hooks.lookups import guard_reachable
from wengert.hooks.readers import check_read
from wengert.hooks.writes import record_store
from wengert.recording import layout
from wengert.recording.aliases import READING_BY_NAME
from wengert.recording.identity import given
from wengert.recording.record import as_array, record_call
from wengert.recording.recording import STATE, users_line
from wengert.recording.slots import slot_of
from wengert.recording.trace_state import clear_caches, of_values, plain_names, plain_names_of_classes, twins
from wengert.rulebook.registry import rules
from wengert.values.codes import original
from wengert.values.data_classes import READS
from wengert.values.frames import user_frame
from wengert.values.names import lookup
from wengert.values.sites import Site
from wengert.values.views import owner_of


def forget_changed(obj: Any) -> None:
    """Drop cached facts about a function or class that the traced code is about to change."""
    t = type(obj)
    if t is types.FunctionType:
        twins.pop(obj, None)
    elif issubclass(t, type):
        clear_caches()


_RECORDED_AS = {"T": np.transpose, "real": np.real, "imag": np.imag, "mT": getattr(np, "matrix_transpose", None)}

_OPAQUE = {"data", "ctypes", "base", "__array_interface__", "__array_struct__"}


_LAYOUT = {"flags", "strides"}

_VALUE_ATTRIBUTES = {*_RECORDED_AS, *_OPAQUE, *_LAYOUT}


_CODE_ATTRIBUTES = {"__code__", "f_code", "gi_code", "cr_code", "ag_code"}


of_values |= {t: set(dir(t)) - _VALUE_ATTRIBUTES for t in (np.ndarray, np.float64, float, complex)}
plain_names |= of_values


def get_attribute(obj: Any, name: str, site: Site | None) -> Any:
    """The hook of `obj.name`."""
    t = type(obj)
    if t is types.ModuleType:
        if name not in obj.__dict__:
            prepare_module(obj)
        return getattr(obj, name)
    plain = plain_names.get(t) if t is not type else plain_names_of_classes.get(obj)
    if plain is not None and name in plain:
        return getattr(obj, name)
    STATE.site = site
    return fetch_attribute(obj, name)


def fetch_attribute(obj: Any, name: str) -> Any:
    """Return `obj.name` as CPython finds it; an attribute of a traced value is recorded."""
    t, recording = type(obj), STATE.recording
    if t in READS and (value := data_reads.read_attribute(obj, name)) is not data_reads.NOT_READ:
        return value
    is_value = issubclass(t, (np.ndarray, np.generic, float, complex))  # `isinstance` would ask for its `__class__`
    if (
        is_value
        and recording is not None
        and name in _VALUE_ATTRIBUTES
        and _is_recorded_attribute(recording, obj, name)
    ):
        return _value_attribute(recording, obj, name)
    if t is types.FrameType and name == "f_back":
        return user_frame(obj.f_back)
    if name in _CODE_ATTRIBUTES:
        code = getattr(obj, name)
        return (original(code) or code) if type(code) is types.CodeType else code
    if issubclass(t, READING_BY_NAME):
        if recording is not None and name not in ("operands", "itviews"):
            check_read(recording, obj)
        return getattr(obj, name)
    is_class = issubclass(t, type)
    prepare(obj if is_class else obj.__self_class__ or t if t is super else t)
    found = None if is_class else lookup(t, name)
    if isinstance(found, property):
        return as_traced(found.fget)(obj) if _is_of_c(found.fget) else getattr(obj, name)
    if type(found) is types.GetSetDescriptorType and (standin := rules.standin_of(found)) is not None:
        return as_traced(standin)(obj)
    if name not in _VALUE_ATTRIBUTES and recording is not None:  # those depend on the object: another may be traced
        if not is_class:
            plain_names.setdefault(t, set()).add(name)
        elif t is type:
            plain_names_of_classes.setdefault(obj, set()).add(name)
    return getattr(obj, name)


def _is_recorded_attribute(recording: Any, obj: Any, name: str) -> bool:
    """Whether an array or number is traced, and the attribute is NumPy's, not a property of its class."""
    if name not in ("real", "imag") and isinstance(obj, np.ndarray) and obj.dtype.char in "OV":
        return False  # the attribute holds references, not numbers
    return slot_of(recording, obj) is not None and type(lookup(type(obj), name)) is not property


def prepare_module_named(name: str, site: Site | None) -> None:
    """The hook of `import name`: the module may compute what is imported from it."""
    module = sys.modules.get(name)
    if type(module) is types.ModuleType:
        prepare_module(module)


def generic_attribute(obj: Any, name: str) -> Any:
    """`object.__getattribute__(obj, name)`."""
    prepare(type(obj))
    return object.__getattribute__(obj, name)


def _is_of_c(f: Any) -> bool:
    """Whether the function of a property is written in C, so that no hook sees what it reads."""
    return f is not None and type(f) not in (types.FunctionType, types.BuiltinFunctionType)


def _value_attribute(recording: Any, obj: Any, name: str) -> Any:
    """Read an attribute of a traced array or number: record it, guard it if it describes memory, or refuse it."""
    if name in _LAYOUT:
        if recording.keep:
            layout.laid_out(recording)
            if name == "flags":
                layout.writable(recording, [owner_of(obj)])
                return layout.flags_of(recording, given(recording, obj))
        return getattr(given(recording, obj), name)
    fn = _RECORDED_AS.get(name)
    if name == "base" and recording.keep:
        layout.laid_out(recording)
    if name == "base" and not (recording.keep and layout.is_of_an_argument(recording, obj)):
        owner = recording.memory.array_covering(owner_of(obj)) if isinstance(obj, np.ndarray) else obj
        if owner is not None:
            return None if owner is obj else owner
    if fn is None:
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: .{name} of a traced array exposes its memory to code that cannot be traced. "
                "Index or copy the array instead."
            )
        )
    return record_call(require_primitive(fn), (obj,), {})


def set_attribute(obj: Any, value: Any, name: str, site: Site | None) -> None:
    """`obj.name = value`."""
    STATE.site = site
    t = type(obj)
    if issubclass(t, np.ndarray) and STATE.recording is not None:
        if name in ("real", "imag"):
            _set_part(obj, name, value)
            return
        if name == "flat":
            flat_iterators.assign_flat(obj, slice(None), value)
            return
        if name == "shape" and lookup(t, name) is _SHAPE:
            reshaping.set_shape(obj, value)
            return
        if hasattr(np.ndarray, name) and slot_of(STATE.recording, obj) is not None:
            raise STATE.recording.refuse(
                RefusedCallError(
                    f"{users_line()}: this line sets .{name} of a traced array in place. "
                    "Make a new array (astype, as_strided)."
                )
            )
    _store_attribute(setattr, obj, value, name)


_SHAPE = vars(np.ndarray)["shape"]


def _set_part(array: np.ndarray, name: str, value: Any) -> None:
    """Do and record `array.real = value` or `array.imag = value`."""
    if name == "imag" and not np.iscomplexobj(array):
        setattr(array, name, value)  # raises
    record_store(getattr(array, name), ..., as_array(value) if isinstance(value, complex) else value)


def generic_set_attribute(obj: Any, value: Any, name: str) -> None:
    """`object.__setattr__(obj, name, value)`."""
    _store_attribute(object.__setattr__, obj, value, name)


def _store_attribute(store: Callable[[Any, str, Any], None], obj: Any, value: Any, name: str) -> None:
    """Set an attribute by `store`; the setter of a property or descriptor runs its twin."""
    forget_changed(obj)
    prepare(type(obj))
    found = lookup(type(obj), name)
    if isinstance(found, property) and _is_of_c(found.fset):
        as_traced(found.fset)(obj, value)
        return
    store(obj, name, value)
    if (
        found is not None
        and type(setter := lookup(type(found), "__set__")) is _SETTER_TYPE
        and setter not in _FOLLOWED_SETTERS
    ):
        _check_keeps_identity(obj, value, name)


_SETTER_TYPE = types.WrapperDescriptorType
_FOLLOWED_SETTERS = [vars(kind)["__set__"] for kind in (types.MemberDescriptorType, property)]
"""Setters of slots keep the object; those of properties, also of subclasses of `property`, call traced code."""


def _check_keeps_identity(obj: Any, value: Any, name: str) -> None:
    """Refuse to store a traced value in a C object that keeps a copy of it, without its identity."""
    recording = STATE.recording
    if recording is None or slot_of(recording, value) is None or getattr(obj, name) is value:
        return
    raise recording.refuse(
        RefusedCallError(
            f"{users_line()}: this line stores a traced value in .{name} of a {type(obj).__name__}, which keeps an "
            "untraced copy. Store it in a Python object instead."
        )
    )


def delete_attribute(obj: Any, name: str, site: Site | None) -> None:
    """`del obj.name`."""
    STATE.site = site
    forget_changed(obj)
    prepare(type(obj))
    delattr(obj, name)


def super_attribute(cls: Any, self: Any, super_: Any, name: str, has_arguments: bool, site: Site | None) -> Any:
    """The hook of `super().name`, which has its own instruction; `super` may be the user's own."""
    proxy = super(cls, self) if super_ is super else as_traced(super_)(*((cls, self) if has_arguments else ()))
    return get_attribute(proxy, name, site)


def get_named_attribute(obj: Any, name: str, /, *default: Any) -> Any:
    """`getattr`."""
    guard_reachable(name)
    try:
        return get_attribute(obj, name, STATE.site)
    except AttributeError:
        if not default:
            raise
        return default[0]


def has_attribute(obj: Any, name: str, /) -> bool:
    """`hasattr`."""
    guard_reachable(name)
    try:
        get_attribute(obj, name, STATE.site)
    except AttributeError:
        return False
    return True
