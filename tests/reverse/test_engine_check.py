"""The engine computes on watched values only where a trace sees it; and the check of that finds faults."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import test_implicit
import test_watched
from call_forms import _leaves
from engine_check import EngineError, checking
from sampled_pullbacks import USABLE, of_both, pieces

import wengert as wg
from wengert.api import gradient
from wengert.recording import container_arguments
from wengert.reverse import accumulators
from wengert.rulebook import pushforwards
from wengert.values.projection import plainly

X = np.array([1.0, 2.0, 3.0])


@pytest.fixture(scope="module", autouse=True)
def checked() -> Iterator[None]:
    with checking():
        yield


def programs() -> dict[str, Callable[[], Any]]:
    """The tests of watched values that take no parameters."""
    named = {name: f for name, f in vars(test_watched).items() if name.startswith("test_")}
    return {name: f for name, f in named.items() if not f.__code__.co_argcount}


@pytest.mark.parametrize("name", programs())
def test_programs(name: str) -> None:
    rules = test_watched.rules.__wrapped__()  # type: ignore[attr-defined]
    next(rules)
    programs()[name]()
    next(rules, None)


@pytest.mark.parametrize("mode", test_implicit.SECOND)
def test_gradients_inside_pullbacks(mode: str) -> None:
    rules = test_implicit.rules.__wrapped__()  # type: ignore[attr-defined]
    next(rules)
    for solve in test_implicit.solvers.values():
        test_implicit.SECOND[mode](solve, 1.3)
    next(rules, None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", list(USABLE)[::5], ids=lambda f: str(USABLE[f][0]))
def test_pullbacks_of_rules(f: Callable[..., Any]) -> None:
    again = of_both(*pieces(USABLE[f][0]))
    with contextlib.suppress(wg.NoRuleError):  # a float for an argument without derivative
        wg.grad(lambda *args: sum(np.sum(np.real(bar)) for bar in _leaves(again.f(*args))), *again.args)


_given, _row_of = container_arguments._given, pushforwards.row_of


def stored(s: Any) -> Any:
    v = np.zeros(2)
    v[0] = s
    return v


FAULTS: dict[str, tuple[Any, str, Any, Callable[[], Any]]] = {
    "a conjugate": (
        gradient,
        "calling",
        lambda watching: plainly,
        lambda: wg.grad(lambda g: np.real(wg.vjp(lambda x: 3 * x, 1j)[1](g)[0]))(1j),
    ),
    "a direction": (
        pushforwards,
        "row_of",
        lambda call, dots, k: _row_of(plainly, dots, k),
        lambda: wg.grad(lambda s: wg.jacfwd(lambda p: stored(s * p))(s)[0])(1.5),
    ),
    "a sum": (
        accumulators.TracedCotangents,
        "add",
        accumulators.PlusCotangents.add,
        lambda: wg.grad(lambda x: np.sum(wg.grad(lambda x: np.sum(x * np.sin(x)))(x)))(X),
    ),
    "a change in place": (
        accumulators.TracedCotangents,
        "add",
        accumulators.Cotangents.add,
        lambda: wg.grad(lambda x: np.sum(wg.grad(lambda x: np.sum(x * np.sin(x) + x * x))(x)))(X),
    ),
    "a part": (
        container_arguments,
        "_given",
        lambda x_bar, form, call: _given(x_bar, form, plainly),
        lambda: test_watched.test_the_cotangent_of_a_list_given_as_an_array(),
    ),
    "a part that is read": (
        accumulators.TracedCotangents,
        "read",
        accumulators.Cotangents.read,
        lambda: test_watched.test_parts_of_arrays_that_are_written(),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_check_finds_faults(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, faulty, program = FAULTS[fault]
    monkeypatch.setattr(owner, name, faulty)
    rules = test_watched.rules.__wrapped__()  # type: ignore[attr-defined]
    next(rules)
    with pytest.raises(EngineError, match="seen by no trace"):
        program()
    next(rules, None)
