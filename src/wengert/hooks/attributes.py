"""Attributes: properties, descriptors, `__getattr__` and `__setattr__`, entering those written in Python."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks.classes import bind, constant, enter, lookup, methods, python_method
from wengert.hooks.flat import assign_flat
from wengert.hooks.lookups import told
from wengert.hooks.readers import check_read
from wengert.hooks.writes import record_store
from wengert.recording.aliases import READING_BY_NAME
from wengert.recording.exchanged import prepared, twins
from wengert.recording.identity import given
from wengert.recording.layout import is_of_an_argument, laid_out, writable
from wengert.recording.record import record_call
from wengert.recording.recording import STATE, here
from wengert.recording.slots import slot_of
from wengert.values.codes import original
from wengert.values.frames import user_frame
from wengert.values.lenses import owner_of
from wengert.values.sites import Site


def forget_classes() -> None:
    """Drop what was learnt of classes; they may change between two traces."""
    methods.clear()
    twins.clear()
    prepared.clear()
    _plain_of_classes.clear()
    if len(_plain_attributes) > len(_NUMERIC):
        for t in [t for t in [*_plain_attributes] if t not in _NUMERIC]:
            _plain_attributes.pop(t, None)


def _forget_changed(obj: Any) -> None:
    """Drop what was learnt of a function or class that the traced code changes."""
    t = type(obj)
    if t is types.FunctionType:
        twins.pop(obj, None)
    elif issubclass(t, type):
        forget_classes()


_RECORDED = {"T": np.transpose, "real": np.real, "imag": np.imag, "mT": getattr(np, "matrix_transpose", None)}

_OPAQUE = {"data", "ctypes", "base", "__array_interface__", "__array_struct__"}


_LAYOUT = {"flags", "strides"}

_OF_VALUES = {*_RECORDED, *_OPAQUE, *_LAYOUT}


_CODES = {"__code__", "f_code", "gi_code", "cr_code", "ag_code"}


def _plain_of(t: type) -> set[str]:
    return set(dir(t)) - _OF_VALUES


_NUMERIC = (np.ndarray, np.float64, float, complex)
_plain_attributes: dict[type, set[str]] = {t: _plain_of(t) for t in _NUMERIC}
_plain_of_classes: dict[type, set[str]] = {}  # of classes themselves, where no descriptor written in Python has a say


def get_attribute(obj: Any, name: str, site: Site | None) -> Any:
    """`obj.name`."""
    t = type(obj)
    if t is types.ModuleType:
        return getattr(obj, name)
    plain = _plain_attributes.get(t) if t is not type else _plain_of_classes.get(obj)
    if plain is not None and name in plain:
        return getattr(obj, name)
    STATE.site = site
    return attribute(obj, name)


def attribute(obj: Any, name: str) -> Any:
    """`obj.name`, entering properties, descriptors and `__getattr__` that are written in Python."""
    t = type(obj)
    if issubclass(t, (np.ndarray, np.generic, float, complex)):  # `isinstance` would ask the object's own `__class__`
        recording = STATE.recording
        if recording is not None and name in _OF_VALUES and slot_of(recording, obj) is not None:
            return _value_attribute(recording, obj, name)
    if t is types.FrameType and name == "f_back":
        return user_frame(obj.f_back)
    if t is super:
        return _super_attribute(obj, name)
    custom, fallback = python_method(t, "__getattribute__"), python_method(t, "__getattr__")
    if custom is None and fallback is None:
        return _ordinary(obj, t, name)
    try:
        return _before_fallback(obj, t, name) if custom is None else bind(custom, obj)(name)
    except AttributeError:
        if fallback is None:
            raise
        return bind(fallback, obj)(name)


def _ordinary(obj: Any, t: type, name: str) -> Any:
    if issubclass(t, type):
        return _class_attribute(obj, t, name)
    if issubclass(t, READING_BY_NAME):
        if STATE.recording is not None and name not in ("operands", "itviews"):
            check_read(STATE.recording, obj)
        return getattr(obj, name)
    found = lookup(t, name)
    getter = _python_getter(found)
    if getter is None:
        if name in _CODES:
            code = getattr(obj, name)
            return (original(code) or code) if type(code) is types.CodeType else code
        if name not in _OF_VALUES:  # those depend on the object: another may be traced
            _plain_attributes.setdefault(t, set()).add(name)
    elif _is_data(found) or name not in own_names(obj, t):
        return getter(obj, t)
    return getattr(obj, name)


def _before_fallback(obj: Any, t: type, name: str) -> Any:
    """`obj.name` without the `__getattr__` of its class."""
    return (
        _class_attribute(obj, t, name, type.__getattribute__) if issubclass(t, type) else generic_attribute(obj, name)
    )


def _class_attribute(cls: Any, meta: type, name: str, native: Callable[[Any, str], Any] = getattr) -> Any:
    """`cls.name`: a data descriptor of the metaclass, then what the class and its bases hold, then the metaclass."""
    above, held = lookup(meta, name), lookup(cls, name)
    getter = _python_getter(above)
    if getter is not None and (held is None or _is_data(above)):
        return getter(cls, meta)
    get = None if held is None or _is_data(above) else python_method(type(held), "__get__")
    if type(get) is types.FunctionType:
        return enter(get)(held, None, cls)
    if meta is type:
        _plain_of_classes.setdefault(cls, set()).add(name)
    return native(cls, name)


def own_names(obj: Any, t: type) -> Any:
    """The `__dict__` of an object, past anything that its class calls so; empty where there is none."""
    for base in t.__mro__:
        slot = base.__dict__.get("__dict__")
        if type(slot) is types.GetSetDescriptorType:
            return slot.__get__(obj)
    return {}


def generic_attribute(obj: Any, name: str) -> Any:
    """`object.__getattribute__(obj, name)`."""
    found = lookup(type(obj), name)
    getter = _python_getter(found)
    if getter is not None and (_is_data(found) or name not in own_names(obj, type(obj))):
        return getter(obj, type(obj))
    return object.__getattribute__(obj, name)


def _python_getter(found: Any) -> Callable[[Any, type], Any] | None:
    """How to read a class attribute that is a property or a descriptor written in Python."""
    if isinstance(found, property) and _is_entered(found.fget):
        return lambda obj, t: found if obj is None else enter(found.fget)(obj)
    get = None if found is None else python_method(type(found), "__get__")
    if isinstance(get, types.FunctionType):
        return lambda obj, t: enter(get)(found, obj, t)
    return None


def _is_entered(f: Any) -> bool:
    """Whether the function of a property may run code of the user's."""
    return f is not None and type(f) is not types.BuiltinFunctionType


