"""Programs that try to be silently wrong: each is right, refused, or says that no path reaches its argument."""

from __future__ import annotations

import contextlib
import copy
import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from programs import DECISIONS, HOSTILE

import wengert as wg


def expected_gradient(name: str) -> Any:
    """By differences of the program as it is, or as the table says."""
    make, x, expected = HOSTILE[name]
    return wg.ngradient(make(), copy.copy(x))[0] if expected is None else expected


@pytest.mark.parametrize("name", HOSTILE)
def test_right_or_refused(name: str) -> None:
    make, x, _ = HOSTILE[name]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        expected = expected_gradient(name)
        plain = make()(copy.copy(x))
        told.clear()
        try:
            value, (_, gradient) = wg.grad(make(), copy.copy(x))
        except wg.WengertError:
            return
        if any(issubclass(w.category, (wg.NoPathWarning, wg.CacheWarning)) for w in told):
            np.testing.assert_array_equal(gradient, np.zeros_like(x))
            return
    assert type(value) is type(plain) and np.asarray(value).tobytes() == np.asarray(plain).tobytes()
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", HOSTILE)
def test_tangents_are_right_or_refused(name: str) -> None:
    """Pushed along, over what was recorded, and inside a gradient."""
    make, x, _ = HOSTILE[name]
    dot = np.linspace(-1.0, 2.0, np.size(x)).reshape(np.shape(x)) if isinstance(x, np.ndarray) else 1.5
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        slope = np.sum(np.real(expected_gradient(name) * dot))
        for way in (
            lambda f: wg.jvp(f, (copy.copy(x),), (dot,))[1],
            lambda f: wg.linearize(f, copy.copy(x))[1](dot),
            lambda f: wg.grad(lambda t: wg.jvp(f, (copy.copy(x),), (dot,))[1] * t)(1.0),
        ):
            told.clear()
            try:
                found = way(make())
            except (wg.WengertError, RecursionError):
                continue
            if not any(issubclass(w.category, (wg.NoPathWarning, wg.CacheWarning)) for w in told):
                rtol = 1e-3 if name == "tree_of_small_floats" else 1e-6
                np.testing.assert_allclose(found, slope, rtol=rtol, atol=1e-7)


@pytest.mark.parametrize("name", HOSTILE)
def test_tapes_say_what_gradients_say(name: str) -> None:
    """A tape of a program plays its value; the tape of its gradient gives the gradient, or an error says why not."""
    make, x, _ = HOSTILE[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = expected_gradient(name)
        try:
            value, tape = wg.trace(make(), copy.copy(x))
            assert np.asarray(tape.play(copy.copy(x))).tobytes() == np.asarray(value).tobytes()
            _, (_, gradient) = wg.gradtape(make(), copy.copy(x)).play(copy.copy(x))
        except wg.WengertError:
            return
    given = np.zeros_like(x) if gradient is None else gradient
    if not np.any(given) and np.any(expected):
        with pytest.warns((wg.NoPathWarning, wg.CacheWarning)):
            wg.grad(make(), copy.copy(x))
        return
    np.testing.assert_allclose(given, expected, rtol=1e-6, atol=1e-8)


def as_given(x: Any) -> Any:
    return x if isinstance(x, np.ndarray) and not x.flags.writeable else copy.copy(x)


def replays(tape: wg.Tape) -> Iterator[tuple[str, Any]]:
    """What runs a tape: `play`, its compiled function, and the source of that, executed apart."""
    yield "play", tape.play
    run = tape.compile()
    yield "compile", run
    apart: dict[str, Any] = {}
    exec(tape.to_source("f"), apart)
    apart["f"].__kwdefaults__ = run.__kwdefaults__
    yield "source", apart["f"]


@pytest.mark.parametrize("of", ["value", "gradient"])
@pytest.mark.parametrize("name", DECISIONS)
def test_no_tape_is_stale_in_silence(name: str, of: str) -> None:
    """At other arguments a tape gives what the program gives there, or says that it is stale; where all is decided
    as recorded, it plays."""
    f, x, other, same = DECISIONS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forms = []
        with contextlib.suppress(wg.WengertError):
            tape = wg.gradtape(f, as_given(x)) if of == "gradient" else wg.trace(f, as_given(x))[1]
            for form in replays(tape):
                forms.append(form)  # those before one that is refused
        for (form, run), z in itertools.product(forms, (x, other) if same is None else (x, same, other)):
            try:
                value = run(as_given(z))
            except Exception:
                assert z is other, form  # what the program catches, a tape raises: it is not silent
                continue
            if of == "gradient":
                value, (_, gradient) = value
                eager = wg.grad(f, as_given(z))[1][1]  # differences would cross the decision
                given = 0.0 if gradient is None else gradient
                np.testing.assert_allclose(given, eager, rtol=1e-12, atol=1e-14, err_msg=form)
            np.testing.assert_array_equal(value, f(as_given(z)), err_msg=form)
