"""Calls that a trace cannot watch: of code that is not entered, with side effects, or with hidden inputs."""

from __future__ import annotations

import decimal
import functools
import inspect
import io
import pathlib
import string
import sys
import types
import typing
import weakref
from typing import Any

import numpy as np

from wengert.compiling.watched.answers import guard_decimal_settings
from wengert.compiling.watched.outer_reads import Reads, is_abc_method, reads_here
from wengert.compiling.watched.read_hooks import ATTRIBUTE_BUILTINS, STRING_FUNCTIONS, guard_print_settings, watch_write
from wengert.compiling.watched.trusted import (
    LIBRARY_MODULES,
    LIBRARY_ONLY,
    RULES_FOLDER,
    TRUSTED_LIBRARIES,
    WATCHED_LIBRARIES,
    belongs_to_user,
    has_rules,
    is_engine_code,
    is_inside_library,
    is_known_extension,
    is_library_namespace,
    is_user_function,
    top_package,
)
from wengert.compiling.watched.watchable import bound_to, is_of_extension
from wengert.hooks.decide import decide
from wengert.hooks.policy import Kind
from wengert.recording.primitives import primitive_of
from wengert.recording.recording import STATE
from wengert.rulebook.registry import rules
from wengert.values.frames import user_frame
from wengert.values.identity_set import Functions
from wengert.values.names import home_of

_FORMAT_METHODS = {"format", "format_map"}
"""Methods of strings that read attributes by the names in the string."""
_WHOLE_OBJECT_METHODS = {"__setattr__", "__delattr__", "__reduce__", "__reduce_ex__", "__getstate__"}
"""Methods written in C that change their object, or read all of it."""
_WITH_NAMES = (types.FunctionType, types.BuiltinFunctionType, types.MethodWrapperType)
_UNBOUND_METHOD_TYPES = (types.WrapperDescriptorType, types.MethodDescriptorType)


def _is_inside_known_package() -> bool:
    """Whether a package with rules makes the call."""
    caller = user_frame(sys._getframe())
    return caller is not None and has_rules(top_package(str(caller.f_globals.get("__name__"))))


def check_call(reads: Reads, f: Any) -> None:
    """Give up if a call cannot be watched: user functions must be entered, C functions known to be pure."""
    if id(f) in reads.checked_calls:
        return
    is_inside, t = is_inside_library(), type(f)
    reason = None if f is object.__getattribute__ else refused_call(f, is_inside) or _why_not_entered(f)
    if t in _WITH_NAMES and f.__name__ in (*STRING_FUNCTIONS, *_FORMAT_METHODS):
        guard_print_settings(reads)
    if is_abc_method(f):
        reads.guard_registrations()
    if _is_of_decimal(f):
        guard_decimal_settings(reads)
    if t is types.BuiltinFunctionType and f.__name__ in _FORMAT_METHODS and _format_reads_attributes(f.__self__):
        reason = f"it uses a format string that reads attributes ({f.__self__!r})"
    elif t is types.MethodDescriptorType and f.__name__ in _FORMAT_METHODS:
        reason = f"it calls {f.__qualname__} as a function, so that the format string is unknown"
    elif t in (types.MethodWrapperType, types.BuiltinFunctionType) and f.__name__ in _WHOLE_OBJECT_METHODS:
        if f.__name__ in ("__setattr__", "__delattr__"):
            watch_write(f.__self__, "", STATE.site)
        else:
            reads.read_all_attributes(f.__self__)
    elif t in _UNBOUND_METHOD_TYPES and f.__name__ in _WHOLE_OBJECT_METHODS and f not in ATTRIBUTE_BUILTINS:
        reason = f"it calls {f.__qualname__}"
    if reason is not None:
        reads.give_up(reason)
    elif (t in _CALLED_ALIKE or (t is types.BuiltinFunctionType and is_of_module(f))) and not is_inside:
        reads.checked_calls[id(f)] = f


_CALLED_ALIKE = (types.FunctionType, type, np.ufunc, type(np.sum))
"""Types of callables of which each call is checked alike, whatever object it is bound to."""


def is_of_module(f: types.BuiltinFunctionType) -> bool:
    """Whether a function written in C is no method of an object."""
    return f.__self__ is None or type(f.__self__) is types.ModuleType


