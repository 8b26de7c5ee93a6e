"""The layout of the graph by its numbers: no edge crosses a box, each reaches its boxes, no boxes overlap.

The scripts run in Node.js, without a browser.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.api.tape_page import page_data
from wengert.tools import page

NODE = shutil.which("node")
SCRIPTS = ("core.js", "folds.js", "layout.js", "routes.js")
pytestmark = pytest.mark.skipif(NODE is None, reason="no Node.js here: the layout is not computed")


def net(w: Any, x: Any) -> Any:
    for _ in range(3):
        x = np.tanh(w @ x)
    return np.sum(x * x)


def orbit(x: Any, v: Any) -> Any:
    for _ in range(40):
        v = v - 0.1 * np.sin(x)
        x = x + 0.1 * v
    return x * x


def nested(x: Any) -> Any:
    y = x.copy()
    for i in range(1, 8):
        for _ in range(10):
            y[i] += 0.1 * np.sin(y[i - 1])
        y = y * 1.01
    return np.sum(y)


def answer(tape: wg.Tape, question: str) -> Any:
    """The value of a JavaScript expression beside the scripts of the page of a tape."""
    text = "".join(Path(page.__file__).with_name(name).read_text(encoding="utf-8") for name in SCRIPTS)
    faults = Path(__file__).with_name("crossings.js").read_text(encoding="utf-8")
    data = json.dumps(json.dumps(page_data(tape)))
    document = f"const document = {{ getElementById: () => ({{ textContent: {data} }}) }};"
    program = f"'use strict';{document}{text}{faults}\nconsole.log(JSON.stringify({question}));"
    done = subprocess.run([str(NODE), "-"], input=program, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


TAPES = {
    "net": lambda: wg.gradtape(net, np.eye(4), np.ones(4)),
    "orbit": lambda: wg.gradtape(orbit, 1.0, 0.0),
    "orbit rolled": lambda: wg.gradtape(orbit, 1.0, 0.0).rolled(),
    "nested": lambda: wg.gradtape(nested, np.ones(8)),
}
OPEN = "new Set(data.groups.map((_, k) => k))"


@pytest.mark.parametrize("name", TAPES)
def test_no_edge_crosses_a_box(name: str) -> None:
    tape = TAPES[name]()
    stages = "[1, 2, 3, 5, 8, 1000].map((n) => faultsOf(layout(new Set(data.groups.slice(0, n).map((_, k) => k)))))"
    assert answer(tape, stages) == [[]] * 6


@pytest.mark.parametrize("name", ["orbit", "nested"])
def test_none_does_so_with_all_iterations_open(name: str) -> None:
    everything = f"(folds.forEach((fold) => {{ fold.open = true; }}), refold(), faultsOf(layout({OPEN})))"
    assert answer(TAPES[name](), everything) == []


def test_an_iteration_is_shown_for_all() -> None:
    tape = TAPES["orbit"]()
    shown, times, edges = answer(tape, f"[[...shownAs], [...timesOf], layout({OPEN}).edges.size]")
    folds = page_data(tape)["tape"]["folds"]
    hidden = {k for fold in folds for k in range(fold.first + fold.period, fold.first + fold.period * fold.times)}
    assert {k for k, op in enumerate(shown) if op != k} == hidden
    assert sum(times[op] for op in set(shown)) == len(tape)
    assert edges < 40


def test_the_next_iteration_has_the_same_step() -> None:
    tape = TAPES["nested"]()
    columns = page_data(tape)["tape"]
    outer = columns["folds"][0]
    (inner,) = outer.inner
    first = outer.first + inner.first
    steps = f"[1, -1].map((by) => inOtherIteration({first}, by))"
    assert answer(tape, steps) == [first + inner.period, -1]
    far = first + 3 * outer.period + 5 * inner.period
    found = answer(tape, f"(showIteration({far}), [shownAs[{far}], shownAs[{first}], rows[rowOf[{far}]].op])")
    assert found == [far, far, far]
