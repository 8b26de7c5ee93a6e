"""The quickstart runs as a user runs it, and finds what others found in the same data."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture(scope="module")
def printed() -> str:
    paths = [str(EXAMPLES.parent / folder) for folder in ("src", "rules")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-W", "error", str(EXAMPLES / "quickstart.py")]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_quickstart_is_short() -> None:
    assert len((EXAMPLES / "quickstart.py").read_text().splitlines()) < 60


def test_quickstart_shows_value_gradient_tape_and_source(printed: str) -> None:
    for part in ("value     0.569849", "gradient  [1.84147098 0.45969769 0.6       ]", "setitem(", "def df(x"):
        assert part in printed


def test_the_gradient_agrees_with_differences(printed: str) -> None:
    error = next(line for line in printed.splitlines() if line.startswith("error"))
    assert float(error.split()[1]) < 1e-9


def test_the_printed_derivative_runs_and_agrees(printed: str) -> None:
    import numpy as np

    source = printed.split("runs without wengert:\n")[1].split("\nOld Faithful")[0]
    namespace: dict[str, object] = {}
    exec(source, namespace)
    _, (_, gradient) = namespace["df"](np.array([0.5, 1.0, 0.3]))  # type: ignore[operator]
    np.testing.assert_allclose(gradient, [1.84147098, 0.45969769, 0.6], rtol=1e-8)


def test_the_fit_is_the_known_one(printed: str) -> None:
    """Source: Benaglia et al. (2009), mixtools, J. Stat. Softw. 32(6), the same fit by EM in R."""
    assert "log-likelihood -276.36" in printed
    assert "34.8% last 2.019 ± 0.236" in printed
    assert "65.2% last 4.273 ± 0.437" in printed


def test_the_data_are_those_of_r() -> None:
    with (EXAMPLES / "data" / "faithful.csv").open() as file:
        rows = [(float(row["eruptions"]), float(row["waiting"])) for row in csv.DictReader(file)]
    assert rows[:3] == [(3.6, 79), (1.8, 54), (3.333, 74)]
    assert [round(sum(column) / 272, 6) for column in zip(*rows, strict=True)] == [3.487783, 70.897059]
