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

ENTERED = "It calls the user's function with the values to differentiate by."
ABBREVIATIONS = {"np": "numpy", "sp": "scipy", "wg": "wengert"}
_KEYWORD = re.compile(r"\s*([^\W\d]\w*)=(?!=)(.*)", re.DOTALL)
_ARRAY_FILE = re.compile(r"(.+\.np[yz])(?::(\w+))?")


class UsageError(Exception):
    """A command line that is not valid; the message shows the right form."""


def find_callable(name: str) -> Callable[..., Any]:
    """Return the callable of a name: `module:function`, `path/to/file.py:function`, or dotted, also of a builtin.

    A file is run as a module, which can import its neighbours. Errors: UsageError, with a suggestion.
    """
    home, colon, rest = name.rpartition(":")
    if colon:
        found = _run_file(Path(home)) if home.endswith(".py") else _import_or_none(ABBREVIATIONS.get(home, home))
        if found is None:
            raise UsageError(f"{name}: there is no module {home}. Name a file with its suffix: {home}.py:{rest}")
        return _follow_attributes(found, [home], rest.split("."), name)
    if name.endswith(".py"):
        raise UsageError(f"{name}: name a function of the file, {name}:function")
    return _find_dotted(name)


def _find_dotted(name: str) -> Callable[..., Any]:
    first, *steps = name.split(".")
    path = [ABBREVIATIONS.get(first, first), *steps]
    for length in range(len(path), -1, -1):
        found: Any = _import_or_none(".".join(path[:length])) if length else builtins
        if found is not None and (length or hasattr(builtins, path[0])):
            return _follow_attributes(found, path[:length], path[length:], name)
    raise UsageError(f"{name}: there is no module {path[0]}, and no builtin of that name")


