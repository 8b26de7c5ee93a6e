"""Hooks of what watched code reads and writes: names, imports, attributes, and the settings of printing."""

from __future__ import annotations

import enum
import functools
import locale
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.watched.effects import Place, can_set, value_at
from wengert.compiling.watched.lengths import MEASURING, measured
from wengert.compiling.watched.outer_reads import MEMORY_ATTRIBUTES, Reads, give_up_at, reads_at, reads_here
from wengert.compiling.watched.trusted import (
    belongs_to_user,
    frames_in_trace,
    is_done_once,
    is_engine_code,
    is_library_namespace,
    is_own_or_library_code,
)
from wengert.compiling.watched.watchable import (
    Unset,
    has_dictionary,
    is_descriptor_of_user,
    lookup_with_owner,
    runs_code,
)
from wengert.hooks.attributes import generic_attribute
from wengert.hooks.calls import resolve
from wengert.hooks.code_swap import HOOKS
from wengert.recording.recording import STATE
from wengert.recording.trace_state import is_born
from wengert.values.frames import user_frame
from wengert.values.identity_set import Functions
from wengert.values.sites import Site


def _reads_of(frame: types.FrameType, site: Site | None) -> Reads | None:
    """Return `reads_at` for a read in a frame; give up if user code reads where nothing is recorded.

    What Python reads to load a module there is read in the first call only: an imported module is not loaded again.
    """
    reads = reads_at(site)
    if reads is None and not is_own_or_library_code(frame):
        _give_up_on_silenced(frame)
    return reads


def _give_up_on_silenced(frame: types.FrameType) -> None:
    """Give up: user code, which may read from outside, runs where nothing is recorded."""
    if (
        STATE.silenced is not None
        and STATE.silenced.reads is not None
        and not any(map(is_done_once, frames_in_trace(frame)))
    ):
        unseen: Any = STATE.silenced.reads
        if unseen.unwatched_calls is None:
            unseen.give_up(f"{frame.f_code.co_qualname} runs inside a call that is recorded as a whole")


def _watch_global(value: Any, name: str, site: Site | None) -> Any:
    frame = sys._getframe(1)
    reads = _reads_of(frame, site)
    if reads is None:
        return value
    return reads.global_name(value, name, frame.f_globals, frame.f_builtins)


def _watch_local(value: Any, name: str, site: Site | None) -> Any:
    """Watch a name in a class body, which is either its own or a global one."""
    reads, frame = reads_at(site), sys._getframe(1)
    if reads is None or name in frame.f_locals:
        return value
    return reads.global_name(value, name, frame.f_globals, frame.f_builtins)


def _watch_free_variable(cell: Any, value: Any, site: Site | None) -> Any:
    reads = _reads_of(sys._getframe(1), site)
    if reads is None or id(cell) not in reads.cells or reads.effects.is_written(cell, "cell_contents"):
        return value
    return reads.read(value, reads.cells[id(cell)][1])


def _watch_free_variable_write(cell: Any, site: Site | None) -> None:
    reads = reads_at(site)
    if reads is not None and id(cell) in reads.cells:
        accessor = reads.cells[id(cell)][1]
        reads.effects.note_write(Place(cell, "cell_contents", accessor.removesuffix(".cell_contents")))


def _watch_global_write(name: str, site: Site | None) -> None:
    reads, space = reads_at(site), sys._getframe(1).f_globals
    if reads is not None and not is_library_namespace(space):
        reads.effects.note_write(Place(space, name, reads.pin(space, str(space.get("__name__")))))


def watch_import(value: Any, name: str, site: Site | None) -> Any:
    """Guard that a module which the code imports is still the one of its name."""
    reads = reads_at(site)
    if reads is not None and not is_library_namespace(sys._getframe(1).f_globals):
        guard_modules(reads, {value.__name__, *{name}.intersection(sys.modules)})  # a relative name may be none
        if type(value) is not types.ModuleType:
            reads.read(value, f"{reads.pin(sys.modules, 'sys.modules')}[{value.__name__!r}]")
    return value


def guard_modules(reads: Reads, names: set[str]) -> None:
    """Guard that the modules of these names are still the same, or give up."""
    modules = reads.pin(sys.modules, "sys.modules")
    for name in names:
        if name in sys.modules:
            reads.guard_is(f"{modules}[{name!r}]", sys.modules[name], name)
        else:
            reads.give_up(f"it imports {name}")


