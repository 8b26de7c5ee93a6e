"""`import wengert` loads no more than names, and a gradient no more than it needs; SciPy's rules come with SciPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SLOW = {
    *("scipy", "numba", "rich", "pandas", "xarray", "matplotlib", "dask", "IPython", "argparse", "pdb", "asyncio"),
    *("multiprocessing", "subprocess", "unittest", "importlib.metadata", "email", "json", "zipfile", "sqlite3"),
    *("numpy.polynomial", "numpy.testing", "numpy.ma"),
    *("wengert_rules.scipy", "wengert.tensor", "wengert.tape", "wengert.compiling", "wengert.sparse"),
    *("wengert.forward", "numpy.random", "random", "hashlib", "sysconfig"),
}


def loaded(program: str) -> set[str]:
    """The modules that are there after a program, in a process of its own."""
    path = os.pathsep.join(map(str, (ROOT / "src", ROOT / "rules")))
    command = [sys.executable, "-c", f"import sys\n{program}\nprint(*sys.modules)"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_an_import_loads_names_and_no_more() -> None:
    added = loaded("import numpy, wengert") - loaded("import numpy")
    assert "wengert.api.gradient" not in added and "wengert_rules" not in added
    assert len(added) < 30


def test_nothing_is_loaded_that_a_gradient_can_do_without() -> None:
    program = "import numpy as np, wengert as wg\nwg.grad(lambda x: np.sum(np.sin(x) * x))(np.ones(3))"
    added = loaded(program) - loaded("import numpy")
    assert sorted(SLOW & added) == []
    assert len(added) < 320


def test_the_rules_of_a_part_of_scipy_come_with_it() -> None:
    pytest.importorskip("scipy")
    program = "import scipy.fft, wengert as wg\nassert wg.grad(lambda x: scipy.fft.dct([x])[0])(1.0) == 2"
    found = loaded(program)
    assert "wengert_rules.scipy.fft" in found
    assert not {"wengert_rules.scipy.signal", "wengert_rules.scipy.stats"} & found


def test_the_rules_of_scipy_load_neither_tapes_nor_the_compiler() -> None:
    pytest.importorskip("scipy")
    program = "import scipy.stats, wengert as wg\nassert wg.grad(lambda x: scipy.stats.norm.logpdf(x))(2.0) == -2"
    added = loaded(program) - loaded("import scipy.stats")
    assert {"wengert_rules.scipy.stats", "wengert_rules.scipy.integrate"} <= added
    assert not {"wengert.tape", "wengert.compiling", "wengert.sparse", "wengert.tensor", "numba"} & added


FIRST_USED_IN_A_TRACE = """
import warnings, numpy as np, wengert as wg
warnings.simplefilter("error")
def f(x):
    return np.sum(x * wg.stop_gradient(x)) * wg.ProjectTo(1.0)(wg.tree_leaves([x[0]])[0])
def g(x):
    for name in wg.__all__:
        getattr(wg, name)
    return f(x)
x = np.array([3.0, 2.0])
"""


@pytest.mark.parametrize("f", ["f", "g"])
@pytest.mark.parametrize("derivative", ["wg.grad({})", "wg.compile(wg.grad({}))", "wg.jacfwd({})"])
def test_a_name_may_be_used_first_in_a_trace(f: str, derivative: str) -> None:
    program = f"{FIRST_USED_IN_A_TRACE}\nd = {derivative.format(f)}\n"
    # (x·c) x₀ with c constant
    loaded(program + "for _ in range(3):\n    assert np.allclose(d(x), [13 + 9, 6]), d(x)\n    x = x.copy()")


def test_a_long_loop_is_compiled_where_nothing_else_has_been_used() -> None:
    """A deferred reverse pass is traced by a module further up, which must be there without having been imported."""
    program = """
import warnings, numpy as np, wengert as wg
warnings.simplefilter("error")
def f(x):
    for k in range(1000):
        x = x * 0.999 + 0.001
    return x
g = wg.compile(wg.grad(f))
assert np.allclose([g(2.0), g(3.0)], 0.999**1000)
"""
    loaded(program)


def test_a_name_may_be_used_first_in_a_scope_of_rules() -> None:
    """The modules that it needs declare rules once, which the end of the scope must not undo."""
    program = """
import numpy as np, wengert as wg
with wg.rules.scope():
    for name in wg.__all__:
        getattr(wg, name)
from wengert.api.parameters import stopped
from wengert.hooks.native_values import exact_value
assert {exact_value, stopped, np.sin} <= {*wg.rules}
assert wg.grad(lambda x: x * wg.stop_gradient(x))(3.0) == 3.0
assert wg.vmap(lambda x: wg.stop_gradient(x) * 2.0)(np.array([1.0])) == [2.0]
"""
    loaded(program)


def test_a_name_that_is_assigned_in_a_module_not_yet_loaded_stays() -> None:
    program = "import wengert.reverse\nlate = wengert.reverse.checkpoint\nlate.added = 1\nassert late.checkpoint"
    loaded(f"{program}\nassert late.added == sys.modules['wengert.reverse.checkpoint'].added == 1")


@pytest.mark.parametrize("package", ["wengert", "wengert_rules", "wengert.extend"])
def test_a_build_without_the_global_lock_is_refused_with_what_to_do(package: str) -> None:
    assert package in loaded(f"sys._is_gil_enabled = lambda: True\nimport {package}")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        loaded(f"sys._is_gil_enabled = lambda: False\nimport {package}")
    assert "ImportError: wengert needs Python's global lock" in refused.value.stderr
    assert "Use the ordinary build, or set PYTHON_GIL=1" in refused.value.stderr
