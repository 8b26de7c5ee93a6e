"""What a notebook shows of measurements, gradients, reports of missing rules, and tapes."""

from __future__ import annotations

import html.parser
import json
import pydoc
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.tools.tables import bytes_text, seconds_text

UNCLOSED = {"br", "hr", "img", "meta", "input"}


class Cells(html.parser.HTMLParser):
    """The cells of the tables in well-formed HTML, row by row, and all text; an unmatched tag is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.text, self.open, self.tags = "", list[str](), set[str]()
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        assert len({name for name, _ in attrs}) == len(attrs)
        if tag not in UNCLOSED:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & {*self.open}:
            self.rows[-1][-1] += data


def loss(params, x):
    y = np.exp(x) * params["<b>&"]
    return np.sum(y * y)


PARAMS = {"<b>&": 2.0}


def test_a_profile_has_its_numbers_beside_the_source() -> None:
    found = wg.profile(loss, PARAMS, np.ones(1000))
    cells = Cells(found._repr_html_())
    assert f"take {seconds_text(found.gradient)}" in cells.text
    (row,) = [row for row in cells.rows if row[1].strip() == 'y = np.exp(x) * params["<b>&"]']
    spent = next(line for line in found.lines if line.what and str(line.what[1]) == row[0])
    assert row[3:6] == [seconds_text(spent.plain), seconds_text(spent.forward), seconds_text(spent.reverse)]
    assert "b" not in cells.tags


def test_memory_has_its_peak_and_lines() -> None:
    found = wg.memory(loss, PARAMS, np.ones(100_000))
    cells = Cells(found._repr_html_())
    assert f"{bytes_text(found.peak)} at the most" in cells.text
    largest = found.lines[0]
    assert [row for row in cells.rows if row[3] == bytes_text(largest.nbytes) and row[5] == largest.kind]


def test_missing_rules_are_listed_with_a_rule_to_paste() -> None:
    def through_text(x):
        return float(json.dumps(x)) * x

    cells = Cells(wg.find_missing_rules(through_text, 2.0)._repr_html_())
    assert cells.text.startswith("1 call without a rule")
    assert [row[0] for row in cells.rows] == ["call", "json.dumps"]
    assert "@wg.rrule(json.dumps)" in cells.text and f"{Path(__file__).name}:" in cells.rows[1][1]
    assert Cells(wg.find_missing_rules(np.sin, 2.0)._repr_html_()).text == "no calls without a rule"


def test_gradients_are_a_row_for_each_array() -> None:
    scale = {"s": np.array([1.0, 2.0])}

    def weighted(params: Any, x: Any) -> Any:
        return np.sum(params["<b>&"] * scale["s"]) * np.sum(x["w"] ** 2)

    _, gradients = wg.grad(weighted, PARAMS, {"w": np.ones((3, 4)), "name": "model"})
    cells = Cells(gradients._repr_html_())
    assert cells.rows == [
        ["argument", "type", "gradient"],
        ["captured['scale']['s']", "float64[2]", "[24.0, 24.0]"],
        ["params['<b>&']", "float", "36.0"],
        ["x['w']", "float64[3, 4]", "12 … 12, mean 12"],
    ]
    assert "b" not in cells.tags


def test_gradients_without_names_are_numbered() -> None:
    assert Cells(wg.Gradients([None, 3.0])._repr_html_()).rows[1:] == [["[1]", "float", "3.0"]]


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr("webbrowser.open", lambda _: pytest.fail("a browser was opened"))


@pytest.mark.usefixtures("notebook")
def test_in_a_notebook_show_returns_the_page(tmp_path: Path) -> None:
    tape = wg.gradtape(loss, PARAMS, np.ones(3))
    shown = wg.show(tape)
    cells = Cells(shown._repr_html_())  # type: ignore[union-attr]
    assert cells.tags == {"iframe"} and "np.exp" in shown._repr_html_()  # type: ignore[union-attr]
    assert repr(shown) == f"<page of loss: {len(tape)} ops>"
    assert wg.show(tape, tmp_path / "tape.html") == tmp_path / "tape.html"


def test_in_a_terminal_of_ipython_the_browser_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace()))
    monkeypatch.setattr("webbrowser.open", opened.append)
    page = wg.show(wg.trace(np.sin, 1.0)[1])
    assert isinstance(page, Path) and opened == [page.as_uri()]
    page.unlink()


def test_completion_offers_public_names_only() -> None:
    assert set(dir(wg)) == {*wg.__all__}


def test_completion_offers_no_internal_attribute() -> None:
    slope, tape = wg.compile(wg.grad(loss)), wg.gradtape(loss, PARAMS, np.ones(3))
    hidden = {
        slope: {"recipe", "by_recipe", "wrapped", "generation_errors"},
        wg.grad(loss): {"recipe", "by_recipe"},
        tape: {"renumberings", "settle", "arguments"},
        tape[4]: {"successor"},
    }
    for shown, internal in hidden.items():
        assert not internal & set(dir(shown)), shown
        assert all(hasattr(shown, name) for name in internal)
    assert {"source", "explain", "clear"} <= set(dir(slope))
    assert {"play", "to_source", "liveness", "find", "result", "inputs"} <= set(dir(tape))
    assert {"fn", "args", "val", "site"} <= set(dir(tape[4]))


@pytest.mark.parametrize("f", [wg.grad, wg.vmap, wg.compile, wg.tree_map])
def test_help_shows_types_without_quotes(f):
    text = pydoc.render_doc(f, renderer=pydoc.plaintext)
    signature = text.partition("\n\n")[2].partition("\n    ")[0] if "(\n" not in text else text.partition(")")[0]
    assert "Callable[" in signature and "'" not in signature
