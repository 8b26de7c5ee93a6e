"""A trace computes with the kinds of numbers of the plain run: Python's floats raise where NumPy's return inf."""

import math
import operator

import numpy as np
import pytest

import wengert as wg

pytestmark = pytest.mark.filterwarnings("ignore")
POINTS = [0.0, -1.0, 1.5, 1e200, math.inf, math.nan]
OTHERS = [0, 0.0, -1, 0.5, -0.5, True, np.int64(0)]
OPERATORS = [operator.truediv, operator.floordiv, operator.mod, operator.pow, divmod, operator.add, operator.lt]
UFUNCS = [np.divide, np.power, np.float_power, np.remainder, np.fmod, np.copysign, np.hypot, np.arctan2, np.logaddexp]
OF_TWO = [*OPERATORS, *UFUNCS, math.pow, math.fmod, math.hypot, math.atan2, math.copysign]
OF_ONE = [
    np.sqrt, np.log, np.log1p, np.reciprocal, np.arcsin, np.arctanh, np.arccosh, np.exp, np.sinh, np.cbrt, np.sign,
    math.sqrt, math.log, math.log1p, math.gamma, math.atanh, math.asin, math.exp, math.sinh, math.cbrt, math.lgamma,
    abs, float, operator.neg, operator.pos, round, int, bool, type, repr, str, math.floor, math.trunc, math.isnan,
]  # fmt: skip
QUESTIONS = {
    "round to a digit": lambda x: round(x, 1),
    "is_integer": lambda x: x.is_integer(),
    "isinstance": lambda x: (isinstance(x, float), isinstance(x, np.floating)),
    "format": lambda x: f"{x:.3f}",
    "real": lambda x: x.real,
    "conjugate": lambda x: x.conjugate(),
    "sum": lambda x: sum([x, x]),
    "prod": lambda x: math.prod([x, x]),
    "ldexp": lambda x: math.ldexp(x, 2000),
    "product": lambda x: x * x * x,
}
ARGUMENTS = {"float": lambda x: x, "NumPy's float": np.float64, "float32": np.float32, "array": np.array}


def calls(f):
    """Yield a function of two arguments with each other number, on the right and on the left."""
    for other in OTHERS:
        yield lambda x, other=other: f(x, other)
        yield lambda x, other=other: f(other, x)


def shown(f, x):
    with np.errstate(all="ignore"):
        try:
            return repr(f(x))
        except (ArithmeticError, ValueError, TypeError, AttributeError) as error:
            return type(error).__name__, str(error)


def shown_in_a_trace(f, x):
    found = []

    def g(x):
        found.append(shown(f, x))
        return 0.0 * np.sum(x)

    wg.grad(g)(x)
    return found[0]


@pytest.mark.parametrize("kind", ARGUMENTS)
@pytest.mark.parametrize("f", [*OF_ONE, *OF_TWO, *QUESTIONS.values()])
def test_a_trace_shows_the_numbers_and_errors_of_the_plain_run(f, kind):
    for point in POINTS:
        for call in calls(f) if f in OF_TWO else (f,):
            x = ARGUMENTS[kind](point)
            try:
                found = shown_in_a_trace(call, x)
            except wg.RefusedCallError:  # an integer with all digits of a float
                continue
            assert found == shown(call, x), (point, kind)


def real_number(f, x):
    """Return the value as a float; None if it is not one, or the call raises."""
    with np.errstate(all="ignore"):
        try:
            y = f(x)
        except (ArithmeticError, ValueError, TypeError):
            return None
    return float(y) if type(y) in (float, np.float64) else None


def tangent(f, x):
    return wg.jvp(f, (x,), (x * 0 + 1.0 if math.isfinite(x) else 1.0,))[1]


DERIVATIVES = {
    "grad": lambda f: wg.grad(f),
    "jvp": lambda f: lambda x: tangent(f, x),
    "grad of grad": lambda f: wg.grad(wg.grad(f)),
    "jvp of grad": lambda f: lambda x: tangent(wg.grad(f), x),
    "grad of jvp": lambda f: wg.grad(lambda x: tangent(f, x)),
    "jvp of jvp": lambda f: lambda x: tangent(lambda x: tangent(f, x), x),
}
"""Each is of a function of a number."""


@pytest.mark.parametrize("way", DERIVATIVES)
@pytest.mark.parametrize("f", [*OF_ONE[:21], *OF_TWO[:4], *OF_TWO[7:]])
def test_derivatives_at_pythons_floats_are_those_at_numpys(f, way):
    for call in calls(f) if f in OF_TWO else (f,):
        found = DERIVATIVES[way](call)
        for point in POINTS:
            values = real_number(call, point), real_number(call, np.float64(point))
            if None in values or repr(values[0]) != repr(values[1]):
                continue
            with np.errstate(all="ignore"):
                at_both = found(point), found(np.float64(point))
            np.testing.assert_array_equal(*at_both, err_msg=f"at {point}")


@pytest.mark.parametrize("way", ["grad", "jvp"])
@pytest.mark.parametrize(
    ("f", "x", "slope"),
    [
        (lambda x: np.power(x, 0.5), -1.0, math.nan),
        (lambda x: np.divide(x, 0), 2.0, math.inf),
        (lambda x: np.divide(x, 0), math.inf, math.inf),
        (lambda x: np.divide(0, x), 0.0, math.nan),
        (lambda x: np.power(x, -1), 0.0, -math.inf),
        (lambda x: math.pow(x, 0.5), 0.0, math.inf),
        (lambda x: np.sum(np.array([x, x])) / 0, 1.0, math.inf),
    ],
)
def test_divisions_by_zero_have_the_slopes_of_ieee_arithmetic(f, x, slope, way):
    with np.errstate(all="ignore"):
        np.testing.assert_equal(float(DERIVATIVES[way](f)(x)), slope)


def test_a_constant_factor_leaves_nothing_to_push():
    """The slope of copysign is piecewise constant, as its factor is."""
    assert wg.jvp(wg.grad(lambda x: np.copysign(x, 2.0)), (1.5,), (1.0,)) == (1.0, 0.0)
