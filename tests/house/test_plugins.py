"""Rules of another distribution: a wheel that is built by hand, installed by pip and found in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import wengert as wg
from wengert.rulebook.registry import Registry

ROOT = Path(__file__).parents[2]

CUBES = """
import wengert as wg

def cube(x):
    return float(str(x)) ** 3

@wg.rrule(cube)
def cube_rule(x):
    return x ** 3, lambda y_bar: 3 * y_bar * x * x
"""


def wheel(folder: Path, name: str, source: str, point: str) -> Path:
    """A wheel of one module with one entry point."""
    path = folder / f"{name.replace('-', '_')}-1.0-py3-none-any.whl"
    info = f"{name.replace('-', '_')}-1.0.dist-info"
    files = {
        f"{point.partition(':')[0]}.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[wengert.rules]\n{name} = {point}\n",
    }
    record = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(file, text)
    return path


def installed(folder: Path, *wheels: Path) -> Path:
    """The folder into which pip installed the wheels; an environment without pip unpacks them, which is the same."""
    target = folder / "site"
    if find_spec("pip") is None:
        for path in wheels:
            zipfile.ZipFile(path).extractall(target)
        return target
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", target, *wheels]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return target


def run(target: Path, program: str, **environment: str) -> str:
    """What a program prints, with the installed wheels on its path."""
    path = os.pathsep.join(map(str, (target, ROOT / "src", ROOT / "rules")))
    result = subprocess.run(
        [sys.executable, "-W", "always", "-c", program],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout + result.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    given = CUBES.replace("import wengert as wg", "").replace("cube", "quad").replace("** 3", "** 4")
    given = given.replace("3 *", "4 * x *").replace("@wg.rrule(quad)", "") + "\ndef register(rules):\n"
    given += "    from wengert.extend import rrule\n    rrule(quad, registry=rules)(quad_rule)\n"
    broken = "import wengert as wg\nf = lambda x: x\nwg.non_differentiable(f)\nimport no_such_module\n"
    twice = "import math\nfrom wengert.extend import partials\n\n@partials(math.sin)\ndef sin(y, x):\n    return 0\n"
    return installed(
        folder,
        wheel(folder, "third-party-cubes", CUBES, "cubes"),
        wheel(folder, "Quads", given, "quads:register"),
        wheel(folder, "broken-rules", broken, "broken"),
        wheel(folder, "twice", twice, "twice"),
    )


QUIET = "broken_rules,TWICE"


def test_a_wheel_brings_its_rules(site: Path) -> None:
    program = """
import sys
import wengert as wg
print("cubes" in sys.modules)
def f(x):
    from cubes import cube
    from quads import quad
    return cube(x) + quad(x)
print(wg.grad(f)(2.0), "cubes" in sys.modules)
print(wg.rules.load())
"""
    first, second, third = run(site, program, WENGERT_SKIP_RULES=QUIET).splitlines()
    assert first == "False"
    assert second == "44.0 True"
    assert eval(third) == {"third-party-cubes": ["cubes"], "Quads": ["quads:register"]}


def test_an_archive_on_the_path_brings_its_rules(tmp_path: Path) -> None:
    archive = wheel(tmp_path, "zipped-cubes", CUBES, "cubes")
    program = "import wengert as wg; wg.grad(lambda x: x)(1.0); import sys; print('cubes' in sys.modules)"
    assert run(archive, program) == "True\n"


def test_a_finder_of_distributions_is_asked(tmp_path: Path) -> None:
    """A finder that is not Python's own may know distributions that are in no folder of the path."""
    archive = wheel(tmp_path, "found-cubes", CUBES, "cubes")
    program = f"""
import sys
from importlib.metadata import DistributionFinder, PathDistribution
from zipfile import Path
class Finder(DistributionFinder):
    def find_spec(self, *args): return None
    def find_distributions(self, context=None):
        yield PathDistribution(Path({str(archive)!r}, "found_cubes-1.0.dist-info/"))
sys.meta_path.append(Finder())
import wengert as wg
print(*wg.rules.load())
"""
    assert "PluginWarning: the rules of found-cubes" in run(tmp_path, program)  # there is no module to import


def test_a_lookup_finds_them_too(site: Path) -> None:
    program = "import wengert as wg, cubes; print(cubes.cube in wg.rules, wg.rules[cubes.cube].where)"
    assert run(site, program, WENGERT_SKIP_RULES=QUIET).startswith("True")


def test_importing_the_module_first_is_the_same(site: Path) -> None:
    program = "import cubes; import wengert as wg; print(wg.grad(cubes.cube)(2.0), len(wg.rules.load()))"
    assert run(site, program, WENGERT_SKIP_RULES=QUIET) == "12.0 2\n"


@pytest.mark.parametrize("names", ["third_party.cubes," + QUIET, "all"])
def test_left_out_by_the_environment(site: Path, names: str) -> None:
    program = "import wengert as wg; wg.grad(lambda x: x)(1.0); import sys; print('cubes' in sys.modules)"
    assert run(site, program, WENGERT_SKIP_RULES=names) == "False\n"


def test_left_out_by_a_call(site: Path) -> None:
    program = """
import sys
import wengert as wg
wg.rules.skip("third-party-cubes", "broken-rules", "twice")
wg.grad(lambda x: x)(1.0)
print("cubes" in sys.modules, wg.rules.load())
try:
    wg.rules.skip()
except wg.RuleError as error:
    print(error)
"""
    first, second = run(site, program).splitlines()
    assert first == "False {'Quads': ['quads:register']}"
    assert "first gradient" in second and "WENGERT_SKIP_RULES" in second


def test_a_broken_plugin_is_left_out_whole_with_a_warning(site: Path) -> None:
    program = """
import math
import wengert as wg, wengert_rules
wg.grad
before = len(wg.rules._rules)
print(wg.grad(math.sin)(0.0))
import cubes, quads
print(sorted(wg.rules.load()), len(wg.rules) - before)
"""
    text = run(site, program)
    assert "1.0\n['Quads', 'third-party-cubes'] 2\n" in text
    assert "PluginWarning: the rules of broken-rules (entry point" in text and "no_such_module" in text
    assert "PluginWarning: the rules of twice (entry point" in text and "DuplicateRuleError: math.sin" in text


def test_threads_wait_until_the_rules_are_there(site: Path) -> None:
    program = """
import threading
import wengert as wg
results = []
def work():
    from cubes import cube
    results.append(wg.grad(cube)(2.0))
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(results)
"""
    assert run(site, program, WENGERT_SKIP_RULES=QUIET) == f"{[12.0] * 8}\n"


def test_a_registry_without_a_group_brings_nothing() -> None:
    table = Registry()
    table.skip("anything")
    assert table.load() == {} and len(table) == 0


def test_a_warning_may_be_made_an_error(monkeypatch: Any) -> None:
    class Point:
        dist, name, value = None, "p", "nowhere"

        def load(self) -> None:
            raise ImportError("nowhere")

    table = Registry("wengert.none")
    plugins = table._plugins
    assert plugins is not None
    monkeypatch.setattr(plugins, "_points", lambda: [Point()])
    with pytest.warns(wg.PluginWarning, match="an unnamed distribution .*ImportError: nowhere"):
        assert table.get(len) is None
    assert table.load() == {}
