"""Settings that a `with` block changes: how cotangents are summed, which checks run, how an ODE is differentiated."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wengert.errors import ArgumentError

__all__ = ["SETTINGS", "accumulation_options", "chosen_adjoint", "debug", "ode_adjoint"]

ADDITIONS = ("actions", "in place", "plus")
STRATEGIES = ("auto", "accumulate", "pass through")
ODE_ADJOINTS = ("discrete", "forward", "continuous")


class Settings(threading.local):
    """The settings of this thread: kind of addition, strategy of accumulation, derivative of an ODE, and checks.

    `are_default` is False inside a block that changes a setting: compiled functions run uncompiled there.
    """

    def __init__(self) -> None:
        self.add, self.strategy, self.ode_adjoint = "actions", "auto", "discrete"
        self.debug = self.debug_nans = False
        self.are_default = True

    @contextmanager
    def changed(self, **settings: Any) -> Iterator[None]:
        """Put these settings in force inside the `with` block."""
        before = {name: getattr(self, name) for name in (*settings, "are_default")}
        vars(self).update(settings, are_default=False)
        try:
            yield
        finally:
            vars(self).update(before)


SETTINGS = Settings()


@contextmanager
def accumulation_options(*, add: str | None = None, strategy: str | None = None) -> Iterator[None]:
    """Choose how gradients on this thread sum cotangents inside the `with` block, to compare or to debug.

    The gradients agree up to rounding.

    Parameters:
        add (str | None): "plus" makes a new array for each sum; "in place" adds into buffers that only the engine
            reads; "actions" (the default) also lets rules and thunks add to a buffer themselves.
        strategy (str | None): "accumulate" sums the contributions of all uses of a value and runs its pullback once;
            "pass through" runs it for each use; "auto" (the default) chooses the cheaper one for each value.
    Yields:
        None: A context manager to use in a `with` statement.
    Raises:
        ArgumentError: Another string.
    See Also:
        debug, grad

    Examples:
        >>> with wg.accumulation_options(add="plus"):
        ...     wg.grad(lambda x: np.sum(x * x))(np.array([1.0, 2.0]))
        array([2., 4.])
    """
    add = _one_of(ADDITIONS, add or SETTINGS.add, "add")
    strategy = _one_of(STRATEGIES, strategy or SETTINGS.strategy, "strategy")
    with SETTINGS.changed(add=add, strategy=strategy):
        yield


@contextmanager
def ode_adjoint(kind: str) -> Iterator[None]:
    """Choose the derivative of `scipy.integrate.solve_ivp` inside the `with` block and on this thread.

    The derivatives agree up to the tolerances of the solution. `docs/how-to/ode-fit.md` compares their costs.

    Parameters:
        kind (str): "discrete" (the default) differentiates the steps that the solver took, exactly. "forward"
            integrates an equation for the tangents beside the solution, and "continuous" one for the cotangents
            back in time, both by the method and tolerances of the call, which then bound their errors.
    Yields:
        None: A context manager to use in a `with` statement.
    Raises:
        ArgumentError: Another string.
        NoDerivativeError: From the derivative: "forward" and "continuous" do not support this call.
    See Also:
        grad, jacobian

    Examples:
        >>> from scipy.integrate import solve_ivp
        >>> def end(rate):
        ...     return solve_ivp(lambda t, y: -rate * y, (0, 2), [1.0], rtol=1e-8, atol=1e-8).y[0, -1]
        >>> with wg.ode_adjoint("continuous"):
        ...     round(wg.grad(end)(0.5), 6)
        -0.735759
    """
    with SETTINGS.changed(ode_adjoint=_one_of(ODE_ADJOINTS, kind, "kind")):
        yield


def chosen_adjoint() -> str:
    """Return the derivative of `solve_ivp` that `ode_adjoint` has chosen.

    Returns:
        str: "discrete", "forward" or "continuous".
    See Also:
        on_examples

    Examples:
        >>> wg.extend.chosen_adjoint()
        'discrete'
    """
    return SETTINGS.ode_adjoint


def _one_of(words: tuple[str, ...], word: str, name: str) -> str:
    if word not in words:
        raise ArgumentError(f"{name}={word!r}: pass one of {', '.join(map(repr, words))}")
    return word


@contextmanager
def debug() -> Iterator[None]:
    """Check, inside the `with` block and on this thread, each rule and thunk that adds to a buffer in place.

    It must return the array that it received, and no other cotangent may share that memory.

    Yields:
        None: A context manager to use in a `with` statement.
    Raises:
        RuleError: From the derivative: a rule breaks this; the error has its name and line.
    See Also:
        accumulates, accumulation_options

    Examples:
        >>> with wg.debug():
        ...     wg.grad(lambda x: np.sum(x * x) + np.sum(x[:1]))(np.array([1.0, 2.0]))
        array([3., 4.])
    """
    with SETTINGS.changed(debug=True):
        yield
