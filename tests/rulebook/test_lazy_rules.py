"""Rules for a library are loaded once that has been imported, at the first lookup after it."""

from __future__ import annotations

import subprocess
import sys
import threading
import types
from pathlib import Path

import pytest

from wengert.errors import DuplicateRuleError, RuleError
from wengert.rulebook.declare import partials
from wengert.rulebook.registry import Registry

RULES = """
import {library}
from wengert.extend import partials
from {library} import table
@partials({library}.cubed, registry=table)
def cubed_rule(y, x):
    return 3 * x * x
"""


def module(name: str, **held: object) -> types.ModuleType:
    made = types.ModuleType(name)
    vars(made).update(held)
    return made


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A table that waits for the library `cubes`, whose rules stand in the module `cubes_rules`."""
    (tmp_path / "cubes_rules.py").write_text(RULES.format(library="cubes"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cubes_rules", raising=False)
    made = Registry()
    made.when_imported("cubes", "cubes_rules")
    return made


def cubed(x: float) -> float:
    return x**3


def test_rules_follow_the_import_of_their_library(table: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cubed not in table and "cubes_rules" not in sys.modules
    monkeypatch.setitem(sys.modules, "cubes", module("cubes", cubed=cubed, table=table))
    assert cubed in table and table.rrule(cubed, 2.0)[1](1.0) == (12.0,)


def test_a_library_that_is_being_imported_is_waited_for(table: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    library = module("cubes", cubed=cubed, table=table)
    library.__spec__ = types.SimpleNamespace(_initializing=True)  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "cubes", library)
    assert cubed not in table
    library.__spec__._initializing = False  # type: ignore[union-attr]
    assert cubed in table


def test_they_stay_where_the_block_that_met_them_is_undone(table: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    with table.scope():
        monkeypatch.setitem(sys.modules, "cubes", module("cubes", cubed=cubed, table=table))
        assert cubed in table
    assert cubed in table


def test_rules_that_fail_say_which_and_are_tried_again(
    table: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cubes", module("cubes", table=table))
    with pytest.raises(RuleError, match="the rules for cubes could not be loaded: importing cubes_rules raised Attr"):
        table.get(cubed)
    vars(sys.modules["cubes"])["cubed"] = cubed
    assert cubed in table


def test_threads_wait_for_them(table: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cubes", module("cubes", cubed=cubed, table=table))
    found: list[bool] = []
    threads = [threading.Thread(target=lambda: found.append(cubed in table)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8


def test_scipy_is_not_imported_by_wengert_and_may_be_met_in_a_trace() -> None:
    program = """
import sys
import wengert as wg
wg.grad(lambda x: x * x)(2.0)
assert not [name for name in sys.modules if name.partition(".")[0] == "scipy" or "wengert_rules.scipy." in name]

def f(x):
    import scipy.special
    return x + (scipy.special.erf in wg.rules)

assert wg.grad(f)(2.0) == 1.0
assert "wengert_rules.scipy.special" in sys.modules
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stderr == ""


def test_they_may_be_met_in_a_context_manager_that_a_trace_follows(tmp_path: Path) -> None:
    program = """
import contextlib
import wengert as wg

@contextlib.contextmanager
def inner():
    yield 2.0

@contextlib.contextmanager
def outer():
    import newly_met
    with inner() as two:
        yield two

def f(x):
    with outer() as two:
        return two * x

assert wg.grad(f)(3.0) == 2.0
"""
    (tmp_path / "newly_met.py").write_text("")
    command = [sys.executable, "-c", f"import sys; sys.path.append({str(tmp_path)!r})" + program]
    assert subprocess.run(command, capture_output=True, text=True).stderr == ""


USES_OF_BATCHES = {
    "vmap": "np.testing.assert_allclose(wg.vmap(np.sort)(x), np.sort(x))",
    "vmap in a gradient": "assert (wg.grad(lambda x: np.sum(wg.vmap(np.cumsum)(x)))(x) == [3.0, 2.0, 1.0]).all()",
    "several directions": "assert np.isclose(wg.jacfwd(lambda t: np.linalg.inv(np.diag(t)))(x[1])[1, 1, 1], -1 / 16)",
    "in a scope": """
with wg.rules.scope():
    wg.vmap(np.sort)(x)
np.testing.assert_allclose(wg.vmap(np.sort)(x), np.sort(x))""",
    "a second rule": """
try:
    wg.extend.batching(np.sort)(lambda batch, a: a)
except wg.errors.DuplicateRuleError:
    pass
else:
    raise AssertionError""",
}


@pytest.mark.parametrize("use", USES_OF_BATCHES)
def test_batching_rules_are_loaded_when_they_are_first_used(use: str) -> None:
    program = f"""
import sys, warnings
import numpy as np
import wengert as wg
import wengert.extend
warnings.simplefilter("error")
x = np.arange(6.0).reshape(2, 3)
wg.grad(np.sum)(x)
assert "wengert_rules.batches" not in sys.modules
{USES_OF_BATCHES[use]}
assert "wengert_rules.batches" in sys.modules
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stderr == ""


def test_rules_for_statistics_are_loaded_in_the_trace_that_imports_it() -> None:
    program = """
import sys
import wengert as wg

def spread(x):
    import statistics
    return statistics.variance(k * x for k in (1.0, 2.0, 3.0))

assert wg.grad(lambda x: x * x)(3.0) == 6.0
assert "statistics" not in sys.modules
assert wg.grad(spread)(3.0) == 6.0
assert wg.hessian(spread)(3.0) == 2.0
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stderr == ""


def test_a_second_rule_is_refused_where_it_is_declared(table: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cubes", module("cubes", cubed=cubed, table=table))
    with pytest.raises(DuplicateRuleError, match=r"already has a rule, cubed_rule .*rules\.remove"):
        partials(cubed, registry=table)(lambda y, x: 7.0)
    assert table.rrule(cubed, 2.0)[1](1.0) == (12.0,)
    table.remove(cubed)
    partials(cubed, registry=table)(lambda y, x: 7.0)
    assert table.rrule(cubed, 2.0)[1](1.0) == (7.0,)
