"""CPU time of the import, of the first gradient in a fresh process and of later small ones, beside autograd and JAX.

Each number of the first table is the least of some processes; the import of NumPy and of SciPy is not counted.
Run by hand: `python benchmarks/first_second.py [processes]`.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMPORTS = {
    "wengert": "import wengert as ad, numpy as np",
    "autograd": "import autograd as ad, autograd.numpy as np",
    "jax": "import jax; jax.config.update('jax_enable_x64', True); import jax as ad, jax.numpy as np",
}
SCIPY = {"wengert": "scipy", "autograd": "autograd.scipy", "jax": "jax.scipy"}
CODE = {
    "sum(sin(x) * x)": ("", "lambda x: np.sum(np.sin(x) * x)"),
    "special.gammaln": ("import {scipy}.special", "lambda x: np.sum({scipy}.special.gammaln(x + 1.0))"),
    "linalg.solve": ("import {scipy}.linalg", "lambda x: np.sum({scipy}.linalg.solve(np.eye(3) * 2.0, x))"),
    "stats.norm.logpdf": ("import {scipy}.stats", "lambda x: np.sum({scipy}.stats.norm.logpdf(x))"),
}
LATER = {
    "gradient of sum(sin(x) * x)": "ad.grad(lambda x: np.sum(np.sin(x) * x))",
    "gradient, a loop of 100 floats": "ad.grad(lambda x: loop(x[0]))",
    "gradient, a loop of 100 stores": "ad.grad(lambda x: stores(x[1]))",
    "hessian of 5 numbers": "ad.hessian(lambda x: np.sum(np.sin(x) * x))",
    "jacobian, 5 to 5": "ad.jacobian(lambda x: np.sin(x) * np.sum(x))",
}
TIMING = """
import time
import numpy
{scipy}
start = time.process_time()
{imports}
imported = time.process_time()
{more}
x = numpy.arange(3.0)
begun = time.process_time()
ad.grad({function})(x)
print(imported - start, time.process_time() - begun)
"""
REPEATED = """
import time
import numpy
{imports}
def loop(x):
    for k in range(100):
        x = x * 0.99 + 0.1
    return x
def stores(x):
    y = numpy.ones(101)
    for k in range(100):
        y[k + 1] = x * y[k]
    return y[100]
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


def run(program: str) -> list[float]:
    """The numbers that a program prints, in a process of its own."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "rules"), os.environ.get("PYTHONPATH", "")])
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    return [float(number) for number in done.stdout.split()] if not done.returncode else []


def first(library: str, name: str, processes: int) -> list[float]:
    """The least CPU time of the import and of the first gradient; nothing if the library cannot do it."""
    needed, function = CODE[name]
    words = {"scipy": SCIPY[library]}
    own = needed.format(scipy="scipy")
    program = TIMING.format(
        scipy=own, imports=IMPORTS[library], more=needed.format(**words), function=function.format(**words)
    )
    taken = [found for _ in range(processes + 1) if (found := run(program))][1:]  # the first one compiles the files
    return [min(column) for column in zip(*taken, strict=True)]


def main(processes: int = 5) -> None:
    libraries = [name for name in IMPORTS if name == "wengert" or find_spec(name)]
    print(f"{'first, in ms':32}" + "".join([f"{name:>12}" for name in libraries]))
    for row, name in enumerate(CODE):
        found = {library: first(library, name, processes) for library in libraries}
        if not row:
            print(f"{'import':32}" + "".join([_in(found[library][:1], 1e3) for library in libraries]))
        print(f"{'gradient of ' + name:32}" + "".join([_in(found[library][1:], 1e3) for library in libraries]))
    print(f"\n{'later, in µs':32}" + "".join([f"{name:>12}" for name in libraries]))
    for name, function in LATER.items():
        times = {library: run(REPEATED.format(imports=IMPORTS[library], function=function)) for library in libraries}
        print(f"{name:32}" + "".join([_in(times[library], 1e6) for library in libraries]))


def _in(seconds: list[float], unit: float) -> str:
    return f"{seconds[0] * unit:12.{0 if unit > 1e3 else 1}f}" if seconds else f"{'-':>12}"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
