"""Whose code it is: that of the user, of this package, or of libraries, whose state counts as constant."""

from __future__ import annotations

import _collections_abc
import functools
import importlib.util
import os
import sys
import threading
import types
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from typing import Any

from wengert.hooks.standins.standard import COPIES
from wengert.values.codes import original
from wengert.values.frames import ENGINE, is_ours, user_frame
from wengert.values.names import home_of

TRUSTED_LIBRARIES = {
    "wengert", "wengert_rules", "bytecode", "builtins", "numpy", "scipy", "math", "cmath", "operator", "_operator",
    "itertools", "functools", "_functools", "collections", "_collections", "_collections_abc", "dataclasses",
    "abc", "_abc", "typing", "numbers", "heapq", "_heapq", "bisect", "_bisect", "contextlib", "statistics",
    "_statistics", "enum", "copy", "fractions", "colorsys", "types", "re", "textwrap", "string", "datetime",
    "_datetime", "calendar", "json", "_json", "posixpath", "ntpath", "genericpath",
    "hashlib", "_hashlib", "_md5", "_sha1", "_sha2", "_sha3", "_blake2", "zlib", "binascii", "base64", "pathlib",
}  # fmt: skip
"""Packages and modules whose state counts as constant."""
LIBRARY_ONLY = {
    "inspect", "warnings", "_warnings", "_py_warnings", "contextvars", "_contextvars", "threading", "_thread",
    "weakref", "_weakref", "_weakrefset", "copyreg", "sre_compile", "keyword", "reprlib", "sys", "ast", "_ast_unparse",
    "annotationlib",
}  # fmt: skip
"""Modules of the standard library that these may call, but user code may not; its reads of their state are guarded."""
WATCHED_LIBRARIES = {"configparser"}
"""Modules of the standard library, written in Python, that are watched like code of the user."""
LIBRARY_MODULES = TRUSTED_LIBRARIES | LIBRARY_ONLY
_IMPORT_SYSTEM = [vars(sys.modules[name]) for name in ("_frozen_importlib", "_frozen_importlib_external")]
_COMPILERS = {"numba", "llvmlite"}
RULES_FOLDER = f"{os.sep}wengert_rules{os.sep}"


def top_package(home: str) -> str:
    """Return the first part of a dotted name."""
    return home.partition(".")[0]


def is_library_namespace(space: dict[str, Any]) -> bool:
    """Whether a namespace is that of a library module, and not of one that merely has its name."""
    name = space.get("__name__")
    if type(name) is str and name.startswith("namedtuple_"):
        return any([not belongs_to_user(cls) for cls in tuple.__subclasses__() if _has_globals(cls, space)])
    if type(name) is str and top_package(name) in LIBRARY_MODULES:
        module = sys.modules.get(name)
        if module is not None and vars(module) is space:
            return True
        return any([vars(module) is space for module in (*COPIES, _collections_abc)])  # named collections.abc
    return False


def _has_globals(cls: type, space: dict[str, Any]) -> bool:
    """Whether a namespace is that in which the `__new__` of a named tuple was generated."""
    made = cls.__new__
    return type(made) is types.FunctionType and made.__globals__ is space


def belongs_to_user(thing: Any) -> bool:
    """Whether a class or callable belongs neither to these libraries nor to the standard library."""
    name = top_package(home_of(thing))
    return name in WATCHED_LIBRARIES or (name not in TRUSTED_LIBRARIES and name not in sys.stdlib_module_names)


def is_unwatched_class(t: Any) -> bool:
    """Whether a class belongs to wengert, or to a module of the standard library outside TRUSTED_LIBRARIES.

    One of these without a method that Python calls by itself is watched: calls of its other methods are refused.
    """
    if t is threading.local or t is ModuleSpec:
        return False  # whose attributes guards can watch; each thread has its own, read by the same expression
    name = top_package(home_of(t))
    is_unseen = name in sys.stdlib_module_names and name not in TRUSTED_LIBRARIES | WATCHED_LIBRARIES
    if is_unseen and type(t) is type and not any(map(_is_called_by_itself, vars(t), vars(t).values())):
        return False
    return is_unseen or name in ("wengert", "wengert_rules")


def _is_called_by_itself(name: str, raw: Any) -> bool:
    """Whether Python calls a class attribute without a call in the code: a special method or a property."""
    is_descriptor = hasattr(type(raw), "__get__")
    if name in ("__init__", "__dict__", "__weakref__", "__annotate__", "__annotate_func__"):
        return False
    is_special = name.startswith("__") and (is_descriptor or callable(raw))
    return is_special or (is_descriptor and type(raw) is not types.FunctionType)


def is_tensor_function(t: Any) -> bool:
    """Whether a class is that of functions in the tensor language, which check their own outer reads."""
    return home_of(t) == "wengert.tensor.function"


@functools.cache
def is_known_extension(home: str) -> bool:
    """Whether a module is written in C, of a package for which there are rules: it computes from arguments alone."""
    is_of_c = str(getattr(sys.modules.get(home), "__file__", None)).endswith((*EXTENSION_SUFFIXES,))
    return is_of_c and has_rules(top_package(home))


@functools.cache
def has_rules(package: str) -> bool:
    """Whether there are rules for a package."""
    return importlib.util.find_spec(f"wengert_rules.{package}") is not None


def calling_frame() -> Any:
    """Return the frame that called the hook which asks; hooks of traces with counters call others in between."""
    frame: Any = sys._getframe(2)
    while str(frame.f_globals.get("__name__")).startswith("wengert.compiling.watched."):
        frame = frame.f_back
    return frame


def is_engine_code(code: types.CodeType) -> bool:
    """Whether a code object is of this package."""
    return code.co_filename.startswith(ENGINE)


def is_user_function(f: Any) -> bool:
    """Whether a callable is a Python function of the user."""
    return type(f) is types.FunctionType and not is_library_namespace(f.__globals__) and not is_engine_code(f.__code__)


def is_own_or_library_code(frame: types.FrameType) -> bool:
    """Whether a frame runs code of this package or of a trusted library."""
    return is_engine_code(frame.f_code) or is_library_namespace(frame.f_globals)


def is_root_of_trace(frame: types.FrameType) -> bool:
    """Whether a frame is that of `trace_watched`, which calls the traced function."""
    return frame.f_code.co_name == "trace_watched" and is_ours(frame)


def is_done_once(frame: types.FrameType) -> bool:
    """Whether a frame runs code that loads a module or compiles a function, as happens once in a process."""
    package = top_package(str(frame.f_globals.get("__name__")))
    return package in _COMPILERS or any([frame.f_globals is space for space in _IMPORT_SYSTEM])


def frames_in_trace(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """Yield a frame and those above it in the traced call, the innermost first."""
    while frame is not None and not is_root_of_trace(frame):
        yield frame
        frame = frame.f_back


def uninstrumented_library(frame: types.FrameType) -> str | None:
    """Return the name of a library function above a frame that runs uninstrumented; None without one."""
    for each in frames_in_trace(frame):
        if not is_ours(each) and original(each.f_code) is None and is_library_namespace(each.f_globals):
            return each.f_code.co_qualname
    return None


def is_inside_library() -> bool:
    """Whether a library makes the call that is being resolved."""
    caller = user_frame(sys._getframe())
    return caller is not None and is_library_namespace(caller.f_globals)
