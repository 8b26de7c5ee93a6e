"""Callables as a user writes them: their dotted names, definition lines, parameters, and a rule to paste for them."""

from __future__ import annotations

import abc
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.values.codes import code_of
from wengert.values.names import home_of, import_path, in_line, is_name
from wengert.values.transformed import Transformed

__all__ = [
    "callable_name", "callable_of", "key_of", "named_parameters", "parameter_names", "path_in", "place", "stub",
    "stub_with_outputs", "unwrapped", "written_name",
]  # fmt: skip

# Types of callables that compare and hash by identity, or as a method of the same object.
TOLD_APART = {
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.ClassMethodDescriptorType, type, abc.ABCMeta, np.ufunc,
    type(np.sum), type(np.where),
}  # fmt: skip


_MAIN = "__main__", "__mp_main__"  # one module: `multiprocessing` gives it a second name
_NOT_PLACES = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_NO_SIGNATURE = TypeError, ValueError, AttributeError, NameError  # NameError: a default of a C function names nothing


class Same:
    """A dictionary key for a callable object that compares by identity, whatever the object's own `==` returns."""

    __slots__ = ("it",)

    def __init__(self, it: Any) -> None:
        self.it = it

    def __eq__(self, other: object) -> bool:
        return type(other) is Same and self.it is other.it

    def __hash__(self) -> int:
        return id(self.it)


def key_of(f: Any) -> Any:
    """Return the key of a callable in the rule registry: itself, or a Same if its `==` may not compare identities."""
    if type(f) in TOLD_APART:
        return f
    return f.__func__ if type(f) is Transformed else Same(f)


def callable_of(key: Any) -> Any:
    """Return the callable from which `key_of` made this key."""
    return key.it if type(key) is Same else key


def unwrapped(f: Any) -> Any:
    """Return the function that a call of `f` reaches, if `f` is a static method, a class method or a Transformed."""
    return f.__func__ if isinstance(f, (staticmethod, classmethod, Transformed)) else f


def callable_name(f: Any) -> str:
    """Return the dotted name by which a user would write the callable `f`, such as `np.linalg.solve`."""
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
    """Return the class or ufunc of a method that is bound or written in C; None for other callables."""
    if isinstance(f, (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)):
        return f.__objclass__
    bound = None if isinstance(f, type) else getattr(f, "__self__", None)
    if bound is None or isinstance(bound, types.ModuleType) or not hasattr(f, "__name__"):
        return None
    if isinstance(f, types.BuiltinFunctionType) and f.__module__ is not None:  # `__self__` is its own C data
        return None
    return bound if isinstance(bound, (type, np.ufunc)) else type(bound)


def _of_object(f: Any) -> str:
    """Name a callable object, such as `np.vectorize(f)`, `functools.partial(f)` or `Model(...)`."""
    inside = getattr(f, "pyfunc", getattr(f, "func", None))
    return f"{callable_name(type(f))}({callable_name(inside) if callable(inside) else '...'})"


def _where_defined(f: Any) -> str:
    """Name a callable that its own module does not export: a local function, a ufunc of another package."""
    if isinstance(f, np.ufunc) and f.__name__.endswith(" (vectorized)"):
        return f"np.frompyfunc({f.__name__.partition(' ')[0]}, {f.nin}, {f.nout})"
    modules = [(name, vars(m)) for name, m in sys.modules.copy().items() if hasattr(m, "__dict__")]
    homes = [name for name, names in modules if names.get(f.__name__) is f and "._" not in name and name not in _MAIN]
    if homes or isinstance(f, np.ufunc):
        return f"{min(homes, key=len)}.{f.__name__}" if homes else f.__name__
    qualified = f.__name__ if isinstance(f, types.BuiltinFunctionType) else getattr(f, "__qualname__", f.__name__)
    path = str(qualified).rpartition("<locals>.")[2]
    module = home_of(f)
    unknown = ("", "builtins", "__main__", type(f).__module__)  # the last: `f` is an object, as of ctypes
    local = "<locals>" in getattr(f, "__qualname__", "") or module in unknown
    return path if local else f"{module}.{path}"


