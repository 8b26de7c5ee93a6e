"""Solutions of explicit methods, differentiated along the steps that SciPy took.

The slopes k of all stages solve k = f(t, y + h A k). We take one Newton step of these equations for each order of
derivative, which leaves the slopes unchanged. f runs on all stages at once. The times of the steps are constants.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import integrate

from wengert.extend import as_written, is_traced, on_examples, order, stopped, unseen, with_value
from wengert_rules.scipy.arguments import unpacked
from wengert_rules.scipy.integrate.linear_steps import changes_of_slopes
from wengert_rules.scipy.integrate.recorded import TABLEAUX, recorded

METHODS = {"RK23": integrate.RK23, "RK45": integrate.RK45, "DOP853": integrate.DOP853}

def along_steps(call: dict[str, Any]) -> Any:
    """The result of a call of solve_ivp, with derivatives along its steps; None if these do not serve the call."""
    method = METHODS.get(call["method"], call["method"]) if isinstance(call["method"], str) else call["method"]
    if method not in TABLEAUX or call.get("events") is not None:
        return None
    y0, (start, end) = np.asarray(call["y0"]), call["t_span"]
    if y0.ndim != 1 or np.iscomplexobj(y0) or not y0.size:
        return None
    y0 = y0.astype(float)
    f = on_examples(state_function(call), unseen(np.array, [start], float), unseen(np.array, [y0], float))
    if f is None:
        return None
    found, steps = unseen(recorded, **{**call, "fun": as_written(call["fun"]), "method": method})
    if steps is None:
        return None
    times = steps.times
    if is_traced((start, end)):
        last = end if found["success"] else times[-1]
        times = np.concatenate([np.reshape(start, 1), times[1:-1], np.reshape(last, 1)])
    path = Path(f, steps)
    return with_derivatives(found, call, path) if path.follow(y0, times) else None


def with_derivatives(found: Any, call: dict[str, Any], path: Path) -> Any:
    """The result of SciPy's solver, with derivatives."""
    if call["t_eval"] is None:
        found["y"] = with_value(found["y"], np.transpose(path.values))
        found["t"] = with_value(found["t"], path.times)
    elif len(found["t"]):
        at = call["t_eval"][: len(found["t"])]
        found["y"] = with_value(found["y"], np.transpose(path.between(at)))
        found["t"] = np.asarray(at)
    if call["dense_output"]:
        found["sol"] = DenseSolution(found["sol"], path)
    return found


def state_function(call: dict[str, Any]) -> Any:
    """(t, y) ↦ f(t, y, *args)."""
    f, args, vectorized = call["fun"], unpacked(call["args"]), call["vectorized"]
    if vectorized:
        return lambda t, y: f(t, y[:, None], *args)
    return (lambda t, y: f(t, y, *args)) if args else f


class Path:
    """y(t) by the steps of a method, as a formula of what f reads, the initial values and the times."""

    def __init__(self, f: Any, steps: Any) -> None:
        self.f, self.steps, self.tableau = f, steps, steps.tableau

    def follow(self, y0: Any, times: Any) -> bool:
        """Compute the slopes and values; return whether f on all stages is what it was on each."""
        steps, slopes, linear = self.steps, self.steps.slopes, None
        self.times, self.h = times, times[1:] - times[:-1]
        self.y0 = with_value(steps.values[0], y0)
        for k in range(order()):
            found = self.slopes_from(slopes)
            if found is None or (k == 0 and not unseen(steps.are_slopes, found)):
                return False
            residuals = with_value(steps.slopes, found) - slopes
            if not is_traced(residuals):
                break
            linear = linear or unseen(steps.linear, self.f)
            if linear is None:
                return False
            slopes = slopes + changes_of_slopes(residuals, steps=linear)
        self.slopes, self.values = slopes, self.values_from(slopes)
        return True

    def values_from(self, slopes: Any) -> Any:
        """The values at the steps."""
        added = np.cumsum(self.h[:, None] * (self.tableau.B @ slopes), axis=0)
        values = np.concatenate([self.y0[None], self.y0 + added])
        return self.steps.values + (values - stopped(values))

    def slopes_from(self, slopes: Any) -> Any:
        """The slopes by f at all stages, from slopes there. None if f is not the same function at all of them."""
        steps, shape = self.steps, slopes.shape
        t = self.times[:-1, None] + self.h[:, None] * self.tableau.C
        y = self.values_from(slopes)[:-1, None] + self.h[:, None, None] * (self.tableau.A @ slopes)
        found = self.f(np.ravel(t)[steps.where], np.reshape(y, (-1, shape[-1]))[steps.where])
        if found is None or found.size != steps.points[1].size or found.dtype != float:
            return None
        found = np.reshape(found, (-1, shape[-1]))
        if found.size != slopes.size:
            found = np.concatenate([found, np.zeros((1, shape[-1]))])[steps.back]
        return np.reshape(found, shape)

    def between(self, t: Any) -> Any:
        """The values at some times, a row for each."""
        t = np.asarray(t)
        k = unseen(self.steps.at, t)
        x = (t - self.times[:-1][k]) / self.h[k]
        weights = self.tableau.basis(x) @ self.tableau.mixture
        return self.values[k] + self.h[k][:, None] * np.einsum("es,esn->en", weights, self.slopes[k])


class DenseSolution:
    """y(t) between the times of the steps, as `OdeSolution` gives it, with its derivatives."""

    def __init__(self, native: Any, path: Path) -> None:
        self.native, self.path = native, path
        self.ts, self.t_min, self.t_max = native.ts, native.t_min, native.t_max

    def __call__(self, t: Any) -> Any:
        found = self.path.between(np.atleast_1d(t))
        return with_value(unseen(self.native, t), found[0] if np.ndim(t) == 0 else np.transpose(found))
