"""Which arguments a derivative is asked for, whether they can have one, and what was said of them by mistake.

One rule for all numbers: what is asked for by position or name holds a float or complex number, or is a whole number
(`int`, `np.integer`), which counts as the float that equals it. Any other number is refused, or has None with
`allow_int`. Where nothing is named (`grad(f, x, y)` at once), what holds no float has None.
"""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.errors import ArgumentError, IntegerInputError, NonScalarOutputError
from wengert.values.callables import callable_name, named_parameters, parameter_names, takes_any_keyword
from wengert.values.specs import as_float, is_complex, is_inexact
from wengert.values.trees import leaves

Argnums = int | str | Sequence[int | str] | None

OPTIONS = ("argnums", "has_aux", "holomorphic", "allow_int", "seed")


def places_of(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Argnums
) -> tuple[tuple[int | str, ...], bool]:
    """The wanted arguments as positions and keywords, and whether one was asked for, bare."""
    if isinstance(argnums, int) and 0 <= argnums < len(args):
        return (argnums,), True
    single = isinstance(argnums, (int, str))
    asked: Sequence[Any] = (argnums,) if single else tuple(argnums or ())  # type: ignore[arg-type]
    found = tuple([_place(key, f, args, kwargs) for key in asked])
    if len(set(found)) < len(found):
        raise ArgumentError(f"argnums={argnums!r} names an argument twice; its gradient is given once.")
    return found, single