def place(function: Any) -> str:
    """Return the line of a Python function's definition as "file:line"; the name of a callable without code."""
    inner = inspect.unwrap(function) if hasattr(function, "__wrapped__") else function
    code = getattr(inner, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else callable_name(function)


def signature(f: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a callable without annotations: Python 3.14 runs the user's code to evaluate these.

    Errors: TypeError, ValueError if the callable has no signature.
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
    """List the parameters of `f` that can be passed by position; empty if it has no signature."""
    try:
        parameters = signature(f).parameters.values()
    except _NO_SIGNATURE:
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def parameter_names(f: Callable[..., Any]) -> list[str]:
    """List all parameters of `f`; empty if it has no signature."""
    try:
        return list(signature(f).parameters)
    except _NO_SIGNATURE:
        return []


def has_no_parameters(f: Callable[..., Any]) -> bool:
    """Whether `f` takes no arguments; False if it has no signature."""
    try:
        return not signature(f).parameters
    except _NO_SIGNATURE:
        return False


def path_in(f: Callable[..., Any], path: str) -> str:
    """Replace the number in a path such as `argument 1['w']` by the name of that parameter of `f`."""
    head = re.match(r"argument (\d+)", path)
    names = parameter_names(f) if head else []
    return path if not head or int(head[1]) > len(names) else names[int(head[1]) - 1] + path[head.end() :]


def takes_any_keyword(f: Callable[..., Any]) -> bool:
    """Whether `f` has a `**` parameter; False if it has no signature."""
    try:
        return any([p.kind is p.VAR_KEYWORD for p in signature(f).parameters.values()])
    except _NO_SIGNATURE:
        return False


def written_name(f: Any) -> str:
    """Return the name of a callable for use in source: `f` if its own name is not a dotted name."""
    name = callable_name(f)
    return name if all(map(is_name, name.split("."))) else "f"


def stub(f: Callable[..., Any], args: Sequence[Any] | None = None, name: str | None = None) -> str:
    """Return the source of a rule for `f` that a user can paste and complete.

    `args` are the positional arguments of a call, if known. `name` is how the user's code spells `f`, if known; then
    the rule has as many parameters as there are `args`, else the parameters of `f` without default.
    """
    note = f"  # f is {in_line(callable_name(f))}" if (name or written_name(f)) == "f" else ""
    xs = _needed(f) if name is None or args is None else numbered(len(args))
    return _rule_stub(name or written_name(f), xs, args or (), note)


def numbered(count: int) -> list[str]:
    """Return names for so many arguments."""
    return ["x"] if count == 1 else [f"x{i + 1}" for i in range(count)]


def stub_with_outputs(name: str, args: Sequence[Any], outputs: Iterable[int]) -> str:
    """Return the source of a wrapper that returns the output arrays of a C function, at these places, and of its rule.

    The C function writes into them through pointers, which a rule of its own would not see.
    """
    xs, short = numbered(len(args)), name.rpartition(".")[2]
    made = [k for k in outputs if isinstance(args[k], np.ndarray)]
    inputs = [x for k, x in enumerate(xs) if k not in made]
    results = ", ".join([xs[k] for k in made])
    lines = [
        f"def {short}_result({', '.join(inputs)}):",
        *[f"    {xs[k]} = np.empty({args[k].shape}, {str(args[k].dtype)!r})" for k in made],
        f"    {name}({', '.join(xs)})",
        f"    return {results}",
        "",
    ]
    given = [a for k, a in enumerate(args) if k not in made]
    return "\n".join([*lines, _rule_stub(f"{short}_result", inputs, given, "")])


def _rule_stub(name: str, xs: list[str], args: Sequence[Any], note: str) -> str:
    short = name.rpartition(".")[2]
    kinds = [type(a) for a in args] + [object] * len(xs)
    bars = [_cotangent_stub(x, kind) for x, kind in zip(xs, kinds, strict=False)]
    if len(xs) == 1 and kinds[0] not in (list, tuple):
        results = [f"        return {bars[0]}  # dy/d{xs[0]}, times y_bar"]
    else:
        each = [f"            {bar},  # dy/d{x}, times y_bar" for x, bar in zip(xs, bars, strict=True)]
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


def _cotangent_stub(x: str, kind: type) -> str:
    """Return the expression of an argument's cotangent: a list has a list, with one for each item."""
    if kind is list:
        return f"[y_bar * ... for _ in {x}]"
    return f"tuple([y_bar * ... for _ in {x}])" if kind is tuple else "y_bar * ..."


def _needed(f: Any) -> list[str]:
    """List the positional parameters without a default; `x` if there are none, or `f` has no signature."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except _NO_SIGNATURE:
        return ["x"]
    return [p.name for p in parameters if p.default is p.empty and p.kind not in _NOT_PLACES] or ["x"]


def fits(native: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a callable written in C takes these arguments by its signature; True if it has none."""
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
