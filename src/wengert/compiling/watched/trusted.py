"""Libraries whose code and state count as constant, without guards, and the calls that a kept trace may make.

Any other callable that is not Python code of the user may have side effects: a trace that calls it is not kept.
"""

from __future__ import annotations

import functools
import string
import sys
import types
from typing import Any

import numpy as np

from wengert.hooks.standins.standard import COPIES
from wengert.values.frames import ENGINE
from wengert.values.names import home_of

TRUSTED_LIBRARIES = {
    "wengert", "wengert_rules", "bytecode", "builtins", "numpy", "scipy", "math", "cmath", "operator", "_operator",
    "itertools", "functools", "_functools", "collections", "_collections", "_collections_abc", "dataclasses",
    "abc", "_abc", "typing", "numbers", "heapq", "_heapq", "bisect", "_bisect", "contextlib", "statistics",
    "_statistics", "enum", "copy", "fractions", "colorsys", "types", "re", "textwrap", "string",
}  # fmt: skip
"""Packages and modules whose state counts as constant."""
LIBRARY_ONLY = {
    "inspect", "warnings", "_warnings", "contextvars", "_contextvars", "threading", "_thread", "weakref", "_weakref",
    "_weakrefset", "copyreg", "sre_compile", "keyword", "reprlib", "sys", "ast", "_ast_unparse", "annotationlib",
}  # fmt: skip
"""Modules of the standard library that these libraries may call, but user code may not."""
_TRUSTED_OR_LIBRARY_ONLY = TRUSTED_LIBRARIES | LIBRARY_ONLY

_RANDOM_MODULES = ("numpy.random", "scipy.stats._qmc")
_WITH_SIDE_EFFECTS = {
    "open", "input", "print", "exec", "eval", "compile", "globals", "locals", "dir", "id", "hash", "breakpoint",
    "__import__", "attrgetter", "methodcaller", "load", "save", "savez", "savez_compressed",
    "savetxt", "loadtxt", "genfromtxt", "fromfile", "tofile", "dump", "dumps", "fromregex", "memmap", "open_memmap",
    "seterr", "geterr", "setbufsize", "getbufsize", "seterrcall", "geterrcall", "set_printoptions", "get_printoptions",
    "printoptions", "dispatch", "__getattribute__", "__setstate__", "__dir__", "__subclasses__", "shares_memory",
    "may_share_memory",
}  # fmt: skip
"""Names of functions and methods of these libraries with side effects or hidden inputs."""

_ALLOWED_IN_LIBRARIES = {"hash", "id", "shares_memory", "may_share_memory", "seterr", "geterr", "getbufsize"}
"""Those that a library may call."""

INTROSPECTION = {
    "__dict__", "__globals__", "__closure__", "__code__", "__defaults__", "__kwdefaults__", "__builtins__",
    "__func__", "__self__", "__wrapped__", "cell_contents", "f_globals", "f_locals", "f_back", "f_builtins",
    "tb_frame", "gi_frame", "cr_frame", "ag_frame", "__subclasses__", "__weakref__", "__annotations__", "__mro__",
    "__bases__", "__base__", "__loader__", "__spec__", "gi_yieldfrom", "__context__", "__cause__", "__traceback__",
}  # fmt: skip
"""Attributes that bypass the guards."""


def top_package(home: str) -> str:
    return home.partition(".")[0]


def is_library_namespace(space: dict[str, Any]) -> bool:
    """Whether a namespace is that of a library module, and not of one that merely has its name."""
    name = space.get("__name__")
    if type(name) is str and top_package(name) in _TRUSTED_OR_LIBRARY_ONLY:
        module = sys.modules.get(name)
        return (module is not None and vars(module) is space) or any([space is vars(made) for made in COPIES])
    return False


def is_library_only(space: dict[str, Any]) -> bool:
    """Whether a library namespace is one of LIBRARY_ONLY, whose state is guarded if user code reads it."""
    return top_package(space["__name__"]) in LIBRARY_ONLY


def is_solver(f: types.FunctionType) -> bool:
    """Whether a function belongs to a package of SciPy whose solvers may run their arguments unwatched."""
    return home_of(f).startswith(("scipy.optimize", "scipy.integrate", "scipy.differentiate"))


def belongs_to_user(thing: Any) -> bool:
    """Whether a class or callable belongs neither to these libraries nor to the standard library."""
    name = top_package(home_of(thing))
    return name not in TRUSTED_LIBRARIES and name not in sys.stdlib_module_names


def is_unwatched_class(t: Any) -> bool:
    """Whether a class belongs to wengert, or to a module of the standard library outside TRUSTED_LIBRARIES."""
    name = top_package(home_of(t))
    return name in ("wengert", "wengert_rules") or (name in sys.stdlib_module_names and name not in TRUSTED_LIBRARIES)


def calls_python(t: Any) -> bool:
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
    if t is functools._lru_cache_wrapper:  # created in the trace: others cannot be read
        return refused_call(f.__wrapped__, inside)
    if not issubclass(t, type) and calls_python(t):
        return None  # its `__call__` is entered
    name, home = getattr(f, "__name__", t.__name__), _module_of_callable(f)
    if any(home.startswith(module) for module in _RANDOM_MODULES):
        return f"it draws random numbers ({home})"
    trusted = _TRUSTED_OR_LIBRARY_ONLY if inside else TRUSTED_LIBRARIES
    if issubclass(t, type):
        return None if belongs_to_user(f) or top_package(home) in trusted else f"it creates a {home}.{name}"
    is_allowed = name not in _WITH_SIDE_EFFECTS or (inside and name in _ALLOWED_IN_LIBRARIES)
    if top_package(home) not in trusted or not is_allowed:
        return f"it calls {home + '.' if home else ''}{name}, which may have side effects or hidden inputs"
    return None


def _refused_function(f: types.FunctionType, inside: bool) -> str | None:
    home = top_package(str(f.__globals__.get("__name__")))
    if f.__code__.co_filename.startswith(ENGINE):
        return None
    if is_library_namespace(f.__globals__) and (inside or home not in LIBRARY_ONLY):
        is_drawing = str(f.__globals__.get("__name__")).startswith(_RANDOM_MODULES)
        is_refused = f.__name__ in _WITH_SIDE_EFFECTS and not (inside and f.__name__ in _ALLOWED_IN_LIBRARIES)
        return f"it calls {f.__qualname__}" if is_drawing or is_refused else None
    return f"it calls {home}.{f.__qualname__}" if home in sys.stdlib_module_names else None


def format_reads_attributes(template: Any) -> bool:
    """Whether a format string reads attributes of its arguments, also in nested format specs."""
    if not isinstance(template, str):
        return False
    try:
        fields = [*string.Formatter().parse(template)]
    except ValueError:
        return False  # `format` raises it, too
    return any(["." in (name or "") or format_reads_attributes(spec or "") for _, name, spec, _ in fields])


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
    if isinstance(f, type) or hasattr(f, "__module__"):
        return home_of(f) or str(type(f).__module__)
    return str(type(f).__module__)


def _module_of_method(f: Any, cls: type) -> str:
    """Return the module of the class from which a class inherits a method written in C."""
    having = [base for base in cls.__mro__ if f.__name__ in vars(base)]
    of_c = [base for base in having if type(vars(base)[f.__name__]) is not types.FunctionType]
    return str((of_c[0] if of_c else cls).__module__)
