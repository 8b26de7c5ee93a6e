"""The notebook among the examples: its cells run in order, and each displays what it says.

They run in a plain namespace, and with nbclient and ipykernel, where these are installed, in a kernel too.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import linecache
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import wengert as wg
from wengert.tools.page import InlinePage

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook.ipynb"
CELLS = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
SOURCES = ["".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "code"]


def displayed(source: str, name: str, space: dict[str, Any]) -> Any:
    """Run a cell as IPython does; return the value of its last line."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    *body, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        body.append(last)
    exec(compile(ast.Module(body, []), name, "exec"), space)
    return eval(compile(ast.Expression(last.value), name, "eval"), space) if isinstance(last, ast.Expr) else None


@pytest.fixture(scope="module")
def run() -> Iterator[tuple[dict[str, Any], list[Any]]]:
    with pytest.MonkeyPatch.context() as patch:
        shell = SimpleNamespace(kernel=object())
        patch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
        space: dict[str, Any] = {"__name__": "__main__"}
        yield space, [displayed(source, f"<cell {k}>", space) for k, source in enumerate(SOURCES)]


def test_cells_display_what_a_notebook_shows(run: tuple[dict[str, Any], list[Any]]) -> None:
    shown = [type(value) for value in run[1]]
    assert [shown[k] for k in (1, 4, 5, 7)] == [wg.Gradients, wg.Profile, wg.MemoryUse, InlinePage]
    assert all("</" in value._repr_html_() for value in [run[1][1], *run[1][4:6], run[1][7]])
    assert "no calls without a rule" in run[1][6]._repr_html_()
    assert "return np.mean((predicted - y) ** 2)" in run[1][4]._repr_html_()


def test_the_fit_finds_what_the_data_were_made_of(run: tuple[dict[str, Any], list[Any]]) -> None:
    assert run[0]["params"] == pytest.approx({"amplitude": 2.5, "rate": 0.8, "offset": 0.3}, rel=1e-3)


def test_no_output_is_stored() -> None:
    assert all(
        cell["outputs"] == [] and cell["execution_count"] is None for cell in CELLS if cell["cell_type"] == "code"
    )


@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("nbclient", "nbformat", "ipykernel"))),
    reason="no nbclient, nbformat and ipykernel here: the notebook does not run in a kernel",
)
def test_it_runs_in_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    done = NotebookClient(nbformat.read(NOTEBOOK, 4), timeout=120, kernel_name="python3").execute()
    outputs = [cell.outputs for cell in done.cells if cell.cell_type == "code"]
    assert all("text/html" in outputs[k][0].data for k in (1, 4, 5, 6, 7))