def _place(key: int | str, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | str:
    """Where the call gives the argument that argnums asks for."""
    if isinstance(key, str):
        if key in kwargs:
            return key
        names = named_parameters(f)  # 30 µs: asked only where they are needed
        if key in names and names.index(key) < len(args):
            return names.index(key)
        raise ArgumentError(f"argnums names {key!r}, but the call gives no such argument. {_parameters(names)}")
    place = key + len(args) if key < 0 else key
    if 0 <= place < len(args):
        return place
    names = named_parameters(f)
    if 0 <= place < len(names) and names[place] in kwargs:
        return names[place]
    raise ArgumentError(
        f"argnums={key}, but the call gives {len(args)} positional arguments. They count from 0. {_parameters(names)}"
    )


def _parameters(names: list[str]) -> str:
    return f"The parameters of the function are {', '.join(names)}." if names else "The function names no parameters."


def argument_names(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: tuple[int | str, ...]) -> list[str]:
    """The names of arguments, as their function has them."""
    names = named_parameters(f)
    return [
        key if isinstance(key, str) else names[key] if key < len(names) else f"argument {key + 1}" for key in wanted
    ]


def asked_for(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: tuple[int | str, ...]) -> str:
    """The arguments that a derivative is asked for, in a message."""
    return " or ".join(argument_names(f, args, kwargs, wanted)) or "any argument"


# Whether they can have a derivative


def check_inputs(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: tuple[int | str, ...]) -> None:
    """Refuse what is asked for and holds numbers without a derivative only."""
    for key in wanted:
        value = kwargs[key] if isinstance(key, str) else args[key]
        found = None if is_inexact(value) else _without_derivative(value)
        if found is None or leaves(value):
            continue
        name = argument_names(f, args, kwargs, (key,))[0]
        if isinstance(value, np.ndarray):
            raise IntegerInputError(
                f"argument {name!r} is an array of {value.dtype}, which has no derivative. Pass {name}.astype(float), "
                "or allow_int=True, which gives None for it."
            )
        what = f"is a {type(found).__name__}" if found is value else f"holds no float, only {type(found).__name__}"
        raise IntegerInputError(
            f"argument {name!r} {what}, which has no derivative. Pass a float for it, or leave it out of argnums; "
            "allow_int=True gives None for it."
        )


def _without_derivative(value: Any) -> Any:
    """A number in what holds no other ones than such as have no derivative; else None."""
    found = None
    for part in _parts(value, 0):
        if is_inexact(as_float(part) if part is value else part):
            return None
        if issubclass(type(part), (numbers.Number, np.generic, np.ndarray)):
            found = part
    return found


def _parts(value: Any, depth: int) -> Iterator[Any]:
    """Yield the leaves of nested lists, tuples and dictionaries."""
    if type(value) in (list, tuple, dict) and depth < 20:
        for part in value.values() if type(value) is dict else value:
            yield from _parts(part, depth + 1)
    else:
        yield value


def check_complex(paths: list[tuple[str, Any]], value: Any) -> None:
    """A holomorphic function is one of complex numbers to complex numbers: else a part of its derivative is dropped."""
    real = [path for path, leaf in paths if not is_complex(leaf)]
    if real:
        raise ArgumentError(
            f"holomorphic=True needs complex arguments, but {real[0]} is real. Pass it as a complex number, or leave "
            "it out: of argnums=, and what f itself holds by grad(f, argnums=...)(x) in place of grad(f, x)."
        )
    if not is_complex(value):
        raise NonScalarOutputError(
            "holomorphic=True needs a complex result, but the function returned a real number. Leave holomorphic=True "
            "out: np.real, np.abs and the like are not holomorphic."
        )


# What was said of them by mistake


def check_argnums(argnums: Any) -> None:
    """Refuse what names no arguments, as early as it is said."""
    keys = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    for key in keys:
        if type(key) is not int and not isinstance(key, str):
            raise ArgumentError(
                f"argnums={argnums!r} names no arguments: it is a position, a name, or a tuple of these. "
                "The arguments themselves are given to the function that this makes: grad(f)(x, y)."
            )


def with_aux(f: Any, result: Any) -> Any:
    """The pair (value, aux) that a function differentiated with `has_aux` returned; ArgumentError where it is none."""
    if isinstance(result, (tuple, list)) and len(result) == 2:
        return result
    raise ArgumentError(
        f"has_aux=True asks for a function that returns a pair (value, aux), but {callable_name(f)} returned "
        f"a {type(result).__name__}. Return a pair, or leave has_aux out."
    )


def refuse_words(f: Any, words: Mapping[str, Any], seed: Any) -> None:
    """Refuse keywords of a `grad` that is given no arguments: it would drop them."""
    if seed is not None:
        raise ArgumentError(
            "grad(f, seed=...) without arguments would drop the seed. Say grad(f, x, seed=...) with them, "
            "or wg.vjp(f, x)[1](seed)."
        )
    for name, value in words.items():
        raise ArgumentError(f"grad has no argument {name!r}. {_meant(f, name, value)}")


def _meant(f: Any, name: str, value: Any) -> str:
    """Say what a keyword that `grad` does not have was probably meant to be."""
    if f is not None and name in parameter_names(f):
        return f"It is one of {callable_name(f)}: grad(f)(..., {name}=...) gives it."
    near = "argnums" if name in _ALIASES else next(iter(difflib.get_close_matches(name, OPTIONS, 1)), None)
    if near is None:
        return f"Its own are {', '.join(OPTIONS)}; those of f are given to what it makes: grad(f)(..., {name}=...)."
    shown = repr(value) if isinstance(value, (int, str, tuple, list)) else "..."
    return f"Say {near}={shown}."


_ALIASES = ("wrt", "with_respect_to", "params", "parameters", "variables", "inputs", "names", "index", "arg", "args")


def refuse_shared(f: Any, options: Mapping[str, Any]) -> None:
    """Refuse an option of `grad` given together with the arguments of a function that has one of that name."""
    given = [name for name, value in options.items() if value is not None and value is not False]
    shared = [name for name in parameter_names(f) if name in given] if given else []
    if shared:
        raise ArgumentError(
            f"{shared[0]}= is an argument of grad and of {callable_name(f)}. For the function's own, call "
            f"functools.partial(f, {shared[0]}=...); for that of grad, wrap f in a lambda without it."
        )


def refuse_swallowed(f: Any, words: Mapping[str, Any]) -> None:
    """Refuse an option of `grad`, spelt right or nearly, that a function which takes any keyword would swallow."""
    for name in words:
        near = difflib.get_close_matches(name, _NO_WORDS_OF_OTHERS, 1, 0.8) if name.startswith(_BEGINNINGS) else []
        if not near or name in parameter_names(f):
            continue
        if not takes_any_keyword(f):
            raise ArgumentError(f"neither grad nor {callable_name(f)} has an argument {name!r}. Say {near[0]}=.")
        raise ArgumentError(
            f"{name}= would go to {callable_name(f)}, which takes any keyword. If {near[0]} of grad is meant, say "
            f"grad(f, {near[0]}=...)(x); for the function's own, call functools.partial(f, {name}=...)."
        )


_NO_WORDS_OF_OTHERS = ("argnums", "has_aux", "holomorphic", "allow_int")  # as `seed` is, which functions have too
_BEGINNINGS = ("arg", "has", "hol", "all")


def refuse_positions(f: Callable[..., Any], args: tuple[Any, ...], holds_floats: Callable[[], bool]) -> None:
    """Refuse `grad(f, 1)` and `grad(f, (0, 1))`, where positions are meant: as arguments they have no gradient."""
    keys = args[0] if type(args[0]) in (tuple, list) else args
    if len(args) > 1 or not keys or not all([_is_key(f, key) for key in keys]) or holds_floats():
        return
    raise ArgumentError(
        f"grad(f, {args[0]!r}) calls f at once, with the argument {args[0]!r}, which holds no float. If it says which "
        f"arguments: grad(f, argnums={args[0]!r}). A number to differentiate at is a float: 1.0."
    )


def _is_key(f: Callable[..., Any], key: Any) -> bool:
    """Whether this may be a position or the name of a parameter."""
    return type(key) is int or (type(key) is str and key in parameter_names(f))
