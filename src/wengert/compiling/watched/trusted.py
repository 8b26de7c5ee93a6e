"""Code that is taken as constant without a guard, the inside of the libraries below; and what may be called.

A callable that is neither the user's Python nor one of these may read or change anything outside, and is not cached.
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

LIBRARIES = {
    "wengert", "wengert_rules", "bytecode", "builtins", "numpy", "scipy", "math", "cmath", "operator", "_operator",
    "itertools", "functools", "_functools", "collections", "_collections", "_collections_abc", "dataclasses",
    "abc", "_abc", "typing", "numbers", "heapq", "_heapq", "bisect", "_bisect", "contextlib", "statistics",
    "_statistics", "enum", "copy", "fractions", "colorsys", "types", "re", "textwrap", "string",
}  # fmt: skip
"""Packages and modules whose own state counts as constant."""
INNER = {
    "inspect", "warnings", "_warnings", "contextvars", "_contextvars", "threading", "_thread", "weakref", "_weakref",
    "_weakrefset", "copyreg", "sre_compile", "keyword", "reprlib", "sys", "ast", "_ast_unparse", "annotationlib",
}  # fmt: skip
"""Modules of Python's own that these may use for themselves: what they hold is none of the program's."""
_OF_LIBRARIES = LIBRARIES | INNER

_DRAWING = ("numpy.random", "scipy.stats._qmc")
_OUTSIDE = {
    "open", "input", "print", "exec", "eval", "compile", "globals", "locals", "dir", "id", "hash", "breakpoint",
    "__import__", "attrgetter", "methodcaller", "load", "save", "savez", "savez_compressed",
    "savetxt", "loadtxt", "genfromtxt", "fromfile", "tofile", "dump", "dumps", "fromregex", "memmap", "open_memmap",
    "seterr", "geterr", "setbufsize", "getbufsize", "seterrcall", "geterrcall", "set_printoptions", "get_printoptions",
    "printoptions", "dispatch", "__getattribute__", "__setstate__", "__dir__", "__subclasses__", "shares_memory",
    "may_share_memory",
}  # fmt: skip
"""Names of functions and methods of these libraries that read or change what lies outside."""

_HARMLESS_INSIDE = {"hash", "id", "shares_memory", "may_share_memory", "seterr", "geterr", "getbufsize"}
"""Those that a library may call by itself."""

HIDDEN = {
    "__dict__", "__globals__", "__closure__", "__code__", "__defaults__", "__kwdefaults__", "__builtins__",
    "__func__", "__self__", "__wrapped__", "cell_contents", "f_globals", "f_locals", "f_back", "f_builtins",
    "tb_frame", "gi_frame", "cr_frame", "ag_frame", "__subclasses__", "__weakref__", "__annotations__", "__mro__",
    "__bases__", "__base__", "__loader__", "__spec__", "gi_yieldfrom", "__context__", "__cause__", "__traceback__",
}  # fmt: skip
"""Attributes that lead past the guards."""


def top(home: str) -> str:
    return home.partition(".")[0]


def is_library(space: dict[str, Any]) -> bool:
    """Whether a namespace is that of a module of the libraries, and not one that says it is."""
    name = space.get("__name__")
    if type(name) is str and top(name) in _OF_LIBRARIES:
        module = sys.modules.get(name)
        return (module is not None and vars(module) is space) or any([space is vars(made) for made in COPIES])
    return False


def is_inner(space: dict[str, Any]) -> bool:
    """Whether a namespace of a library is that of a module which only libraries may use without a look at its state."""
    return top(space["__name__"]) in INNER


def is_solver(f: types.FunctionType) -> bool:
    """Whether a function of SciPy may run what it is given where nothing is watched."""
    return home_of(f).startswith(("scipy.optimize", "scipy.integrate", "scipy.differentiate"))


def is_of_user(thing: Any) -> bool:
    """Whether a class or callable is neither of these libraries nor of Python's own."""
    name = top(home_of(thing))
    return name not in LIBRARIES and name not in sys.stdlib_module_names


