"""Derivatives of scipy.special against closed forms and reference numbers, at edges, and what is refused."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from samples_special import SOLVED, SPHEROIDAL
from scipy import special as sc

import wengert as wg


def test_an_argument_without_derivative_is_refused_by_reason_and_costs_the_others_nothing() -> None:
    assert wg.grad(lambda x: sc.polygamma(1.0, x))(1.0) == pytest.approx(-2 * sc.zeta(3))
    with pytest.raises(wg.NoDerivativeError, match="integer"):
        wg.grad(lambda n: sc.polygamma(n, 1.0))(1.0)


SLOPES = [  # by mpmath, to 17 digits
    (sc.erfcx, 1e4, -5.6418957508491275e-9),
    (sc.dawsn, 1e4, -5.000000075000001875e-9),
    (sc.log_ndtr, -1e4, 10000.000099999998),
    (sc.expit, 40.0, 4.2483542552915889592e-18),
    (sc.rgamma, -3.0, -6.0),
    (sc.rgamma, 0.0, 1.0),
    (sc.exprel, 1e-9, 0.50000000033333333346),
    (lambda z: sc.spherical_kn(2, z, True), 1.5, 6.931953600064365198175),
]


@pytest.mark.parametrize(("f", "x", "slope"), SLOPES)
def test_no_digits_are_lost_where_differences_cancel(f: Any, x: float, slope: float) -> None:
    assert wg.grad(f)(x) == pytest.approx(slope, rel=1e-12, abs=0)


def test_factors_of_zero() -> None:
    assert wg.grad(lambda y: sc.xlogy(0.0, y))(0.0) == 0
    assert wg.grad(lambda y: sc.xlog1py(0.0, y))(-1.0) == 0
    assert wg.grad(lambda y: sc.rel_entr(0.0, y))(0.0) == 0
    assert wg.grad(lambda y: sc.kl_div(0.0, y))(0.5) == 1


def test_binomials_of_whole_numbers_move() -> None:
    """Where Γ is infinite below the line, the value is 0 and the slope is not."""
    for f in (lambda n: sc.binom(n, 5.0), lambda k: sc.binom(3.0, k), lambda b: sc.beta(-0.5, b)):
        for x in (3.0, -0.5):
            with np.errstate(all="ignore"):
                step = (f(x + 1e-5) - f(x - 1e-5)) / 2e-5
                if math.isfinite(f(x)):
                    assert wg.grad(f)(x) == pytest.approx(step, rel=1e-7, abs=1e-9)


def test_sums_of_exponentials_of_nothing() -> None:
    x = np.array([-np.inf, -np.inf])
    np.testing.assert_array_equal(wg.grad(sc.logsumexp)(x), [0, 0])
    np.testing.assert_array_equal(wg.grad(sc.logsumexp)(np.array([-np.inf, 2.0])), [0, 1])


PARAMETERS = [  # by mpmath, at 60 digits: f, arguments, the derivative in the first
    (sc.gammainc, (1e-8, 2e-6), -12.545148155143379015),
    (sc.gammainc, (0.001, 2e-6), -12.390365050111752784),
    (sc.gammainc, (2.5, 2e-6), -2.4213987642296162665e-14),
    (sc.gammainc, (1.0, 200.0), -8.138014981056341360348909469e-87),
    (sc.gammainc, (100.0, 100.0), -0.039927497857786052221),
    (sc.gammainc, (3000.0, 3000.0), -0.0072838585327866667202),
    (sc.gammaincc, (100.0, 100.0), 0.039927497857786052221),
    (sc.betainc, (1e-6, 1e-6, 0.2), -250000.34657269428083),
    (sc.betainc, (0.7, 0.7, 0.5), -0.44838062985294540825),
    (sc.betainc, (1000.0, 1000.0, 0.5), -0.0089224793360001416993),
    (sc.betaincc, (50.0, 50.0, 0.5), 0.040060974249332891936),
    (sc.ncfdtr, (3.0, 50.0, 100.0, 30.0), 0.40424110395188647873),  # of a mixture of which every second term is taken
    (lambda dfd: sc.ncfdtr(3.0, dfd, 100.0, 30.0), (50.0,), -0.00052115098887434653),
    (lambda dfd: sc.ncfdtr(3.0, dfd, 1500.0, 450.0), (50.0,), -0.00141163918401175623),  # every fifth term
]


@pytest.mark.parametrize(("f", "args", "slope"), PARAMETERS)
def test_parameters_of_incomplete_functions(f: Any, args: tuple[float, ...], slope: float) -> None:
    assert wg.grad(lambda a: f(a, *args[1:]))(args[0]) == pytest.approx(slope, rel=1e-11, abs=0)


SLOPES_IN_PARAMETERS = [  # by mpmath, at 40 digits
    (lambda v: sc.jv(v, 6.5), 1.25, -0.28700237198523383988),
    (lambda v: sc.iv(v, 300.0), 1.25, -1.8631839699911098983e126),
    (lambda v: sc.kv(v, 0.75), 1.25, 1.2522232380249503326),
    (lambda v: sc.kv(v, 20.0), 7.5, 8.0191848468813205249e-10),
    (lambda a: sc.hyp1f1(a, 2.5, -40.0), 1.25, -0.056273915778471500544),
    (lambda a: sc.hyp1f1(a, 2.5, 40.0), 1.25, 13246050681479503.393),
    (lambda v: sc.hyp0f1(v, -8.0), 1.25, -0.27330832127229957033),
    (lambda a: sc.hyp2f1(a, 0.75, 2.5, 0.9375), 1.25, 1.5725721241704390749),
    (sc.zeta, 1.125, -63.92841074666850837),
    (sc.zeta, -7.5, 0.0043497876618448268243),
    (lambda x: sc.zeta(x, 0.0625), 9.5, 762123384785.7755923),
    (sc.ellipk, 0.9990234375, 511.16104791777716379),
    (sc.ellipk, 1e-9, 0.39269908214051062218),
    (lambda m: sc.ellipkinc(4.0, m), 0.5, 1.8187517342763671154),
    (sc.spence, 1.0009765625, -0.99951203640878990946),
    (lambda a: sc.betaln(a, 0.5), 1e8, -5.0000000125e-9),
]


@pytest.mark.parametrize(("f", "x", "slope"), SLOPES_IN_PARAMETERS)
def test_parameters_by_series_and_quadrature(f: Any, x: float, slope: float) -> None:
    assert wg.grad(f)(x) == pytest.approx(slope, rel=1e-9, abs=0)


def test_ends_of_incomplete_functions() -> None:
    """The derivative in x at 0 is the density there, those in the parameters are 0."""
    for a, density in ((2.0, 0.0), (1.0, 1.0)):
        assert wg.grad(sc.gammainc, argnums=(0, 1))(a, 0.0) == (0, density)
        assert wg.grad(sc.betainc, argnums=(0, 1, 2))(a, 1.0, 0.0) == (0, 0, density)
    assert wg.grad(wg.grad(lambda x: sc.gammainc(2.0, x)))(0.0) == 1
    assert wg.grad(sc.gammainc, argnums=(0, 1))(2.0, np.inf) == (0, 0)
    assert wg.grad(lambda a: sc.gammaincinv(a, 0.0))(2.0) == 0
    assert wg.grad(sc.stdtr, argnums=(0, 1))(3.0, 0.0) == (0, pytest.approx(2 / (math.pi * math.sqrt(3))))


REFUSED = [
    (lambda n: sc.polygamma(n, 1.0), "integer"),
    (lambda v: sc.yv(v, 1.0), "order"),
    (lambda v: sc.jve(v, 1.0), "order"),
    (lambda v: sc.jv(v, 100.0), "cancels"),
    (lambda v: sc.ive(v, 800.0), "overflows"),
    (lambda n: sc.eval_legendre(n, 0.3), "degree"),
    (lambda b: sc.hyperu(1.0, b, 0.3), "parameter"),
    (lambda c: sc.hyp2f1(1.0, 2.0, c, -3.0), "series"),
    (lambda c: sc.pro_cv(1, 2, c), "parameter"),
    (lambda q: wg.grad(lambda q: sc.mathieu_a(2, q))(q), "second derivative"),
    (lambda q: wg.grad(lambda q: sc.mathieu_b(2, q))(q), "second derivative"),
]


@pytest.mark.parametrize(("f", "why"), REFUSED)
def test_parameters_without_a_formula_are_refused(f: Any, why: str) -> None:
    for derive in (wg.grad(f), lambda x: wg.jvp(f, (x,), (1.0,))):
        with pytest.raises(wg.NoDerivativeError, match=why):
            derive(1.5)


@pytest.mark.parametrize("f", SPHEROIDAL, ids=lambda f: f.__name__)
def test_spheroidal_functions_of_a_given_characteristic_value(f: np.ufunc) -> None:
    of = sc.pro_cv if f.__name__.startswith("pro") else sc.obl_cv
    value, x = of(1, 3, 2.0), 0.4 if "ang" in f.__name__ else 2.2
    wg.check_grads(lambda x: f(1, 3, 2.0, value, x)[0] + 0.5 * f(1, 3, 2.0, value, x)[1], x)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_noncentral_f_distribution_is_solved_for_each_parameter(place: int) -> None:
    """Put in place of the parameter, the solution gives the probability back, whatever the others are."""
    args = [3.0, 4.0, 0.8]

    def back(p: float, *others: float) -> float:
        first, last = others[:place], others[place:]
        given = [p, *others] if place == 0 else [*first, p, *last]
        return sc.ncfdtr(*first, SOLVED[place](*given, 1.05), *last, 1.05)

    others = args[:place] + args[place + 1 :]
    slopes = wg.grad(back, argnums=(0, 1, 2))(sc.ncfdtr(*args, 1.05), *others)
    np.testing.assert_allclose(slopes, [1, 0, 0], atol=1e-4)


X = np.array([0.4, 1.3])
EVERYWHERE = [
    lambda x: sc.logsumexp(x) + np.sum(sc.softmax(x) * sc.log_softmax(x, axis=0)),
    lambda x: np.sum(sc.gammainc(x, 1.2) + sc.gammaincinv(x, 0.4) + sc.betainc(x, 0.7, 0.3)),
    lambda x: np.sum(sc.stdtr(x, 1.3) + sc.polygamma(2, x) + sc.multigammaln(x + 2, 2)),
    lambda x: np.sum(sc.boxcox(2.0, x) + sc.elliprd(x, 0.3, 1.2) + sc.zeta(x + 1.5, 2.0) + sc.log_ndtr(x)),
    lambda x: np.sum(sc.kv(x, 1.2) + sc.airy(x)[1] + sc.ellipj(x, 0.3)[2] + sc.voigt_profile(0.3, x, 0.5)),
]


@pytest.mark.parametrize("f", EVERYWHERE)
def test_batches_are_taken_at_once(f: Any) -> None:
    batch = np.stack([X, X + 0.2, X * 1.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.NoBatchingRuleWarning)
        found = wg.vmap(wg.grad(f))(batch)
    np.testing.assert_allclose(found, [wg.grad(f)(x) for x in batch], rtol=1e-12)


def test_results_are_written_where_a_mask_says() -> None:
    mask = np.array([True, False])

    def f(x: np.ndarray) -> Any:
        y, ai, rest = x * 2.0, np.zeros(2), [np.zeros(2) for _ in range(3)]
        sc.gammaln(x, out=y, where=mask)
        sc.airy(x, out=(ai, *rest))
        return np.sum(y * y) + np.sum(ai) + np.sum(sc.erf(x, where=mask, out=np.zeros(2)))

    wg.check_grads(f, X)


def test_ends_are_no_holes() -> None:
    """Where a term of a formula is infinite or a difference of infinities, the derivative is its limit."""
    assert wg.grad(sc.i1e)(np.inf) == 0
    assert wg.grad(sc.i1)(0.0) == 0.5
    assert wg.grad(sc.k1e)(0.0) == -np.inf
    assert wg.grad(sc.y1)(0.0) == np.inf
    assert wg.grad(sc.rgamma)(np.inf) == 0
    assert wg.grad(sc.it2struve0)(0.0) == pytest.approx(-2 / math.pi)
    assert wg.grad(lambda x: sc.sici(x)[0])(0.0) == 1
    assert wg.grad(sc.spence)(1.0) == -1
    assert wg.grad(sc.ellipk)(0.0) == pytest.approx(math.pi / 8)
    assert wg.grad(lambda x: sc.spherical_jn(1, x))(0.0) == pytest.approx(1 / 3)
    assert wg.grad(lambda x: sc.eval_legendre(3, x))(1.0) == 6
    assert wg.grad(lambda x: sc.eval_chebyt(0.0, x))(-1.5) == 0
    assert wg.grad(lambda x: sc.boxcox(0.0, x))(2.0) == 0.25
    for k in (0, 1):
        assert wg.grad(sc.fdtr, argnums=(0, 1))(3.0, 2.0, np.inf)[k] == 0
        assert wg.grad(sc.fdtr, argnums=(0, 1))(3.0, 2.0, 0.0)[k] == 0
    assert wg.grad(sc.gdtr, argnums=(0, 1))(3.0, 0.4, 0.0) == (0, 0)
    assert wg.grad(sc.voigt_profile, argnums=(0, 1, 2))(0.3, 0.0, 1.0)[1] == 0


def test_large_arguments_warn_of_nothing() -> None:
    """Γ is infinite from 172 on, which is nobody's business where the result is not."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wg.grad(sc.binom, argnums=(0, 1))(1000.0, 500.0)[1] == 0
        assert wg.grad(sc.beta)(1000.0, 1000.0) == 0
        assert wg.grad(sc.betaln)(1e4, 1e4) == pytest.approx(-0.693172181184945308635982, rel=1e-12)
        assert np.isfinite(wg.grad(lambda z: sc.poch(z, 1.5))(1e4))


