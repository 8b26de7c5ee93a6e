"""Callables as a user writes them: their dotted names, their places, a rule to paste for them."""

from __future__ import annotations

import abc
import inspect
import re
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.values.codes import code_of
from wengert.values.names import home_of, import_path, in_line, is_name
from wengert.values.transformed import Transformed

__all__ = [
    "callable_name", "callable_of", "key_of", "named_parameters", "parameter_names", "path_in", "place", "stub",
    "unwrapped", "written_name",
]  # fmt: skip

# Callables that are told apart by identity, and hash so, or as a method of the same object.
TOLD_APART = {
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.ClassMethodDescriptorType, type, abc.ABCMeta, np.ufunc,
    type(np.sum), type(np.where),
}  # fmt: skip


_MAIN = "__main__", "__mp_main__"  # one module: `multiprocessing` gives it a second name


_NOT_PLACES = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


_NO_SIGNATURE = TypeError, ValueError, AttributeError, NameError  # the latter of C functions, for their defaults' names


class Same:
    """A key for a callable object in a table: equal to a key of the same object only, whatever its `==` says."""

    __slots__ = ("it",)

    def __init__(self, it: Any) -> None:
        self.it = it

    def __eq__(self, other: object) -> bool:
        return type(other) is Same and self.it is other.it

    def __hash__(self) -> int:
        return id(self.it)


def key_of(f: Any) -> Any:
    """The key under which the table of rules has a callable: itself, or a Same where its own `==` cannot be trusted."""
    if type(f) in TOLD_APART:
        return f
    return f.__func__ if type(f) is Transformed else Same(f)


def callable_of(key: Any) -> Any:
    """The callable that `key_of` made this key of."""
    return key.it if type(key) is Same else key


def unwrapped(f: Any) -> Any:
    """The function in a static method, a class method or a Transformed, which is what a call of it reaches."""
    return f.__func__ if isinstance(f, (staticmethod, classmethod, Transformed)) else f


def callable_name(f: Any) -> str:
    """The dotted name under which a user would write the callable `f`, such as `np.linalg.solve`."""
    owner = _owner(f)
    if owner is not None:
        return f"{callable_name(owner)}.{f.__name__}"
    if not hasattr(f, "__name__") or isinstance(f, np.vectorize):
        return _of_object(f)
    where = import_path(f)
    if where is None:
        return _where_defined(f)
    if where.module in ("builtins", "__main__"):
        return where.path
    return f"{'np' if where.module == 'numpy' else where.module.replace('numpy.', 'np.')}.{where.path}"


def _owner(f: Any) -> Any:
    """The class or ufunc of which a callable is a method written in C, or bound."""
    if isinstance(f, (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)):
        return f.__objclass__
    bound = None if isinstance(f, type) else getattr(f, "__self__", None)
    if bound is None or isinstance(bound, types.ModuleType) or not hasattr(f, "__name__"):
        return None
    if isinstance(f, types.BuiltinFunctionType) and f.__module__ is not None:  # it keeps something of its own there
        return None
    return bound if isinstance(bound, (type, np.ufunc)) else type(bound)


def _of_object(f: Any) -> str:
    """`np.vectorize(f)`, `functools.partial(f)`, `Model(...)`."""
    inside = getattr(f, "pyfunc", getattr(f, "func", None))
    return f"{callable_name(type(f))}({callable_name(inside) if callable(inside) else '...'})"


def _where_defined(f: Any) -> str:
    """The name of what cannot be imported from where it says: a local function, a ufunc of another package."""
    if isinstance(f, np.ufunc) and f.__name__.endswith(" (vectorized)"):
        return f"np.frompyfunc({f.__name__.partition(' ')[0]}, {f.nin}, {f.nout})"
    modules = [(name, vars(m)) for name, m in sys.modules.copy().items() if hasattr(m, "__dict__")]
    homes = [name for name, names in modules if names.get(f.__name__) is f and "._" not in name and name not in _MAIN]
    if homes or isinstance(f, np.ufunc):
        return f"{min(homes, key=len)}.{f.__name__}" if homes else f.__name__
    qualified = f.__name__ if isinstance(f, types.BuiltinFunctionType) else getattr(f, "__qualname__", f.__name__)
    path = str(qualified).rpartition("<locals>.")[2]
    module = home_of(f)
    local = "<locals>" in getattr(f, "__qualname__", "") or module in ("", "builtins", "__main__")
    return path if local else f"{module}.{path}"


