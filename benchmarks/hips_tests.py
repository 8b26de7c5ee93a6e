"""HIPS autograd's own tests, run on wengert: `python benchmarks/hips_tests.py FOLDER`, its tests' folder.

That comes in its source distribution (`pip download --no-deps --no-binary autograd autograd`). What its tests import
from autograd is given to them by this shim: `autograd.numpy` is NumPy, `check_grads` compares derivatives of wengert,
of first and second order and in each mode, with differences by autograd's own arithmetic of structures, which has to
be installed. Each test is right, or refused by an error of wengert; those of autograd's own machinery are left out.
"""

from __future__ import annotations

import itertools
import os
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

MODES = ("fwd", "rev")
TOLERANCE = 1e-6
FILES_LEFT_OUT = {f"test_{name}.py" for name in ("core", "direct", "misc", "performance", "tests", "wrappers")}
LEFT_OUT = {  # boxes, `defvjp`, names that are not NumPy's, and an assignment that is allowed here
    *("test_make_diagonal", "test_diagonal", "test_pinv", "test_no_vjp_def", "test_no_jvp_def"),
    *("test_scalar_array_box_attributes", "test_assignment_raises_error"),
}


def make_vjp(f: Callable[..., Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    y, pullback = wg.vjp(f, x)
    return lambda y_bar: pullback(y_bar)[0], y


def make_jvp(f: Callable[..., Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    return lambda x_dot: wg.jvp(f, (x,), (x_dot,))


def check_grads(f: Callable[..., Any], argnum: Any = None, modes: Any = MODES, order: int = 2) -> Callable[..., None]:
    """As autograd has it: `check_grads(f, argnum, modes, order)(*args)`."""

    def check(*args: Any, **kwargs: Any) -> None:
        places = range(len(args)) if argnum is None else (argnum,) if isinstance(argnum, int) else argnum

        def of_wanted(xs: Any) -> Any:
            given = list(args)
            for place, x in zip(places, xs, strict=True):
                given[place] = x
            return f(*given, **kwargs)

        _check(of_wanted, tuple([_inexact(args[place]) for place in places]), modes, order)

    return check


def _inexact(x: Any) -> Any:
    """Floats in arrays of their own: an array that stands in a container twice is one variable here."""
    if isinstance(x, (list, tuple)):
        return type(x)([_inexact(part) for part in x])
    return np.array(x, float if x.dtype.kind in "iu" else x.dtype) if isinstance(x, np.ndarray) else x


def _check(f: Callable[[Any], Any], x: Any, modes: Any, order: int) -> None:
    from autograd.core import vspace

    xs, ys = vspace(x), vspace(f(x))
    x_dot, y_bar = xs.randn(), ys.randn()
    step = 1e-6
    ends = [f(xs.add(x, xs.scalar_mul(x_dot, sign * step / 2))) for sign in (1, -1)]
    slope = ys.scalar_mul(ys.add(ends[0], ys.scalar_mul(ends[1], -1.0)), 1 / step)
    if "fwd" in modes:
        _compare(ys, make_jvp(f, x)(x_dot)[1], slope, ys.randn())
        if order > 1:
            _check(lambda both: make_jvp(f, both[0])(both[1])[1], (x, xs.randn()), modes, order - 1)
    if "rev" in modes:
        x_bar = make_vjp(f, x)[0](y_bar)
        exact, found = ys.inner_prod(ys.covector(y_bar), slope), xs.inner_prod(xs.covector(x_bar), x_dot)
        assert _close(found, exact), f"{found} is not {exact}"
        if order > 1:
            _check(lambda both: make_vjp(f, both[0])[0](both[1]), (x, ys.randn()), modes, order - 1)


def _compare(space: Any, found: Any, exact: Any, along: Any) -> None:
    a, b = space.inner_prod(along, found), space.inner_prod(along, exact)
    assert _close(a, b), f"{a} is not {b}"


def _close(a: Any, b: Any) -> bool:
    return abs(a - b) < TOLERANCE or abs(a - b) / abs(a + b) < TOLERANCE


def combo_check(f: Callable[..., Any], *how: Any, **how_by_name: Any) -> Callable[..., None]:
    def check(*args: Any, **kwargs: Any) -> None:
        for given in itertools.product(*args):
            for named in itertools.product(*[[(name, value) for value in values] for name, values in kwargs.items()]):
                check_grads(f, *how, **how_by_name)(*given, **dict(named))

    return check


def install() -> None:
    """Put the shim in the place of what tests import from autograd; the rest of autograd stays as it is."""
    import autograd
    import autograd.numpy
    import autograd.numpy.linalg
    import autograd.scipy
    import autograd.test_util as util
    import scipy.linalg
    import scipy.special
    import scipy.stats

    for name in ("grad", "value_and_grad", "jacobian", "hessian", "elementwise_grad"):
        setattr(autograd, name, getattr(wg, name))
    util.check_grads, util.combo_check = check_grads, combo_check
    replaced: dict[str, types.ModuleType] = {
        "numpy": np,
        "numpy.random": np.random,
        "numpy.linalg": np.linalg,
        "numpy.fft": np.fft,
        "scipy.linalg": scipy.linalg,
        "scipy.special": scipy.special,
        "scipy.stats": scipy.stats,
    }
    for name, module in replaced.items():
        sys.modules[f"autograd.{name}"] = module
    autograd.numpy = np
    autograd.scipy.special, autograd.scipy.stats = scipy.special, scipy.stats


def pytest_collection_modifyitems(items: list[Any]) -> None:
    items[:] = [item for item in items if item.path.name not in FILES_LEFT_OUT and item.name not in LEFT_OUT]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Any:
    """A refusal is no failure: it is counted as skipped."""
    try:
        return (yield)
    except wg.WengertError as error:
        pytest.skip(f"{type(error).__name__}: {str(error).splitlines()[0]}")


def pytest_configure(config: Any) -> None:
    install()


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(__file__))
    own = ["-c", os.devnull, "--rootdir", sys.argv[1], "-p", "hips_tests", "-p", "no:cacheprovider"]
    sys.exit(pytest.main([*sys.argv[1:], *own, "-q", "-W", "ignore"]))
