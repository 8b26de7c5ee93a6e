"""Gradients that are indexed by position, by parameter name, or by the name of a closure variable."""

from __future__ import annotations

import ast
import dis
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType
from typing import Any

from wengert.values.callables import unwrapped
from wengert.values.codes import code_of
from wengert.values.lazy_attribute import imported_when_read


class Gradients(tuple[Any, ...]):
    """The gradients that `grad(f, x, y)` returns: that of arrays captured in f, then one for each argument.

    This is a tuple; the names of f's parameters are indices, too. `closure` maps the names of f's closure variables to
    their gradients. Global variables are constants, at the top of a script or notebook too: a lookup raises a KeyError
    with the `def` line and the call that make one an argument.

    See Also:
        grad

    Examples:
        >>> _, gradients = wg.grad(lambda x, y: x * y, 2.0, 3.0)
        >>> gradients
        (None, 3.0, 2.0)
        >>> gradients["y"]
        2.0

        >>> def scaled(scale):
        ...     return lambda x: scale * x**2
        >>> wg.grad(scaled(3.0), 2.0)[1].closure["scale"]
        4.0
    """

    names: tuple[str, ...] = ()
    _partials: int | None = None  # the number of partials around the function, if it is one with a closure
    _code: CodeType | None = None  # that of this function; not pickled
    _repr_html_: Callable[..., str] = imported_when_read("wengert.api.tape_page", "gradients_html")

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"no argument {key!r}; the arguments are {', '.join(self.names[1:])}{self._hint(key)}")
            return tuple.__getitem__(self, self.names.index(key))
        return tuple.__getitem__(self, key)

    def _hint(self, name: str) -> str:
        """Say where the gradient of a variable that is no argument is, if f reads one of this name."""
        if name in self.closure:
            return f". The closure variable is gradients.closure[{name!r}]"
        is_global = self._code is not None and name in globals_read(self._code)
        return f". {global_advice(name, self._code)}" if is_global else ""  # type: ignore[arg-type]

    @property
    def closure(self) -> ClosureGradients:
        """The gradients of f's closure variables that hold floats, by name."""
        gradient = None if self._partials is None else tuple.__getitem__(self, 0)
        for _ in range(self._partials or 0):
            gradient = gradient and gradient["func"]
        found = ClosureGradients(gradient or {})
        found.code = self._code
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {"names": self.names, "_partials": self._partials}


def named_gradients(gradients: Iterable[Any], f: Any, arguments: Iterable[str]) -> Gradients:
    """Return the Gradients of f: that of f itself, then those of the `arguments`."""
    made, f, partials = Gradients(gradients), unwrapped(f), 0
    made.names = ("", *arguments)
    while isinstance(f, partial):
        f, partials = unwrapped(f.func), partials + 1
    if isinstance(f, FunctionType):
        made._partials, made._code = partials, code_of(f)
    return made


class ClosureGradients(dict[str, Any]):
    """The gradients of a function's closure variables, by name; for other names a KeyError says why there is none."""

    code: CodeType | None = None

    def __missing__(self, name: str) -> Any:
        raise KeyError(self._why_missing(name))

    def _why_missing(self, name: str) -> str:
        if self.code is None:
            return f"no closure variable {name!r}; those that hold floats are {', '.join(self) or 'none'}"
        if name in self.code.co_freevars:
            return f"the closure variable {name!r} holds no float, so it has no gradient"
        if name in globals_read(self.code):
            return global_advice(name, self.code)
        return (
            f"no closure variable {name!r}; those that hold floats are {', '.join(self) or 'none'}. A global variable "
            "is a constant: to differentiate by it, make it a parameter"
        )


def global_advice(name: str, code: CodeType) -> str:
    """Say how to differentiate a function by one of its global variables, in lines to paste."""
    definition, call = _with_parameter(code, name)
    return (
        f"{name!r} is a global variable, and grad takes global variables as constants. Make it a parameter of "
        f"{code.co_name}{f': `{definition}`' if definition else ''}. Its gradient is then wg.grad({call})[1][{name!r}]"
    )


def _with_parameter(code: CodeType, name: str) -> tuple[str, str]:
    """Return the `def` line of a function with one more parameter, and the arguments of `grad` for a call of it.

    The line is empty if the source is unknown or not a `def`.
    """
    call = f"{code.co_name if code.co_name.isidentifier() else 'f'}, x, {name}={name}"
    try:
        (made,) = ast.parse(textwrap.dedent(inspect.getsource(code))).body
    except (OSError, SyntaxError, ValueError):
        return "", call
    if not isinstance(made, ast.FunctionDef):
        return "", call
    given = made.args
    required = [a.arg for a in [*given.posonlyargs, *given.args]]
    words = [a.arg for a, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default is None]
    call = ", ".join(
        [made.name, *required[: len(required) - len(given.defaults)], *[f"{w}={w}" for w in (*words, name)]]
    )
    if given.vararg or given.kwonlyargs:
        given.kwonlyargs.append(ast.arg(name))
        given.kw_defaults.append(ast.Name(name))
    else:
        given.args.append(ast.arg(name))
        given.defaults.append(ast.Name(name))
    made.decorator_list, made.body = [], [ast.Pass()]
    return ast.unparse(made).splitlines()[0], call


def globals_read(code: CodeType) -> Iterator[str]:
    """Yield the names of the global variables that a function and its nested functions read."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield step.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from globals_read(constant)
