"""Names of functions: their import paths, and short names on a tape."""

from __future__ import annotations

import functools
import keyword
import math
import operator
import sys
import types
import unicodedata
from typing import Any

import numpy as np

from wengert.values.named_tuples import NamedTuple


class ImportPath(NamedTuple):
    """The import path of a function: `import module`, and then `module.path` names it."""

    module: str
    path: str


def is_name(text: Any) -> bool:
    """Whether `text` is a valid name in source: an identifier, not a keyword, which Python does not normalise."""
    return (
        type(text) is str
        and text.isidentifier()
        and not keyword.iskeyword(text)
        and unicodedata.normalize("NFKC", text) == text
    )


def in_line(text: str) -> str:
    """Escape the unprintable characters of a text, such as newlines, for a comment or one line of a dump."""
    if text.isprintable():
        return text
    return "".join([c if c.isprintable() else c.encode("unicode_escape").decode() for c in text])


def ufunc_of(fn: Any) -> np.ufunc | None:
    """Return the ufunc of a method such as `np.add.reduce`; None for any other function."""
    owner = getattr(fn, "__self__", None) if isinstance(fn, types.BuiltinFunctionType) else None
    return owner if isinstance(owner, np.ufunc) else None


def home_of(fn: Any) -> str:
    """Return the `__module__` of a callable; empty if that is not a string."""
    home = getattr(fn, "__module__", None)
    return home if isinstance(home, str) else ""


def is_of_wengert(fn: Any) -> bool:
    """Whether a callable is defined in wengert or in its rules, not in a plugin."""
    return home_of(fn).partition(".")[0] in ("wengert", "wengert_rules")


def import_path(fn: Any) -> ImportPath | None:
    """Return the shortest public import path of a function, class or ufunc; None if it cannot be imported."""
    ufunc = ufunc_of(fn)
    if ufunc is not None:
        home = import_path(ufunc)
        return home and ImportPath(home.module, f"{home.path}.{fn.__name__}")
    path = getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None)
    if not isinstance(path, str):
        return None
    for module in _modules(fn):
        if all(map(is_name, [*module.split("."), *path.split(".")])) and imported(module, path) is fn:
            return ImportPath(module, path)
    return None


def _modules(fn: Any) -> list[str]:
    """List the modules that may export a function, the shortest public path first."""
    if isinstance(fn, np.ufunc):
        return ["numpy", "scipy.special", "scipy.special._ufuncs"]
    home = getattr(fn, "__module__", None)
    if isinstance(fn, types.BuiltinFunctionType) and home is None:
        home = getattr(type(fn.__self__), "__module__", None)
    if not isinstance(home, str) or home == "__main__":
        return []
    if home == "_operator":
        return ["operator"]
    parts = home.split(".")
    prefixes = [".".join(parts[:n]) for n in range(1, len(parts) + 1)]
    public = [name for name in prefixes if "._" not in name]
    return [*public, home]


def imported(module: str, path: str) -> Any:
    """Return the object at a dotted path of a module that is already imported, or None."""
    here: Any = sys.modules.get(module)
    for part in path.split("."):
        here = getattr(here, part, None)
    return here


_METHODS = types.MethodDescriptorType | types.WrapperDescriptorType
_OF_LIBRARIES = types.BuiltinFunctionType, type(np.sum), type(np.where), np.ufunc
LIBRARIES = {"builtins", "math", "cmath", "_operator", "statistics", "numpy", "scipy", "wengert", "wengert_rules"}


def is_heap_type(cls: type) -> bool:
    """Whether a class is a heap type: made by a class statement, or one of a few made in C."""
    return bool(cls.__flags__ & 1 << 9)  # Py_TPFLAGS_HEAPTYPE


_ABSENT = object()


def lookup(t: type, name: str) -> Any:
    """Find the attribute `name` in a class or its bases, without calling descriptors; None if there is none."""
    for base in t.__mro__ or ():  # None while a metaclass makes the class
        found = base.__dict__.get(name, _ABSENT)
        if found is not _ABSENT:
            return found
    return None


def runs_python(fn: Any) -> bool:
    """Whether a call of `fn` begins with Python code."""
    if isinstance(fn, (types.MethodType, functools.partial)):
        return runs_python(fn.__func__ if isinstance(fn, types.MethodType) else fn.func)
    if isinstance(fn, type):
        return is_heap_type(fn)
    calls = [vars(base)["__call__"] for base in type(fn).__mro__ if "__call__" in vars(base)]
    of_python = isinstance(fn, types.FunctionType) or _is_from_python(fn)
    return of_python or isinstance(calls[0] if calls else None, types.FunctionType)