def by_differences(f: Any, x: float) -> Any:
    return (f(x + 1e-5) - f(x - 1e-5)) / 2e-5


@pytest.mark.filterwarnings("ignore:floating point number truncated", "ignore:non-integer arg n")
@pytest.mark.parametrize("f", [sc.expn, sc.kn, sc.yn, sc.pdtri], ids=lambda f: f.__name__)
def test_orders_that_are_cut_to_whole_numbers(f: Any) -> None:
    for n in (0.5, 1.5, 2.7):
        np.testing.assert_allclose(
            wg.grad(lambda x, n=n: f(n, x))(0.6), by_differences(lambda x, n=n: f(n, x), 0.6), 1e-6
        )


@pytest.mark.filterwarnings("ignore:floating point number truncated", "ignore:non-integer arg n")
@pytest.mark.parametrize("name", ["bdtr", "bdtrc", "bdtri", "nbdtr", "nbdtrc", "nbdtri"])
def test_counts_that_are_cut_to_whole_numbers(name: str) -> None:
    def f(p: Any) -> Any:
        return getattr(sc, name)(1.0, 3.7, p)

    np.testing.assert_allclose(wg.grad(f)(0.4), by_differences(f, 0.4), rtol=1e-6)


@pytest.mark.parametrize("gamma", [-0.5, -1e-3, 0.0, 0.5])
def test_the_profile_of_voigt_goes_on_through_a_width_of_zero(gamma: float) -> None:
    for i, x in enumerate((0.7, 0.9, gamma)):

        def f(v: Any, i: int = i) -> Any:
            return sc.voigt_profile(*[v if i == k else w for k, w in enumerate((0.7, 0.9, gamma))])

        np.testing.assert_allclose(wg.grad(f)(x), by_differences(f, x), rtol=1e-6)