def _watch_import_from(module: Any, value: Any, name: str, site: Site | None) -> Any:
    reads = reads_at(site)
    if reads is None or is_library_namespace(sys._getframe(1).f_globals):
        return value
    if type(module) is not types.ModuleType:
        return reads.object_attribute(module, name, value)
    return reads.module_attribute(module, name, value)


def _watch_getattr(obj: Any, name: str, site: Site | None) -> Any:
    try:
        value = HOOKS["getattr"](obj, name, site)
    except AttributeError as error:
        _guard_error(error, obj, name)
        raise
    return _read_attribute(obj, name, value, site)


def _guard_error(error: AttributeError, obj: Any, name: str) -> None:
    """Guard that an attribute which the code looked for is still missing."""
    if (reads := reads_here()) is not None:
        reads.guard_absence(obj, name)
        reads.guarded_errors[id(error)] = error


def watched_plain_getattr(obj: Any, name: str, /) -> Any:
    """Replace `object.__getattribute__`, which passes by a `__getattribute__` or `__getattr__` of the class."""
    if issubclass(type(obj), type):
        give_up_at("it calls object.__getattribute__ of a class", STATE.site)
    try:
        value = generic_attribute(obj, name)
    except AttributeError as error:
        _guard_error(error, obj, name)
        raise
    return _read_attribute(obj, name, value, STATE.site)


def _read_attribute(obj: Any, name: str, value: Any, site: Site | None) -> Any:
    """Guard an attribute that was read, and return its value in the trace."""
    t = type(obj)
    if t is np.ndarray and name in _WATCHED_OF_ARRAYS and (reads := reads_here()) is not None:
        if reads.lengths is not None and name in MEASURING:
            return measured(obj, reads.lengths, name)
        if name in MEMORY_ATTRIBUTES:
            return reads.array_attribute(obj, name, value)
    reads = None if t is np.ndarray or t is float else _reads_of(sys._getframe(2), site)
    if reads is None:
        frame = sys._getframe(2)
        is_flag_internal = issubclass(t, enum.Flag) and name.startswith("_")  # guards hold its value already
        is_read = belongs_to_user(t) and not is_flag_internal
        if STATE.silenced is not None and is_read and not is_engine_code(frame.f_code):
            _give_up_on_silenced(frame)
        return value
    if t is types.ModuleType:
        return value if is_own_or_library_code(_asking_frame()) else reads.module_attribute(obj, name, value)
    if name == "__dict__" and not issubclass(type(obj), (type, types.FunctionType)):
        reads.read_all_attributes(obj)
        return value
    is_guarded = issubclass(t, type) and name in ("__mro__", "__bases__", "__base__")
    is_guarded |= issubclass(t, (types.FunctionType, types.MethodType)) and name in _OF_DECLARATIONS
    is_guarded |= t is types.FunctionType and name == "__wrapped__"
    if name in _INTROSPECTION and not is_guarded and not is_own_or_library_code(_asking_frame()):
        reads.give_up(f"it reads .{name}, which bypasses the guards")
        return value
    if t is types.MethodType and name not in ("__func__", "__self__"):
        obj, t = obj.__func__, type(obj.__func__)
    if t is types.FunctionType:
        return value if is_born(obj) else reads.function_attribute(obj, name, value)
    return reads.object_attribute(obj, name, value)


_WATCHED_OF_ARRAYS = MEASURING | MEMORY_ATTRIBUTES


def _asking_frame() -> Any:
    """Return the frame that reads an attribute, directly or through `getattr`, `hasattr` or `vars`."""
    frame = sys._getframe(3)
    return frame.f_back if frame.f_code.co_filename == __file__ else frame


def _watch_super_getattr(cls: Any, self: Any, super_: Any, name: str, has_arguments: bool, site: Site | None) -> Any:
    value = HOOKS["super_getattr"](cls, self, super_, name, has_arguments, site)
    if not callable(value):
        give_up_at(f"it reads .{name} through super()", site)
    return value


def _watched_getattr(native: Callable[..., Any]) -> Callable[..., Any]:
    """Return the replacement of `getattr` or `hasattr`."""

    @functools.wraps(native)
    def call(obj: Any, name: str, /, *default: Any) -> Any:
        if len(default) > (native is getattr):
            return native(obj, name, *default)  # raises
        try:
            value = _watch_getattr(obj, name, STATE.site)
        except AttributeError:
            if native is hasattr:
                return False
            if default:
                return default[0]
            raise
        return True if native is hasattr else value

    return call


