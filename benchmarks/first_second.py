"""CPU time of the import, of the first derivative in a fresh process and of later small ones, beside autograd and JAX.

Each number of the first table is the least of some processes; the import of NumPy and of SciPy is not counted. The
column `new cache` has wengert's first derivative with an empty cache folder.
Run by hand: `python benchmarks/first_second.py [processes]`.
"""

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMPORTS = {
    "wengert": "import wengert as ad, numpy as np",
    "autograd": "import autograd as ad, autograd.numpy as np",
    "jax": "import jax; jax.config.update('jax_enable_x64', True); import jax as ad, jax.numpy as np",
}
NEW_CACHE = "new cache"
SCIPY = {"wengert": "scipy", "autograd": "autograd.scipy", "jax": "jax.scipy"}
CODE = {
    "gradient of sum(sin(x) * x)": ("", "ad.grad(lambda x: np.sum(np.sin(x) * x))(x)"),
    "hessian of sum(sin(x) * x)": ("", "ad.hessian(lambda x: np.sum(np.sin(x) * x))(x)"),
    "gradient, a loop of 100 floats": ("", "ad.grad(lambda x: loop(x[0]))(x)"),
    "gradient of special.gammaln": (
        "import {scipy}.special",
        "ad.grad(lambda x: np.sum({scipy}.special.gammaln(x + 1.0)))(x)",
    ),
    "gradient of linalg.solve": (
        "import {scipy}.linalg",
        "ad.grad(lambda x: np.sum({scipy}.linalg.solve(np.eye(3) * 2.0, x)))(x)",
    ),
    "gradient of stats.norm.logpdf": (
        "import {scipy}.stats",
        "ad.grad(lambda x: np.sum({scipy}.stats.norm.logpdf(x)))(x)",
    ),
    "gradient of CubicSpline": (
        "import {scipy}.interpolate",
        "ad.grad(lambda x: np.sum({scipy}.interpolate.CubicSpline(numpy.arange(3.0), x)(numpy.linspace(0, 2, 9))))(x)",
    ),
}
LATER = {
    "gradient of sum(sin(x) * x)": "ad.grad(lambda x: np.sum(np.sin(x) * x))",
    "gradient, a loop of 100 floats": "ad.grad(lambda x: loop(x[0]))",
    "gradient, a loop of 100 stores": "ad.grad(lambda x: stores(x[1]))",
    "gradient, 100 stores of slices": "ad.grad(lambda x: slices(x))",
    "gradient, 100 updates of slices": "ad.grad(lambda x: updates(x))",
    "gradient, 100 products in slices": "ad.grad(lambda x: products(x))",
    "gradient, 100 products in place": "ad.grad(lambda x: in_place(x))",
    "gradient, 100 updates at indices": "ad.grad(lambda x: at_indices(x))",
    "gradient, 100 rows of a matrix": "ad.grad(lambda x: rows(x))",
    "gradient, 20 columns of a table": "ad.grad(lambda x, table=table(): columns(np, table, x))",
    "hessian of 5 numbers": "ad.hessian(lambda x: np.sum(np.sin(x) * x))",
    "jacobian, 5 to 5": "ad.jacobian(lambda x: np.sin(x) * np.sum(x))",
}
FUNCTIONS = """
def loop(x):
    for k in range(100):
        x = x * 0.99 + 0.1
    return x
def stores(x):
    y = numpy.ones(101)
    for k in range(100):
        y[k + 1] = x * y[k]
    return y[100]
def slices(x):
    y = numpy.ones(103)
    for k in range(100):
        y[k : k + 3] = x[:3]
    return numpy.sum(y)
def updates(x):
    y = numpy.ones(103)
    for k in range(100):
        y[k : k + 3] += x[:3]
    return numpy.sum(y)
def products(x):
    y = numpy.ones(103)
    y[:3] = x[:3]
    for k in range(100):
        y[k : k + 3] *= 0.9
    return numpy.sum(y)
def in_place(x):
    y = x * 1.0
    for k in range(100):
        y *= x
    return numpy.sum(y)
def table():
    import pandas
    return pandas.DataFrame(numpy.ones((100, 20)), columns=[*"abcdefghijklmnopqrst"])
def columns(np, table, x):
    return np.sum(sum([table[name].values * x[0] for name in "abcdefghijklmnopqrst"]) ** 2)
def rows(x):
    y, total = numpy.ones((100, 5)) * x[0], 0.0
    for k in range(100):
        row = y[k]
        total = total + row[0] * row[1]
    return total
def at_indices(x):
    y, places = x * 1.0, numpy.array([0, 2, 4])
    for k in range(100):
        y[places] += x[:3]
    return numpy.sum(y)
"""
TIMING = """
import time
import numpy
{scipy}
start = time.process_time()
{imports}
imported = time.process_time()
{more}
x = numpy.arange(3.0)
{functions}
begun = time.process_time()
{work}
print(imported - start, time.process_time() - begun)
"""
REPEATED = """
import time
import numpy
{imports}
{functions}
f, x = {function}, numpy.arange(5.0)
for _ in range(120):
    f(x)
def seconds():
    start = time.process_time()
    for _ in range(50):
        f(x)
    return (time.process_time() - start) / 50
print(min(seconds() for _ in range(7)))
"""


def run(program: str, cache: str | None = None) -> list[float]:
    """The numbers that a program prints, in a process of its own; `cache` is wengert's folder for generated code."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "rules"), os.environ.get("PYTHONPATH", "")])
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    environment |= {"WENGERT_CACHE": cache} if cache else {}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    return [float(number) for number in done.stdout.split()] if not done.returncode else []


def first(library: str, name: str, processes: int, cache: str) -> list[float]:
    """The least CPU time of the import and of the first derivative; nothing if the library cannot do it."""
    is_new = library == NEW_CACHE
    library = "wengert" if is_new else library
    needed, work = CODE[name]
    words = {"scipy": SCIPY[library]}
    program = TIMING.format(
        scipy=needed.format(scipy="scipy"),
        imports=IMPORTS[library],
        more=needed.format(**words),
        functions=FUNCTIONS,
        work=work.format(**words),
    )
    folders = [os.path.join(cache, f"{name} {k}" if is_new else "one") for k in range(processes + 1)]
    taken = [found for folder in folders if (found := run(program, folder))][1:]  # the first one compiles the files
    return [min(column) for column in zip(*taken, strict=True)]


def main(processes: int = 5) -> None:
    libraries = [name for name in IMPORTS if name == "wengert" or find_spec(name)]
    columns = [libraries[0], NEW_CACHE, *libraries[1:]]
    print(f"{'first, in ms':32}" + "".join([f"{name:>12}" for name in columns]))
    with tempfile.TemporaryDirectory() as cache:
        for row, name in enumerate(CODE):
            found = {library: first(library, name, processes, cache) for library in columns}
            if not row:
                print(f"{'import':32}" + "".join([_in(found[library][:1], 1e3) for library in columns]))
            print(f"{name:32}" + "".join([_in(found[library][1:], 1e3) for library in columns]))
    print(f"\n{'later, in µs':32}" + "".join([f"{name:>12}" for name in libraries]))
    for name, function in LATER.items():
        times = {
            library: run(REPEATED.format(imports=IMPORTS[library], functions=FUNCTIONS, function=function))
            for library in libraries
        }
        print(f"{name:32}" + "".join([_in(times[library], 1e6) for library in libraries]))


def _in(seconds: list[float], unit: float) -> str:
    return f"{seconds[0] * unit:12.{0 if unit > 1e3 else 1}f}" if seconds else f"{'-':>12}"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
