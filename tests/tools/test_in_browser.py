"""The page in a browser: opened, searched, clicked, with 20,000 ops, in light and dark."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import CHROMIUM, Browser

import wengert as wg

if not CHROMIUM:
    warnings.warn("no Chromium here: the pages are not opened (Debian: apt install chromium)", stacklevel=1)
    pytest.skip("no Chromium here: the pages are not opened", allow_module_level=True)


def force(x):
    return -np.sin(x)


def orbit(x, v):
    for _ in range(1600):
        v = v + 0.01 * force(x)
        x = x + 0.01 * v
    return x * x


def net(w, x):
    for _ in range(3):
        x = np.tanh(w @ x)
    return np.sum(x * x)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as found:
        yield found
        assert not found.errors
        assert all(address.startswith("file:") for address in found.asked)


@pytest.fixture(scope="module")
def large() -> wg.Tape:
    return wg.gradtape(orbit, 1.0, 0.0)


@pytest.fixture(scope="module")
def small() -> wg.Tape:
    return wg.gradtape(net, np.eye(40), np.ones(40))


@pytest.fixture
def shown(browser: Browser, small: wg.Tape, tmp_path: Path) -> Browser:
    browser.open(wg.show(small, tmp_path / "small.html"))
    return browser


def chosen(browser: Browser) -> Any:
    return browser.ask("[chosen.op, chosen.line < 0 ? 0 : data.lines[chosen.line][1]]")


def test_twenty_thousand_ops_are_opened_searched_and_clicked(browser: Browser, large: wg.Tape, tmp_path: Path) -> None:
    assert len(large) > 20_000
    browser.open(wg.show(large, tmp_path / "large.html"))
    assert 10 < browser.ask("document.querySelectorAll('.row').length") < 150
    browser.click("#search")
    browser.type("np.cos")
    expected = [op.id - 1 for op in large.calls if op.fn is np.cos]
    assert browser.ask("document.getElementById('found').textContent") == f"1 of {len(expected)}"
    assert browser.ask("found.ops") == expected
    browser.click("#before")
    assert chosen(browser)[0] == expected[-1]
    assert browser.ask("document.querySelector('.row.chosen').dataset.op") == str(expected[-1])
    assert "np.cos" in browser.ask("document.querySelector('#detail .op').textContent")
    assert browser.ask("document.querySelectorAll('svg.graph rect').length") < 200


def test_lines_and_ops_are_linked_both_ways(shown: Browser, small: wg.Tape) -> None:
    line = net.__code__.co_firstlineno + 2
    of_line = [op.id - 1 for op in small if op.site is not None and op.site.line == line]
    row = f"tr.told[data-line='{shown.ask(f'data.lines.findIndex(row => row[1] === {line})')}'] .number"
    shown.click(row)
    assert chosen(shown) == [of_line[0], line]
    shown.click(row)
    assert chosen(shown) == [of_line[1], line]
    last = next(op.id - 1 for op in small.calls if op.fn is np.sum)
    shown.ask(f"byId('list').scrollTop = {last} * ROW - 100")
    shown.ask("new Promise(done => requestAnimationFrame(done))")
    shown.click(f".row[data-op='{last}']")
    assert chosen(shown) == [last, line + 1]
    assert f"{line + 1}" in shown.ask("document.querySelector('tr.chosen .number').textContent")


def test_the_graph_opens_group_by_group_down_to_every_use(shown: Browser, small: wg.Tape) -> None:
    shown.ask("opened.clear(); redraw(true)")
    assert shown.ask("document.querySelectorAll('svg.graph .shut').length") == 2
    shown.click("svg.graph .shut > rect")
    assert shown.ask("document.querySelectorAll('svg.graph .open').length") == 1
    shown.ask("data.groups.forEach((_, k) => opened.add(k)); redraw(true)")
    uses = shown.ask("[...drawing.edges].flatMap(([a, to]) => [...to].map(([b, n]) => [a.op, b.op, n]))")
    expected = [(v.id - 1, op.id - 1) for op in small for v in op.references()]
    assert sorted((a, b) for a, b, n in uses for _ in range(n)) == sorted(expected)
    overlapping = shown.ask(
        "(() => { let bad = 0; walk(drawing.root, (box) => box.parts.forEach((a) => { box.parts.forEach((b) => {"
        " if (a !== b && a.X < b.X + b.w && b.X < a.X + a.w && a.Y < b.Y + b.h && b.Y < a.Y + a.h) bad++; });"
        " if (a.X < box.X || a.Y < box.Y) bad++;"
        " if (a.X + a.w > box.X + box.w + 1e-6 || a.Y + a.h > box.Y + box.h + 1e-6) bad++;"
        " })); return bad; })()"
    )
    assert overlapping == 0


def test_the_wheel_zooms_about_the_pointer(shown: Browser) -> None:
    under = "(() => { const p = [900, 500], at = drawing.image.getBoundingClientRect();"
    under += " return [(p[0] - at.left - camera.x) / camera.k, (p[1] - at.top - camera.y) / camera.k, camera.k]; })()"
    before = shown.ask(under)
    shown.call("Input.dispatchMouseEvent", type="mouseWheel", x=900, y=500, deltaX=0, deltaY=-200)
    shown.ask("new Promise(done => setTimeout(done, 50))")
    after = shown.ask(under)
    assert after[2] > before[2] * 1.2
    np.testing.assert_allclose(after[:2], before[:2], atol=0.5)


def test_the_picture_of_liveness_has_the_tape_s_peak(shown: Browser, small: wg.Tape) -> None:
    assert shown.ask("Math.max(...held())") == small.liveness().peak.nbytes
    shown.click("#tabs button", 1)
    assert shown.ask("document.querySelectorAll('canvas').length") == 2
    shown.click("canvas")
    assert chosen(shown)[0] > 0


def test_a_tape_without_ops_is_said_to_have_none(browser: Browser, tmp_path: Path) -> None:
    browser.open(wg.show(wg.Tape(), tmp_path / "empty.html"))
    assert browser.ask("document.body.dataset.ready") == "yes"
    assert browser.ask("byId('view').textContent") == "The tape has no ops."


def test_on_a_phone_a_page_is_as_wide_as_the_screen(browser: Browser, small: wg.Tape, tmp_path: Path) -> None:
    w, x = np.eye(40), np.ones(40)
    for made in (
        wg.show(small, tmp_path / "tape.html"),
        wg.profile(net, w, x).html(tmp_path / "profile.html"),
        wg.memory(net, w, x).html(tmp_path / "memory.html"),
    ):
        browser.open(made, width=390, height=844)
        assert browser.ask("document.documentElement.scrollWidth") == 390, made.name


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark(browser: Browser, small: wg.Tape, tmp_path: Path, dark: bool) -> None:
    """The text is dark on light or light on dark, with the contrast that WCAG asks for; the button turns it round."""
    browser.open(wg.show(small, tmp_path / "small.html"), dark=dark)
    for turned in (False, True):
        light = [luminance(browser.ask(f"colour('{name}')")) for name in ("text", "quiet", "type", "variable", "panel")]
        assert (light[-1] < 0.5) == (dark != turned)
        assert all(contrast(one, light[-1]) > 4.5 for one in light[:-1])
        browser.click("#theme")


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(a: float, b: float) -> float:
    return (max(a, b) + 0.05) / (min(a, b) + 0.05)


def test_a_notebook_s_frame_draws_it(browser: Browser, small: wg.Tape, tmp_path: Path) -> None:
    file = tmp_path / "notebook.html"
    text = small._repr_html_().replace(' sandbox="allow-scripts"', "")  # else nobody may look into it
    file.write_text(f"<!doctype html><body data-ready=yes>{text}", encoding="utf-8")
    browser.open(file)
    inside = "document.querySelector('iframe').contentDocument"
    ready = f"{inside}.body && {inside}.body.dataset.ready"
    browser.ask(f"new Promise(done => setInterval(() => {ready} && done(1), 20))")
    assert browser.ask(f"{inside}.querySelectorAll('.row').length") > 10
    assert browser.ask(f"{inside}.body.className") == "small"


def test_a_profile_has_bars_beside_the_source_and_its_table_leads_there(browser: Browser, tmp_path: Path) -> None:
    w, x = np.eye(40), np.ones(40)
    profile = wg.profile(net, w, x)
    browser.open(profile.html(tmp_path / "profile.html", wg.gradtape(net, w, x)))
    assert browser.ask("[...document.querySelectorAll('#tabs button')].map(b => b.textContent)") == [
        "Graph",
        "Liveness",
        "Time",
    ]
    browser.click("#tabs button", 2)
    rows = [row for row in profile.lines if row.what]
    assert browser.ask("document.querySelectorAll('table.sums tr[data-line]').length") == len(rows)
    browser.click("table.sums tr[data-line] td")
    assert chosen(browser) == [-1, rows[0].what[1]]
    assert browser.ask("document.querySelectorAll('table.sums tr.chosen').length") == 1
    longest = browser.ask("Math.max(...[...document.querySelectorAll('.bar')].map(b => b.offsetWidth))")
    line = browser.ask("document.querySelector('tr.chosen .bar').closest('tr').querySelector('.number').textContent")
    assert longest == 86 and line == str(rows[0].what[1])


def test_memory_is_drawn_over_time(browser: Browser, tmp_path: Path) -> None:
    found = wg.memory(net, np.eye(40), np.ones(40))
    browser.open(found.html(tmp_path / "memory.html"))
    assert browser.ask("document.querySelector('#tabs button').textContent") == "Memory"
    assert browser.ask("document.querySelector('.find').offsetWidth") == 0  # there is no tape to search
    assert browser.ask("document.querySelector('main').classList.contains('untaped')")
    inked = "(() => { const c = document.querySelector('canvas'); const d = c.getContext('2d').getImageData(0, 0, "
    inked += "c.width, c.height).data; let n = 0; for (let k = 3; k < d.length; k += 4) n += d[k] > 0; return n; })()"
    assert browser.ask(inked) > 2000
    browser.click("table.sums tr[data-line] td")
    assert chosen(browser)[1] > 0