def is_of_library(fn: Any) -> bool:
    """Whether `fn` is a function of Python, NumPy or SciPy, whose result is a new object or one of its arguments.

    Other functions may return an object that existed before: a literal, a global, a workspace, a cached result.
    """
    if isinstance(fn, types.FunctionType):  # not its `__module__`, which `functools.wraps` copies
        home: Any = fn.__globals__.get("__name__")
    elif isinstance(fn, _METHODS):
        home = fn.__objclass__.__module__
    elif isinstance(fn, _OF_LIBRARIES):
        owner = getattr(fn, "__self__", None)
        home = "numpy" if isinstance(owner, np.ufunc | np.ndarray) else getattr(fn, "__module__", None) or "builtins"
    elif type(fn).__module__ == "uarray":  # the functions of scipy.fft
        home = fn.__module__
    elif isinstance(fn, type):  # made in C: int, float, np.float64
        home = "" if is_heap_type(fn) else fn.__module__
    else:
        home = type(fn).__module__ if str(type(fn).__module__).startswith("wengert.") else ""
    return str(home).partition(".")[0] in LIBRARIES and not _is_from_python(fn)


def makes_new(fn: Any) -> bool:
    """Whether each number and array in the result of `fn` is certainly a new object."""
    if isinstance(fn, np.ufunc):
        return not _is_from_python(fn)
    if fn is abs or fn is pow or fn is divmod:
        return True
    home = fn.__module__ if isinstance(fn, types.BuiltinFunctionType) else None
    if home is None and fn in (float.__new__, complex.__new__):
        return True  # called by subclasses; a plain number is made by float(x)
    return home in ("math", "cmath", "_operator") and fn is not operator.pos


def _is_from_python(fn: Any) -> bool:
    """Whether a ufunc calls a Python function, as those of `np.frompyfunc` do."""
    ufunc = fn if isinstance(fn, np.ufunc) else ufunc_of(fn)
    return ufunc is not None and all(["O" in form for form in ufunc.types])


def method_name(fn: Any) -> str | None:
    """Return the name by which an unbound method written in C is called on its object, or None."""
    if not isinstance(fn, types.MethodDescriptorType | types.WrapperDescriptorType):
        return None
    name = fn.__name__
    return name if is_name(name) and getattr(fn.__objclass__, name, None) is fn else None


def display(fn: Any) -> str:
    """Return a function's name on a tape: `mul`, `np.sin`, `math.exp`, `ndarray.sum`, or its own."""
    if method_name(fn):
        return f"{fn.__objclass__.__name__}.{fn.__name__}"
    place = import_path(fn)
    own = getattr(fn, "__name__", None)
    if place is None or place.module in ("operator", "builtins"):
        return own if isinstance(own, str) else type(fn).__name__
    if place.module.split(".")[0] == "numpy":
        return "np" + f"{place.module}.{place.path}"[len("numpy") :]
    if place.module == math.__name__ or place.module.split(".")[0] == "scipy":
        return f"{place.module}.{place.path}"
    return place.path.rpartition(".")[2]


def infix(fn: Any) -> tuple[str, int] | None:
    """Return the sign and the precedence of a binary operator; None for other functions."""
    return _INFIX.get(fn) if isinstance(fn, types.BuiltinFunctionType) else None


def prefix(fn: Any) -> tuple[str, int] | None:
    """Return the sign and the precedence of a unary operator; None for other functions."""
    return _PREFIX.get(fn) if isinstance(fn, types.BuiltinFunctionType) else None


LOOSE, NOT, COMPARE, SUM, PRODUCT, SIGN, POWER, TIGHT = 0, 3, 4, 9, 10, 11, 12, 14

_INFIX: dict[Any, tuple[str, int]] = {
    fn: (sign, rank)
    for rank, signs in {
        POWER: {"**": operator.pow},
        PRODUCT: {
            "*": operator.mul,
            "/": operator.truediv,
            "//": operator.floordiv,
            "%": operator.mod,
            "@": operator.matmul,
        },
        SUM: {"+": operator.add, "-": operator.sub},
        8: {"<<": operator.lshift, ">>": operator.rshift},
        7: {"&": operator.and_},
        6: {"^": operator.xor},
        5: {"|": operator.or_},
        COMPARE: {
            "<": operator.lt,
            "<=": operator.le,
            ">": operator.gt,
            ">=": operator.ge,
            "==": operator.eq,
            "!=": operator.ne,
            "is": operator.is_,
            "is not": operator.is_not,
        },
    }.items()
    for sign, fn in signs.items()
}
_PREFIX: dict[Any, tuple[str, int]] = {
    operator.neg: ("-", SIGN),
    operator.pos: ("+", SIGN),
    operator.invert: ("~", SIGN),
    operator.not_: ("not ", NOT),
}
