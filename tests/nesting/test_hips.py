"""HIPS autograd's own tests, where they are: HIPS_TESTS names their folder (see `benchmarks/hips_tests.py`)."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = os.environ.get("HIPS_TESTS")


@pytest.mark.skipif(FOLDER is None, reason="HIPS_TESTS does not name the folder of autograd's tests")
@pytest.mark.skipif(importlib.util.find_spec("autograd") is None, reason="autograd is not installed")
def test_they_pass() -> None:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "rules")])
    command = [sys.executable, str(ROOT / "benchmarks" / "hips_tests.py"), str(FOLDER)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
