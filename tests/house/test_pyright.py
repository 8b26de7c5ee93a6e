"""Pyright infers the types that the typed sample states, as mypy does; it runs where `pip install pyright` was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_pyright_agrees_with_the_typed_sample() -> None:
    pytest.importorskip("pyright", reason="no pyright here: pip install pyright")
    sample = ROOT / "tests" / "house" / "test_typed_use.py"
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(sample)]
    sources = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=sources, check=False)
    assert done.returncode == 0, done.stdout