def _watched_vars(*obj: Any) -> Any:
    """Replace `vars`; give up without an argument, when it returns the variables of a frame."""
    if len(obj) == 1 and hasattr(obj[0], "__dict__") and type(obj[0]) is not types.ModuleType:
        return _watch_getattr(*obj, "__dict__", STATE.site)
    give_up_at("it calls vars()", STATE.site)
    return vars(*obj)


def _watch_setattr(obj: Any, value: Any, name: str, site: Site | None) -> None:
    watch_write(obj, name, site)
    try:
        HOOKS["setattr"](obj, value, name, site)
    except AttributeError as error:
        reads, t = reads_here(), type(obj)
        if reads is not None and not belongs_to_user(t) and not has_dictionary(t):
            reads.guarded_errors[id(error)] = error  # which the class of the object alone decides
        raise


def _watch_delattr(obj: Any, name: str, site: Site | None) -> None:
    _guard_deletion(obj, name)
    watch_write(obj, name, site)
    HOOKS["delattr"](obj, name, site)


def _guard_deletion(obj: Any, name: str) -> None:
    """Guard that an object from outside has the attribute that the code deletes: without it, that raises."""
    reads = reads_here()
    known = None if reads is None or is_born(obj) else reads.accessor_of(obj)
    if reads is not None and known and can_set(obj, name) and not reads.effects.is_written(obj, name):
        reads.add_guard(f"{reads.pin(value_at)}({known}, {name!r}) is not {reads.pin(Unset)}")


def watch_write(obj: Any, name: str, site: Site | None, is_plain: bool = False) -> None:
    """Note that the code sets or deletes an attribute of an object from outside, or give up.

    `is_plain`: `object.__setattr__` or `__delattr__` does it, whatever the class says.
    """
    reads = reads_here()
    if reads is None or is_born(obj):
        return
    t, known = type(obj), reads.accessor_of(obj)
    is_shared = issubclass(t, (type, types.ModuleType, types.FunctionType))
    if t is types.FunctionType:
        if is_library_namespace(obj.__globals__):
            is_shared = not _is_written_by_library()  # a library writes to functions that it makes
        else:
            known, is_shared = reads.pin(obj), not can_set(obj, name)
    if known and not is_shared and name:
        raw, _ = lookup_with_owner(t, name)
        if not is_plain and (_defines_writing(t) or type(raw) is property or is_descriptor_of_user(raw)):
            return  # the code of the class is traced
        if STATE.recording is not reads.recording:
            give_up_at("a function under wg.vmap sets an attribute", site)
        if can_set(obj, name):
            reads.effects.note_write(Place(obj, name, known))
            return
    if is_shared or id(obj) in reads.known_objects or id(obj) in reads.flags:
        attribute = f"the attribute .{name}" if name else "an attribute"
        give_up_at(f"it sets {attribute} of an object from outside the function", site, may_retry=True)


def _is_written_by_library() -> bool:
    """Whether a library sets an attribute, itself or by `functools.update_wrapper`."""
    frame = user_frame(sys._getframe())
    while frame is not None and frame.f_globals is vars(functools):
        frame = frame.f_back
    return frame is not None and is_library_namespace(frame.f_globals)


def _defines_writing(t: Any) -> bool:
    """Whether a class has a `__setattr__` or `__delattr__` of its own."""
    return t.__setattr__ not in _PLAIN_SETTERS or t.__delattr__ not in _PLAIN_SETTERS


_PLAIN_SETTERS = Functions(*[f for t in (object, threading.local) for f in (t.__setattr__, t.__delattr__)])


def _watched_setter(native: Callable[..., Any]) -> Callable[..., Any]:
    """Return the replacement of `setattr` or `delattr`."""
    is_plain = native not in (setattr, delattr)

    @functools.wraps(native)
    def call(obj: Any, name: str, /, *value: Any) -> None:
        if not value:
            _guard_deletion(obj, name)
        watch_write(obj, name, STATE.site, is_plain)
        native(obj, name, *value)

    return call


def _watch_match_class(cls: Any, names: tuple[str, ...], subject: Any, count: int, site: Site | None) -> Any:
    """Match a class pattern: read the attributes that it names once more, and watch them."""
    found, reads = HOOKS["match_class"](cls, names, subject, count, site), reads_at(site)
    if reads is None:
        return found
    reads.class_check(isinstance, subject, cls)
    by_position = _watch_getattr(cls, "__match_args__", site)[:count] if hasattr(cls, "__match_args__") else ()
    read = (*by_position, *names)
    if (found is None and isinstance(subject, cls)) or any(runs_code(type(subject), name) for name in read):
        reads.give_up("it matches a class pattern by a missing or computed attribute")
    if found is None or not read:
        return found
    return (*found[: len(found) - len(read)], *[_watch_getattr(subject, name, site) for name in read])


