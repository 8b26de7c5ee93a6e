"""A missing rule is reported for what the user called, with a stub for that."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.recording import recording
from wengert.values.frames import ENGINE

X = np.array([0.3, 0.7, 0.9])
DATA = np.array([0, 1])


def message(f: Any) -> str:
    with pytest.raises(wg.NoRuleError) as caught:
        wg.grad(f)(X)
    return str(caught.value)


def without(f: Any, g: Any) -> str:
    with wg.rules.scope():
        for target in [target for target in f if target in wg.rules]:
            wg.rules.remove(target)
        return message(g)


def test_what_led_to_c_code_is_named_with_it() -> None:
    text = without([np.prod, np.multiply.reduce], lambda x: np.prod(x))
    assert "test_blame.py" in text.partition(" (by way of ")[0] and "fromnumeric.py" in text.partition(": np.prod")[0]
    assert "np.prod (through np.multiply.reduce) has no rule" in text
    assert "@wg.rrule(np.prod)\ndef prod_rule(a):\n    y = np.prod(a)\n" in text
    assert text.endswith("wg.non_differentiable(np.prod).")


def test_the_innermost_call_of_the_users_code_counts() -> None:
    text = without([np.prod, np.multiply.reduce], lambda x: np.apply_over_axes(lambda a, axis: np.prod(a, axis), x, 0))
    assert "np.prod (through np.multiply.reduce) has no rule" in text


def test_c_code_called_by_the_user_is_named_alone() -> None:
    for f, name in [
        (lambda x: x.tobytes(), "np.ndarray.tobytes"),
        (lambda x: np.divide.reduceat(x, DATA), "np.divide.reduceat"),
        (lambda x: x.dumps(), "np.ndarray.dumps"),
    ]:
        assert f": {name} has no rule" in message(f)


def test_code_that_is_in_no_file_is_named_with_the_line_that_led_to_it() -> None:
    made: dict[str, Any] = {}
    exec(compile("def made(x):\n    return x.tobytes()[0]", "<made by a library>", "exec"), made)
    line = r"^\S*test_blame.py:\d+ in .*<lambda> \(by way of <made by a library>:2 in made\): np.ndarray.tobytes"
    assert re.match(line, message(lambda x: made["made"](x * 2)))
    assert message(made["made"]).startswith("<made by a library>:2 in made: np.ndarray.tobytes")


def test_a_stub_that_is_pasted_works() -> None:
    text = message(lambda x: np.divide.reduceat(x, DATA).sum())
    stub = text.partition("\n\n")[2].partition("\n\nIf it has")[0]
    filled = stub.replace("y_bar * ...,  # dy/darray", "np.ones(3),  #").replace("y_bar * ...,", "None,")
    with wg.rules.scope():
        exec(filled, {"wg": wg, "np": np})
        assert np.array_equal(wg.grad(lambda x: np.divide.reduceat(x, DATA).sum())(X), np.ones(3))


def test_code_typed_in_is_told_no_function_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where wengert is installed among the libraries."""
    folders = (*recording.library_folders(), ENGINE)
    monkeypatch.setattr(recording, "library_folders", lambda: folders)
    typed: dict[str, Any] = {"np": np}
    exec(compile("f = lambda x: np.divide.reduceat(x, [0])", "<stdin>", "exec"), typed)
    assert re.match(r"<stdin>:1 in <lambda>: np.divide.reduceat has no rule", message(typed["f"]))


def test_a_derivative_that_is_missing_in_a_derivative_is_told_at_the_users_line() -> None:
    def f(x: Any) -> Any:
        return np.sum(wg.hessian(lambda y: np.linalg.det(np.outer(y, y) + np.diag([y[0], 0, 0])))(x) ** 2)

    with pytest.raises(wg.NoDerivativeError, match="third derivative of a determinant") as caught:
        wg.grad(f)(X)
    assert re.match(rf"\S*test_blame.py:{f.__code__.co_firstlineno + 1} in ", str(caught.value))
