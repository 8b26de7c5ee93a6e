"""The `args` of solvers and integrators, in every form that SciPy takes or refuses."""

from __future__ import annotations

import collections
import inspect
import re
import warnings

import numpy as np
import pytest
from scipy import integrate, optimize

import wengert as wg
from wengert_rules.scipy.arguments import bound_arguments

Pair = collections.namedtuple("Pair", "first second")
FORMS = {
    "tuple": lambda t: (t, 1.0),
    "subclass": lambda t: Pair(t, 1.0),
    "list": lambda t: [t, 1.0],
    "array": lambda t: np.array([t, 1.0]),
    "array of one": lambda t: np.array([t]),
    "array without axes": lambda t: np.asarray(t),
    "number": lambda t: t,
    "None": lambda t: None,
    "nested": lambda t: ([t, 1.0],),
    "empty": lambda t: (),
    "values of a dict": lambda t: {"a": t}.values(),
}


def weigh(args):
    """A number that tells a list that was unpacked from one that was passed whole."""
    sums = [(k + 1) * np.sum(np.asarray(v)) ** (k + 1) for k, v in enumerate(args) if v is not None]
    return 2.0 + len(args) + sum(sums, start=0.0)


def root(x, *args):
    return x * x - weigh(args)


def square(x, *args):
    return (np.sum(x) - weigh(args)) ** 2


def residuals(p, *args):
    return np.array([p[0] - weigh(args), 1.0])


def slope(x, *args):
    return 2 * (x - weigh(args))


def excess(x, *args):
    return x[0] - weigh(args)


def decay(t, y, *args):
    return -y * weigh(args)


def norm(x, *args):
    return np.sum(x * x)


o, i = optimize, integrate
SOLVERS = {
    **{f.__name__: lambda a, f=f: f(root, 0.1, 9.0, args=a) for f in (o.brentq, o.brenth, o.ridder, o.bisect)},
    "toms748": lambda a: o.toms748(root, 0.1, 9.0, args=a),
    "newton": lambda a: o.newton(root, 1.5, args=a),
    "newton of arrays": lambda a: o.newton(root, np.array([1.5, 1.6]), args=a)[0],
    "newton(fprime)": lambda a: o.newton(root, 1.5, fprime=lambda x, *args: 2 * x, args=a),
    "root_scalar": lambda a: o.root_scalar(root, bracket=(0.1, 9.0), args=a).root,
    "fsolve": lambda a: o.fsolve(root, [1.5], args=a)[0],
    "root": lambda a: o.root(root, [1.5], args=a).x[0],
    "fixed_point": lambda a: o.fixed_point(lambda x, *args: np.cos(x) * weigh(args) / 10, 0.5, args=a),
    "minimize": lambda a: o.minimize(square, [1.0], jac=slope, args=a).x[0],
    "minimize(constraints)": lambda a: o.minimize(
        norm, [1.0], constraints=[{"type": "ineq", "fun": excess, "args": a}], tol=1e-12
    ).x[0],
    "minimize_scalar": lambda a: o.minimize_scalar(square, args=a).x,
    "fminbound": lambda a: o.fminbound(square, 0, 9, args=a),
    "golden": lambda a: o.golden(square, args=a),
    "brent": lambda a: o.brent(square, args=a),
    "fmin": lambda a: o.fmin(square, [1.0], args=a, disp=False, xtol=1e-9, ftol=1e-9)[0],
    "fmin_powell": lambda a: o.fmin_powell(square, [1.0], args=a, disp=False),
    "fmin_bfgs": lambda a: o.fmin_bfgs(square, [1.0], slope, args=a, disp=False)[0],
    "fmin_cg": lambda a: o.fmin_cg(square, [1.0], slope, args=a, disp=False)[0],
    "fmin_ncg": lambda a: o.fmin_ncg(square, [1.0], slope, args=a, disp=False, avextol=1e-12)[0],
    "fmin_l_bfgs_b": lambda a: o.fmin_l_bfgs_b(square, [1.0], slope, args=a)[0][0],
    "fmin_tnc": lambda a: o.fmin_tnc(square, [1.0], slope, args=a, disp=0)[0][0],
    "fmin_slsqp": lambda a: o.fmin_slsqp(norm, [1.0], ieqcons=[excess], args=a, iprint=0)[0],
    "fmin_cobyla": lambda a: o.fmin_cobyla(norm, [1.0], [excess], args=a)[0],
    "fmin_cobyla(consargs)": lambda a: o.fmin_cobyla(norm, [1.0], [excess], args=(), consargs=a)[0],
    "differential_evolution": lambda a: o.differential_evolution(square, [(0, 9)], args=a, seed=1, maxiter=8).x[0],
    "dual_annealing": lambda a: o.dual_annealing(square, [(0, 9)], args=a, seed=1, maxiter=3).x[0],
    "shgo": lambda a: o.shgo(square, [(0, 9)], args=a).x[0],
    "direct": lambda a: o.direct(square, [(0, 9)], args=a, maxfun=500, vol_tol=0).x[0],
    "basinhopping": lambda a: o.basinhopping(square, [1.0], minimizer_kwargs={"args": a}, niter=1, seed=1).x[0],
    "brute": lambda a: np.ravel(o.brute(square, [(0, 9)], args=a, Ns=11))[0],
    "brute(finish)": lambda a: o.brute(square, [(0, 9)], args=a, Ns=11, full_output=True, finish=None)[1],
    "least_squares": lambda a: o.least_squares(residuals, [1.0], args=a).x[0],
    "leastsq": lambda a: o.leastsq(residuals, [1.0], args=a)[0][0],
    "quad": lambda a: i.quad(lambda x, *args: x * weigh(args), 0, 1, args=a)[0],
    "fixed_quad": lambda a: i.fixed_quad(lambda x, *args: x * weigh(args), 0, 1, args=a)[0],
    "solve_ivp": lambda a: i.solve_ivp(decay, (0, 0.2), [1.0], args=a, rtol=1e-6).y[0, -1],
    "solve_ivp(LSODA)": lambda a: i.solve_ivp(decay, (0, 0.2), [1.0], "LSODA", args=a, rtol=1e-8, atol=1e-9).y[0, -1],
    "odeint": lambda a: i.odeint(decay, [1.0], [0.0, 0.2], args=a, tfirst=True)[-1, 0],
}
LOST = "ignores args= if it is an array"
"""The refusal of the solvers that add args= to a tuple, where an array takes part in the sum and is lost."""


