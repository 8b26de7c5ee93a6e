"""Every function of `math` and `cmath` and every ufunc of NumPy has a rule or is declared constant."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import pytest
from call_forms import gradient_outcome, keys_of
from sampling import Sample, call, values

import wengert as wg
from wengert.extend import rules
from wengert.values.callables import callable_name

X, Z = values(2, 3, low=-3.1, high=3.3), values(4, dtype=complex)
FOLLOWED = [
    call(np.angle, Z), call(np.angle, X, deg=True), call(np.real_if_close, Z), call(np.unwrap, 3 * X),
    call(np.nan_to_num, np.array([0.3, np.nan, -2.0])), call(np.emath.sqrt, X), call(np.emath.log, X),
    call(np.emath.power, X, 1.5), call(np.emath.logn, 2.0, X), call(np.emath.arcsin, X), call(np.emath.arccos, X),
]  # fmt: skip


def everything() -> list[Any]:
    """Functions of `math` and `cmath`, ufuncs of NumPy, each once."""
    functions = [f for module in (math, cmath) for f in vars(module).values() if type(f) is type(math.sin)]
    return [*functions, *{f for f in vars(np).values() if isinstance(f, np.ufunc)}]


@pytest.mark.parametrize("f", sorted(everything(), key=callable_name), ids=callable_name)
def test_somebody_decided_about(f: Any) -> None:
    assert f in rules, f"{callable_name(f)}: give it a rule, or declare it constant"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sample", FOLLOWED, ids=str)
def test_what_is_no_ufunc_is_followed_into_its_code(sample: Sample) -> None:
    for key in keys_of(sample):
        assert gradient_outcome(sample, (key,)) == "right"


CUTS = [
    *[(f, -1.7 + 0j) for f in (cmath.asin, cmath.acos, cmath.acosh, cmath.sqrt, cmath.log, cmath.atanh, cmath.phase)],
    *[(f, -1.7 + 0j) for f in (np.arcsin, np.arccos, np.arccosh, np.sqrt, np.log, np.log2, np.log10, np.arctanh)],
    *[(f, 2.5 + 0j) for f in (cmath.asin, np.arcsin, np.arccos, np.arctanh)],
    *[(f, 1.7j) for f in (cmath.asinh, cmath.atan, np.arcsinh, np.arctan)],
    (lambda z: z**z, -1.7 + 0j),
]  # fmt: skip


@pytest.mark.parametrize(("f", "at"), CUTS)
def test_the_cut_is_left_on_the_side_of_the_argument(f: Any, at: complex) -> None:
    """On a branch cut the sign of a zero tells the side: as the function, so its derivative."""
    for side in (0.0, -0.0):
        off = math.copysign(1e-9, side)
        on = complex(at.real, side) if at.imag == 0 else complex(side, at.imag)
        beside = complex(at.real, off) if at.imag == 0 else complex(off, at.imag)
        for part in (np.real, np.imag):
            here, there = [wg.grad(lambda z: part(f(np.complex128(z))))(z) for z in (on, beside)]
            assert abs(here - there) < 1e-6


def test_gamma_to_the_third_order() -> None:
    """Γ' = Γ ψ at 1 and 2 in Euler's constant and ζ(3)."""
    euler, zeta_3 = 0.5772156649015329, 1.2020569031595943
    assert abs(wg.grad(math.gamma)(1.0) + euler) < 1e-14
    assert abs(wg.grad(wg.grad(math.gamma))(1.0) - (euler**2 + math.pi**2 / 6)) < 1e-13
    assert abs(wg.grad(wg.grad(wg.grad(math.lgamma)))(1.0) + 2 * zeta_3) < 1e-13


def test_sinc_and_bessel_near_zero() -> None:
    """sinc' = -π² x/3 + …, where (cos πx - sinc x)/x would have lost all digits."""
    for x in (0.0, 1e-300, 1e-12, 1e-6):
        assert abs(wg.grad(np.sinc)(x) + math.pi**2 * x / 3) <= 1e-11 * x
    assert abs(wg.grad(wg.grad(np.sinc))(0.0) + math.pi**2 / 3) < 1e-14
    assert abs(wg.grad(wg.grad(np.i0))(0.0) - 0.5) < 1e-15
