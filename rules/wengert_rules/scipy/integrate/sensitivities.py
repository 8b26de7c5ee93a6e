"""Initial value problems, differentiated by differential equations: `wg.ode_adjoint("forward")` and `"continuous"`.

Along a solution of y' = f(t, y, p), tangents obey ẏ' = J ẏ + ∂f/∂p ṗ, forward in time. Cotangents obey λ' = -Jᵀ λ, back
in time, with a jump by ȳ at each time of a result; then p̄ = ∫ (∂f/∂p)ᵀ λ dt, and λ is the cotangent of y0 at the start.
J is ∂f/∂y at the solution that SciPy found, between its steps by its dense output. Both equations are solved by the
method and tolerances of the call. Source: A. Hindmarsh et al., SUNDIALS (2005), ACM TOMS 31, section 2.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import integrate, sparse

from wengert.extend import (
    NoDerivativeError,
    Sealed,
    as_written,
    batching,
    is_traced,
    jvp_rule,
    stopped,
    unseen,
    vjp_rule,
    with_value,
)
from wengert_rules.scipy.integrate.along_steps import METHODS, stages_of, step_times
from wengert_rules.scipy.integrate.recorded import recording

NODES, WEIGHTS = np.polynomial.legendre.leggauss(5)
EXPLICIT = (integrate.RK23, integrate.RK45, integrate.DOP853)
AT_ONCE = 200
"""The number of intervals between steps whose integrals are computed at once."""


def by_equations(call: dict[str, Any], kind: str) -> Any:
    """The result of a call of solve_ivp, whose derivatives are solutions of other equations."""
    method, y0 = call["method"], np.asarray(call["y0"])
    method = METHODS.get(method) if isinstance(method, str) else method
    if method not in METHODS.values() or y0.ndim != 1 or not y0.size or np.iscomplexobj(y0):
        unseen(integrate.solve_ivp, **call)  # which may refuse the call
        raise refusal(kind, "needs a method of SciPy's and a vector of real initial values")
    if call["dense_output"] or call.get("events") is not None:
        raise refusal(kind, "does not support events= and dense_output=; pass t_eval= for values at other times")
    y0, (start, _) = y0.astype(float), call["t_span"]
    f = stages_of(call["fun"], call["args"], start, y0, call["vectorized"])
    found, path = unseen(solved, method, {**call, "fun": as_written(call["fun"])})
    if f is None or f.is_put_back():
        raise refusal(kind, "needs a right-hand side that can be traced alone, and that changes nothing outside")
    if not len(times := found["t"]):
        return found
    equations = unseen(Equations, kind, method, path, (start, y0), (times, found["y"]), call)
    at = np.asarray(step_times(call, found, times) if call["t_eval"] is None else call["t_eval"])[: len(times)]
    if is_traced(start):
        y0 = y0 - slopes_at(f, kind, np.reshape(start, 1), y0[None])[0] * (start - stopped(start))
    if (products := f.products()) is None:
        raise refusal(kind, "needs a right-hand side whose calls can be compared")
    formula = f.passed_to(solution_at, y0, products=products, equations=equations)
    if is_traced(at):
        formula = formula + slopes_at(f, kind, times, equations.values) * (at - times)[:, None]
        found["t"] = with_value(times, at)
    found["y"] = with_value(found["y"], np.transpose(formula))
    return found


def refusal(kind: str, reason: str) -> NoDerivativeError:
    """The error for a call that has no such derivative."""
    return NoDerivativeError(f'wg.ode_adjoint("{kind}") {reason}. Use ode_adjoint("discrete"), the default.')


def slopes_at(f: Any, kind: str, t: Any, y: Any) -> Any:
    """Return f at some times and states, as constants."""
    found = unseen(f, t, y)
    if found is None:
        raise refusal(kind, "needs a right-hand side without branches")
    return np.reshape(found, np.shape(y))


def solved(method: Any, call: dict[str, Any]) -> tuple[Any, Any]:
    """Return the result of solve_ivp, and the solution between its steps as a function of time."""
    paths: list[Any] = []
    dense = recording(method, lambda solver: paths.append(solver.dense_output()))
    if method is integrate.DOP853:  # its dense output calls f more often
        found = integrate.solve_ivp(**call)
        integrate.solve_ivp(**{**call, "method": dense})
    else:
        found = integrate.solve_ivp(**{**call, "method": dense})
    paths = [path for path in paths if path.t != path.t_old]
    if not paths:  # all times are the start
        return found, None
    times = [path.t_old for path in paths[:1]] + [path.t for path in paths]
    return found, integrate.OdeSolution(times, paths, alt_segment=method in (integrate.BDF, integrate.LSODA))


class Equations(Sealed):
    """The equations of tangents and cotangents along a solution from `start`, which has some `values` at some `times`.

    `places` number the arguments on which it depends: y0 first, then the constants that f reads.
    """

    def __init__(self, kind: str, method: Any, path: Any, start: Any, results: Any, options: dict[str, Any]) -> None:
        self.kind, self.method, self.path = kind, method, path
        self.start, self.y0 = float(start[0]), start[1].copy()
        self.times, self.values = np.array(results[0]), np.transpose(results[1])
        self.relative, self.absolute = np.min(options.get("rtol", 1e-3)), options.get("atol", 1e-6)
        self.max_step = options.get("max_step", np.inf)

    def pushed(self, products: Any, tangents: dict[int, np.ndarray], args: Any) -> np.ndarray:
        """Return the tangents at the times, (directions, times, n), for those of the arguments, by place."""
        y0, *constants = args
        units = 1 / relative_sizes(tangents, args)  # then changes have the size of values, and the same tolerances
        scaled = {k: (dots.T * units).T for k, dots in tangents.items()}
        count, n = len(units), y0.size
        start, of_constants = scaled.pop(0, np.zeros((count, n))), {k + 1: dots for k, dots in scaled.items()}
        if not all([np.isfinite(dots).all() for dots in tangents.values()]):
            return np.full((count, *self.values.shape), np.nan)
        if self.times[-1] == self.start:
            return np.repeat(start[:, None], len(self.times), axis=1) / units[:, None, None]

        def slope(t: float, s: np.ndarray) -> np.ndarray:
            dots = {1: s.reshape(count, 1, n), **of_constants}
            return products.pushed(dots, self._at(t, constants)).ravel()

        def jacobian(t: float, _: np.ndarray) -> Any:
            J = sparse.block_diag([sparse.csc_array(self._jacobian(products, t, constants))] * count, "csc")
            return J.toarray() if self.method is integrate.LSODA else J

        absolute = np.tile(np.broadcast_to(self.absolute, n), count)
        span = self.start, self.times[-1]
        found = self._integrated(slope, jacobian, span, start.ravel(), atol=absolute, t_eval=self.times)
        return found.y.reshape(count, n, -1).swapaxes(1, 2) / units[:, None, None]

    def pulled(self, products: Any, y_bar: np.ndarray, args: Any, places: tuple[int, ...]) -> dict[int, Any]:
        """Return the cotangents of the arguments at some places."""
        if not np.isfinite(y_bar).all():
            return {k: np.full(np.shape(args[k]), np.nan) for k in places}
        y0, *constants = args
        largest, size = np.max(np.abs(y_bar), initial=0.0) or 1.0, np.max(np.abs(self.values))
        absolute = min(self.relative, np.max(self.absolute) / size) if size else self.relative

        def slope(t: float, cotangent: np.ndarray) -> np.ndarray:
            return -products.pulled(cotangent[None], self._at(t, constants), (1,))[0].ravel()

        def jacobian(t: float, _: np.ndarray) -> Any:
            return -self._jacobian(products, t, constants).T

        asked = np.flatnonzero(np.any(y_bar, axis=1))[::-1]
        cotangent, times, pieces = np.zeros(y0.size), [*self.times[asked[:1]]], list[Any]()
        for k, end in zip(asked, [*self.times[asked[1:]], self.start], strict=False):
            cotangent = cotangent + y_bar[k] / largest
            if self.times[k] != end:
                span = self.times[k], end
                found = self._integrated(slope, jacobian, span, cotangent, atol=absolute, dense_output=True)
                cotangent, times, pieces = found.y[:, -1], [*times, *found.sol.ts[1:]], pieces + found.sol.interpolants
        bars = {k: np.zeros(np.shape(args[k])) for k in places} | {0: largest * cotangent}
        if pieces and (of_constants := tuple([k + 1 for k in places if k])):
            along = integrate.OdeSolution(times, pieces)
            for t, weights in self._nodes(times):
                at = [t, self.path(t).T, *constants]
                parts = products.pulled_in_blocks(weights * along(t).T, at, of_constants)
                bars |= {k - 1: bars[k - 1] + largest * part for k, part in zip(of_constants, parts, strict=True)}
        return bars

    def by_basis(self, products: Any, y_bar: np.ndarray, args: Any, places: tuple[int, ...]) -> dict[int, Any]:
        """Return the cotangents of the arguments at some places, by their tangents in all directions."""
        sizes = [np.size(args[k]) for k in places]
        ends = np.cumsum(sizes)
        rows = np.split(np.eye(ends[-1]), ends[:-1], axis=1)
        basis = {k: row.reshape(-1, *np.shape(args[k])) for k, row in zip(places, rows, strict=True)}
        found = np.tensordot(self.pushed(products, basis, args), y_bar, 2)
        if any([np.iscomplexobj(args[k]) for k in places]):
            turned = {k: rows * (1j if np.iscomplexobj(args[k]) else 0.0) for k, rows in basis.items()}
            found = found + 1j * np.tensordot(self.pushed(products, turned, args), y_bar, 2)
        bars = np.split(found, ends[:-1])
        return {k: bar.reshape(np.shape(args[k])) for k, bar in zip(places, bars, strict=True)}

    def _nodes(self, times: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield nodes and weights of Gauss's rule between `times` and the steps of the solution, some at once.

        Where f changes fast in time, the solution has short steps, but cotangents may not.
        """
        first, last = min(times), max(times)
        direction, ts = np.sign(self.times[-1] - self.start), self.path.ts
        knots = np.unique(np.concatenate([times, ts[(first < ts) & (ts < last)]]))
        for k in range(0, len(knots) - 1, AT_ONCE):
            half = np.diff(some := knots[k : k + AT_ONCE + 1])[:, None] / 2
            yield (some[:-1, None] + half * (1 + NODES)).ravel(), direction * (half * WEIGHTS).reshape(-1, 1)

    def _jacobian(self, products: Any, t: float, constants: Any) -> np.ndarray:
        return products.pushed({1: np.eye(self.y0.size)[:, None]}, self._at(t, constants))[:, 0].T

    def _at(self, t: float, constants: Any) -> list[Any]:
        """Return the arguments of f at a time: batches of one example, and constants."""
        return [np.array([t]), self.path(t)[None], *constants]

    def _integrated(self, slope: Any, jacobian: Any, span: Any, value: np.ndarray, **words: Any) -> Any:
        if not np.isfinite([value, slope(span[0], value)]).all():  # SciPy would search a first step without end
            raise refusal(self.kind, "met a derivative that is not finite")
        if self.method not in EXPLICIT:
            words["jac"] = jacobian
        found = integrate.solve_ivp(
            slope, span, value, self.method, rtol=self.relative, max_step=self.max_step, **words
        )
        if not found.success:
            raise refusal(self.kind, f"could not integrate the derivative: {found.message}")
        return found