@pytest.mark.parametrize("call", [(sc.pdtrik, 0.5, 0.5), (sc.bdtrik, 0.1, 3.0, 0.3), (sc.nbdtrik, 0.1, 3.0, 0.6)])
def test_counts_that_would_be_negative_are_zero_and_stay_so(call: Any) -> None:
    f, *args = call
    assert f(*args) == 0
    assert wg.grad(f, argnums=tuple(range(len(args))))(*args) == (0,) * len(args)


def test_students_t_of_infinitely_many_degrees_is_normal() -> None:
    normal = np.exp(-0.045) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(wg.grad(sc.stdtr, argnums=(0, 1))(np.inf, 0.3), (0.0, normal))
    np.testing.assert_allclose(wg.grad(wg.grad(lambda t: sc.stdtr(np.inf, t)))(0.3), -0.3 * normal)
    np.testing.assert_allclose(wg.grad(sc.stdtrit, argnums=(0, 1))(np.inf, sc.ndtr(0.3)), (0.0, 1 / normal))


def test_a_tape_sums_exponentials_over_a_tuple_of_axes() -> None:
    def f(x: Any) -> Any:
        return np.sum(sc.logsumexp(x, axis=(0,)) ** 2)

    x = np.arange(6.0).reshape(2, 3) / 7
    weights = np.exp(x) / np.sum(np.exp(x), axis=0)
    value, (_, found) = wg.gradtape(f, np.zeros((2, 3))).play(x)
    assert np.isclose(value, f(x)) and np.allclose(found, 2 * np.log(np.sum(np.exp(x), axis=0)) * weights)