def _import_or_none(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise


def _run_file(path: Path) -> Any:
    """Run a file like `python file.py`, but under its own name; return the module."""
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


def _follow_attributes(found: Any, above: list[str], steps: list[str], name: str) -> Callable[..., Any]:
    for step in steps:
        if not hasattr(found, step):
            raise UsageError(f"{name}: {'.'.join(above) or 'builtins'} has no {step}{_suggestion(found, step)}")
        found = getattr(found, step)
        above = [*above, step]
    if not callable(found):
        is_module = isinstance(found, types.ModuleType)
        what = f". Name its function: {name}:function" if is_module else ", not a function"
        raise UsageError(f"{name} is of type {type(found).__name__}{what}")
    return found


def _suggestion(owner: Any, name: str) -> str:
    near = [other for other in dir(owner) if other.lower() == name.lower() or other.startswith(name)]
    near = near or importlib.import_module("difflib").get_close_matches(name, dir(owner))
    return f". Did you mean {' or '.join(near[:3])}?" if near else ""


def arguments(f: Callable[..., Any], words: list[str]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Parse words to the arguments of a call of `f`: the positional ones, and the keyword arguments.

    A word is a Python literal, in which a list of numbers is an array; `name=literal`; a file `.npy` or `.npz`, whose
    arrays `arr_0`, … are positional and the others keyword arguments; or `file.npz:name`, one array of it.
    Errors: UsageError for any other word, and if `f` does not take the arguments.
    """
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for word in words:
        for name, value in _parse_word(word):
            if name in kwargs:
                raise UsageError(f"{word}: the argument {name} is passed twice")
            if name is None:
                args.append(value)
            else:
                kwargs[name] = value
    try:
        bound = signature(f).bind(*args, **kwargs)
    except ValueError:  # C code without a signature
        return tuple(args), kwargs
    except TypeError as error:
        keywords = f", called with {', '.join(kwargs)} by name" if kwargs else ""
        raise UsageError(
            f"{callable_name(f)}{signature(f)}{keywords}: {error}\n"
            "Give the function's arguments after its name, for example: 1.5 '[1.0, 2.0]' scale=2.0 data.npz (its "
            "arrays, by name) x=data.npz:w (one of them)"
        ) from None
    return bound.args, bound.kwargs


def by_position(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], names: list[str] | None
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return `f` as a function of only the arguments with these `names`, by position, and their values.

    None names all arguments. Errors: UsageError for a name that no argument has.
    """
    if names is None and not kwargs:
        return f, args
    called = signature(f)
    arguments = called.bind(*args, **kwargs).arguments
    wanted = names or list(arguments)
    if unknown := [name for name in wanted if name not in arguments]:
        raise UsageError(
            f"{callable_name(f)} got no argument {' and no '.join(unknown)}. Its arguments are {', '.join(arguments)}"
        )

    @functools.wraps(f)
    def of_wanted(*values: Any) -> Any:
        bound = inspect.BoundArguments(called, OrderedDict({**arguments, **dict(zip(wanted, values, strict=True))}))
        return f(*bound.args, **bound.kwargs)

    kind, none = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    parameters = [called.parameters[name].replace(kind=kind, default=none) for name in wanted]
    of_wanted.__signature__ = called.replace(parameters=parameters)  # type: ignore[attr-defined]
    return of_wanted, tuple([arguments[name] for name in wanted])


def _parse_word(word: str) -> Iterator[tuple[str | None, Any]]:
    """Yield the arguments in a word, each with its name or None."""
    keyword = _KEYWORD.fullmatch(word)
    text = keyword[2] if keyword else word
    file = _ARRAY_FILE.fullmatch(text)
    if file is None:
        yield keyword and keyword[1], _literal(text)
        return
    data = _load_arrays(file[1])
    if file[2] is not None:
        if file[2] not in data:
            raise UsageError(f"{file[1]} has no array {file[2]}, but {', '.join(data)}")
        data = {"arr_0": data[file[2]]}
    if keyword and len(data) > 1:
        raise UsageError(
            f"{word}: name one array of the file, {word}:{next(iter(data))}. The file has {', '.join(data)}"
        )
    for key, array in data.items():
        yield keyword[1] if keyword else None if re.fullmatch(r"arr_\d+", key) else key, array


def _load_arrays(file: str) -> dict[str, Any]:
    """Return the arrays of a file by name; the array of a `.npy` is `arr_0`. Errors: UsageError."""
    try:
        found = np.load(file)
        arrays = {"arr_0": found} if isinstance(found, np.ndarray) else dict(found)
    except FileNotFoundError:
        raise UsageError(f"{file}: there is no such file in {Path.cwd()}") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(f"{file} is not a file of plain arrays, as np.savez writes them: {error}") from None
    return {key: array if array.ndim else _scalar_of(array) for key, array in arrays.items()}


def _scalar_of(array: np.ndarray) -> Any:
    """Return the element of an array without axes, as a Python number unless the dtype would be lost."""
    return array[()] if array.dtype.kind in "fc" and array.dtype not in (float, complex) else array.item()


def _literal(text: str) -> Any:
    try:
        return _lists_to_arrays(ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise UsageError(
            f"{text} is not a Python literal, such as 1.5, '[1.0, 2.0]' (an array), '(1, 2)', '{{\"w\": [1.0]}}', "
            "'\"a string\"', True, None. For computed arrays, name a file: data.npz"
        ) from None


def _lists_to_arrays(value: Any) -> Any:
    """Convert the lists of numbers in a literal to arrays."""
    if isinstance(value, dict):
        return {key: _lists_to_arrays(part) for key, part in value.items()}
    if not isinstance(value, tuple | list):
        return value
    parts = [_lists_to_arrays(part) for part in value]
    if isinstance(value, tuple):
        return tuple(parts)
    are_numbers = all([isinstance(part, bool | int | float | complex | np.ndarray) for part in parts])
    return np.array(parts) if are_numbers and len({np.shape(part) for part in parts}) == 1 else parts


__all__ = ["UsageError", "arguments", "by_position", "find_callable"]
