"""Parts of NumPy and Python that a traced function is the first to import are differentiated as if imported before."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
START = """
import sys
import numpy as np
import wengert as wg

def check(name):
    if name in sys.modules:  # by an older NumPy
        print("loaded")
        raise SystemExit

"""
PROGRAMS = {
    "shared generator": """
check("numpy.random")
g = wg.grad(lambda x: np.sum(np.random.normal(x, 2.0 * x)))(np.array([3.0, 5.0]))
seen = wg.value_and_grad(lambda x: np.sum(np.random.normal(x[0], x[1])))(np.array([3.0, 2.0]))
assert np.allclose(seen[1], [1.0, (seen[0] - 3.0) / 2.0])
""",
    "own generator": """
check("numpy.random")
f = lambda x: np.sum(np.random.default_rng(3).normal(x, 2.0 * x))
x = np.array([3.0, 5.0])
g = wg.grad(f)(x)
assert np.allclose(g, [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(2)])
assert np.allclose(wg.compile(wg.grad(f))(x), g)
""",
    "discrete": """
check("numpy.random")
try:
    wg.grad(lambda x: float(np.random.poisson(x)) * x)(3.0)
except wg.NoDerivativeError as error:
    assert "poisson draws from a discrete distribution" in str(error)
else:
    raise AssertionError
""",
    "drawn in C": """
check("numpy.random")
def f(x):
    from numpy.random import default_rng
    return sum(map(lambda rng: rng.exponential(x), [default_rng(1), default_rng(2)]))
assert np.isclose(wg.grad(f)(2.0), f(1.0))
""",
    "checkpoint": """
check("numpy.random")
drawn = []
@wg.checkpoint
def f(x):
    y = np.random.normal(size=3)
    drawn.append(y)
    return np.sum(np.sin(x) * y)
assert np.array_equal(wg.grad(lambda x: f(x) * 1.0)(np.zeros(3)), drawn[0])
assert len(drawn) == 2 and np.array_equal(*drawn)
""",
    "checkpoint of Python's": """
drawn = []
@wg.checkpoint
def f(x):
    import random
    drawn.append(random.gauss(0.0, 1.0))
    return np.sin(x) * drawn[-1]
assert wg.grad(lambda x: f(x) * 1.0)(0.0) == drawn[0] == drawn[1]
""",
    "Python's": """
check("random")
def f(x):
    import random
    random.seed(3)
    return random.choices([x, x * x], [0.0, 1.0])[0] + random.gauss(x, 2.0) + random.random()
assert np.isclose(wg.grad(f)(3.0), 7.0)
""",
    "removed": """
import random
rng, own, state = random.Random(3), random.Random(3), random.getstate()
g = wg.compile(wg.value_and_grad(lambda x: x * rng.random()))
first = g(2.0)[0]
del sys.modules["random"]
second = g(2.0)[0]
import random
third = g(2.0)[0]
h = wg.compile(wg.value_and_grad(lambda x: x * rng.random()))
found = [first, second, third, h(2.0)[0], h(2.0)[0], wg.value_and_grad(lambda x: x * rng.random())(2.0)[0]]
assert found == [2.0 * own.random() for _ in found], found
""",
    "compiled": """
check("numpy.random")
drawn = []
def f(x):
    y = np.random.normal(size=3)
    drawn.append(y)
    return np.sum(np.sin(x) * y)
g = wg.compile(wg.grad(f))
first, second = g(np.zeros(3)), g(np.zeros(3))
np.random.seed(1)
third = g(np.zeros(3))
np.random.seed(1)
assert np.array_equal(third, np.random.normal(size=3)) and not np.array_equal(first, second)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_module_that_the_traced_function_imports_first(name):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT / "rules")))}
    command = [sys.executable, "-c", START + PROGRAMS[name]]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if "loaded" in done.stdout:
        pytest.skip("NumPy imports this itself")