def place(function: Any) -> str:
    """Where a Python function stands, as "file:line"."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else callable_name(function)


def signature(f: Callable[..., Any]) -> inspect.Signature:
    """The signature of a callable, without annotations: Python 3.14 runs the user's code to make these.

    Errors: TypeError, ValueError where the callable does not tell.
    """
    if isinstance(f, types.MethodType):
        return inspect.signature(types.MethodType(_bare(f.__func__), f.__self__))
    return inspect.signature(_bare(f))


def _bare(f: Any) -> Any:
    if type(f) is not types.FunctionType or hasattr(f, "__wrapped__") or hasattr(f, "__signature__"):
        return f
    made = types.FunctionType(code_of(f), {}, f.__name__, f.__defaults__, f.__closure__)
    made.__kwdefaults__ = f.__kwdefaults__
    return made


def named_parameters(f: Callable[..., Any]) -> list[str]:
    """The names of the parameters of `f` that can be given by position; empty where it does not tell."""
    try:
        parameters = signature(f).parameters.values()
    except _NO_SIGNATURE:
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def parameter_names(f: Callable[..., Any]) -> list[str]:
    """The names of all parameters of `f`; empty where it does not tell."""
    try:
        return list(signature(f).parameters)
    except _NO_SIGNATURE:
        return []


def path_in(f: Callable[..., Any], path: str) -> str:
    """A path such as `argument 1['w']` with the name that the first parameter of `f` has."""
    head = re.match(r"argument (\d+)", path)
    names = parameter_names(f) if head else []
    return path if not head or int(head[1]) > len(names) else names[int(head[1]) - 1] + path[head.end() :]


def takes_any_keyword(f: Callable[..., Any]) -> bool:
    """Whether `f` has a `**` parameter; False where it does not tell."""
    try:
        return any([p.kind is p.VAR_KEYWORD for p in signature(f).parameters.values()])
    except _NO_SIGNATURE:
        return False


def written_name(f: Any) -> str:
    """The name of a callable in a piece of code: `f` where its own name is no dotted name."""
    name = callable_name(f)
    return name if all(map(is_name, name.split("."))) else "f"


def stub(f: Callable[..., Any], nargs: int | None = None, name: str | None = None) -> str:
    """The text of a rule for `f` that a user can paste and fill in: its name, parameters and decorator.

    `nargs` is how many arguments by position it takes; by default as many as `f` cannot do without. `name` is how the
    user's code spells it, if that is known.
    """
    name = name or written_name(f)
    note = f"  # f is {in_line(callable_name(f))}" if name == "f" else ""
    xs = _needed(f) if nargs is None else ["x"] if nargs == 1 else [f"x{i + 1}" for i in range(nargs)]
    short = name.rpartition(".")[2]
    if len(xs) == 1:
        results = [f"        return y_bar * ...  # dy/d{xs[0]}, times y_bar"]
    else:
        each = [f"            y_bar * ...,  # dy/d{x}, times y_bar" for x in xs]
        results = ["        return (", *each, "        )"]
    lines = [
        f"@wg.rrule({name}){note}",
        f"def {short}_rule({', '.join(xs)}):",
        f"    y = {name}({', '.join(xs)})",
        f"    def {short}_pullback(y_bar):",
        *results,
        f"    return y, {short}_pullback",
    ]
    return "\n".join(lines)


def _needed(f: Any) -> list[str]:
    """The names of the parameters without a default; `x` where they are not known."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except _NO_SIGNATURE:
        return ["x"]
    return [p.name for p in parameters if p.default is p.empty and p.kind not in _NOT_PLACES] or ["x"]


def fits(native: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a callable of C takes such arguments, as far as its signature says."""
    if isinstance(native, np.ufunc):
        return native.nin <= len(args) <= native.nargs
    try:
        signature = inspect.signature(native)
    except _NO_SIGNATURE:
        return True
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True
