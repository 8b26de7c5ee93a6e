"""Random draws in a trace that is watched: the code makes them anew, in their order, and computes on what is drawn.

It keeps the state of the generators first: where a test in the code fails nothing has been drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.watched.guards import GENERATORS
from wengert.compiling.watched.outer_reads import Reads
from wengert.compiling.watched.watchable_types import ATOMS, parts_of
from wengert.hooks.calls import resolve
from wengert.hooks.standins.randomness import FAMILIES
from wengert.recording.recording import STATE
from wengert.recording.slots import holds_traced
from wengert.values.specs import is_inexact

_NO_DRAWS = {"seed", "set_state", "get_state", "shuffle", "spawn", "__setstate__", "__reduce__"}
_GLOBAL = np.random.mtrand._rand


def is_draw(f: Any) -> bool:
    """Whether a callable is a method of a generator that draws, and changes nothing else."""
    return type(getattr(f, "__self__", None)) in GENERATORS and f.__name__ not in _NO_DRAWS


def drawing(f: Any, reads: Reads) -> Callable[..., Any]:
    """Return the replacement of a method that draws random numbers."""
    rng, made = f.__self__, FAMILIES.get(f.__name__)
    if id(rng) in reads.seeded:
        drawn: Callable[..., Any] = resolve(f, STATE.site)
        return drawn

    def call(*args: Any, **kwargs: Any) -> Any:
        traced = [part for part in parts_of((args, kwargs)) if holds_traced((part,))]
        if all(reads.input_name(part) for part in traced):
            return _draw(f, args, kwargs, reads)
        if made is not None:
            return made(lambda rng, *args, **kwargs: _draw(f, args, kwargs, reads))(rng, *args, **kwargs)
        reads.give_up(f"it draws random numbers by {f.__name__}, with parameters that are computed")
        return resolve(f, STATE.site)(*args, **kwargs)

    return call


def _draw(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], reads: Reads) -> Any:
    """Draw, and let the entry draw by the same words; what is drawn is an input."""
    value, rng = f(*args, **kwargs), f.__self__
    known, place = reads.known.get(id(rng), (None, ""))
    if known is not rng:
        place = reads.pin(rng, "numpy.random") if rng is _GLOBAL else ""
    if not place:
        reads.give_up("it draws random numbers from a generator that it makes without a seed")
    elif not (type(value) is float or is_inexact(value)):
        reads.give_up(f"it draws random numbers that are no floats ({f.__name__})")
    elif "out" in kwargs or not all(map(_is_plain, parts_of((args, kwargs)))):
        reads.give_up(f"it draws random numbers by {f.__name__}, with what cannot be kept")
    else:
        words = [_said(part, reads) for part in args] + [f"{k}={_said(part, reads)}" for k, part in kwargs.items()]
        name = f"d{len(reads.draws)}"
        reads.draws[name] = f"{place}.{f.__name__}({', '.join(words)})"
        reads.generators[place] = rng
        reads.labels[name] = f"{reads.said(place)}.{f.__name__}()"
        return reads.read(value, name)
    return value


def _is_plain(part: Any) -> bool:
    return type(part) in ATOMS or type(part) in (float, complex, np.ndarray, type) or issubclass(type(part), np.generic)


def _said(part: Any, reads: Reads) -> str:
    """The expression of a parameter: the name of an input, or a constant, which nobody can write."""
    if type(part) in (list, tuple) and any(map(reads.input_name, parts_of(part))):
        return f"{type(part).__name__}(({''.join(_said(item, reads) + ', ' for item in part)}))"
    return reads.input_name(part) or reads.pin(part.copy() if type(part) in (list, np.ndarray) else part)


def seeded(make: Callable[..., Any], reads: Reads) -> Callable[..., Any]:
    """Return the replacement of a constructor of generators: a fixed integer seed gives the same draws in each call."""

    def call(*args: Any, **kwargs: Any) -> Any:
        made = make(*args, **kwargs)
        if [type(seed) for seed in (*args, *kwargs.values())] == [int]:
            reads.seeded[id(made)] = made
        elif not any(made is seed for seed in args):
            reads.give_up("it makes a random generator without a seed")
        return made

    return call


MAKING = {np.random.default_rng, np.random.RandomState}


def saved_state(place: str, rng: Any) -> tuple[str, str]:
    """The expression of a generator's state, and the statement that sets it to the name `state`."""
    if type(rng) is np.random.Generator:
        return f"{place}.bit_generator.state", f"{place}.bit_generator.state = state"
    return f"{place}.get_state(legacy=False)", f"{place}.set_state(state)"
