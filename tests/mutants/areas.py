"""Where mistakes are made, of which kinds, how many, and the tests that are to find them first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from tests.mutants.mutating import (
    Mutant,
    axes,
    conjugates,
    drawn,
    factors,
    mutants_of,
    parts_of_tests,
    signs,
    statements,
    tests,
)

ROOT = Path(__file__).parents[2]
_OTHERS = {"arch", "bottleneck", "numexpr", "pint", "pywt", "wrapt", "xarray"}
"""Rules for packages that are not installed with the tests."""
_FORMULAS = (factors, signs, conjugates, axes)
_DECISIONS = (tests, parts_of_tests, statements)


_SCIPY = {
    "special": (11, "special"),
    "stats": (5, "distributions"),
    "linalg": (5, "linalg_scipy"),
    "interpolate": (5, "interpolate"),
    "integrate": (3, "odes"),
    "sparse": (3, "linalg_scipy"),
    "signal": (3, "signal"),
    "spatial": (3, "spatial"),
    "ndimage": (2, "ndimage"),
    "optimize": (2, "minima"),
    "": (3, "fft"),
}
"""Of each folder of the rules for SciPy: how many, and the file of tests that is run first."""


class Area(NamedTuple):
    """A part of the source."""

    name: str
    files: tuple[str, ...]
    operators: tuple[Any, ...]
    count: int
    tests: tuple[str, ...]
    """Those that are run, one after the other."""

    def mutants(self) -> list[Mutant]:
        """Those that are drawn here, but for the EQUIVALENT."""
        paths = {path for name in self.files for path in ROOT.glob(name) if path.stem not in _OTHERS}
        files = sorted([path.relative_to(ROOT).as_posix() for path in paths])
        found = [mutant for file in files for mutant in mutants_of(ROOT, file, self.operators)]
        return drawn([mutant for mutant in found if mutant.id not in EQUIVALENT], self.count, KILLERS)


def _of_scipy() -> list[Area]:
    return [
        Area(
            f"rules of scipy.{name}" if name else "other rules of SciPy",
            (f"rules/wengert_rules/scipy/{name}/*.py" if name else "rules/wengert_rules/scipy/*.py",),
            _FORMULAS,
            count,
            (f"tests/scipy_rules/test_{first}.py", "tests/scipy_rules/test_scipy_rules.py", "tests/scipy_rules"),
        )
        for name, (count, first) in _SCIPY.items()
    ]


def equivalent() -> dict[str, str]:
    """Mutants that change nothing that a test may ask for, each with the reason."""
    lines = Path(__file__).with_name("equivalent.txt").read_text().splitlines()
    rows = [line.partition("  # ") for line in lines if line and not line.startswith("#")]
    return {mutant: reason for mutant, _, reason in rows}


EQUIVALENT = equivalent()
KILLED_BY = Path(__file__).with_name("killers.json")
KILLERS: dict[str, str] = json.loads(KILLED_BY.read_text())
"""The test that killed each mutant last time: it is run first."""
AREAS = [
    Area("rules", ("rules/wengert_rules/*.py",), _FORMULAS, 90, ("tests/samples/test_rules.py", "tests/samples")),
    Area("batching rules", ("rules/wengert_rules/batches/*.py",), _FORMULAS, 10, ("tests/batching",)),
    *_of_scipy(),
    Area(
        "reverse walk",
        ("src/wengert/reverse/*.py",),
        _DECISIONS,
        26,
        ("tests/reverse", "tests/api", "tests/nesting", "tests/corpus"),
    ),
    Area(
        "undo log",
        ("src/wengert/mutation/*.py",),
        _DECISIONS,
        22,
        ("tests/mutation", "tests/corpus", "tests/recording"),
    ),
    Area(
        "guards of tapes",
        ("src/wengert/recording/decisions.py", "src/wengert/tape/play.py", "src/wengert/recording/layout.py"),
        _DECISIONS,
        17,
        ("tests/recording", "tests/corpus", "tests/tape"),
    ),
    Area(
        "guards of compiled functions",
        ("src/wengert/compiling/watched/*.py", "src/wengert/compiling/entries.py"),
        _DECISIONS,
        35,
        ("tests/compiling",),
    ),
    Area(
        "optimiser",
        ("src/wengert/compiling/rules/*.py", "src/wengert/compiling/graphs/*.py"),
        (*_FORMULAS, *_DECISIONS),
        29,
        ("tests/compiling",),
    ),
    Area("loops", ("src/wengert/compiling/loops/*.py",), _DECISIONS, 23, ("tests/compiling",)),
    Area(
        "native code",
        ("src/wengert/compiling/native/*.py", "src/wengert/compiling/split_columns.py"),
        (*_FORMULAS, *_DECISIONS),
        11,
        ("tests/compiling",),
    ),
    Area("sparse patterns", ("src/wengert/sparse/*.py",), _DECISIONS, 19, ("tests/sparse",)),
    Area(
        "tensor language",
        ("src/wengert/tensor/passes/*.py", "src/wengert/tensor/planning/*.py"),
        (*_FORMULAS, *_DECISIONS),
        22,
        ("tests/tensor",),
    ),
]