def _is_data(found: Any) -> bool:
    return lookup(type(found), "__set__") is not None


def _value_attribute(recording: Any, obj: Any, name: str) -> Any:
    if name in _LAYOUT:
        if recording.keep:
            laid_out(recording)
            writable(recording, [owner_of(obj)] if name == "flags" else [])
        return getattr(given(recording, obj), name)
    fn = _RECORDED.get(name)
    if name == "base" and not (recording.keep and is_of_an_argument(recording, obj)):
        shown = recording.memory.whole(owner_of(obj)) if isinstance(obj, np.ndarray) else obj
        if shown is not None:
            return None if shown is obj else shown
    if fn is None:
        raise recording.refuse(
            RefusedCallError(
                f"{here()}: .{name} of a traced array opens its memory to code that cannot be seen. "
                "Index or copy the array instead."
            )
        )
    return record_call(constant(fn), (obj,), {})


def _super_attribute(obj: Any, name: str) -> Any:
    if obj.__self_class__ is None:  # unbound
        return getattr(obj, name)
    mro = obj.__self_class__.__mro__
    if mro is None:  # it is just being made
        return getattr(obj, name)
    for base in mro[mro.index(obj.__thisclass__) + 1 :]:
        found = base.__dict__.get(name)
        if found is not None:
            getter = _python_getter(found)
            return getattr(obj, name) if getter is None else getter(_instance(obj), obj.__self_class__)
    return getattr(obj, name)


