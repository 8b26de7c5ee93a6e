"""Old names work, and warn once at the line that uses them, with the new name."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.__main__ import main
from wengert.values.renamed import RENAMED

OF_RULES = ("pullback", "pushforward")
PLACES = [
    *[("wengert", old) for old in RENAMED],
    *[("wengert.extend", old) for old in OF_RULES],
    ("wengert.errors", "EagerWarning"),
]


def warned(run: Any, line: str) -> Any:
    """The result of `run`, which warns once, of `line` at a line of this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = run()
    assert [(each.category, each.filename) for each in caught] == [(DeprecationWarning, __file__)]
    assert str(caught[0].message) == f"{line}. wengert 0.2 removes the old name."
    return result


@pytest.mark.parametrize(("place", "old"), PLACES)
def test_an_old_name_is_the_new_one_and_warns(place: str, old: str) -> None:
    module, new = importlib.import_module(place), RENAMED[old]
    found = warned(lambda: getattr(module, old), f"{place}.{old} is now called {place}.{new}")
    assert found is getattr(module, new)
    assert new in module.__all__ and old not in module.__all__ and old not in dir(module)


@pytest.mark.parametrize(("place", "old"), PLACES)
def test_an_import_of_an_old_name_warns_once(place: str, old: str) -> None:
    names: dict[str, Any] = {}
    code = compile(f"from {place} import {old}", __file__, "exec")
    warned(lambda: exec(code, names), f"{place}.{old} is now called {place}.{RENAMED[old]}")
    assert names[old] is getattr(wg, RENAMED[old])


@pytest.mark.parametrize("old", [old for old in RENAMED if old not in OF_RULES])
def test_a_module_has_only_the_old_names_of_what_it_has(old: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'wengert.extend' has no attribute '{old}'"):
        getattr(wg.extend, old)


def test_a_function_with_a_custom_derivative_keeps_its_old_decorators() -> None:
    @wg.custom_derivative
    def cube(x: Any) -> Any:
        return x**3

    declared = warned(
        lambda: cube.pullback(lambda y_bar, y, x: 3 * x * x * y_bar),  # type: ignore[attr-defined]
        "cube.pullback is now called cube.vjp_rule",
    )
    assert declared(1.0, 8.0, 2.0) == wg.grad(cube)(2.0) == 12.0
    warned(
        lambda: cube.pushforward(lambda dots, y, x: 3 * x * x * dots[0]),  # type: ignore[attr-defined]
        "cube.pushforward is now called cube.jvp_rule",
    )
    assert wg.derivative(cube)(2.0) == 12.0


def test_a_tape_keeps_its_old_method() -> None:
    tape = wg.gradtape(lambda x: np.sum(x * x), np.ones(2))
    v = warned(lambda: tape.bound(1), "Tape.bound is now called Tape.bound_variable")
    assert v == tape.bound_variable(1)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [("policy", "explain", ["np.sin"]), ("missing", "missing-rules", ["numpy:sin", "1.0"])],
)
def test_a_command_keeps_its_old_name(old: str, new: str, words: list[str], capsys: Any) -> None:
    assert main([new, *words]) == 0
    printed = capsys.readouterr()
    assert main([old, *words]) == 0
    again = capsys.readouterr()
    assert again.out == printed.out != "" and not printed.err
    assert again.err == f"{old} is now called {new}. wengert 0.2 removes the old name.\n"


def test_a_script_that_uses_an_old_name_is_told_without_options(tmp_path: Path) -> None:
    """Python shows a DeprecationWarning of `__main__`, at the line of the script."""
    script = tmp_path / "script.py"
    script.write_text("import wengert as wg\nprint(wg.policy(len).name)\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "len\n"
    assert f"{script}:2: DeprecationWarning: wengert.policy is now called wengert.explain_call" in done.stderr
