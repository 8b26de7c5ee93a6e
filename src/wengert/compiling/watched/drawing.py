"""Random draws in a watched trace: the generated code draws again, in the same order, and computes with the new draws.

It saves the generators' states first, and restores them if a guard in the code fails.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.watched.outer_reads import Reads
from wengert.compiling.watched.watchable import ATOMS, bound_to, nested_leaves
from wengert.hooks.calls import resolve
from wengert.hooks.classes import as_traced
from wengert.hooks.items import set_item
from wengert.hooks.standins import plain
from wengert.hooks.standins.randomness import FAMILIES
from wengert.recording.recording import STATE, silent
from wengert.recording.slots import holds_traced
from wengert.values.random_states import generator_types
from wengert.values.specs import is_inexact

_NO_DRAWS = {
    "seed", "set_state", "get_state", "permuted", "spawn", "getstate", "setstate", "__setstate__", "__reduce__",
}  # fmt: skip
_GLOBAL = np.random.mtrand._rand


def is_draw(f: Any) -> bool:
    """Whether a callable is a method of a generator that draws, and does nothing else but shuffle an array."""
    return _is_of_generator(f) and f.__name__ not in _NO_DRAWS


def _is_of_generator(f: Any) -> bool:
    owner = bound_to(f)
    return owner is not None and type(owner) in generator_types()


def watched_draw(f: Any, reads: Reads) -> Callable[..., Any]:
    """Return the replacement of a method that draws random numbers."""
    rng = f.__self__
    family = (_OF_PYTHON if type(rng) is random.Random else FAMILIES).get(f.__name__)
    if id(rng) in reads.seeded_generators:
        drawn: Callable[..., Any] = resolve(f, STATE.site)
        return drawn

    def call(*args: Any, **kwargs: Any) -> Any:
        if f.__name__ == "shuffle":
            return _shuffle(f, args, kwargs, reads)
        traced = [part for part in nested_leaves((args, kwargs)) if holds_traced((part,))]
        if all(reads.input_name(part) for part in traced):
            return _record_draw(f, args, kwargs, reads)
        if family is not None:
            return family(lambda rng, *args, **kwargs: _record_draw(f, args, kwargs, reads))(rng, *args, **kwargs)
        reads.give_up(f"it draws random numbers ({f.__name__}) with parameters that it computes")
        return resolve(f, STATE.site)(*args, **kwargs)

    return call


def is_seeding(f: Any) -> bool:
    """Whether a callable seeds a generator."""
    return f is np.random.seed or (_is_of_generator(f) and f.__name__ == "seed")


def watched_seeding(f: Any, reads: Reads) -> Callable[..., None]:
    """Return the replacement of a function that seeds a generator: the generated code seeds it again."""
    rng = bound_to(f) or _GLOBAL

    def call(*args: Any, **kwargs: Any) -> None:
        seeds = [*args, *kwargs.values()]
        is_constant = [type(seed) for seed in seeds] == [int]
        accessor = _accessor_of_generator(rng, reads) if is_constant and id(rng) not in reads.seeded_generators else ""
        if not is_constant:
            reads.give_up("it seeds a generator with other than an integer")
        with silent():
            f(*args, **kwargs)
        reads.effects.note_draw(rng)
        if accessor and reads.obstacle is None:
            reads.note_draw(rng.seed, accessor, f"{accessor}.seed({seeds[0]!r})")

    return call


def _record_draw(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], reads: Reads) -> Any:
    """Draw now, and have the generated code draw by the same expression; the draw is an input of the trace."""
    accessor = _accessor_of_generator(f.__self__, reads)
    with silent():
        value = f(*args, **kwargs)
    reads.effects.note_draw(f.__self__)
    items = value if type(value) is list else [value]
    if not all([type(item) in (int, float) or _is_number(item) for item in items]):
        reads.give_up(f"it draws random values that are not numbers ({f.__name__})")
    elif any([holds_traced((part,)) and not reads.input_name(part) for part in nested_leaves((args, kwargs))]):
        reads.give_up(f"it draws random numbers ({f.__name__}) with parameters that it computes")
    elif "out" in kwargs or not all(map(_can_be_kept, nested_leaves((args, kwargs)))):
        reads.give_up(f"it draws random numbers ({f.__name__}) with a parameter that wengert cannot store")
    elif accessor:
        arguments = [_parameter_expression(part, reads) for part in args] + [
            f"{k}={_parameter_expression(part, reads)}" for k, part in kwargs.items()
        ]
        expression = f"{accessor}.{f.__name__}({', '.join(arguments)})"
        if type(value) is not list:
            return reads.read_draw(value, f, accessor, expression)
        name = reads.note_draw(f, accessor, expression)
        return [reads.read_draw(item, f, accessor, f"{name}[{k}]") for k, item in enumerate(items)]
    return value


def _uniform(draw: Callable[..., Any]) -> Callable[..., Any]:
    return lambda rng, a, b: as_traced(plain.between)(a, b, draw(rng, 0.0, 1.0))


def _gauss(draw: Callable[..., Any]) -> Callable[..., Any]:
    return lambda rng, mu=0.0, sigma=1.0: as_traced(plain.located)(mu, sigma, draw(rng, 0.0, 1.0))


def _expovariate(draw: Callable[..., Any]) -> Callable[..., Any]:
    return lambda rng, lambd=1.0: as_traced(plain.at_rate)(lambd, draw(rng, 1.0))


_OF_PYTHON = {"uniform": _uniform, "gauss": _gauss, "normalvariate": _gauss, "expovariate": _expovariate}
"""Map the name of a method of `random.Random` to the function that makes its stand-in; both return the same bits."""


def _accessor_of_generator(rng: Any, reads: Reads) -> str:
    """Return the accessor of a generator that is about to draw; give up if it is made in the trace without a seed."""
    reads.effects.watch_generator(rng)
    if reads.effects.has_drawn_unseen(rng):
        reads.give_up("it draws random numbers in C code")
    accessor = reads.accessor_of(rng) or (reads.pin(rng, "numpy.random") if rng is _GLOBAL else "")
    if not accessor:
        reads.give_up("it draws random numbers from a generator that it creates without a seed")
    return accessor


def _is_number(value: Any) -> bool:
    """Whether a value is a number or an array of numbers of NumPy."""
    t = type(value)
    return is_inexact(value) or ((t is np.ndarray or issubclass(t, np.generic)) and value.dtype.kind in "iu")


def _shuffle(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], reads: Reads) -> None:
    """Shuffle an array of the trace: store a shuffled copy, which is a draw."""
    array: Any = args[0] if args else None
    accessor = _accessor_of_generator(f.__self__, reads)
    is_plain = len(args) == 1 and not kwargs and type(array) is np.ndarray and _is_number(array) and array.ndim > 0
    name = is_plain and (reads.unchanged_input(array) or ("" if holds_traced((array,)) else reads.pin(array.copy())))
    if not name:
        reads.give_up("it shuffles a list, or an array that it has computed")
    if not name or not accessor:
        f(*args, **kwargs)
        return
    made = shuffled(f.__self__, array)
    reads.effects.note_draw(f.__self__)
    set_item(array, ..., reads.read_draw(made, f, accessor, f"{reads.pin(shuffled)}({accessor}, {name})"), STATE.site)


def shuffled(rng: Any, array: np.ndarray) -> np.ndarray:
    """Return a copy of an array that a generator has shuffled."""
    made = array.copy()
    rng.shuffle(made)
    return made


def _can_be_kept(part: Any) -> bool:
    """Whether a parameter of a draw can be a constant of the code."""
    return (
        type(part) in ATOMS
        or type(part) in (float, complex, range, np.ndarray, type)
        or issubclass(type(part), np.generic)
    )


def _parameter_expression(part: Any, reads: Reads) -> str:
    """Return the expression of a parameter: the name of an input, or of a copy that user code cannot change."""
    if type(part) in (list, tuple) and any(map(reads.input_name, nested_leaves(part))):
        return f"{type(part).__name__}(({''.join(_parameter_expression(item, reads) + ', ' for item in part)}))"
    return reads.input_name(part) or reads.pin(part.copy() if type(part) in (list, np.ndarray) else part)


def watched_generator_maker(make: Callable[..., Any], reads: Reads) -> Callable[..., Any]:
    """Return the replacement of a constructor of generators; integer seeds give the same draws in each call."""

    def call(*args: Any, **kwargs: Any) -> Any:
        made = make(*args, **kwargs)
        if [type(seed) for seed in (*args, *kwargs.values())] == [int]:
            reads.seeded_generators[id(made)] = made
        elif not any(made is seed for seed in args):
            reads.effects.watch_generator(made)  # until it draws, nobody sees its state
        return made

    return call


GENERATOR_MAKERS = {np.random.default_rng, np.random.RandomState}
"""Constructors of generators."""
