"""The derivative of each rule for SciPy, and of what is traced through, as source without wengert."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from alone import check_alone

FILES = [path.stem for path in sorted(Path(__file__).parent.glob("samples_*.py"))]
TABLES = [name for name in FILES if importlib.import_module(name).SAMPLES]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("table", TABLES)
def test_the_derivative_of_each_rule_runs_without_the_package(table: str) -> None:
    samples = importlib.import_module(table)
    first = {sample.f: sample for sample in reversed(samples.SAMPLES)}
    assert check_alone([*first.values(), *getattr(samples, "TRACED", [])[:20]])
