"""The classes `ode` and `complex_ode`: each call of `integrate` is an initial value problem.

Their integrators are written in C, and tell nothing of their steps. So a method of solve_ivp solves the problem once
more, with the same tolerances, and the derivative is that along its steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import integrate

from wengert.extend import NoDerivativeError, as_written, stands_for, unseen, with_value
from wengert_rules.scipy.arguments import arguments
from wengert_rules.scipy.integrate.along_steps import along_steps
from wengert_rules.scipy.integrate.initial_values import is_near, warn_of_inaccuracy
from wengert_rules.scipy.integrate.paths import in_complex, in_pairs

METHODS = {"dopri5": "RK45", "dop853": "DOP853"}
"""The methods in place of integrators; that in place of the others is LSODA."""
LEAST = 1e-13
"""The least relative tolerance that solve_ivp takes without a warning."""


@stands_for(integrate.ode.integrate)
def integrated(self: Any, t: Any, step: Any = False, relax: Any = False) -> Any:
    if getattr(self._integrator, "solout", None) is not None:
        raise refusal("a function is passed to set_solout(), which would get plain numbers")
    start, before = self.t, np.array(self._y)
    reached, after, overwrites, has_failed = unseen(native, self, t, step, relax)
    end = with_value(reached, t) if reached == t else reached
    after = with_value(after, before if end == start else solved(self, start, end, before, after))
    if overwrites:
        self._y[...] = after
    else:
        self._y = after
    self.t = with_value(reached, np.nan * np.sum(np.real(after))) if has_failed else end
    return self._y


def native(self: Any, *args: Any) -> tuple[Any, np.ndarray, bool, bool]:
    """Integrate as SciPy does, with the code of the functions as it is written.

    Return the time, the values, whether they are in the array of those before, into which lsoda writes, and whether it
    failed. The time of a failure has no known derivative.
    """
    functions, held = (self.f, self.jac), self._y
    self.f, self.jac = map(as_written, functions)
    try:
        integrate.ode.integrate(self, *args)
        return self.t, np.array(self._y), self._y is held, not self.successful()
    finally:
        self.f, self.jac = functions


def solved(self: Any, start: Any, end: Any, y: Any, after: np.ndarray) -> Any:
    """The solution at the end by a method of solve_ivp, from y at the start on. Errors: NoDerivativeError."""
    integrator, f, args = self._integrator, self.f, self.f_params
    if isinstance(self, integrate.complex_ode):
        f, args = in_pairs_of(self.cf, args), ()
    rtol, atol, is_complex = integrator.rtol, integrator.atol, np.iscomplexobj(y)
    if is_complex:
        f, args = in_pairs_of(f, args), ()
        rtol, atol = [np.repeat(part, 2) if np.ndim(part) else part for part in (rtol, atol)]
    method, longest = METHODS.get(type(integrator).__name__, "LSODA"), integrator.max_step or np.inf
    words = {"args": args, "rtol": np.maximum(rtol, LEAST), "atol": atol, "max_step": longest}
    found = along_steps(arguments(integrate.solve_ivp, (f, (start, end), in_pairs(y), method), words))
    if found is None or not found.success:
        raise refusal("the right-hand side changes something or cannot be traced alone, or the solution is inaccurate")
    values = np.transpose(found.y)
    if not unseen(is_near, values, [*values[:-1], in_pairs(after)], rtol, atol):
        warn_of_inaccuracy()
    return in_complex(values[-1]) if is_complex else values[-1]


def in_pairs_of(f: Any, args: Any) -> Any:
    """A complex right-hand side, of real and imaginary parts in pairs."""
    return lambda t, y: in_pairs(np.asarray(f(t, in_complex(y), *args), complex))


def refusal(reason: str) -> NoDerivativeError:
    return NoDerivativeError(
        f"scipy.integrate.ode.integrate has no derivative here: {reason}. Use scipy.integrate.solve_ivp instead."
    )
