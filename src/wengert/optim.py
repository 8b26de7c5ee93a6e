"""Gradient descent on trees of parameters: optimisers, schedules of the learning rate, and clipping.

    optimiser = wg.optim.adam(1e-3)
    state = optimiser.init(params)
    params, state = optimiser.update(gradient, state, params)

Each optimiser is a pair of pure functions: they return new parameters and a new state, and write into none of their
arguments. Parameters and gradients are the trees of `wg.tree_map`. Parameters keep their types and dtypes. None in a
gradient means zero; momentum and weight decay still move such a parameter.

A state is a dictionary: the number of `"steps"`, and trees like the parameters. The number of steps is a float, so that
`wg.tree_leaves` lists the whole state, and a compiled training step needs no new trace when the number changes.

With a complex parameter the optimisers descend along the conjugate of its derivative, as `wg.grad` returns it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from wengert.api.trees import Place, places_in, refilled, tree_leaves, tree_map, values_at
from wengert.errors import ArgumentError
from wengert.values.specs import is_complex, number_type
from wengert.values.trees import path_text

ENTERED = "It computes with parameters and gradients, also with those that a derivative traces."

P = TypeVar("P")
Schedule: TypeAlias = Callable[[float], float]

__all__ = [
    "Optimiser", "adam", "adamw", "clip_by_norm", "constant", "cosine", "exponential_decay", "momentum", "sgd",
    "warm_up",
]  # fmt: skip


class Update(Protocol):
    """The type of `Optimiser.update`: the new parameters have the type of the old ones."""

    def __call__(self, gradient: Any, state: dict[str, Any], params: P, /) -> tuple[P, dict[str, Any]]: ...


class Optimiser(NamedTuple):
    """An optimiser: `init(params)` returns its first state, `update(gradient, state, params)` `(params, state)`.

    Parameters:
        init (callable): `init(params)` returns the first state.
        update (callable): `update(gradient, state, params)` returns `(params, state)`. It raises an ArgumentError if
            the gradient or the state has another structure or shape than the parameters.
    See Also:
        sgd, momentum, adam, adamw

    Examples:
        >>> optimiser = wg.optim.sgd(0.1)
        >>> params = {"w": np.array([1.0, 2.0]), "b": 3.0}
        >>> params, state = optimiser.update({"w": np.array([5.0, 0.0]), "b": None}, optimiser.init(params), params)
        >>> params, state
        ({'w': array([0.5, 2. ]), 'b': 3.0}, {'steps': 1.0})
    """

    init: Callable[[Any], dict[str, Any]]
    update: Update


def sgd(rate: float | Schedule) -> Optimiser:
    """Make gradient descent: x ← x - η g, with the learning rate η = `rate`, a float or a schedule.

    Parameters:
        rate (float | Schedule): The learning rate η.
    Returns:
        Optimiser: The optimiser.
    See Also:
        momentum, adam

    Examples:
        >>> optimiser = wg.optim.sgd(0.1)
        >>> x, state = optimiser.update(2.0, optimiser.init(1.0), 1.0)
        >>> x
        0.8
    """
    return _optimiser(rate, (), lambda x, g, eta, t: (x - eta * g,))


def momentum(rate: float | Schedule, decay: float = 0.9, nesterov: bool = False) -> Optimiser:
    """Make gradient descent with momentum: v ← β v + g, x ← x - η v, with η = `rate` and β = `decay`.

    The state has v as `"velocity"`, zero at first. Source: Polyak (1964), USSR Comp. Math. Math. Phys. 4(5); Sutskever
    et al. (2013), ICML, for Nesterov's.

    Parameters:
        rate (float | Schedule): The learning rate η.
        decay (float): The factor β.
        nesterov (bool): Compute x ← x - η (g + β v) instead, with the new v.
    Returns:
        Optimiser: The optimiser.
    See Also:
        sgd, adam

    Examples:
        >>> optimiser = wg.optim.momentum(0.1, decay=0.5)
        >>> x, state = optimiser.update(2.0, optimiser.init(1.0), 1.0)
        >>> optimiser.update(2.0, state, x)
        (0.5, {'steps': 2.0, 'velocity': 3.0})
    """

    def step(x: Any, g: Any, eta: float, t: float, v: Any) -> tuple[Any, ...]:
        v = decay * v + g
        return x - eta * (g + decay * v if nesterov else v), v

    return _optimiser(rate, ("velocity",), step)


def adam(
    rate: float | Schedule = 1e-3, mean_decay: float = 0.9, square_decay: float = 0.999, eps: float = 1e-8
) -> Optimiser:
    """Make Adam: x ← x - η m̂ / (√v̂ + ε), with η = `rate` and ε = `eps`.

    m ← β₁ m + (1 - β₁) g and v ← β₂ v + (1 - β₂) |g|², zero at first. In step t, counted from 1, m̂ = m / (1 - β₁ᵗ) and
    v̂ = v / (1 - β₂ᵗ). The state has m as `"mean"`, v as `"square"`. Source: Kingma & Ba (2015), "Adam: A Method for
    Stochastic Optimization", ICLR, algorithm 1.

    Parameters:
        rate (float | Schedule): The learning rate η.
        mean_decay (float): The factor β₁.
        square_decay (float): The factor β₂.
        eps (float): The number ε, which keeps the step finite.
    Returns:
        Optimiser: The optimiser.
    See Also:
        adamw, sgd, momentum

    Examples:
        >>> optimiser = wg.optim.adam(0.1)
        >>> x, state = optimiser.update(2.0, optimiser.init(1.0), 1.0)
        >>> round(x, 6), round(state["mean"], 6), round(state["square"], 6)
        (0.9, 0.2, 0.004)
    """
    return adamw(rate, mean_decay, square_decay, eps, weight_decay=0.0)


def adamw(
    rate: float | Schedule = 1e-3, mean_decay: float = 0.9, square_decay: float = 0.999, eps: float = 1e-8,
    weight_decay: float = 0.01,
) -> Optimiser:  # fmt: skip
    """Make Adam with decoupled weight decay: x ← x - η (m̂ / (√v̂ + ε) + λ x), with λ = `weight_decay`.

    The other symbols are those of `adam`. A schedule of the rate applies to the decay as well. Every parameter decays,
    also one whose gradient is None. Source: Loshchilov & Hutter (2019), "Decoupled Weight Decay Regularization", ICLR,
    algorithm 2, with our λ for its λ/α, and our schedule instead of its α η.

    Parameters:
        rate (float | Schedule): The learning rate η.
        mean_decay (float): The factor β₁.
        square_decay (float): The factor β₂.
        eps (float): The number ε.
        weight_decay (float): The factor λ.
    Returns:
        Optimiser: The optimiser.
    See Also:
        adam, sgd

    Examples:
        >>> optimiser = wg.optim.adamw(0.1, weight_decay=0.5)
        >>> x, state = optimiser.update(2.0, optimiser.init(1.0), 1.0)
        >>> round(x, 6)
        0.85
    """

    def step(x: Any, g: Any, eta: float, t: float, m: Any, v: Any) -> tuple[Any, ...]:
        m = mean_decay * m + (1 - mean_decay) * g
        v = square_decay * v + (1 - square_decay) * (g * g.conjugate()).real
        root = (v.real / (1 - square_decay**t)) ** 0.5
        direction = m / (1 - mean_decay**t) / (root + eps)
        return x - eta * (direction + weight_decay * x if weight_decay else direction), m, v

    return _optimiser(rate, ("mean", "square"), step)


def constant(rate: float) -> Schedule:
    """Make the schedule that is always `rate`; a schedule maps the number of earlier steps to a learning rate.

    Parameters:
        rate (float): The learning rate.
    Returns:
        Schedule: The schedule.
    See Also:
        exponential_decay, cosine, warm_up

    Examples:
        >>> wg.optim.warm_up(wg.optim.constant(0.1), 4)(0)
        0.025
    """
    return lambda steps: rate


def exponential_decay(rate: float, period: float, factor: float = 0.5) -> Schedule:
    """Make the schedule η(t) = `rate` · `factor`^(t / `period`): each period multiplies the rate by the factor.

    Parameters:
        rate (float): The learning rate at first.
        period (float): The number of steps of a period.
        factor (float): The factor of a period.
    Returns:
        Schedule: The schedule.
    See Also:
        cosine, constant

    Examples:
        >>> schedule = wg.optim.exponential_decay(0.1, 100)
        >>> schedule(0), schedule(100), schedule(200)
        (0.1, 0.05, 0.025)
    """
    return lambda steps: rate * factor ** (steps / period)


def cosine(rate: float, period: float, end: float = 0.0) -> Schedule:
    """Make the schedule that falls from `rate` to `end` along half a cosine in `period` steps, and stays there.

    η(t) = end + (rate - end) (1 + cos(π t / period)) / 2. Source: Loshchilov & Hutter (2017), "SGDR: Stochastic
    Gradient Descent with Warm Restarts", ICLR, equation 5.

    Parameters:
        rate (float): The learning rate at first.
        period (float): The number of steps until `end`.
        end (float): The learning rate at last.
    Returns:
        Schedule: The schedule.
    See Also:
        exponential_decay, warm_up

    Examples:
        >>> schedule = wg.optim.cosine(0.1, 100)
        >>> schedule(0), round(schedule(50), 6), schedule(200)
        (0.1, 0.05, 0.0)
    """
    return lambda steps: end + (rate - end) * (1 + math.cos(math.pi * min(steps / period, 1.0))) / 2


def warm_up(rate: float | Schedule, steps: float) -> Schedule:
    """Make the schedule that rises to `rate`, a float or a schedule, in the first `steps` steps.

    η(t) = min((t + 1) / steps, 1) · rate(t): the first step has rate / steps.

    Parameters:
        rate (float | Schedule): The learning rate.
        steps (float): The number of steps.
    Returns:
        Schedule: The schedule.
    See Also:
        cosine, constant

    Examples:
        >>> schedule = wg.optim.warm_up(wg.optim.cosine(0.1, 100), 10)
        >>> round(schedule(0), 6), round(schedule(4), 6), round(schedule(50), 6)
        (0.01, 0.049803, 0.05)
    """
    return lambda done: min((done + 1) / steps, 1.0) * _rate_at(rate, done)


def clip_by_norm(gradient: P, largest: float) -> P:
    """Scale the tree `gradient` so that the Euclidean norm of all its leaves together is at most `largest`.

    Source: Pascanu, Mikolov & Bengio (2013), "On the difficulty of training recurrent neural networks", ICML.

    Parameters:
        gradient (tree): The gradient.
        largest (float): The largest norm.
    Returns:
        tree: The gradient, or a scaled copy.
    See Also:
        sgd, adam

    Examples:
        >>> wg.optim.clip_by_norm({"w": np.array([3.0, 0.0]), "b": 4.0, "c": None}, 1.0)
        {'w': array([0.6, 0. ]), 'b': 0.8, 'c': None}
    """
    norm = math.sqrt(sum([float(np.sum(np.abs(g).astype(np.float64) ** 2)) for g in tree_leaves(gradient)]))
    return tree_map(lambda g: g * (largest / norm), gradient) if norm > largest else gradient


def _optimiser(rate: float | Schedule, names: tuple[str, ...], step: Callable[..., tuple[Any, ...]]) -> Optimiser:
    """Make an optimiser of its formula for one leaf: `step(x, g, η, t, *memory)` returns `(x, *memory)`.

    The memory is a number or an array like x for each of the `names`.
    """

    def init(params: Any) -> dict[str, Any]:
        return {"steps": 0.0, **{name: tree_map(_zero_like, params) for name in names}}

    def update(gradient: Any, state: dict[str, Any], params: P, /) -> tuple[P, dict[str, Any]]:
        places, t = places_in(params), float(state["steps"]) + 1
        memories = [_beside(places, state[name], f"state[{name!r}]") for name in names]
        slopes = map(_ascent, _beside(places, gradient, "the gradient"))
        eta = float(_rate_at(rate, t - 1))
        new = [step(x, g, eta, t, *memory) for (_, x), g, *memory in zip(places, slopes, *memories, strict=True)]
        columns = [[_like(x, leaf[k]) for (_, x), leaf in zip(places, new, strict=True)] for k in range(1 + len(names))]
        params, *trees = [refilled(params, column) for column in columns]
        return params, {"steps": t, **dict(zip(names, trees, strict=True))}

    return Optimiser(init, update)


def _rate_at(rate: float | Schedule, steps: float) -> float:
    return rate(steps) if callable(rate) else rate


def _beside(places: list[Place], tree: Any, name: str) -> list[Any]:
    """Return the leaves of a tree called `name` that belong to the parameters at these places, zeros for None.

    Errors: ArgumentError for another structure or shape.
    """
    values = []
    for (path, x), value in zip(places, values_at(places, tree, name, "params"), strict=True):
        if value is not None and np.shape(value) != np.shape(x):
            raise ArgumentError(
                f"{name} has shape {np.shape(value)} at {path_text(path) or 'its root'}, where params has "
                f"shape {np.shape(x)}. Pass the gradient with respect to these parameters, and their state."
            )
        values.append(_zero_like(x) if value is None else _like(x, value))
    return values


def _ascent(g: Any) -> Any:
    """Return the direction of steepest ascent: the conjugate of a derivative."""
    return np.conj(g) if is_complex(g) else g


def _zero_like(x: Any) -> Any:
    return np.zeros_like(x) if isinstance(x, np.ndarray) else number_type(type(x))(0)


def _like(x: Any, value: Any) -> Any:
    """Convert a value to the dtype of the leaf `x`, or to its type if it is a number."""
    return np.asanyarray(value, x.dtype) if isinstance(x, np.ndarray) else number_type(type(x))(value)