_INTROSPECTION = {
    "__dict__", "__globals__", "__closure__", "__code__", "__defaults__", "__kwdefaults__", "__builtins__",
    "__func__", "__self__", "__wrapped__", "cell_contents", "f_globals", "f_locals", "f_back", "f_builtins",
    "tb_frame", "gi_frame", "cr_frame", "ag_frame", "__subclasses__", "__weakref__", "__annotations__", "__mro__",
    "__bases__", "__base__", "__loader__", "__spec__", "gi_yieldfrom", "__context__", "__cause__", "__traceback__",
}  # fmt: skip
"""Attributes that bypass the guards."""

_OF_DECLARATIONS = {"__annotations__", "__code__", "__defaults__", "__kwdefaults__"}
"""Those of functions that guards hold."""

ATTRIBUTE_BUILTINS: dict[Any, Callable[..., Any]] = {
    getattr: _watched_getattr(getattr),
    hasattr: _watched_getattr(hasattr),
    object.__getattribute__: watched_plain_getattr,
    vars: _watched_vars,
    **{f: _watched_setter(f) for f in (setattr, delattr, object.__setattr__, object.__delattr__)},
}
"""Replacements of the builtins that read or write attributes."""

# -- settings of the conversion of numbers and arrays to strings

_PRINT_ALIKE = {str, bytes, bool, float, type(None)}
"""Types whose strings do not depend on any setting."""
_LIMITED_DIGITS_FROM = 2**63
"""From this size on the limit on the digits of integers may apply."""


def print_settings() -> Any:
    """Return NumPy's print options, the largest number of digits of an integer, and the locale of numbers."""
    return np.get_printoptions(), sys.get_int_max_str_digits(), locale.setlocale(locale.LC_NUMERIC)


def guard_print_settings(reads: Any) -> None:
    """Guard the settings by which values are converted to strings."""
    reads.add_guard(f"{reads.pin(print_settings)}() == {reads.pin(print_settings())}")


def _watch_printing(things: tuple[Any, ...], spec: Any) -> None:
    """Guard the print settings if the string of one of these things depends on them."""
    reads = reads_here()
    if reads is not None and ("n" in spec or not all(map(_prints_alike, things))):
        guard_print_settings(reads)


def _prints_alike(thing: Any) -> bool:
    t = type(thing)
    if t is tuple:
        return all(map(_prints_alike, thing))
    return t in _PRINT_ALIKE or (t is int and abs(thing) < _LIMITED_DIGITS_FROM)


def _watched_string_maker(native: Callable[..., str]) -> Callable[..., str]:
    """Return the replacement of a builtin that returns a string; it guards the print settings."""

    @functools.wraps(native)
    def call(*args: Any, **kwargs: Any) -> str:
        _watch_printing((*args[:1], *kwargs.values()), "".join(args[1:]) if native is format else "")
        text: str = resolve(native, STATE.site)(*args, **kwargs)
        return text

    return call


STRING_MAKERS: dict[Any, Callable[..., str]] = {f: _watched_string_maker(f) for f in (str, repr, ascii, format)}
STRING_FUNCTIONS = {"array2string", "array_repr", "array_str", "__str__", "__repr__", "__format__"}
"""Names of functions and methods of libraries that return strings of arrays and objects."""


def _printing_hook(name: str) -> Callable[..., Any]:
    """Return the hook of a conversion to a string; it guards the print settings."""

    def call(value: Any, *rest: Any) -> Any:
        if name != "mod" or type(rest[0]) is str:  # `%` formats if its left operand is a string
            _watch_printing((value,), rest[0] if name == "format" else "")
        return HOOKS[name](value, *rest)

    return call


READ_HOOKS: dict[str, Callable[..., Any]] = {
    "getattr": _watch_getattr,
    "setattr": _watch_setattr,
    "delattr": _watch_delattr,
    "super_getattr": _watch_super_getattr,
    "match_class": _watch_match_class,
    "global_name": _watch_global,
    "local_name": _watch_local,
    "free_variable": _watch_free_variable,
    "sets_free_variable": _watch_free_variable_write,
    "sets_global": _watch_global_write,
    "imported": watch_import,
    "imported_from": _watch_import_from,
    **{name: _printing_hook(name) for name in ("format", "convert", "mod")},
}
