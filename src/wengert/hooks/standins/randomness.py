"""Random numbers: a draw is a differentiable function of its parameters, and is refused where it is discrete.

NumPy draws some distributions as `location + scale * standard draw`; writing them that way changes no bit. For the
others the draw is made first, and a function of `draws` moves it with its parameters.
"""

from __future__ import annotations

import importlib
import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import NoDerivativeError
from wengert.hooks.classes import as_traced
from wengert.hooks.policy import opaque_call
from wengert.hooks.search import guarded
from wengert.hooks.standins import draws, plain
from wengert.hooks.writes import record_store
from wengert.recording.decisions import decided
from wengert.recording.record import as_array
from wengert.recording.recording import STATE
from wengert.recording.slots import flat, holds_traced, slot_of
from wengert.rulebook.registry import rules
from wengert.values.specs import fresh, is_inexact


def _runs_natively(parameters: tuple[Any, ...], scale: Any) -> bool:
    """Whether nothing is traced, or NumPy has an error to raise."""
    if STATE.recording is None or not holds_traced(parameters):
        return True
    return any(np.iscomplexobj(a) for a in parameters) or bool(np.any(np.signbit(scale)))


def _arrays_and_shape(parameters: tuple[Any, ...], size: Any) -> tuple[list[Any], Any]:
    """Convert the parameters to arrays, or to floats for one draw; return them with the shape of the sample."""
    parameters = tuple([as_array(a) if type(a) in (list, tuple) else a for a in parameters])
    shape = np.broadcast_shapes(*map(np.shape, parameters))
    if size is None and shape == ():
        return [as_traced(float)(a) for a in parameters], None
    return list(parameters), shape if size is None else size