def is_unwatched(t: Any) -> bool:
    """Whether a class is Python's own or this package's, and of no library whose methods are followed."""
    name = top(home_of(t))
    return name in ("wengert", "wengert_rules") or (name in sys.stdlib_module_names and name not in LIBRARIES)


def calls_python(t: Any) -> bool:
    """Whether the objects of a class are called by a function in Python."""
    return any(type(vars(base).get("__call__")) is types.FunctionType for base in t.__mro__)


def refused_call(f: Any, inside: bool = False) -> str | None:
    """Why a call of `f` cannot be cached; None where it can, as far as `f` alone tells. `inside`: a library calls."""
    t = type(f)
    if t is types.FunctionType:
        return _refused_function(f, inside)
    if t is types.MethodType:
        return refused_call(f.__func__, inside)
    if t is functools.partial:
        return refused_call(f.func, inside)
    if t is functools._lru_cache_wrapper:  # made inside, or else it would not have been read
        return refused_call(f.__wrapped__, inside)
    if not issubclass(t, type) and calls_python(t):
        return None  # an object of Python's: that is entered
    name, home = getattr(f, "__name__", t.__name__), _home(f)
    if any(home.startswith(module) for module in _DRAWING):
        return f"it draws random numbers ({home})"
    trusted = _OF_LIBRARIES if inside else LIBRARIES
    if issubclass(t, type):
        return None if is_of_user(f) or top(home) in trusted else f"it makes a {home}.{name}"
    if top(home) not in trusted or (name in _OUTSIDE and not (inside and name in _HARMLESS_INSIDE)):
        return f"it calls {home + '.' if home else ''}{name}, which may read or change anything outside"
    return None


def _refused_function(f: types.FunctionType, inside: bool) -> str | None:
    home = top(str(f.__globals__.get("__name__")))
    if f.__code__.co_filename.startswith(ENGINE):
        return None
    if is_library(f.__globals__) and (inside or home not in INNER):
        is_drawing = str(f.__globals__.get("__name__")).startswith(_DRAWING)
        is_refused = f.__name__ in _OUTSIDE and not (inside and f.__name__ in _HARMLESS_INSIDE)
        return f"it calls {f.__qualname__}" if is_drawing or is_refused else None
    return f"it calls {home}.{f.__qualname__}" if home in sys.stdlib_module_names else None


def names_attributes(template: Any) -> bool:
    """Whether a string names attributes for its method `format`, also within the format of another field."""
    if not isinstance(template, str):
        return False
    try:
        fields = [*string.Formatter().parse(template)]
    except ValueError:
        return False  # which the method raises, too
    return any(["." in (name or "") or names_attributes(spec or "") for _, name, spec, _ in fields])


def _home(f: Any) -> str:
    """The module of a callable of C, or of the object that its method is bound to."""
    owner = getattr(f, "__self__", None) if type(f) is types.BuiltinFunctionType else None
    if owner is not None and type(owner) is not types.ModuleType and type(f.__module__) is not str:
        return _home_of_method(f, owner if isinstance(owner, type) else type(owner))
    if isinstance(f, (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)):
        return str(f.__objclass__.__module__)
    if type(f) is types.MethodWrapperType:
        return _home_of_method(f, type(f.__self__))
    if type(f) is np.ufunc:
        return "numpy"
    if isinstance(f, type) or hasattr(f, "__module__"):
        return home_of(f) or str(type(f).__module__)
    return str(type(f).__module__)


def _home_of_method(f: Any, cls: type) -> str:
    """The module of the class from which a class, maybe the user's, has a method of C."""
    having = [base for base in cls.__mro__ if f.__name__ in vars(base)]
    of_c = [base for base in having if type(vars(base)[f.__name__]) is not types.FunctionType]
    return str((of_c[0] if of_c else cls).__module__)
