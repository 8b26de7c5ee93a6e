"""Helpers: emitted source has the functions of this package that it calls, or is refused."""

from __future__ import annotations

import math
import pickle
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.special
from alone import case

import wengert as wg
import wengert_rules  # noqa: F401

X = np.array([0.5, 2.0, 1.0, 1.2])


def written(x: Any) -> Any:
    z = np.zeros(3)
    np.add.at(z, [0, 0, 1, 2], x)
    z[1:] += x[:2]
    return np.sum(z**2)


def sliding(x: Any) -> Any:
    return np.sum(np.lib.stride_tricks.sliding_window_view(x, 2) ** 2)


def two_of_a_name(x: Any) -> Any:
    return math.gamma(x[0]) * np.sum(scipy.special.psi(x))


def shadowed(x: Any) -> Any:
    share = np.prod(x)
    products_of_others = 2.0 * share
    return share * products_of_others


USED = [lambda x: np.sum(np.sort(x) * np.arange(4.0)), np.prod, written, sliding, two_of_a_name, shadowed]


ALONE = """
import pickle, sys
sys.modules.update(dict.fromkeys(("wengert", "wengert_rules")))  # an import of these raises ModuleNotFoundError
results = []
for source, args, constants in pickle.load(sys.stdin.buffer):
    namespace = {}
    exec(source, namespace)
    results.append(namespace["derivative"](*args, **constants))
pickle.dump(results, sys.stdout.buffer)
"""


def test_derivatives_run_in_an_interpreter_without_the_package() -> None:
    cases = pickle.dumps([case(wg.gradtape(f, X), (X,)) for f in USED])
    run = subprocess.run([sys.executable, "-c", ALONE], input=cases, capture_output=True)
    assert not run.returncode, run.stderr.decode()
    got = pickle.loads(run.stdout)
    for f, (value, (_, slope)) in zip(USED, got, strict=True):
        assert value == f(X)
        np.testing.assert_allclose(slope, wg.ngradient(f, X)[0], rtol=1e-6)


def functions(source: str) -> list[str]:
    return re.findall(r"^def (\w+)", source, re.MULTILINE)


def test_a_helper_is_written_once_before_its_callers() -> None:
    source = wg.gradtape(lambda x: np.prod(x) + np.prod(2.0 * x), X).to_source("slope")
    assert functions(source) == ["products_around", "products_of_others", "share", "slope"]
    assert "annotations" not in source and "->" not in source


def test_helpers_of_one_name_get_two() -> None:
    assert {"polygamma", "polygamma_"} < {*functions(wg.gradtape(two_of_a_name, X).to_source())}


def test_a_helper_has_not_the_name_of_the_function() -> None:
    assert functions(wg.gradtape(np.prod, X).to_source("share"))[-2:] == ["share_", "share"]


def test_a_pullback_is_refused() -> None:
    """It is a function that the rules made: no source has it."""
    tape = wg.rrule_tape(wg.trace(np.prod, X)[1])
    with pytest.raises(wg.TapeError, match=r"cannot be written as source(.|\n)*tape\.compile"):
        tape.to_source()
    np.testing.assert_allclose(tape.compile()(X)[1][0], wg.grad(np.prod)(X))