def _located(f: Any) -> Callable[..., Any]:
    """The stand-in of `normal` and its like, with a location and a scale."""

    def sample(rng: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        if _runs_natively((loc, scale), scale):
            return guarded(f)(rng, loc, scale, size)
        (loc, scale), size = _arrays_and_shape((loc, scale), size)
        return as_traced(plain.located)(loc, scale, f(rng, 0.0, 1.0, size))

    return sample


def _scaled_sampler(f: Any) -> Callable[..., Any]:
    """The stand-in of `exponential` and `rayleigh`, with a scale."""

    def sample(rng: Any, scale: Any = 1.0, size: Any = None) -> Any:
        if _runs_natively((scale,), scale):
            return guarded(f)(rng, scale, size)
        (scale,), size = _arrays_and_shape((scale,), size)
        return as_traced(operator.mul)(scale, f(rng, 1.0, size))

    return sample


def _gamma(f: Any) -> Callable[..., Any]:
    standard = moved_draws(lambda shape, size: (shape,), draws.by_law, "gamma")(
        lambda rng, shape, size: f(rng, shape, 1.0, size)
    )

    def sample(rng: Any, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        if _runs_natively((shape, scale), scale):
            return guarded(f)(rng, shape, scale, size)
        (scale, shape), size = _arrays_and_shape((scale, shape), size)
        return as_traced(operator.mul)(scale, standard(rng, shape, size))

    return sample


def moved_draws(
    call: Callable[..., tuple[Any, ...]], formula: Any, law: str = ""
) -> Callable[[Any], Callable[..., Any]]:
    """Return a function that makes the stand-in of a distribution whose draw `formula` moves with its parameters.

    `call` has the distribution's own signature; it returns the parameters. `law` is the distribution's name among the
    rules, for a formula that takes it.
    """
    signature = inspect.signature(call)

    def stand_in_of(f: Any) -> Callable[..., Any]:
        def sample(rng: Any, *args: Any, **kwargs: Any) -> Any:
            if STATE.recording is None:
                return f(rng, *args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            parameters = call(*bound.args, **bound.kwargs)
            if not holds_traced(parameters) or bound.arguments.get("out") is not None:
                return guarded(f)(rng, *args, **kwargs)
            if formula in draws.REDRAWN and STATE.recording.reads is not None:
                name = law or f.__name__
                STATE.recording.reads.give_up(f"it draws random numbers ({name}) with parameters that it computes")
            numbers = [as_array(a) if type(a) in (list, tuple) else a for a in parameters]
            rest = {name: a for name, a in bound.arguments.items() if name in _NOT_PARAMETERS}
            draw = f(rng, *numbers, **rest)
            if type(draw) is float:
                numbers = [as_traced(float)(a) for a in numbers]
            laws = [_law(law)] if law else []
            at = [*map(untraced_copy, numbers)]
            for number, recorded in zip(numbers, at, strict=True) if formula in draws.REDRAWN else ():
                decided(STATE.recording, np.array_equal, (number, recorded), True)
            result = as_traced(formula)(*laws, draw, *numbers, *at)
            kind = float if type(draw) is float else np.asarray
            return result if type(result) is type(draw) else as_traced(kind)(result)

        return sample

    return stand_in_of


_NOT_PARAMETERS = ("size", "dtype", "out", "check_valid", "tol", "method")


def untraced_copy(a: Any) -> Any:
    """Copy a number or an array, untraced."""
    return np.array(a) if isinstance(a, np.ndarray) else fresh(a) if is_inexact(a) else a


def _law(name: str) -> Any:
    """Return the function that moves a draw from a distribution; import SciPy, which its derivative needs."""
    try:
        importlib.import_module("scipy.stats")
    except ImportError as error:
        raise _refusal(
            f"the derivative of a draw from the {name} distribution in its shape needs SciPy. Install it: "
            "pip install 'wengert[scipy]'"
        ) from error
    rules.load()
    return getattr(importlib.import_module("wengert_rules.scipy.stats.draws"), name)


def _refusal(words: str) -> Exception:
    recording = STATE.recording
    assert recording is not None
    return recording.refuse(NoDerivativeError(words))


def refuse_discrete(f: Any, parameters: Any) -> None:
    """Refuse a discrete draw if a real parameter among these is traced."""
    recording = STATE.recording
    if recording is None or recording.survey is not None:
        return
    if any([is_inexact(a) and slot_of(recording, a) is not None for a in flat(parameters)]):
        raise _refusal(
            f"{f.__name__} draws from a discrete distribution, so the draw has no derivative in a parameter, and as a "
            f"constant it would bias the gradient of an expectation. Draw with a constant, {f.__name__}"
            "(wg.stop_gradient(...)), and multiply the loss by the score, the gradient of the log probability: see "
            '"Differentiate an expectation over counts" in docs/distributions.md'
        )


def _discrete(f: Any) -> Callable[..., Any]:
    def sample(*args: Any, **kwargs: Any) -> Any:  # the first argument is the generator, if there are any
        refuse_discrete(f, (*args[1:], *kwargs.values()))
        return guarded(f)(*args, **kwargs)

    return sample


def _uniform(f: Any) -> Callable[..., Any]:
    def sample(rng: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        if _runs_natively((low, high), 1.0) or not np.all(np.isfinite(np.subtract(high, low))):
            return guarded(f)(rng, low, high, size)
        (low, high), size = _arrays_and_shape((low, high), size)
        return as_traced(plain.between)(low, high, f(rng, 0.0, 1.0, size))

    return sample


def _of_vectors(f: Any) -> Callable[..., Any]:
    """The stand-in of `multivariate_normal`: with a constant covariance the mean is added to a draw around 0."""
    with_covariance = moved_draws(lambda mean, cov, size=None, **options: (mean, cov), draws.normal_vector)(f)

    def sample(rng: Any, mean: Any, cov: Any, *args: Any, **kwargs: Any) -> Any:
        if holds_traced((cov,)) and not _runs_natively((cov,), 1.0):
            return with_covariance(rng, mean, cov, *args, **kwargs)
        if holds_traced((cov, args)) or _runs_natively((mean,), 1.0):
            return guarded(f)(rng, mean, cov, *args, **kwargs)
        mean = _as_traced_array(mean)
        return as_traced(operator.add)(mean, f(rng, np.zeros(np.shape(mean)), cov, *args, **kwargs))

    return sample


def _as_traced_array(a: Any) -> Any:
    return as_array(a) if type(a) in (list, tuple) and holds_traced(a) else a


def _permutation(f: Any) -> Callable[..., Any]:
    def permute(rng: Any, x: Any, **axis: Any) -> Any:
        x = _as_traced_array(x)
        if STATE.recording is None or not holds_traced((x,)) or not isinstance(x, np.ndarray):
            return guarded(f)(rng, x, **axis)
        return as_traced(np.take)(x, f(rng, np.shape(x)[axis.get("axis", 0)]), axis.get("axis", 0))

    return permute


def _permuted(f: Any) -> Callable[..., Any]:
    def permute(rng: Any, x: Any, **options: Any) -> Any:
        x = _as_traced_array(x)
        if not isinstance(x, np.ndarray) or not holds_traced((x,)) or options.get("out") is not None:
            return guarded(f)(rng, x, **options)
        return as_traced(np.take)(x, f(rng, np.arange(x.size).reshape(x.shape), **options))

    return permute


def _shuffle(f: Any) -> Callable[..., Any]:
    def shuffle(rng: Any, x: Any, **axis: Any) -> None:
        if STATE.recording is None or type(x) is list:
            return f(rng, x, **axis)  # a list's items are moved as they are
        if not isinstance(x, np.ndarray) or not holds_traced((x,)):
            return guarded(f)(rng, x, **axis)
        order = np.arange(x.shape[axis.get("axis", 0)])
        f(rng, order)
        return record_store(x, ..., as_traced(np.take)(x, order, axis.get("axis", 0)))

    return shuffle


def _choice(f: Any) -> Callable[..., Any]:
    def choose(rng: Any, a: Any, size: Any = None, *args: Any, axis: int = 0, **kwargs: Any) -> Any:
        refuse_discrete(f, (*args, *kwargs.values()))
        a = _as_traced_array(a)
        if STATE.recording is None or not isinstance(a, np.ndarray) or not holds_traced((a,)) or holds_traced(args):
            return guarded(f)(rng, a, size, *args, **kwargs, **({"axis": axis} if axis else {}))
        chosen = guarded(f)(rng, a.shape[axis], size, *args, **kwargs)
        return as_traced(operator.getitem)(a, (slice(None),) * (axis % a.ndim) + (chosen,))

    return choose


FAMILIES: dict[str, Callable[[Any], Callable[..., Any]]] = {
    **dict.fromkeys(("normal", "laplace", "gumbel", "logistic"), _located),
    **dict.fromkeys(("exponential", "rayleigh"), _scaled_sampler),
    "gamma": _gamma,
    "standard_gamma": moved_draws(lambda shape, size=None, dtype=None, out=None: (shape,), draws.by_law, "gamma"),
    "chisquare": moved_draws(lambda df, size=None: (df,), draws.chisquare, "gamma"),
    "beta": moved_draws(lambda a, b, size=None: (a, b), draws.by_law, "beta"),
    "dirichlet": moved_draws(lambda alpha, size=None: (alpha,), draws.dirichlet, "beta"),
    "standard_t": moved_draws(lambda df, size=None: (df,), draws.by_law, "student_t"),
    "f": moved_draws(lambda dfnum, dfden, size=None: (dfnum, dfden), draws.by_law, "f_ratio"),
    "noncentral_chisquare": moved_draws(lambda df, nonc, size=None: (df, nonc), draws.by_law, "noncentral_chi2"),
    "noncentral_f": moved_draws(
        lambda dfnum, dfden, nonc, size=None: (dfnum, dfden, nonc), draws.by_law, "noncentral_f"
    ),
    "vonmises": moved_draws(lambda mu, kappa, size=None: (mu, kappa), draws.vonmises, "vonmises"),
    "wald": moved_draws(lambda mean, scale, size=None: (mean, scale), draws.by_law, "wald"),
    "lognormal": moved_draws(lambda mean=0.0, sigma=1.0, size=None: (mean, sigma), draws.lognormal),
    "triangular": moved_draws(lambda left, mode, right, size=None: (left, mode, right), draws.triangular),
    **dict.fromkeys(("weibull", "power"), moved_draws(lambda a, size=None: (a,), draws.weibull)),
    "pareto": moved_draws(lambda a, size=None: (a,), draws.pareto),
    "uniform": _uniform,
    "multivariate_normal": _of_vectors,
    "permutation": _permutation,
    "permuted": _permuted,
    "shuffle": _shuffle,
    "choice": _choice,
}
"""Map the name of a method to the function that makes its stand-in."""

DISCRETE = (
    "binomial", "geometric", "hypergeometric", "integers", "logseries", "multinomial", "multivariate_hypergeometric",
    "negative_binomial", "poisson", "randint", "random_integers", "zipf",
)  # fmt: skip
"""Methods that draw from a discrete distribution."""
DISCRETE_DRAW = opaque_call("It draws from a discrete distribution.", _discrete)
"""The Decision on these methods."""