@pytest.mark.parametrize("solver", SOLVERS)
def test_args_are_passed_on_as_scipy_passes_them(solver):
    wrong, h = [], 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for form, args in FORMS.items():
            try:
                wrong += [f"{form}: {line}" for line in _differing(lambda t, args=args: SOLVERS[solver](args(t)), h)]
            except Exception as error:
                wrong.append(f"{form}: {error!r}")
    assert not wrong, "\n".join(wrong)


def _differing(f, h):
    plain, found = _outcome(f, 0.5), _outcome(lambda t: wg.value_and_grad(f)(t), 0.5)
    if LOST in str(found):
        return
    if isinstance(plain, Exception):
        if type(found) is not type(plain) or str(found) != str(plain):
            yield f"{plain!r} plain, {found!r} traced"
        return
    if isinstance(found, Exception):
        yield f"{found!r} traced"
        return
    if found[0] != plain:
        yield f"{plain} plain, {found[0]} traced"
    difference = (f(0.5 + h) - f(0.5 - h)) / (2 * h)
    if not np.isclose(found[1], difference, rtol=3e-2, atol=1e-4):
        yield f"{found[1]}, by differences {difference}"


def _outcome(f, t):
    try:
        return f(t)
    except Exception as error:
        return error


@pytest.mark.parametrize("solver", [o.golden, o.brent, o.fmin, o.fmin_powell])
def test_an_array_that_the_solver_drops_is_refused(solver):
    start = () if solver in (o.golden, o.brent) else ([1.0],)
    with pytest.raises(wg.RefusedCallError, match=f"{solver.__name__} {LOST}"):
        wg.grad(lambda t: np.sum(solver(lambda x, *a: np.sum(x - weigh(a)) ** 2, *start, args=np.array([t]))))(0.5)


def test_an_iterator_that_the_solver_uses_up_is_refused():
    with pytest.raises(wg.RefusedCallError, match="an iterator, which the solver has used up"):
        wg.grad(lambda t: o.newton(root, 1.5, args=(v for v in [t])))(0.5)


def with_others(a, *b, c=3, **d):
    """A function with each kind of parameter, which SciPy's have not."""


CALLS = {
    "by position": (integrate.odeint, (1, 2, 3), {"rtol": 4}),
    "with others": (integrate.solve_ivp, (1, 2, 3), {"rtol": 4}),
    "any number": (with_others, (1, 2), {"e": 5}), "missing": (integrate.odeint, (1, 2), {}),
    "twice": (integrate.odeint, (1, 2, 3), {"y0": 2}), "unknown": (integrate.odeint, (1, 2, 3), {"y1": 2}),
    "too many": (integrate.odeint, tuple(range(40)), {}),
}  # fmt: skip


@pytest.mark.parametrize(("f", "given", "words"), CALLS.values(), ids=CALLS)
def test_arguments_are_bound_as_python_binds_them(f, given, words):
    def by_python():
        bound = inspect.signature(f).bind(*given, **words)
        bound.apply_defaults()
        found = dict(bound.arguments)
        return found | found.pop({"solve_ivp": "options"}.get(f.__name__, "d"), {})

    try:
        wanted = by_python()
    except TypeError as error:
        with pytest.raises(TypeError, match=re.escape(str(error))):
            bound_arguments(f, given, words)
    else:
        assert bound_arguments(f, given, words) == wanted
