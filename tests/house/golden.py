"""The programs and examples whose printed tapes stand in tests/house/tapes.

`python tests/house/golden.py` writes them anew: read them then.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg

FOLDER = pathlib.Path(__file__).with_name("tapes")
ROOT = FOLDER.parents[2]
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))


def seed(x1, x2):
    def g(a, b):
        return a * b

    def h(a):
        return np.sin(a)

    return g(x1, x2) + h(x1)


def branches(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            total += x[i] ** 2
        else:
            total -= x[i]
    return total


def smoothing_in_place(x):
    y = x.copy()
    for i in range(1, len(y) - 1):
        y[i] = 0.5 * (y[i - 1] + y[i + 1])
    y[1:] *= 2.0
    return y.sum()


def layer(parameters, inputs):
    hidden = np.tanh(inputs @ parameters["w"] + parameters["b"])
    return np.mean(hidden**2)


def mixture(z):
    largest = np.max(z, axis=1, keepdims=True)
    return np.sum(largest[:, 0] + np.log(np.sum(np.exp(z - largest), axis=1)))


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "seed": (seed, (2.0, 3.0)),
    "branches": (branches, (np.array([1.0, -2.0, 3.0]),)),
    "smoothing_in_place": (smoothing_in_place, (np.array([1.0, 4.0, 2.0, 8.0]),)),
    "layer": (
        layer,
        ({"w": np.array([[0.5], [-1.0]]), "b": np.array([0.1])}, np.array([[1.0, 2.0], [3.0, 4.0]])),
    ),
    "mixture": (mixture, (np.array([[0.0, 1.0], [2.0, 0.5]]),)),
}


def printed(name: str) -> str:
    """All forms of one program: its tape, the rrule tape, the inlined derivative, the derivative as source."""
    f, args = PROGRAMS[name]
    _, tape = wg.trace(f, *args)
    derivative = wg.gradtape(f, *args, argnums=0)
    parts = {
        "tape": tape.dump(),
        "rrule tape": wg.rrule_tape(tape, [tape.inputs[1]]).dump(form="compact"),
        "inlined derivative": derivative.dump(),
        "source": derivative.to_source(name),
    }
    home = str(pathlib.Path(__file__).parent)
    return "\n".join(f"## {title}\n\n{text.strip()}\n" for title, text in parts.items()).replace(home, "tests/house")


def lacking(name: str) -> list[str]:
    """The packages that an example imports and that are not installed."""
    tree = ast.parse((ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8"))
    imported = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in tree.body if isinstance(node, ast.ImportFrom)}
    packages = sorted({module.partition(".")[0] for module in imported})
    return [package for package in packages if importlib.util.find_spec(package) is None]


@functools.cache
def example(name: str) -> str:
    """What an example prints, run as a user runs it."""
    paths = os.pathsep.join(str(ROOT / folder) for folder in ("src", "rules"))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / f"{name}.py")]
    with tempfile.TemporaryDirectory() as folder:  # for what it writes
        done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, timeout=300, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.replace(f"{ROOT}{os.sep}", "")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "examples").mkdir(exist_ok=True)
    for name in EXAMPLES:
        if lacking(name):
            print(f"{name}.py is not run: it needs {', '.join(lacking(name))}")
            continue
        (FOLDER / "examples" / f"{name}.txt").write_text(example(name), encoding="utf-8")
    for program in PROGRAMS:
        (FOLDER / f"{program}.txt").write_text(printed(program))
