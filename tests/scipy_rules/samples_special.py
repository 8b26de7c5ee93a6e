"""Samples of scipy.special: tables of its functions, with the interval of each argument."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sampling import Sample, call, values
from scipy import special as sc

from wengert_rules.scipy.special import (
    densities,
    distributions,
    elliptic,
    error_functions,
    gammas,
    hypergeometric,
    incomplete,
    powers,
    series,
    waves,
)

# Ufuncs of one argument: the functions, the interval, whether they take complex numbers.
UNARY = [
    ([sc.erf, sc.erfc, sc.erfcx, sc.erfi, sc.dawsn, sc.ndtr, sc.log_ndtr], -2, 2, True),
    ([sc.erfcx, sc.dawsn], 21, 23, True),
    ([sc.log_ndtr], -23, -21, False),
    ([sc.erfinv], -0.8, 0.8, False),
    ([sc.erfcinv], 0.2, 1.8, False),
    ([sc.ndtri], 0.1, 0.9, False),
    ([sc.ndtri_exp], -4, -0.1, False),
    ([sc.gammaln], 0.3, 4, False),
    ([sc.gammaln], -3.8, -3.2, False),
    ([sc.gamma, sc.digamma, sc.rgamma, sc.loggamma], 0.3, 4, True),
    ([sc.gamma, sc.digamma, sc.rgamma], -3.8, -3.2, True),
    ([sc.rgamma], -3.1, -2.9, False),
    ([sc.expit, sc.log_expit, sc.exprel, sc.cosm1], -3, 3, False),
    ([sc.logit], 0.1, 0.9, False),
    ([sc.cbrt], 0.3, 2, False),
    ([sc.exp2, sc.exp10], -2, 2, False),
    ([sc.expm1, sc.log1p], -0.5, 2, True),
    ([sc.entr], 0.3, 2, False),
    ([sc.sindg, sc.cosdg, sc.tandg], -80, 80, False),
    ([sc.cotdg], 10, 80, False),
    ([sc.j0, sc.j1, sc.y0, sc.y1, sc.i0, sc.i1, sc.i0e, sc.i1e, sc.k0, sc.k1, sc.k0e, sc.k1e], 0.4, 4, False),
    ([sc.j0, sc.j1, sc.i0, sc.i1, sc.i0e, sc.i1e], -3, -1, False),
    ([sc.airy, sc.airye], 0.4, 2, True),
    ([sc.airy], -3, -1, True),
    ([sc.ber, sc.bei, sc.ker, sc.kei, sc.berp, sc.beip, sc.kerp, sc.keip, sc.kelvin], 0.4, 4, False),
    ([sc.sici, sc.shichi, sc.fresnel, sc.expi, sc.exp1, sc.spence], 0.4, 2, True),
    ([sc.modfresnelp, sc.modfresnelm, sc.itairy, sc.itj0y0, sc.iti0k0, sc.it2j0y0, sc.it2i0k0], 0.4, 2, False),
    ([sc.itstruve0, sc.it2struve0, sc.itmodstruve0], 0.4, 2, False),
    ([sc._ufuncs._riemann_zeta], 1.5, 4, True),
    ([sc._ufuncs._riemann_zeta, sc.zetac], -3.5, -0.5, False),
    ([sc.ellipk, sc.ellipe], -1, 0.8, False),
    ([sc.ellipkm1], 0.1, 2, False),
    ([sc.wrightomega], -2, 2, True),
]

# Of several arguments: the functions and the interval of each, whether they take complex numbers.
SEVERAL = [
    ([sc.beta, sc.betaln, sc.poch], [(0.3, 4), (0.3, 4)], False),
    ([gammas.digamma_difference], [(0.3, 4), (0.3, 4)], False),
    ([gammas.digamma_difference], [(21, 40), (21, 40)], False),
    ([sc.binom], [(4, 5), (1.2, 2.8)], False),
    ([sc.xlogy, sc.xlog1py], [(-2, 2), (0.3, 2)], True),
    ([sc.rel_entr, sc.kl_div], [(0.3, 2), (0.3, 2)], False),
    ([sc.powm1, sc.boxcox, sc.boxcox1p, sc.inv_boxcox, sc.inv_boxcox1p], [(0.3, 2), (-0.3, 2)], False),
    ([sc.boxcox], [(2, 3), (-0.1, 0.1)], False),
    ([sc.inv_boxcox], [(2, 3), (-0.1, 0.1)], False),
    ([sc.huber], [(1, 1.1), (-0.9, 0.8)], False),
    ([sc.huber], [(0.3, 0.8), (1, 2)], False),
    ([sc.pseudo_huber], [(0.3, 2), (-2, 2)], False),
    ([sc.radian], [(20, 30), (2, 50), (2, 50)], False),
    ([sc.owens_t], [(-2, 2), (-2, 2)], False),
    ([sc.voigt_profile], [(-2, 2), (0.3, 2), (0.3, 2)], False),
    ([sc._ufuncs._zeta], [(1.5, 4), (0.3, 2)], False),
    ([sc.elliprc], [(0.3, 2), (0.3, 2)], True),
    ([sc.elliprc], [(0.3, 2), (-2, -0.3)], False),
    ([sc.elliprf, sc.elliprd, sc.elliprg], [(0.3, 2), (0.3, 2), (0.3, 2)], True),
    ([sc.elliprj], [(0.3, 2), (0.3, 2), (0.3, 2), (0.3, 2)], False),
    ([sc.ellipkinc, sc.ellipeinc], [(-1.4, 4.4), (-1, 0.8)], False),
    ([sc.ellipj], [(-1, 3), (0.1, 0.8)], False),
    ([sc.jv, sc.iv, sc.ive], [(-0.6, 3), (0.4, 3)], False),
    ([sc.hyp0f1], [(0.3, 2), (-3, 3)], False),
    ([sc.hyp1f1], [(-0.6, 2), (0.3, 2), (-3, 3)], False),
    ([sc.hyp2f1], [(-0.6, 2), (0.3, 2), (0.3, 2), (-0.7, 0.8)], False),
    ([sc.kv, sc.kve], [(-2, 3), (0.4, 3)], False),
    ([sc.chndtridf], [(2, 3), (0.4, 0.5), (0.6, 1)], False),
    ([sc.chndtrinc], [(3, 4), (1, 1.4), (0.4, 0.5)], False),
    ([sc.nctdtridf], [(0.6, 0.61), (0.5, 0.6), (1, 1.1)], False),
    ([sc.nctdtrinc], [(2, 3), (0.4, 0.6), (1, 1.1)], False),
    ([sc.agm], [(0.3, 2), (0.3, 2)], False),
    ([sc.tklmbda], [(-0.4, 0.4), (-0.3, 0.9)], False),
    ([sc.gammainc, sc.gammaincc], [(0.3, 4), (0.3, 4)], False),
    ([sc.gammaincinv, sc.gammainccinv], [(0.6, 4), (0.2, 0.8)], False),
    ([sc.betainc, sc.betaincc, sc.betaincinv, sc.betainccinv], [(0.6, 4), (0.6, 4), (0.2, 0.8)], False),
    ([densities.gamma_density], [(0.6, 4), (0.3, 4)], False),
    ([densities.beta_density], [(0.6, 4), (0.6, 4), (0.2, 0.8)], False),
    ([sc.chdtr, sc.chdtrc], [(0.6, 8), (0.6, 8)], False),
    ([sc.chdtri], [(1.2, 8), (0.2, 0.8)], False),
    ([sc.chdtriv], [(0.2, 0.8), (1.2, 8)], False),
    ([sc.gdtr, sc.gdtrc], [(0.6, 2), (0.6, 4), (0.3, 2)], False),
    ([sc.gdtrix], [(0.6, 2), (0.6, 4), (0.2, 0.8)], False),
    ([sc.gdtria], [(0.2, 0.8), (0.6, 4), (0.6, 2)], False),
    ([sc.gdtrib], [(0.6, 2), (0.2, 0.8), (0.6, 4)], False),
    ([sc.fdtr, sc.fdtrc], [(1.2, 8), (1.2, 8), (0.3, 2)], False),
    ([sc.fdtri], [(1.2, 8), (1.2, 8), (0.2, 0.8)], False),
    ([sc.fdtridfd], [(3, 3.1), (0.5, 0.52), (0.9, 1)], False),
    ([sc.stdtr], [(0.7, 8), (-2, 2)], False),
    ([distributions.t_slope], [(0.7, 8), (-2, 1.5)], False),
    ([sc.stdtrit], [(0.7, 8), (0.1, 0.9)], False),
    ([sc.stdtridf], [(0.82, 0.83), (1.0, 1.1)], False),
    ([sc.btdtria], [(0.2, 0.8), (0.6, 4), (0.2, 0.8)], False),
    ([sc.btdtrib], [(0.6, 4), (0.2, 0.8), (0.2, 0.8)], False),
    ([sc.pdtrik], [(0.5, 0.9), (2, 4)], False),
    ([sc.bdtrik], [(0.4, 0.8), (5, 9), (0.2, 0.8)], False),
    ([sc.bdtrin], [(1, 3), (0.4, 0.6), (0.3, 0.5)], False),
    ([sc.nbdtrik], [(0.6, 0.8), (2, 3), (0.2, 0.4)], False),
    ([sc.nbdtrin], [(2, 3), (0.6, 0.8), (0.2, 0.4)], False),
    ([sc.nrdtrimn], [(0.1, 0.4), (0.6, 2), (-2, 2)], False),
    ([sc.nrdtrisd], [(2.5, 3), (0.1, 0.4), (-2, 2)], False),
]

# Of arguments without derivative before a last one: the functions, those, the interval of the last.
LAST = [
    ([sc.jv, sc.yv, sc.iv, sc.kv, sc.jve, sc.yve, sc.ive, sc.kve], (np.array([[0], [2]]),), (0.4, 4), True),
    ([sc.hankel1, sc.hankel2, sc.hankel1e, sc.hankel2e], (np.array([[0], [2]]),), (0.4, 4), True),
    ([sc.jve, sc.ive], (1,), (-4, -0.4), True),
    ([sc.yn, sc.kn, sc.struve, sc.modstruve], (np.array([[0], [3]]),), (0.4, 4), False),
    ([sc.pbdv, sc.pbvv, sc.pbwa], (1,), (-2, 2), False),
    ([getattr(sc._ufuncs, f"_spherical_{kind}") for kind in ("jn", "yn", "in", "kn")], (2,), (0.4, 4), True),
    ([getattr(sc._ufuncs, f"_spherical_{kind}_d") for kind in ("jn", "yn", "in", "kn")], (1,), (0.4, 4), True),
    ([sc.expn], (np.array([[0], [1], [2]]),), (0.4, 4), False),
    ([sc.hyp0f1], (2,), (-3, 3), True),
    ([sc.hyp1f1], (2, 3), (-3, 3), True),
    ([sc.hyp2f1], (1, 2, 4), (-0.8, 0.8), True),
    ([sc.hyperu], (2, 3), (0.4, 3), False),
    ([sc.wright_bessel], (1, 2), (0.4, 3), False),
    ([sc.eval_jacobi, sc.eval_sh_jacobi], (np.array([[0], [1], [4]]), 3, 2), (-0.9, 0.9), False),
    ([sc.eval_gegenbauer, sc.eval_genlaguerre], (np.array([[0], [1], [4]]), 2), (-0.9, 0.9), False),
    ([sc.eval_laguerre, sc.eval_hermite, sc.eval_hermitenorm, sc.eval_legendre, sc.eval_sh_legendre, sc.eval_chebyt,
      sc.eval_chebyu, sc.eval_chebyc, sc.eval_chebys, sc.eval_sh_chebyt, sc.eval_sh_chebyu],
     (np.array([[0], [1], [4]]),), (-0.9, 0.9), False),
    ([sc.lpmv], (1, 3), (-0.9, 0.9), False),
    ([sc.mathieu_cem, sc.mathieu_sem], (3, 2), (-50, 50), False),
    ([sc.mathieu_modcem1, sc.mathieu_modcem2, sc.mathieu_modsem1, sc.mathieu_modsem2], (3, 2), (0.3, 1), False),
    ([sc.pro_ang1, sc.obl_ang1], (1, 3, 2), (-0.8, 0.8), False),
    ([sc.pro_rad1, sc.obl_rad1, sc.obl_rad2], (1, 3, 2), (1.3, 2), False),
    ([sc.pro_rad2], (1, 3, 2), (2, 3), False),
]  # fmt: skip


def last(f: Callable[..., Any], before: tuple[Any, ...], low: float, high: float, is_complex: bool) -> Iterator[Sample]:
    yield call(f, *before, values(2, low=low, high=high))
    if is_complex:
        yield call(f, *before, values(2, low=low, high=high, dtype=complex))


def unary(f: Callable[..., Any], low: float, high: float, is_complex: bool) -> Iterator[Sample]:
    yield call(f, values(2, 2, low=low, high=high))
    yield call(f, 0.7 * low + 0.3 * high)
    yield call(f, values(3, low=low, high=high, dtype=np.float32))
    if is_complex:
        yield call(f, values(3, low=low, high=high, dtype=complex))


def several(f: Callable[..., Any], intervals: list[tuple[float, float]], is_complex: bool) -> Iterator[Sample]:
    shapes = [(2, 1, 2), (3, 1), (2,), ()]
    of_each = [values(*shape, low=low, high=high) for shape, (low, high) in zip(shapes, intervals, strict=False)]
    yield call(f, *of_each)
    yield call(f, *[x.ravel()[0].astype(np.float32) for x in of_each])
    if is_complex:
        yield call(f, *[x.ravel()[:2] * (1 + 0.2j) for x in of_each])


def by_order() -> Iterator[Sample]:
    """Derivatives of any order of one function, as the rules use them."""
    for order in (0, 1, 2):
        yield call(gammas.polygamma, values(3), order)
        yield call(gammas.polygamma, values(3, low=-2.8, high=-2.1, dtype=complex), order)
        yield call(error_functions.erfcx_slope, values(3, low=-2), order)
        yield call(error_functions.erfcx_slope, values(3, low=21, high=23, dtype=complex), order)
        yield call(error_functions.dawsn_slope, values(3, low=-2), order)
        yield call(error_functions.dawsn_slope, values(3, low=21, high=23), order)
        yield call(error_functions.mills, values(3, low=-2), order)
        yield call(error_functions.mills, values(3, low=-23, high=-21), order)
        for f in (powers.exprel_slope, powers.log1prel_slope):
            yield call(f, values(3, low=-0.4, high=0.4), order)
            yield call(f, values(3, low=0.6, high=2), order)
        yield call(sc.polygamma, order, values(2, 2))
        yield call(incomplete.gamma_slope, values(3, low=0.4, high=9), values(3, low=0.3, high=9), order + 1)
        of_beta = (order, 1 - order // 2)
        yield call(incomplete.beta_slope, values(2, low=0.4, high=9), 2.5, values(2, low=0.3, high=0.8), of_beta)
        yield call(hypergeometric.zeta_slope, values(2, low=1.5, high=4), values(2, 1), order)
        yield call(hypergeometric.zeta_slope, values(2, low=-2.8, high=-0.3), 1, order)
        yield call(hypergeometric.zeta_slope, values(2, low=-2.8, high=-0.3, dtype=complex), 1, order)
    yield call(series.hypergeometric, 0.7, 1.2, 2.3, 0.6, (1, 0, 1, 0), 21)
    yield call(series.hypergeometric, 0.7, 1.2, 2.3, -0.6, (0, 2, 0, 2), 21)
    yield call(elliptic.carlson, *[values(2, low=k, high=k + 1) for k in (0.3, 0.4, 0.5, 0.6)], (2, 1, 1, 3, 2))
    yield call(elliptic.carlson, 0.3, 0.6, values(2, dtype=complex), 2.0, (2, 1, 1, 3, 0))
    yield call(sc.polygamma, np.array([1, 2, 3]), values(2, 1, dtype=np.float32))


def of_whole_numbers() -> Iterator[Sample]:
    p, m = values(3, low=0.2, high=0.8), values(3)
    for f in (sc.pdtr, sc.pdtrc):
        yield call(f, 3, m)
        yield call(f, values(3, low=2.2, high=2.8), m)
    yield call(sc.pdtri, 3, p)
    for f in (sc.bdtr, sc.bdtrc, sc.bdtri):
        yield call(f, np.array([[2], [3]]), 5, p)
    for f in (sc.nbdtr, sc.nbdtrc, sc.nbdtri):
        yield call(f, 2, np.array([3, 4, 5]), p)


def sums_of_exponentials() -> Iterator[Sample]:
    x, b = values(2, 3), values(3, low=-2, high=-1)
    for f in (sc.softmax, sc.log_softmax, sc.logsumexp):
        yield call(f, x)
        yield call(f, x, 1)
        yield call(f, x.astype(np.float32), axis=-1)
        yield call(f, values(2, 3, 2), axis=(0, -1))
    yield call(sc.logsumexp, x, (0, -1), -b)
    yield call(sc.logsumexp, x, ())
    yield call(sc.logsumexp, 0.7)
    yield call(sc.logsumexp, x, b=-b)
    yield call(sc.logsumexp, x[:, :1], 0, -b, keepdims=True)
    yield call(sc.logsumexp, values(3, dtype=complex), b=1j * b)
    yield call(sc.logsumexp, x, 1, b, return_sign=True)
    yield call(sc.logsumexp, values(2, 3, dtype=complex), 0, keepdims=True, return_sign=True)
    yield call(sc.multigammaln, values(3, low=2, high=4), 3)
    yield call(sc.multigammaln, 2.5, d=2)
    if hasattr(sc, "sph_harm_y"):
        angles = values(2, low=0.4, high=2)
        yield call(sc.sph_harm_y, 3, np.array([[-3], [0], [1]]), angles, angles[::-1])
        yield call(sc.sph_harm_y, 0, 0, 0.0, 0.3)
        yield call(sc.legendre_p, 3, angles / 3)
        yield call(sc.legendre_p, 3, angles / 3, diff_n=1)
        yield call(sc.assoc_legendre_p, 3, 1, angles / 3)
        yield call(sc.assoc_legendre_p, 3, 2, angles / 3, norm=True, diff_n=1)
        yield call(sc.sph_legendre_p, 3, 1, angles)
    yield call(sc.wofz, values(3, dtype=complex))
    yield call(sc.lqn, 3, 0.4)
    yield call(sc.lqn, 2, values(2, 3, low=-0.8, high=0.8))
    yield call(sc.lqn, 0, values(2, dtype=complex) + 2)
    if hasattr(sc, "log_wright_bessel"):
        yield call(sc.log_wright_bessel, 1, 2, values(2))
    yield call(sc.besselpoly, values(2), 1, 2)
    single = values(2, low=0.3, high=0.35, dtype=np.float32)  # not to second order
    for f in (sc.mathieu_a, sc.mathieu_b):
        yield call(f, 3, single)
    yield call(sc.wofz, values(2, dtype=complex) + 21j)


def samples() -> Iterator[Sample]:
    for functions, low, high, is_complex in UNARY:
        for f in functions:
            yield from unary(f, low, high, is_complex)
    for functions, intervals, is_complex in SEVERAL:
        for f in functions:
            yield from several(f, intervals, is_complex)
    for functions, before, (low, high), is_complex in LAST:
        for f in functions:
            yield from last(f, before, low, high, is_complex)
    yield from by_order()
    yield from of_whole_numbers()
    yield from sums_of_exponentials()


SAMPLES: list[Sample] = [*samples()]


def traced() -> Iterator[Sample]:
    """Functions in Python over those with rules."""
    x, z = values(2), values(2, dtype=complex)
    for f in (sc.spherical_jn, sc.spherical_yn, sc.spherical_in, sc.spherical_kn):
        yield call(f, 2, x)
        yield call(f, np.array([0, 1]), z, True)
    for f in (sc.jvp, sc.yvp, sc.ivp, sc.kvp, sc.h1vp, sc.h2vp):
        yield call(f, 1, x, 2)
    yield call(sc.lambertw, x)
    yield call(sc.lambertw, z, -1)
    yield call(sc.zeta, x + 2, x)
    yield call(sc.zeta, -x)
    yield call(sc.comb, x + 3, 2)
    yield call(sc.perm, x + 3, 2)
    yield call(sc.factorial, x)
    yield call(sc.factorial, z, extend="complex") if hasattr(sc, "sph_harm_y") else call(sc.factorial, x)
    yield call(sc.diric, x, 3)
    yield call(sc.assoc_laguerre, x, 3, 2)
    yield call(sc.legendre(3), x)
    if hasattr(sc, "softplus"):
        yield call(sc.softplus, x)


TRACED: list[Sample] = [*traced()]
SPHEROIDAL = [sc.pro_ang1_cv, sc.pro_rad1_cv, sc.pro_rad2_cv, sc.obl_ang1_cv, sc.obl_rad1_cv, sc.obl_rad2_cv]
SOLVED = [sc.ncfdtridfn, sc.ncfdtridfd, sc.ncfdtrinc]  # by SciPy to a few digits
BY_HAND = {sc._lambertw._lambertw, sc.pro_cv, sc.obl_cv, waves.even_slope, waves.odd_slope, *SPHEROIDAL, *SOLVED}
