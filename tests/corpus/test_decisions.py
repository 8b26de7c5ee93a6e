"""A tape played on other inputs gives what the function gives there, or says that it is stale and where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from decision_programs import CASES, KINDS, REFUSED, SHARED

import wengert as wg

HERE = ("decision_programs.py", "was float", "strides", "shares_memory")
OWN = (ArithmeticError, LookupError, ValueError, AttributeError, StopIteration, AssertionError, RuntimeWarning)


def argument(x: Any) -> Any:
    return np.array(x) if isinstance(x, list) else x.copy(order="K") if isinstance(x, np.ndarray) else x


def as_laid_out(x: Any) -> Any:
    """A copy with the same strides."""
    if not isinstance(x, np.ndarray) or x.flags.forc:
        return argument(x)
    whole = np.zeros((*x.shape[:-1], 2 * x.shape[-1]))
    whole[..., ::2] = x
    return whole[..., ::2]


def played(f: Callable[..., Any], a: Any) -> dict[str, Callable[[Any], Any]]:
    """What a tape made at `a` gives elsewhere, in each way to run it."""
    tape, derivative = wg.trace(f, as_laid_out(a))[1], wg.gradtape(f, as_laid_out(a))
    compiled, compiled_derivative = tape.compile(), derivative.compile()
    return {
        "play": tape.play,
        "compile": compiled,
        "gradtape": lambda x: derivative.play(x)[0],
        "compiled gradtape": lambda x: compiled_derivative(x)[0],
    }


def same(x: Any, y: Any) -> bool:
    return bool(np.allclose(x, y, rtol=1e-12, equal_nan=True))


def outcome(run: Callable[[Any], Any], x: Any) -> tuple[str, Any]:
    """What the error says, which is that the tape is stale or the function's own; or the value."""
    try:
        return "", run(x)
    except wg.StaleTapeError as error:
        return str(error), None
    except OWN:
        return HERE[0], None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_right_or_stale(name: str) -> None:
    f, a, b, alike = CASES[name]
    for how, run in played(f, a).items():
        for kept in (a, alike):
            assert same(run(as_laid_out(kept)), f(as_laid_out(kept))), f"{how} at {kept}"
        said, value = outcome(run, as_laid_out(b))
        assert value is None or same(value, f(as_laid_out(b))), f"{how} at {b}"
        assert value is not None or any(where in said for where in HERE), said


def runs(f: Callable[..., Any], *args: Any) -> list[Callable[..., Any]]:
    tape, derivative = wg.trace(f, *map(argument, args))[1], wg.gradtape(f, *map(argument, args))
    return [tape.play, tape.compile(), derivative.play, derivative.compile()]


@pytest.mark.parametrize(("f", "args", "others"), SHARED)
def test_memory_shared_by_arguments_is_stale(f: Any, args: Any, others: Any) -> None:
    for run in runs(f, *args):
        run(*[a * 1.5 for a in args])
        for other in others:
            with pytest.raises(wg.StaleTapeError, match=r"shares_memory|x is y|is_\("):
                run(*other)


@pytest.mark.parametrize(("f", "a", "others"), KINDS)
def test_arguments_of_another_kind_are_stale(f: Any, a: Any, others: Any) -> None:
    if isinstance(a, list):
        tape = wg.trace(f, a)[1]
        assert tape.compile()([2.0, 3.0]) == tape.play([2.0, 3.0]) == tape.play(2.0, 3.0) == 6.0
        return
    tape = wg.trace(f, a)[1]
    assert same(tape.compile()(argument(a)), f(a))
    for other in others:
        for run in (tape.play, tape.compile()):
            with pytest.raises(wg.StaleTapeError, match="when recorded"):
                run(other)


@pytest.mark.parametrize("f", REFUSED)
def test_refused_where_no_tape_could_follow(f: Callable[..., Any]) -> None:
    with pytest.raises((wg.NoRuleError, wg.RefusedCallError), match=r"decision_programs\.py"):
        wg.trace(f, 0.12)


def test_the_base_of_an_argument_is_refused_on_a_tape() -> None:
    for f in (lambda x: x[0] if x.base is None else x[1], lambda x: x[0] if x[:1].base is x else x[1]):
        with pytest.raises(wg.RefusedCallError, match=r"\.base of a traced array"):
            wg.trace(f, np.ones(2))
    assert wg.trace(lambda x: (x * x)[:1].base.sum(), np.ones(2))[0] == 2.0


def test_a_new_array_is_no_question_of_layout() -> None:
    """np.sin(x) is never x, however x lies in memory."""

    def f(x: Any) -> Any:
        y = np.sin(x)
        return np.sum(x) if y is x else np.sum(y)

    a = np.arange(6.0).reshape(2, 3)
    tape = wg.trace(f, a)[1]
    assert tape.play(np.asfortranarray(a)) == f(a)
