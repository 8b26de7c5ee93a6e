"""The stand-ins of Python's `random`, loaded with the rules once a program has imported that module.

Its samplers reject numbers by tests of the parameters, so their code is not traced.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

from wengert.hooks.classes import as_traced
from wengert.hooks.policy import CALLABLES, stand_in_for
from wengert.hooks.standins import draws
from wengert.hooks.standins.randomness import DISCRETE_DRAW, moved_draws, refuse_discrete, untraced_copy
from wengert.values.callables import fits


def _untraced(f: Any) -> Callable[..., Any]:
    """Wrap a method of `random.Random` so that it draws with copies of its parameters, without a trace."""
    return lambda rng, *parameters: f(rng, *map(untraced_copy, parameters))


_gammavariate = moved_draws(lambda alpha, beta: (alpha, beta), draws.scaled_by_law, "gamma")
_vonmisesvariate = moved_draws(lambda mu, kappa: (mu, kappa), draws.vonmises, "vonmises")


def _choices(rng: Any, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> Any:
    """Stand in for `random.choices`: it draws positions, and the items may be traced."""
    refuse_discrete(random.Random.choices, (weights, cum_weights))
    positions = random.Random.choices(rng, range(len(population)), weights, cum_weights=cum_weights, k=k)
    return [as_traced(operator.getitem)(population, i) for i in positions]


def _replace(f: Any, standin: Callable[..., Any]) -> None:
    """Register the stand-in of a function in Python, which raises its own errors on wrong arguments."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return standin(*args, **kwargs) if fits(f, args, kwargs) else f(*args, **kwargs)

    stand_in_for(f)(call)


_replace(random.Random.gammavariate, _gammavariate(_untraced(random.Random.gammavariate)))
_replace(random.Random.vonmisesvariate, _vonmisesvariate(_untraced(random.Random.vonmisesvariate)))
_replace(random.Random.choices, _choices)
if hasattr(random.Random, "binomialvariate"):  # from Python 3.12
    _fn = random.Random.binomialvariate
    CALLABLES[_fn] = DISCRETE_DRAW
