"""Parsing of command-line words: a callable by its name, and the values of its arguments."""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import importlib.util
import inspect
import re
import sys
import types
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wengert.values.callables import callable_name, signature

ENTERED = "It calls the user's function, with what is differentiated."
SHORT = {"np": "numpy", "sp": "scipy", "wg": "wengert"}
_NAMED = re.compile(r"\s*([^\W\d]\w*)=(?!=)(.*)", re.DOTALL)
_FILE = re.compile(r"(.+\.np[yz])(?::(\w+))?")


class UsageError(Exception):
    """A command line that cannot be understood; the message says what would be."""


def named(name: str) -> Callable[..., Any]:
    """The callable of a name: `module:function`, `path/to/file.py:function`, or dotted, also among the builtins.

    A file is run, as a module; what is beside it can be imported. Errors: UsageError, with what could be found.
    """
    home, colon, rest = name.rpartition(":")
    if colon:
        found = _file(Path(home)) if home.endswith(".py") else _module(SHORT.get(home, home))
        if found is None:
            raise UsageError(f"{name}: there is no module {home}. A file is named with its ending: {home}.py:{rest}")
        return _walked(found, [home], rest.split("."), name)
    if name.endswith(".py"):
        raise UsageError(f"{name}: which function of the file? Name it: {name}:function")
    return _dotted(name)


def _dotted(name: str) -> Callable[..., Any]:
    first, *steps = name.split(".")
    path = [SHORT.get(first, first), *steps]
    for length in range(len(path), -1, -1):
        found: Any = _module(".".join(path[:length])) if length else builtins
        if found is not None and (length or hasattr(builtins, path[0])):
            return _walked(found, path[:length], path[length:], name)
    raise UsageError(f"{name}: there is no module {path[0]}, and no builtin of that name")


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise


def _file(path: Path) -> Any:
    """The module that a file makes; it is run as `python file.py` would, but for its name."""
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file in {Path.cwd()}")
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.resolve().parent))
    spec.loader.exec_module(module)
    return module


def _walked(found: Any, above: list[str], steps: list[str], name: str) -> Callable[..., Any]:
    for step in steps:
        if not hasattr(found, step):
            raise UsageError(f"{name}: {'.'.join(above) or 'builtins'} has no {step}{_near(found, step)}")
        found = getattr(found, step)
        above = [*above, step]
    if not callable(found):
        what = f". Name its function: {name}:function" if isinstance(found, types.ModuleType) else ", and no function"
        raise UsageError(f"{name} is of type {type(found).__name__}{what}")
    return found


def _near(owner: Any, name: str) -> str:
    near = [other for other in dir(owner) if other.lower() == name.lower() or other.startswith(name)]
    near = near or importlib.import_module("difflib").get_close_matches(name, dir(owner))
    return f". Did you mean {' or '.join(near[:3])}?" if near else ""


def arguments(f: Callable[..., Any], words: list[str]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call of `f`, by position as far as it takes them so, and by keyword.

    A word is a Python literal, in which a list of numbers is an array; `name=` one; a file `.npy` or `.npz`, of which
    arrays `arr_0`, … go by position and the others by name; or `file.npz:name`, one array of it.
    Errors: UsageError for a word that is none of these, and where `f` does not take the arguments.
    """
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for word in words:
        for name, value in _given(word):
            if name in kwargs:
                raise UsageError(f"{word}: the argument {name} is given twice")
            if name is None:
                args.append(value)
            else:
                kwargs[name] = value
    try:
        bound = signature(f).bind(*args, **kwargs)
    except ValueError:  # C code that does not say what it takes
        return tuple(args), kwargs
    except TypeError as error:
        told = f", given {', '.join(kwargs)} by name" if kwargs else ""
        raise UsageError(
            f"{callable_name(f)}{signature(f)}{told}: {error}\n"
            "Its arguments stand behind it: 1.5 '[1.0, 2.0]' scale=2.0, arrays by name from data.npz, or one of them, "
            "x=data.npz:w"
        ) from None
    return bound.args, bound.kwargs


def in_order(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], names: list[str] | None
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """`f` as a function of its arguments of these `names` alone, by position, and what they are; None names all.

    Errors: UsageError for a name that no argument has.
    """
    if names is None and not kwargs:
        return f, args
    called = signature(f)
    given = called.bind(*args, **kwargs).arguments
    wanted = names or list(given)
    if unknown := [name for name in wanted if name not in given]:
        raise UsageError(f"{callable_name(f)} is given no {' and no '.join(unknown)}, but {', '.join(given)}")

    @functools.wraps(f)
    def of_wanted(*values: Any) -> Any:
        bound = inspect.BoundArguments(called, OrderedDict({**given, **dict(zip(wanted, values, strict=True))}))
        return f(*bound.args, **bound.kwargs)

    kind, none = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    parameters = [called.parameters[name].replace(kind=kind, default=none) for name in wanted]
    of_wanted.__signature__ = called.replace(parameters=parameters)  # type: ignore[attr-defined]
    return of_wanted, tuple([given[name] for name in wanted])


def _given(word: str) -> Iterator[tuple[str | None, Any]]:
    """The arguments that a word gives, each with its name or None."""
    named = _NAMED.fullmatch(word)
    text = named[2] if named else word
    file = _FILE.fullmatch(text)
    if file is None:
        yield named and named[1], _literal(text)
        return
    data = _loaded(file[1])
    if file[2] is not None:
        if file[2] not in data:
            raise UsageError(f"{file[1]} has no array {file[2]}, but {', '.join(data)}")
        data = {"arr_0": data[file[2]]}
    if named and len(data) > 1:
        raise UsageError(f"{word}: which array? The file has {', '.join(data)}: {word}:{next(iter(data))}")
    for key, array in data.items():
        yield named[1] if named else None if re.fullmatch(r"arr_\d+", key) else key, array


def _loaded(file: str) -> dict[str, Any]:
    """The arrays of a file by name; that of a `.npy` is `arr_0`."""
    try:
        found = np.load(file)
        arrays = {"arr_0": found} if isinstance(found, np.ndarray) else dict(found)
    except FileNotFoundError:
        raise UsageError(f"{file}: there is no such file in {Path.cwd()}") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(f"{file} is no file of plain arrays, as np.savez writes them: {error}") from None
    return {key: array if array.ndim else _number(array) for key, array in arrays.items()}


def _number(array: np.ndarray) -> Any:
    """Return the element of an array without axes, as a Python number unless the dtype would be lost."""
    return array[()] if array.dtype.kind in "fc" and array.dtype not in (float, complex) else array.item()


def _literal(text: str) -> Any:
    try:
        return _with_arrays(ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise UsageError(
            f"{text} is no Python literal: 1.5, '[1.0, 2.0]' (an array), '(1, 2)', '{{\"w\": [1.0]}}', "
            "'\"a text\"', True, None. Arrays that are computed come from a file: data.npz"
        ) from None


def _with_arrays(value: Any) -> Any:
    """A literal, the lists of numbers in it as arrays."""
    if isinstance(value, dict):
        return {key: _with_arrays(part) for key, part in value.items()}
    if not isinstance(value, tuple | list):
        return value
    parts = [_with_arrays(part) for part in value]
    if isinstance(value, tuple):
        return tuple(parts)
    are_numbers = all([isinstance(part, bool | int | float | complex | np.ndarray) for part in parts])
    return np.array(parts) if are_numbers and len({np.shape(part) for part in parts}) == 1 else parts


__all__ = ["UsageError", "arguments", "in_order", "named"]