def _why_not_entered(f: Any) -> str | None:
    """Return why a call of Python code cannot be watched: the code is not entered. None if it is."""
    t = type(f)
    if is_user_function(f):
        is_watched = decide(f).kind is Kind.ENTERED or primitive_of(f) is not None
        is_watched = is_watched or _has_rule_of_ours(f)
        return None if is_watched else f"it calls {f.__qualname__}, which wengert does not trace"
    is_method = t is types.MethodType
    called = f.__func__ if is_method else f
    if type(called) is types.FunctionType and _is_unsupported_solver(called):
        return f"wg.compile does not support {public_name(called)}"
    is_user_code = is_user_function(f.__func__) if is_method else _calls_python(t) and belongs_to_user(t)
    if is_user_code and decide(f).kind is not Kind.ENTERED and not (is_method and _has_rule_of_ours(f.__func__)):
        return f"it calls a {t.__name__} with a custom rule or a replacement, which wengert does not trace"
    return None


def _is_unsupported_solver(f: types.FunctionType) -> bool:
    """Whether a function of SciPy runs its arguments unwatched, and has no stand-in that runs it again."""
    home = home_of(f)
    runs_again = home.startswith("scipy.optimize") and rules.standin_of(f) is not None
    return home.startswith(_SOLVERS) and not runs_again and decide(f).kind is not Kind.ENTERED


def public_name(f: types.FunctionType) -> str:
    return f"{home_of(f).partition('._')[0]}.{f.__qualname__}"


def _calls_python(t: Any) -> bool:
    """Whether a class defines `__call__` by a Python function."""
    return any(type(vars(base).get("__call__")) is types.FunctionType for base in t.__mro__)


def refused_call(f: Any, inside: bool = False) -> str | None:
    """Return why a trace that calls `f` cannot be kept, or None if it can. `inside`: a library makes the call."""
    t = type(f)
    if t is types.FunctionType:
        return _refused_function(f, inside)
    if t is types.MethodType:
        return refused_call(f.__func__, inside)
    if t is functools.partial:
        return refused_call(f.func, inside)
    if t is functools._lru_cache_wrapper:
        return refused_call(f.__wrapped__, inside)
    if t is weakref.ref:
        return None  # those from outside cannot be read
    if f is sys.getrefcount and _is_inside_known_package():
        return None
    if t is typing.NewType or _is_of_decimal(f) or f is io.BytesIO or f is io.StringIO or _reads_constant(f):
        return None
    if not issubclass(t, type) and _calls_python(t):
        return None  # its `__call__` is entered
    name, home = getattr(f, "__name__", t.__name__), _module_of_callable(f)
    if home.startswith(_RANDOM_MODULES):
        return f"it draws random numbers ({home})"
    trusted = LIBRARY_MODULES if inside else TRUSTED_LIBRARIES
    if issubclass(t, type):
        is_trusted = belongs_to_user(f) or top_package(home) in trusted
        return None if is_trusted else f"it creates a {home}.{name}"
    if home == "posix" and (name == "fspath" or name.startswith("_path_")):
        return None
    if _has_rule_of_ours(f):
        return None
    if (top_package(home) not in trusted and not is_known_extension(home)) or _has_side_effects(name, inside):
        return f"it calls {home + '.' if home else ''}{name}, which may have side effects or hidden inputs"
    return None


def _is_of_decimal(f: Any) -> bool:
    """Whether a callable is the class of decimal numbers, or a method of one."""
    return f is decimal.Decimal or type(bound_to(f)) is decimal.Decimal


def _reads_constant(f: Any) -> bool:
    """Whether a callable is a method that reads the bases of a class, or a string in memory that the trace has made."""
    owner, reads = f.__self__ if type(f) is types.BuiltinFunctionType else None, reads_here()
    if type(owner) in (io.BytesIO, io.StringIO):
        is_made = reads is None or reads.accessor_of(owner) is None
        return is_made and f.__name__ in ("read", "readline", "readlines", "getvalue", "tell", "seek", "close")
    return isinstance(owner, type) and f.__name__ == "mro"


def _has_rule_of_ours(f: Any) -> bool:
    """Whether this package has a rule or a stand-in for a function: then it computes, and does nothing else."""
    if type(f) not in (types.BuiltinFunctionType, types.FunctionType, np.ufunc):
        return False
    primitive, standin = primitive_of(f), rules.standin_of(f)
    if standin is f and has_rules(top_package(home_of(f))):
        return True  # it reads no numbers
    places = primitive.rule.where if primitive is not None and primitive.rule is not None else ""
    return RULES_FOLDER in places or RULES_FOLDER in getattr(getattr(standin, "__code__", None), "co_filename", "")


