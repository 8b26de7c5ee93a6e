"""Pages with a keyboard and with axe: every view in light and dark, wide and narrow.

axe-core comes with the PyPI package axe-playwright-python or axe-core-python (`pip install --no-deps`).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import CHROMIUM, Browser

import wengert as wg

PACKAGES = ("axe_playwright_python", "axe_selenium_python", "axe_core_python")
RUN = (
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>"
    " violations.flatMap(({ id, impact, nodes }) => nodes.map((node) => [id, impact, node.html.slice(0, 120)])))"
)
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: the pages are not opened")


def axe_source() -> str:
    """The text of axe.min.js; the test is skipped without it."""
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or []) if spec else []:
            for file in Path(folder).rglob("axe.min.js"):
                return file.read_text(encoding="utf-8")
    pytest.skip("no axe-core here: pip install --no-deps axe-playwright-python")


def net(w: Any, x: Any) -> Any:
    for _ in range(3):
        x = np.tanh(w @ x)
    return np.sum(x * x)


def force(x: Any) -> Any:
    return -np.sin(x)


def orbit(x: Any, v: Any) -> Any:
    for _ in range(1000):
        v = v + 0.01 * force(x)
        x = x + 0.01 * v
    return x * x


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as found:
        yield found
        assert not found.errors


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, w, x = tmp_path_factory.mktemp("pages"), np.eye(40), np.ones(40)
    tapes = {"net": wg.gradtape(net, w, x), "orbit": wg.gradtape(orbit, 1.0, 0.0), "empty": wg.Tape()}
    tapes["rolled"] = tapes["orbit"].rolled()
    made = {name: wg.show(tape, folder / f"{name}.html") for name, tape in tapes.items()}
    made["profile"] = wg.profile(net, w, x).html(folder / "profile.html", tapes["net"])
    made["memory"] = wg.memory(net, w, x).html(folder / "memory.html")
    return made


@pytest.fixture
def shown(browser: Browser, pages: dict[str, Path]) -> Browser:
    browser.open(pages["orbit"])
    return browser


def focused(browser: Browser) -> Any:
    return browser.ask(
        "[document.activeElement.id, document.activeElement.getAttribute('role'), document.activeElement.tagName]"
    )


def label(browser: Browser) -> Any:
    return browser.ask("document.activeElement.getAttribute('aria-label')")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 480])
@pytest.mark.parametrize("name", ["net", "orbit", "rolled", "empty", "profile", "memory"])
def test_axe_finds_nothing(browser: Browser, pages: dict[str, Path], name: str, width: int, dark: bool) -> None:
    source = axe_source()
    browser.open(pages[name], width=width, height=900, dark=dark)
    browser.ask(f"{source}; 0")
    assert browser.ask(RUN) == []
    for tab in range(browser.ask("document.querySelectorAll('#tabs button').length")):
        browser.click("#tabs button", tab)
        browser.ask("count && (search('mul'), choose(Math.min(count - 1, 9)))")
        assert browser.ask(RUN) == []


def test_a_loop_is_rolled_and_opens(shown: Browser) -> None:
    heads = (
        "[...document.querySelectorAll('.fold')].map((row) => [row.querySelector('b').textContent, row.ariaExpanded])"
    )
    assert shown.ask(heads) == [["× 1000", "false"], ["× 999", "false"]]
    assert shown.ask("rows.length") < 50
    shown.click(".fold")
    assert shown.ask(heads)[0] == ["× 1000", "true"] and shown.ask("rows.length") > 6000
    shown.click("#detail .link")
    assert shown.ask("rows.length") < 50


def test_the_rows_are_walked_by_keys(shown: Browser) -> None:
    shown.ask("byId('list').focus()")
    for _ in range(4):
        shown.press("ArrowDown")
    row = "document.getElementById(byId('list').getAttribute('aria-activedescendant'))"
    assert shown.ask(f"[{row}.getAttribute('role'), {row}.ariaSelected, {row}.ariaExpanded]") == [
        "treeitem",
        "true",
        "false",
    ]
    shown.press("ArrowRight")
    assert shown.ask(f"{row}.ariaExpanded") == "true"
    shown.press("ArrowLeft")
    shown.press("ArrowDown")
    shown.press("ArrowRight")
    assert shown.ask("[tape.text[chosen.op].split(' = ')[1].slice(0, 7), foldsAround(chosen.op)[0].at]") == [
        "np.sin(",
        1,
    ]
    assert shown.ask(f"{row}.dataset.op === String(chosen.op)")
    shown.press("ArrowLeft")
    assert shown.ask("foldsAround(chosen.op)[0].at") == 0


def test_the_graph_is_reached_and_opened_by_keys(shown: Browser) -> None:
    shown.ask("opened.clear(); redraw(true); byId('list').focus()")
    for _ in range(12):
        shown.press("Tab")
        if focused(shown)[1] == "treeitem":
            break
    assert focused(shown) == ["", "treeitem", "g"] and label(shown).startswith("forward pass")
    outline = "getComputedStyle(document.activeElement.firstChild).strokeWidth"
    assert shown.ask(outline) == "3px"
    shown.press("Enter")
    assert label(shown).startswith("forward pass") and shown.ask("document.activeElement.ariaExpanded") == "true"
    shown.press("ArrowRight")
    inner = label(shown)
    assert not inner.startswith("forward pass")
    shown.press("ArrowLeft")
    assert label(shown).startswith("forward pass")
    shown.press("ArrowLeft")
    assert shown.ask("document.activeElement.ariaExpanded") == "false"
    shown.press("ArrowDown")
    assert label(shown).startswith("reverse pass")


def test_enter_chooses_an_op_and_its_line(shown: Browser) -> None:
    shown.ask("const box = visibleBoxes().find((box) => box.op >= 0 && tape.line[box.op] >= 0); focusOn(box, true)")
    shown.press("Enter")
    assert shown.ask("chosen.op === box.op && chosen.line === tape.line[box.op]")
    assert shown.ask("document.activeElement.ariaSelected") == "true"


def test_tabs_are_changed_by_arrows(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["profile"])
    browser.ask("document.querySelector('#tabs button').focus()")
    browser.press("ArrowRight")
    assert browser.ask("[...document.querySelectorAll('#tabs button')].map((tab) => tab.ariaSelected)") == [
        "false",
        "true",
        "false",
    ]
    assert focused(browser)[0] == "tab-Liveness" and browser.ask("byId('view').querySelectorAll('canvas').length") == 2


def test_no_edge_crosses_a_box_as_drawn(shown: Browser) -> None:
    faults = Path(__file__).with_name("crossings.js").read_text(encoding="utf-8")
    assert shown.ask(f"{faults}; faultsOf(drawing)") == []
    drawn = "[...document.querySelectorAll('svg.graph [role=treeitem]')].length"
    assert shown.ask(f"{drawn} === visibleBoxes().length && {drawn} > 20")


def test_ten_thousand_ops_open_in_two_seconds(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["orbit"])
    assert browser.ask("count") > 10_000
    assert browser.ask("performance.getEntriesByType('navigation')[0].duration") < 2000
