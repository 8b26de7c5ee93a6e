"""The printed tapes in `tapes` stay as they were read by eye, and the printed source runs alone and is right."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from golden import FOLDER, PROGRAMS, printed

import wengert as wg


@pytest.mark.parametrize("name", PROGRAMS)
def test_printed_tape(name: str) -> None:
    assert printed(name) == (FOLDER / f"{name}.txt").read_text(), (
        "read the new text, then run python tests/house/golden.py"
    )


@pytest.mark.parametrize("name", ["seed", "branches", "smoothing_in_place", "mixture"])
def test_printed_source_runs_without_wengert(name: str) -> None:
    f, args = PROGRAMS[name]
    source = wg.gradtape(f, *args, argnums=0).to_source("f")
    given = ", ".join(f"np.array({a.tolist()})" if isinstance(a, np.ndarray) else repr(a) for a in args)
    program = f"import sys; sys.modules['wengert'] = None\n{source}\nprint(np.ravel(f({given})[1][1]).tolist())"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    expected = wg.ngradient(f, *args, argnums=0)
    np.testing.assert_allclose(eval(out.stdout), np.ravel(expected), rtol=1e-7)