def relative_sizes(tangents: dict[int, np.ndarray], args: Any) -> np.ndarray:
    """Return the largest ratio of a tangent to its value, in each direction; 1 if all tangents are zero."""
    sizes = [np.max(np.abs(dots / np.where(args[k], args[k], 1.0)).reshape(len(dots), -1), axis=1)
             for k, dots in tangents.items()]  # fmt: skip
    size = np.max(sizes, axis=0)
    return np.where(size, size, 1.0)


def solution_at(y0: Any, *constants: Any, products: Any, equations: Any) -> Any:
    """The values of a solution at the times of its results, (times, n); not numbers for other arguments than its own.

    So a tape that is played on other arguments says that it is stale.
    """
    pairs = zip((y0, *constants), (equations.y0, *products.constants), strict=True)
    is_same = all([np.array_equal(*pair, equal_nan=True) for pair in pairs])
    return np.where(is_same, equations.values, np.nan)


@batching(solution_at)
def of_other_arguments(batch, *args, products, equations):
    return np.full((batch.size, *equations.values.shape), np.nan)


def cotangents_at(y_bar: Any, *args: Any, products: Any, equations: Any, places: tuple[int, ...]) -> tuple[Any, ...]:
    """The cotangents of the arguments of a solution at some places."""
    pull = equations.by_basis if equations.kind == "forward" else equations.pulled
    bars = pull(products, y_bar, args, places)
    return tuple([bars[k] for k in places])


