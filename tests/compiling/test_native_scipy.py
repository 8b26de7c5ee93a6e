"""Native code calls SciPy's own functions of numbers, and so agrees with SciPy everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special as sp
from test_native import by_python

import wengert as wg
from wengert.compiling.native.compiled import compile_native
from wengert.compiling.native.scipy_functions import scipy_op
from wengert.compiling.ops import info

OF_ONE = (
    sp.psi,
    sp.gamma,
    sp.rgamma,
    sp.erfcx,
    sp.erfinv,
    sp.ndtri,
    sp.log_ndtr,
    sp.expi,
    sp.i0,
    sp.j1,
    sp.entr,
    sp.exprel,
)
OF_TWO = (sp.beta, sp.betaln, sp.iv, sp.kv, sp.gammainc, sp.rel_entr, sp.binom, sp.ellipkinc)
OF_THREE = (sp.betainc, sp.hyp1f1, sp.betaincinv)
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, -7.0, 1e-310, 1e300, -1e5 - 0.5]
GRID = np.concatenate(
    [np.linspace(-30.25, 30.0, 400), np.linspace(-1.0, 2.0, 301), np.geomspace(1e-9, 1e9, 50), SPECIAL]
)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_are_scipys() -> None:
    pytest.importorskip("numba")

    def f(x: np.ndarray, y: np.ndarray) -> Any:
        rows = [fn(x) for fn in OF_ONE] + [fn(x, y) for fn in OF_TWO] + [fn(x, np.abs(y), np.sin(x)) for fn in OF_THREE]
        return [np.where(np.isfinite(row), row, 0.5) for row in rows], [np.isnan(row) * 1.0 for row in rows]

    x, y = GRID, GRID[::-1].copy()
    run: Any = compile_native(wg.trace(f, x, y)[1].optimise())
    assert run.state == "native code"
    run.__kwdefaults__["plain"] = lambda *args: None
    for found, expected in zip(run(x, y), f(x, y), strict=True):
        for fn, a, b in zip((*OF_ONE, *OF_TWO, *OF_THREE), found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=0.0, err_msg=fn.__name__)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["expit", "logit", "erf", "erfc", "ndtr", "gammaln", "xlogy", "xlog1py", "exp10"])
def test_words_of_the_table_are_scipys(name: str) -> None:
    """Other than gammaln, whose logarithm cancels near 1 and 2 and near poles, all have a small relative error."""
    pytest.importorskip("numba")
    fn = getattr(sp, name)
    x, y = GRID, GRID[::-1].copy()
    given = (x, y)[: fn.nin]
    known = np.isfinite(fn(*given))
    given = tuple([a[known] for a in given])
    run: Any = compile_native(wg.trace(fn, *given)[1].optimise())
    assert run.state == "native code"
    run.__kwdefaults__["plain"] = lambda *args: None
    np.testing.assert_allclose(run(*given), fn(*given), rtol=1e-12, atol=1e-15 if name == "gammaln" else 1e-307)


def test_functions_of_integers_have_no_word() -> None:
    assert scipy_op(sp.kn, 2) is None and scipy_op(sp.eval_legendre, 2) is None and scipy_op(np.sin, 1) is None
    assert scipy_op(sp.psi, 2) is None and info(sp.psi).word is None


def garch(x: np.ndarray) -> Any:
    s, total = 1.0, 0.0
    for k in range(30):
        s = 0.1 + 0.8 * s + x[k % 5] ** 2
        total = total - np.log1p(x[k % 5] ** 2 / s) * (2.0 + x[0] ** 2)
    return total + sp.gammaln(1.5 + x[0] ** 2) - sp.gamma(1.0 + x[1] ** 2) * sp.i0(s)


def test_a_gradient_with_special_functions_is_native() -> None:
    gradient, x = wg.value_and_grad(garch), np.array([0.3, -0.5, 0.2, 0.9, -0.1])
    compiled = wg.compile(gradient, native=False)
    compiled(x)
    (entries,) = compiled._entries.values()
    run = by_python(entries[0].tape)
    for other in (x, 1.1 * x):
        value, x_bar = run(other)[:2]
        assert value == pytest.approx(gradient(other)[0], rel=1e-12)
        np.testing.assert_allclose(x_bar, gradient(other)[1], rtol=1e-11)
