"""Arguments of a derivative: find those in `argnums`, check that they have one, and explain mistakes in options.

One rule serves all arguments in `argnums`: each must hold a float or complex number, or be an integer (`int`,
`np.integer`), which counts as the float that equals it. Others raise an error, or have the gradient None with
`allow_int`. Without `argnums`, as in `grad(f, x, y)`, an argument that holds no float has the gradient None.
A path such as `"p.layers[0].w"` names a part of an argument.
"""

from __future__ import annotations

import inspect
import numbers
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from types import FunctionType
from typing import Any

import numpy as np

from wengert.errors import ArgumentError, IntegerInputError, NonScalarOutputError
from wengert.values import gradients, tree_parts
from wengert.values.callables import (
    callable_name,
    has_no_parameters,
    named_parameters,
    parameter_names,
    takes_any_keyword,
    unwrapped,
)
from wengert.values.codes import code_of
from wengert.values.named_tuples import NamedTuple
from wengert.values.specs import as_float, is_complex, is_inexact
from wengert.values.trees import leaves

Argnums = int | str | Sequence[int | str] | None


class Part(NamedTuple):
    """A part of an argument: the argument's place in a call, the path from there, and the whole path with its name."""

    argument: int | str
    path: str
    name: str


Place = int | str | Part
"""A positional argument, a keyword argument, or a part of one."""

OPTIONS = ("argnums", "has_aux", "holomorphic", "allow_int", "seed")


def places_of(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Argnums
) -> tuple[tuple[Place, ...], bool]:
    """Return the Places of the arguments in `argnums`, and whether `argnums` was one key, not a tuple."""
    if isinstance(argnums, int) and 0 <= argnums < len(args):
        return (argnums,), True
    single = isinstance(argnums, (int, str))
    keys: Sequence[Any] = (argnums,) if single else tuple(argnums or ())  # type: ignore[arg-type]
    found = tuple([_place(key, f, args, kwargs) for key in keys])
    if len(set(found)) < len(found):
        raise ArgumentError(f"argnums={argnums!r} names an argument twice. Name it once.")
    if any([isinstance(place, Part) for place in found]):
        _refuse_overlaps(found, argnums)
    return found, single


def _refuse_overlaps(found: tuple[Place, ...], argnums: Argnums) -> None:
    """Refuse a path that names a part of what another key names."""
    for whole, part in permutations(found, 2):
        if isinstance(part, Part) and (
            part.argument == whole
            or (isinstance(whole, Part) and whole.argument == part.argument and _is_inside(part.path, whole.path))
        ):
            raise ArgumentError(f"argnums={argnums!r} names {part.name!r} twice. Leave it out: it is in another key.")


def _is_inside(path: str, whole: str) -> bool:
    return path.startswith(whole) and path[len(whole) : len(whole) + 1] in ("", ".", "[")


def argument_at(args: Sequence[Any], kwargs: Mapping[str, Any], place: Place) -> Any:
    """Return the argument of a call, or the part of one, at a Place."""
    if isinstance(place, Part):
        return tree_parts.part_at(argument_at(args, kwargs, place.argument), place.path)
    return kwargs[place] if isinstance(place, str) else args[place]


def place_name(place: Place) -> str:
    """Return a Place's name for messages, where the names of the parameters are not known."""
    return place.name if isinstance(place, Part) else place if isinstance(place, str) else f"argument {place + 1}"