def tangents_at(*values: Any, products: Any, equations: Any, places: tuple[int, ...]) -> Any:
    """The tangents of a solution, (directions, times, n), for those of its arguments at some places, then arguments."""
    count = len(places)
    return equations.pushed(products, dict(zip(places, values[:count], strict=True)), values[count:])


@vjp_rule(solution_at)
def solution_at_(y_bar, y, *args, products, equations, wanted):
    places = tuple([k for k in range(len(args)) if wanted[k]])
    bars = cotangents_at(y_bar, *args, products=products, equations=equations, places=places)
    return tuple([bars[places.index(k)] if k in places else None for k in range(len(args))])


@jvp_rule(solution_at, broadcasts=True)
def push_solution_at(tangents, y, *args, products, equations):
    places = tuple([k for k in range(len(args)) if tangents[k] is not None])
    first = places[0]
    count = len(tangents[first]) if np.ndim(tangents[first]) > np.ndim(args[first]) else None
    dots = [np.reshape(tangents[k], (count or 1, *np.shape(args[k]))) for k in places]
    found = tangents_at(*dots, *args, products=products, equations=equations, places=places)
    return found[0] if count is None else found


@vjp_rule(cotangents_at)
@vjp_rule(tangents_at)
def refused(y_bar, y, *args, products, equations, places):
    raise refusal(equations.kind, "has first derivatives only")


@jvp_rule(cotangents_at)
@jvp_rule(tangents_at)
def push_refused(tangents, y, *args, products, equations, places):
    raise refusal(equations.kind, "has first derivatives only")
