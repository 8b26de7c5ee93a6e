"""Minima: with bounds and constraints, those that hold the point count as equations."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy import optimize

from wengert.extend import RefusedCallError, grad, minimum, stands_for, unseen, with_value
from wengert_rules.scipy.arguments import arguments, in_tuple, joined, unpacked
from wengert_rules.scipy.optimize.limits import as_ends, limits_of


def objective_of(f: Any, args: Any, has_jacobian: bool = False) -> Any:
    """x ↦ f(x, *args) as a number; of a function that gives its gradient, too, the first of both."""

    def objective(x: Any) -> Any:
        value = f(x, *args)
        value = value[0] if has_jacobian else value
        return value if np.ndim(value) == 0 else np.sum(value)

    return objective


def gradient_of(f: Any, jac: Any, args: Any) -> Any:
    """x ↦ ∂f/∂x, by the user's own function where there is one."""
    if jac is True:
        return lambda x: np.asarray(f(x, *args)[1])
    if callable(jac):
        return lambda x: np.ravel(np.asarray(jac(x, *args)))
    return grad(objective_of(f, args))


def least(found: Any, call: Any, f: Any, jac: Any = None, hess: Any = None, limits: Any = (None, ())) -> Any:
    """The point `found` as the one where f is least."""
    x, args = np.ravel(np.asarray(found, float)), call["args"]
    if not callable(hess) or isinstance(hess, optimize.HessianUpdateStrategy):
        hess = None
    hessian = hess and (lambda x: hess(x, *args))
    gaps, is_equality = limits_of(x, *limits)
    x = minimum(gradient_of(f, jac, args), x, hessian, gaps, is_equality)
    return x if np.shape(found) == np.shape(x) else np.reshape(x, np.shape(found))


def in_result(found: Any, x: Any, value: Any) -> Any:
    """An OptimizeResult with its point, and the value there."""
    found["x"], found["fun"] = x, with_value(found["fun"], value)
    return found


def own(value: Any) -> Any:
    """A copy of Bounds, since SciPy replaces their attributes by constants; any other value itself."""
    return copy.copy(value) if isinstance(value, optimize.Bounds) else value


@stands_for(optimize.minimize)
def minimize(*given: Any, **words: Any) -> Any:
    call = arguments(optimize.minimize, given, words)
    f, jac, limits = call["fun"], call["jac"], (as_ends(call["bounds"]), call["constraints"])
    given, words = tuple(map(own, given)), {name: own(value) for name, value in words.items()}
    found, call["args"] = unseen(optimize.minimize, *given, **words), in_tuple(call["args"])
    x = least(found["x"], call, f, jac, call["hess"], limits)
    return in_result(found, x, objective_of(f, call["args"], jac is True)(x))


@stands_for(optimize.minimize_scalar)
def minimize_scalar(*given: Any, **words: Any) -> Any:
    call, found = arguments(optimize.minimize_scalar, given, words), unseen(optimize.minimize_scalar, *given, **words)
    f, bounds, call["args"] = call["fun"], call["bounds"], in_tuple(call["args"])
    x = of_one_number(found["x"], call, f, bounds and as_ends([(bounds[0], bounds[1])]))
    return in_result(found, x, objective_of(f, call["args"])(x))


def of_one_number(found: Any, call: Any, f: Any, bounds: Any = None) -> Any:
    """The number `found` as the one for which f is least."""
    return least(np.reshape(found, 1), call, lambda x, *args: f(x[0], *args), limits=(bounds, ()))[0]


def _of_numbers(native: Any, *ends: str) -> None:
    @stands_for(native)
    def point(*given: Any, **words: Any) -> Any:
        call, found = arguments(native, given, words), unseen(native, *given, **words)
        f, args = call["func"], call["args"]
        call["args"] = unpacked(args) if ends else joined(native, args)
        x = of_one_number(
            found[0] if call["full_output"] else found,
            call,
            f,
            as_ends([tuple([call[e] for e in ends])]) if ends else None,
        )
        return in_tuple_of(found, x, f, call) if call["full_output"] else x


def in_tuple_of(found: Any, x: Any, f: Any, call: Any, has_jacobian: bool = False) -> Any:
    """The results `(x, f(x), ...)` of a function of the older kind."""
    return x, with_value(found[1], objective_of(f, call["args"], has_jacobian)(x)), *found[2:]