def _refused_function(f: types.FunctionType, inside: bool) -> str | None:
    module = str(f.__globals__.get("__name__"))
    home = top_package(module)
    if is_engine_code(f.__code__):
        return None
    if is_library_namespace(f.__globals__) and (inside or home not in LIBRARY_ONLY or _is_without_state(f)):
        looks_up = home == "pathlib" and "Path" in f.__qualname__ and f.__name__ not in _OF_PATHS
        is_refused = module.startswith(_RANDOM_MODULES) or _has_side_effects(f.__name__, inside) or looks_up
        return f"it calls {f.__qualname__}" if is_refused else None
    is_user_code = home in WATCHED_LIBRARIES or home not in sys.stdlib_module_names
    return None if is_user_code else f"it calls {home}.{f.__qualname__}"


_OF_INSPECT = Functions(
    inspect.isclass, inspect.isfunction, inspect.ismethod, inspect.ismodule, inspect.isbuiltin,
    *[f for t in (inspect.Signature, inspect.Parameter, inspect.BoundArguments) for f in vars(t).values()],
)  # fmt: skip
"""Functions of `inspect` that read nothing but the class of an argument, and methods of signatures."""


def _is_without_state(f: types.FunctionType) -> bool:
    """Whether a function of LIBRARY_ONLY reads no state of its module; decorators of dataclasses do not."""
    return f in _OF_INSPECT or f.__qualname__.partition(".")[0] == "recursive_repr"


def _has_side_effects(name: str, inside: bool) -> bool:
    """Whether a library function of this name has side effects or hidden inputs, and none that a library may have."""
    return name in _WITH_SIDE_EFFECTS and not (inside and name in _ALLOWED_IN_LIBRARIES)


def _format_reads_attributes(template: Any) -> bool:
    """Whether a format string reads attributes of its arguments, also in nested format specs."""
    if not isinstance(template, str):
        return False
    try:
        fields = [*string.Formatter().parse(template)]
    except ValueError:
        return False  # `format` raises it, too
    return any(["." in (name or "") or _format_reads_attributes(spec or "") for _, name, spec, _ in fields])


def _module_of_callable(f: Any) -> str:
    """Return the module of a callable written in C, or of the class that its method belongs to."""
    owner = getattr(f, "__self__", None) if type(f) is types.BuiltinFunctionType else None
    if owner is not None and type(owner) is not types.ModuleType and type(f.__module__) is not str:
        return _module_of_method(f, owner if isinstance(owner, type) else type(owner))
    if isinstance(f, (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)):
        return str(f.__objclass__.__module__)
    if type(f) is types.MethodWrapperType:
        return _module_of_method(f, type(f.__self__))
    if type(f) is np.ufunc:
        return "numpy"
    if is_of_extension(type(f)) and hasattr(f, "__globals__"):
        return str(f.__globals__["__name__"])  # pandas names modules where users find its functions
    if isinstance(f, type) or hasattr(f, "__module__"):
        return home_of(f) or str(type(f).__module__)
    return str(type(f).__module__)


def _module_of_method(f: Any, cls: type) -> str:
    """Return the module of the class from which a class inherits a method written in C."""
    having = [base for base in cls.__mro__ if f.__name__ in vars(base)]
    of_c = [base for base in having if type(vars(base)[f.__name__]) is not types.FunctionType]
    return str((of_c[0] if of_c else cls).__module__)


_SOLVERS = ("scipy.optimize", "scipy.integrate", "scipy.differentiate")
"""Packages of SciPy whose solvers may run their arguments unwatched."""
_OF_PATHS = {*dir(pathlib.PurePath), *dir(type(pathlib.PurePath().parents))}
"""Names of what a path knows without a look at the disk."""
_RANDOM_MODULES = ("numpy.random", "scipy.stats._qmc")
_WITH_SIDE_EFFECTS = {
    "open", "input", "print", "exec", "eval", "compile", "globals", "locals", "dir", "id", "hash", "breakpoint",
    "__import__", "load", "save", "savez", "savez_compressed",
    "savetxt", "loadtxt", "genfromtxt", "fromfile", "tofile", "dump", "dumps", "fromregex", "memmap", "open_memmap",
    "seterr", "geterr", "setbufsize", "getbufsize", "seterrcall", "geterrcall", "set_printoptions", "get_printoptions",
    "printoptions", "dispatch", "__getattribute__", "__setstate__", "__dir__", "__subclasses__", "shares_memory",
    "may_share_memory", "now", "today", "utcnow", "fromtimestamp", "timestamp", "astimezone", "strftime", "strptime",
    "ctime", "expanduser", "expandvars", "cache_info", "get_type_hints",
}  # fmt: skip
"""Names of functions and methods of these libraries with side effects or hidden inputs."""

_ALLOWED_IN_LIBRARIES = {
    "exec", "hash", "id", "shares_memory", "may_share_memory", "seterr", "geterr", "getbufsize", "__setstate__",
}  # fmt: skip
"""Those that a library may call."""