def _instance(bound: Any) -> Any:
    """What a `super` object binds methods to; None where it is of a class itself."""
    return None if bound.__self__ is bound.__self_class__ else bound.__self__


def set_attribute(obj: Any, value: Any, name: str, site: Site | None) -> None:
    """`obj.name = value`."""
    STATE.site = site
    t = type(obj)
    if issubclass(t, np.ndarray) and STATE.recording is not None:
        if name in ("real", "imag"):
            _set_part(obj, name, value)
            return
        if name == "flat":
            assign_flat(obj, slice(None), value)
            return
        if slot_of(STATE.recording, obj) is not None or slot_of(STATE.recording, value) is not None:
            raise STATE.recording.refuse(
                RefusedCallError(
                    f"{here()}: .{name} of a traced array is set in place. Make a new array (reshape, astype)."
                )
            )
    custom = python_method(t, "__setattr__")
    if custom is not None:
        bind(custom, obj)(name, value)
    else:
        _store_attribute(setattr, obj, value, name)


def _set_part(array: np.ndarray, name: str, value: Any) -> None:
    """`array.real = value`, `array.imag = value`."""
    if name == "imag" and not np.iscomplexobj(array):
        setattr(array, name, value)  # raises
    record_store(getattr(array, name), ..., value)


def generic_set_attribute(obj: Any, value: Any, name: str) -> None:
    """`object.__setattr__(obj, name, value)`."""
    _store_attribute(object.__setattr__, obj, value, name)


def _store_attribute(store: Callable[[Any, str, Any], None], obj: Any, value: Any, name: str) -> None:
    """Set an attribute, entering a property's or descriptor's setter."""
    _forget_changed(obj)
    found = lookup(type(obj), name)
    setter = None if found is None else python_method(type(found), "__set__")
    if isinstance(found, property) and _is_entered(found.fset):
        enter(found.fset)(obj, value)
    elif isinstance(setter, types.FunctionType):
        enter(setter)(found, obj, value)
    else:
        store(obj, name, value)
        if found is not None and not isinstance(found, types.MemberDescriptorType):
            _check_kept(obj, found, value, name)


def _check_kept(obj: Any, found: Any, value: Any, name: str) -> None:
    """A C object that keeps a number in a form of its own loses its identity: refused."""
    recording = STATE.recording
    if recording is None or not _is_data(found) or slot_of(recording, value) is None or getattr(obj, name) is value:
        return
    raise recording.refuse(
        RefusedCallError(
            f"{here()}: a traced value is stored in .{name} of a {type(obj).__name__}, which keeps its own copy. "
            "Keep it in a Python object instead."
        )
    )


def delete_attribute(obj: Any, name: str, site: Site | None) -> None:
    """`del obj.name`."""
    STATE.site = site
    _forget_changed(obj)
    t = type(obj)
    custom = python_method(t, "__delattr__")
    if custom is not None:
        bind(custom, obj)(name)
        return
    found = lookup(t, name)
    deleter = None if found is None else python_method(type(found), "__delete__")
    if isinstance(found, property) and _is_entered(found.fdel):
        enter(found.fdel)(obj)
    elif isinstance(deleter, types.FunctionType):
        enter(deleter)(found, obj)
    else:
        delattr(obj, name)


def super_attribute(cls: Any, self: Any, super_: Any, name: str, has_arguments: bool, site: Site | None) -> Any:
    """`super().name` where the interpreter has an instruction of its own for it; `super` may be the user's own."""
    made = super(cls, self) if super_ is super else enter(super_)(*((cls, self) if has_arguments else ()))
    return get_attribute(made, name, site)


def asked_attribute(obj: Any, name: str, /, *default: Any) -> Any:
    """`getattr`."""
    told(name)
    try:
        return get_attribute(obj, name, STATE.site)
    except AttributeError:
        if not default:
            raise
        return default[0]


def has_attribute(obj: Any, name: str, /) -> bool:
    """`hasattr`."""
    told(name)
    try:
        get_attribute(obj, name, STATE.site)
    except AttributeError:
        return False
    return True