def _place(key: int | str, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Place:
    """Return the Place in a call of the argument, or the part of one, that `argnums` calls `key`."""
    if isinstance(key, str):
        if key in kwargs:
            return key
        if "." in key or "[" in key:
            return _part(key, f, args, kwargs)
        names = named_parameters(f)  # takes 30 µs
        if key in names and names.index(key) < len(args):
            return names.index(key)
        raise ArgumentError(
            f"argnums names {key!r}, but the call passes no such argument. {_outside(f, key) or _parameters(f, kwargs)}"
        )
    place = key + len(args) if key < 0 else key
    if 0 <= place < len(args):
        return place
    names = named_parameters(f)
    if 0 <= place < len(names) and names[place] in kwargs:
        return names[place]
    raise ArgumentError(
        f"argnums={key}, but the call has {len(args)} positional argument{'s' * (len(args) != 1)}, counted from 0. "
        + _parameters(f, kwargs)
    )


def _part(key: str, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Part:
    """Return the Place of the part of an argument that the path `key` names. Errors: ArgumentError if there is none."""
    head = re.split(r"[.\[]", key, maxsplit=1)[0]
    if not head:
        example = (named_parameters(f) or ["0"])[0] + key
        raise ArgumentError(f"argnums={key!r} names no argument. Begin the path with a name, as in {example!r}.")
    argument = _place(int(head) if head.isdigit() else head, f, args, kwargs)
    value, path = argument_at(args, kwargs, argument), tree_parts.with_single_quotes(key[len(head) :])
    try:
        tree_parts.part_at(value, path)
    except LookupError:
        near = ", ".join(tree_parts.near_paths(value, head, head + path))
        raise ArgumentError(
            f"argnums names {key!r}, but the argument {head!r} has no such part. "
            + (f"Near paths are {near}. wg.tree_paths({head}) lists all." if near else f"{head!r} holds no float.")
        ) from None
    assert not isinstance(argument, Part)
    return Part(argument, path, head + path)


def _parameters(f: Any, kwargs: dict[str, Any]) -> str:
    """Say which arguments of `f` may be named."""
    if names := named_parameters(f):
        return f"The function's parameters are {', '.join(names)}."
    if kwargs:
        return f"To differentiate by a keyword argument, name it: argnums={next(iter(kwargs))!r}."
    if has_no_parameters(f):
        return f"{callable_name(f)} has no parameters: make one of what you differentiate by, and pass its value."
    return "Its parameters have no names: use positions."


def _outside(f: Any, name: str) -> str:
    """Say how to differentiate by a closure variable or a global variable of this name, if `f` reads one."""
    f = inspect.unwrap(unwrapped(f))
    if not isinstance(f, FunctionType):
        return ""
    if name in code_of(f).co_freevars:
        return (
            f"It is a closure variable of {callable_name(f)}: its gradient is wg.grad(f, x)[1].closure[{name!r}]. Or "
            "make it a parameter, and pass its value."
        )
    if name in gradients.globals_read(code_of(f)):
        return gradients.global_advice(name, code_of(f))
    return ""


def argument_names(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: tuple[Place, ...]) -> list[str]:
    """Return the names that the function `f` has for these arguments."""
    names = named_parameters(f)
    return [names[key] if isinstance(key, int) and key < len(names) else place_name(key) for key in wanted]


def asked_for(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: tuple[Place, ...]) -> str:
    """Name the arguments in `argnums` for a message."""
    return " or ".join(argument_names(f, args, kwargs, wanted)) or "any argument"


# Whether they can have a derivative


def check_inputs(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: tuple[Place, ...]) -> None:
    """Raise IntegerInputError for an argument that holds only numbers without a derivative, such as integers."""
    for key in wanted:
        value = argument_at(args, kwargs, key)
        if isinstance(key, Part) and not leaves(value):
            raise IntegerInputError(
                f"{key.name} is of type {type(value).__name__} and holds no float. Set it to a float, leave it out of "
                "argnums, or pass allow_int=True to get None for it."
            )
        found = None if is_inexact(value) else _without_derivative(value)
        if found is None or leaves(value):
            continue
        name = argument_names(f, args, kwargs, (key,))[0]
        if isinstance(value, np.ndarray):
            raise IntegerInputError(
                f"argument {name!r} is an array of {value.dtype}, which has no derivative. Pass {name}.astype(float), "
                "or allow_int=True to get None for it."
            )
        what = f"is a {type(found).__name__}" if found is value else f"holds no float, only {type(found).__name__}"
        raise IntegerInputError(
            f"argument {name!r} {what}, which has no derivative. Pass a float, leave it out of argnums, "
            "or pass allow_int=True to get None for it."
        )


def _without_derivative(value: Any) -> Any:
    """Return a number in `value` if it holds numbers, but none with a derivative; else None."""
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
    """Refuse real arguments and results of a holomorphic function, which would lose a part of its derivative."""
    real = [path for path, leaf in paths if not is_complex(leaf)]
    if real:
        raise ArgumentError(
            f"holomorphic=True needs complex arguments, but {real[0]} is real. Pass it as a complex number, or leave "
            "it out of argnums. If it is in f's closure, call grad(f, argnums=...)(x) instead of grad(f, x)."
        )
    if not is_complex(value):
        raise NonScalarOutputError(
            "holomorphic=True needs a complex result, but the function returned a real number. Leave out "
            "holomorphic=True: np.real, np.abs and the like are not holomorphic."
        )


# Mistakes in options


def check_argnums(make: Callable[..., Any], argnums: Any) -> None:
    """Raise ArgumentError if `argnums` of `make(f, argnums)` is not an int, a string, or a tuple or list of these."""
    keys = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    for key in keys:
        if type(key) is not int and not isinstance(key, str):
            name = make.__name__
            raise ArgumentError(
                f"argnums={argnums!r:.60} names no arguments: pass a position (int), a name (str), or a tuple of "
                "these. "
                + (
                    f"The function comes first: write {name}(f)(x)."
                    if callable(argnums)
                    else f"Pass the arguments of f to the function that {name} returns, as in {name}(f)(x, y)."
                )
            )


def with_aux(f: Any, result: Any) -> Any:
    """Return the pair (value, aux) that a function returned under `has_aux`. Errors: ArgumentError if it is no pair."""
    if isinstance(result, (tuple, list)) and len(result) == 2:
        return result
    raise ArgumentError(
        f"has_aux=True needs a function that returns a pair (value, aux), but {callable_name(f)} returned "
        f"a {type(result).__name__}. Return a pair, or leave has_aux out."
    )


def refuse_words(f: Any, words: Mapping[str, Any], seed: Any) -> None:
    """Refuse unknown keywords, and a seed, of `grad` without arguments: it would ignore them."""
    if seed is not None:
        raise ArgumentError(
            "grad(f, seed=...) would ignore the seed, since no arguments are passed to f. Write grad(f, x, seed=...) "
            "or wg.vjp(f, x)[1](seed)."
        )
    for name, value in words.items():
        raise ArgumentError(f"grad has no argument {name!r}. {_meant(f, name, value)}")


def _meant(f: Any, name: str, value: Any) -> str:
    """Suggest what a keyword that `grad` does not have was meant to be."""
    if f is not None and name in parameter_names(f):
        return f"It is a parameter of {callable_name(f)}: write grad(f)(..., {name}=...)."
    near = "argnums" if name in _ALIASES else next(iter(tree_parts.close_matches(name, OPTIONS)), None)
    if near is None:
        return f"Its options are {', '.join(OPTIONS)}. Pass a keyword of f as grad(f)(..., {name}=...)."
    shown = repr(value) if isinstance(value, (int, str, tuple, list)) else "..."
    return f"Write {near}={shown}."


_ALIASES = ("wrt", "with_respect_to", "params", "parameters", "variables", "inputs", "names", "index", "arg", "args")


def refuse_shared(f: Any, options: Mapping[str, Any]) -> None:
    """Refuse an option of `grad(f, x)` if f has a parameter of the same name."""
    given = [name for name, value in options.items() if value is not None and value is not False]
    shared = [name for name in parameter_names(f) if name in given] if given else []
    if shared:
        raise ArgumentError(
            f"{shared[0]}= is an argument of grad and of {callable_name(f)}. To pass it to the function, "
            f"differentiate functools.partial(f, {shared[0]}=...). To pass it to grad, wrap f in a lambda without it."
        )


def refuse_swallowed(f: Any, words: Mapping[str, Any], lacks: str = "") -> None:
    """Refuse a keyword for f that is an option of `grad`, or nearly, and that f does not name.

    `lacks`: the name of the caller, if it has none of these options.
    """
    for name in words:
        near = tree_parts.close_matches(name, _ONLY_OF_GRAD, cutoff=0.8) if name.startswith(_BEGINNINGS) else []
        if not near or name in parameter_names(f):
            continue
        does_go = takes_any_keyword(f)
        said = (
            f"{name}= would go to {callable_name(f)}, which takes any keyword. "
            if does_go
            else f"{callable_name(f)} has no argument {name!r}. "
        )
        said += (
            f"{lacks} has no option {near[0]}: {_INSTEAD[near[0]].format(lacks)}."
            if lacks
            else f"For grad's option, write grad(f, {near[0]}=...)(x)."
        )
        raise ArgumentError(said + f" To pass it to the function, use functools.partial(f, {name}=...)." * does_go)


_INSTEAD = {
    "argnums": "write {0}(lambda x: f(x, a), x) to hold a constant",
    "has_aux": "write {0}(lambda x: f(x)[0], x) to leave out aux",
    "holomorphic": "leave it out",
    "allow_int": "leave it out",
}
"""Advice for each option of `grad`, for functions that lack it."""
_ONLY_OF_GRAD = ("argnums", "has_aux", "holomorphic", "allow_int")  # not `seed`, which functions have too
_BEGINNINGS = ("arg", "has", "hol", "all")


def refuse_positions(f: Callable[..., Any], args: tuple[Any, ...], holds_floats: Callable[[], bool]) -> None:
    """Refuse `grad(f, 1)` and `grad(f, (0, 1))`, which mean positions: as arguments, integers have no gradient."""
    keys = args[0] if type(args[0]) in (tuple, list) else args
    if len(args) > 1 or not keys or not all([_is_key(f, key) for key in keys]) or holds_floats():
        return
    raise ArgumentError(
        f"grad(f, {args[0]!r}) calls f immediately with the argument {args[0]!r}, which holds no float. To select "
        f"arguments, write grad(f, argnums={args[0]!r}). To differentiate at a number, pass a float: 1.0."
    )


def _is_key(f: Callable[..., Any], key: Any) -> bool:
    """Whether this may be a position or the name of a parameter."""
    return type(key) is int or (type(key) is str and key in parameter_names(f))