_of_numbers(optimize.fminbound, "x1", "x2")
_of_numbers(optimize.golden)
_of_numbers(optimize.brent)


JOINING = (optimize.fmin, optimize.fmin_powell)


def _of_vectors(native: Any) -> None:
    @stands_for(native)
    def point(*given: Any, **words: Any) -> Any:
        call, found = arguments(native, given, words), unseen(native, *given, **words)
        f, args = call["func"] if "func" in call else call["f"], call["args"]
        call["args"] = joined(native, args) if native in JOINING else unpacked(args)
        several = call.get("full_output", native is not optimize.fmin_cobyla)
        jac = call.get("fprime")
        has_jacobian = jac is None and call.get("approx_grad", True) in (0, False)
        limits = (as_ends(call.get("bounds") or None), older_constraints(call))
        x = least(found[0] if several else found, call, f, has_jacobian or jac, call.get("fhess"), limits)
        if not several:
            return x
        if native is optimize.fmin_tnc:
            return x, *found[1:]
        return in_tuple_of(found, x, f, call, has_jacobian)


def older_constraints(call: Any) -> list[Any]:
    """The constraints of the functions of the older kind, as dictionaries."""
    args = call["args"]
    made = [{"type": "eq", "fun": c, "args": args} for c in call.get("eqcons", ())]
    made += [{"type": "ineq", "fun": c, "args": args} for c in call.get("ieqcons", ())]
    for kind, name in (("eq", "f_eqcons"), ("ineq", "f_ieqcons")):
        if call.get(name) is not None:
            made.append({"type": kind, "fun": call[name], "args": args})
    cons, own = call.get("cons", ()), call.get("consargs")
    cons = [cons] if callable(cons) else cons
    return made + [{"type": "ineq", "fun": c, "args": args if own is None else own} for c in cons]


for _native in (
    optimize.fmin, optimize.fmin_bfgs, optimize.fmin_cg, optimize.fmin_ncg, optimize.fmin_powell,
    optimize.fmin_l_bfgs_b, optimize.fmin_tnc, optimize.fmin_slsqp, optimize.fmin_cobyla,
):  # fmt: skip
    _of_vectors(_native)


def _over_all(native: Any) -> None:
    @stands_for(native)
    def point(*given: Any, **words: Any) -> Any:
        call = arguments(native, given, words)
        if call.get("integrality") is not None:
            raise RefusedCallError(
                f"scipy.optimize.{native.__name__} has no derivative here with integrality=. Fix the integers, and "
                "optimise over the other variables."
            )
        f, limits = call["func"], (as_ends(call["bounds"]), call.get("constraints") or ())
        f = in_columns(f) if call.get("vectorized") else f
        found, call["args"] = unseen(native, *given, **words), unpacked(call["args"])
        x = least(found["x"], call, f, limits=limits)
        return in_result(found, x, objective_of(f, call["args"])(x))


def in_columns(f: Any) -> Any:
    """A function of many points, in columns, as one of a point."""
    return lambda x, *args: f(x[:, None], *args)


for _native in (optimize.differential_evolution, optimize.dual_annealing, optimize.shgo, optimize.direct):
    _over_all(_native)


@stands_for(optimize.basinhopping)
def basinhopping(*given: Any, **words: Any) -> Any:
    call = arguments(optimize.basinhopping, given, words)
    f, options = call["func"], dict(call["minimizer_kwargs"] or {})
    jac, args = options.get("jac"), in_tuple(options.get("args", ()))
    limits = (as_ends(options.get("bounds")), options.get("constraints", ()))
    found = unseen(optimize.basinhopping, *given, **words)
    x = least(found["x"], {"args": args}, f, jac, options.get("hess"), limits)
    return in_result(found, x, objective_of(f, args, jac is True)(x))


@stands_for(optimize.brute)
def brute(*given: Any, **words: Any) -> Any:
    """Without finish= the point is one of the grid, a constant."""
    call, found = arguments(optimize.brute, given, words), unseen(optimize.brute, *given, **words)
    f, x, args = call["func"], found[0] if call["full_output"] else found, call["args"]
    args = args if np.iterable(args) else (args,)
    call["args"] = unpacked(args) if call["finish"] is None else joined(optimize.brute, args)
    if call["finish"] is not None:
        x = least(x, call, f)
    return in_tuple_of(found, x, f, call) if call["full_output"] else x
