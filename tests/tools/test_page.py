"""The data of a page: each op with its line, group and cotangent; the text that holds them is one whole file."""

from __future__ import annotations

import html.parser
import json
import linecache
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.api.tape_page import cotangents_of_ops, page_data
from wengert.tools import sources as read
from wengert.tools.page import page
from wengert.tools.sources import Sources, line_label
from wengert.tools.values import values_of
from wengert.tools.words import in_words

X = np.array([0.5, 1.0, 0.3])


def cell(x):
    return np.tanh(x) * 1.5


def program(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] += np.sin(y[i - 1])
        while y[i] > 1.2:
            y[i] *= 0.5
    parts = [cell(y), y[:2]]
    return np.sum(np.concatenate(parts) ** 2) + np.max(y)


def steps(x: Any) -> Any:
    """A small step along each number of x."""
    return [1e-6 * row.reshape(np.shape(x)) for row in np.eye(np.size(x))] if np.ndim(x) else [1e-6]


def test_cotangents_are_those_of_differences() -> None:
    """That of an op is the derivative of the part of the tape which begins with its value."""
    _, tape = wg.trace(program, X)
    values, checked = values_of(tape), 0
    cotangents = cotangents_of_ops(tape, values)
    for v in [wg.Variable(op) for op in tape if isinstance(op, wg.Call) and not op.guard]:
        x = values[v.op]
        if v == tape.result or not isinstance(x, float | np.ndarray):
            continue
        part = tape.subtape(tape.result, inputs=[v, *tape.inputs[1:]])
        expected = [(part(x + h, X) - part(x - h, X)) / 2e-6 for h in steps(x)]
        np.testing.assert_allclose(np.ravel(cotangents.get(v.op, np.zeros_like(x))), expected, atol=1e-8)
        checked += 1
    assert checked > 15


def test_cotangents_on_a_gradient_tape_are_those_of_its_function() -> None:
    tape = wg.gradtape(program, X)
    cotangents = cotangents_of_ops(tape, values_of(tape))
    np.testing.assert_allclose(cotangents[tape.inputs[1].op], wg.ngradient(program, X)[0], atol=1e-7)
    _, plain = wg.trace(program, X)
    assert len(cotangents) == len(cotangents_of_ops(plain, values_of(plain)))


def test_cotangents_are_those_of_the_result_where_a_gradient_is_on_the_way() -> None:
    def f(x):
        return np.sum(wg.grad(lambda x: np.sum(np.sin(x) * x))(x) ** 2)

    _, tape = wg.trace(f, X)
    cotangents = cotangents_of_ops(tape, values_of(tape))
    np.testing.assert_allclose(cotangents[tape.inputs[1].op], wg.ngradient(f, X)[0], atol=1e-7)


@pytest.mark.parametrize("f", [lambda x: x * 2.0, lambda x: (np.sum(x), x), lambda x: int(np.sum(x))])
def test_without_one_number_there_are_no_cotangents(f: Any) -> None:
    _, tape = wg.trace(f, X)
    assert cotangents_of_ops(tape, values_of(tape)) == {}


def test_each_op_stands_at_its_line_and_in_its_groups() -> None:
    tape = wg.gradtape(program, X)
    data = page_data(tape)
    columns, groups = data["tape"], data["groups"]
    for k, op in enumerate(tape):
        chain, group = [], columns["group"][k]
        while group >= 0:
            chain.append(groups[group])
            group = groups[group][0]
        back = op.note is not None and op.note[0] in ("pullback of", "x̄ of", "seed of")
        if op.site is None:
            continue
        assert chain[-1][1] == ("reverse pass" if back else "forward pass")
        assert chain[-2][1:3] == (op.site.function, "function")
        file, line, function = data["lines"][columns["line"][k]]
        assert (data["files"][file]["path"], line, function) == op.site
        text = linecache.getline(op.site.file, op.site.line)
        loops = [label for _, label, kind, _ in reversed(chain) if kind == "loop"]
        depth = (len(text) - len(text.lstrip())) // 4 - 1
        in_loop = depth - any(word in text for word in ("while", "for"))
        assert len(loops) >= in_loop or op.site.function != "program", (text, loops)
        assert chain[0][1] == text.strip()


def test_values_are_those_before_later_stores() -> None:
    """As Python has them line by line."""

    def stores(x):
        y = x.copy()
        y[0] += 5.0
        y[1] *= y[0]
        return np.sum(y * y)

    _, tape = wg.trace(stores, np.array([1.0, 2.0, 3.0]))
    assert [words for words in page_data(tape)["tape"]["value"] if words.startswith("[")] == [
        "[1.0, 2.0, 3.0]",
        "[1.0, 2.0, 3.0]",
        "[6.0, 2.0, 3.0]",
        "[6.0, 12.0, 3.0]",
        "[36.0, 144.0, 9.0]",
    ]


def test_values_that_would_take_too_much_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wengert.tools.values.LARGEST_REPLAY", 10)
    _, tape = wg.trace(program, X)
    columns = page_data(tape)["tape"]
    assert {type(op.val) for op in tape if op not in values_of(tape)} == {np.ndarray}
    assert len(columns["value"]) == len(tape)


def test_loops_are_found_in_the_source() -> None:
    start = program.__code__.co_firstlineno
    lines = {line_label(__file__, n): n for n in range(start, start + 10)}
    found = Sources()
    assert found.loops_around(__file__, lines["y[i] *= 0.5"]) == [
        lines["for i in range(1, len(y)):"],
        lines["while y[i] > 1.2:"],
    ]
    assert found.loops_around(__file__, lines["y = x.copy()"]) == []
    assert found.loops_around("no such file", 3) == []


def test_a_file_is_read_once_for_all_its_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    """To read its lines at each op took most of the time where a file is long."""
    reads: list[str] = []
    lines_of = read.lines_of
    monkeypatch.setattr(read, "lines_of", lambda file: (reads.append(file), lines_of(file))[1])
    page_data(wg.gradtape(program, X))
    assert reads.count(__file__) <= 2


def made_of(file: Path, text: str) -> Any:
    """The function that a file defines."""
    file.write_text(text)
    space: dict[str, Any] = {"np": np}
    exec(compile(text, str(file), "exec"), space)
    return space["f"]


def test_a_file_that_was_edited_is_shown_as_it_is_now(tmp_path: Path) -> None:
    file = tmp_path / "edited.py"
    f = made_of(file, "def f(x):\n    y = np.sin(x)\n    return np.sum(y)\n")
    assert "y = np.sin(x)" in page(page_data(wg.trace(f, X)[1]))
    f = made_of(file, "def f(x):\n    for _ in range(2):\n        x = np.cos(x)\n    return np.sum(x)\n")
    data = page_data(wg.trace(f, X)[1])
    assert data["files"][0]["parts"][0]["text"][2] == "        x = np.cos(x)"
    assert "for _ in range(2):" in [label for _, label, kind, _ in data["groups"] if kind == "loop"]


def test_a_file_whose_text_is_gone_is_said_to_be(tmp_path: Path) -> None:
    file = tmp_path / "gone.py"
    f = made_of(file, "def f(x):\n    return np.sum(x)\n")
    file.unlink()
    (gone,) = page_data(wg.trace(f, X)[1])["files"]
    assert gone["gone"] and gone["parts"] == [{"first": 2, "text": [""]}]
    assert not page_data(wg.trace(program, X)[1])["files"][0]["gone"]


def test_reads_and_memory_are_those_of_the_tape() -> None:
    tape = wg.gradtape(program, X)
    columns = page_data(tape)["tape"]
    assert [[v.id - 1 for v in op.references()] for op in tape] == columns["reads"]
    held, now = [], 0
    leaving = [0] * (len(tape) + 1)
    for k, (own, until) in enumerate(zip(columns["own"], columns["until"], strict=True)):
        now += own
        held.append(now)
        leaving[until] += own
        now -= leaving[k]
    assert held == [row.nbytes for row in tape.liveness()]


def orbit(x):
    for _ in range(50):
        x = x + 0.1 * np.sin(x)
    return x


@pytest.mark.parametrize("rewritten", [wg.Tape.rolled, wg.Tape.optimise])
def test_a_gradient_tape_of_loops_has_its_passes_and_cotangents(rewritten: Any) -> None:
    tape = rewritten(wg.gradtape(orbit, 1.0))
    cotangents = cotangents_of_ops(tape, values_of(tape))
    np.testing.assert_allclose(cotangents[tape.inputs[1].op], wg.ngradient(orbit, 1.0)[0], rtol=1e-7)
    data = page_data(tape)
    passes = {k: label for k, (parent, label, _, _) in enumerate(data["groups"]) if parent < 0}
    assert sorted(passes.values()) == ["forward pass", "reverse pass"]
    loops = [k for k, text in enumerate(data["tape"]["text"]) if "= loop of" in text]
    groups = [data["tape"]["group"][k] for k in loops]
    while any(data["groups"][k][0] >= 0 for k in groups):
        groups = [k if data["groups"][k][0] < 0 else data["groups"][k][0] for k in groups]
    assert [passes[k] for k in groups] == ["forward pass", "reverse pass"]


def test_the_bodies_of_loops_are_shown() -> None:
    tape = wg.trace(orbit, 1.0)[1].rolled()
    columns = page_data(tape)["tape"]
    assert any(re.fullmatch(r"%\d+\.\d+", name) for name in columns["id"])
    assert len(columns["id"]) == len(columns["group"]) == len(columns["own"]) > len(tape)


class Page(html.parser.HTMLParser):
    """What a page has: its elements, what it loads, and its data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.attributes: list[dict[str, Any]] = []
        self.inside = self.data = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.attributes.append(dict(attrs))
        self.loads += [value for name, value in attrs if name in ("src", "href", "srcset", "action")]
        self.inside = "data" if ("id", "data") in attrs else ""

    def handle_data(self, data: str) -> None:
        self.data += data if self.inside == "data" else ""

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""


def test_a_page_is_whole_and_loads_nothing() -> None:
    data = page_data(wg.gradtape(program, X))
    text = page(data)
    read = Page(text)
    assert json.loads(read.data) == json.loads(json.dumps(data))
    assert not read.loads and read.tags.count("script") == 2
    urls = set(re.findall(r"https?://[^\\\"' ]+", text))
    assert urls <= {"http://www.w3.org/2000/svg"}


def test_a_page_has_the_roles_that_its_scripts_fill() -> None:
    read = Page(page(page_data(wg.gradtape(program, X))))
    roles = {one["id"]: one.get("role") for one in read.attributes if "id" in one}
    assert {name: roles[name] for name in ("tabs", "list", "view")} == {
        "tabs": "tablist",
        "list": "tree",
        "view": "tabpanel",
    }
    named = [one for one in read.attributes if one.get("role") in ("tree", "tablist", "group")]
    assert len(named) == 3 and all(one["aria-label"] for one in named)
    focusable = {one["id"] for one in read.attributes if one.get("tabindex") == "0"}
    assert focusable == {"source", "list", "detail", "view"}


def test_what_can_be_clicked_in_the_scripts_is_a_button_or_has_a_role() -> None:
    clicked = re.findall(r'(?:element|svg)\("(\w+)", \{[^}]*onclick', page(page_data(wg.trace(program, X)[1])))
    assert set(clicked) <= {"button", "div", "tr"}  # the rows of the tree, and rows that hold a button
    assert "button" in clicked


def test_text_of_the_users_stays_text() -> None:
    tape = wg.Tape()
    nasty = "</script><script>alert()</script>"
    tape.inputs = [1.0]
    tape.inputs[0].op.name = f"{nasty}@data@@title@<!--"
    tape.inputs[0].op.callee = True
    tape.result = tape.push(wg.Constant(nasty))
    read = Page(page(page_data(tape)))
    assert read.tags.count("script") == 2
    assert nasty in json.loads(read.data)["tape"]["value"][1]


def test_show_writes_the_file_and_says_where(tmp_path: Path) -> None:
    made = wg.show(wg.trace(program, X)[1], tmp_path / "tape.html")
    assert made == tmp_path / "tape.html" and made.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_without_a_path_the_browser_opens_it(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    made = wg.show(wg.trace(program, X)[1])
    assert opened == [made.as_uri()] and made.is_file()
    made.unlink()


def test_what_is_no_tape_is_refused_with_what_to_do() -> None:
    with pytest.raises(wg.ArgumentError, match=r"show takes a tape, not a function\n  fix: wg.show\(wg.gradtape"):
        wg.show(program)  # type: ignore[arg-type]


def test_a_notebook_shows_the_page_small_and_the_table_below() -> None:
    text = wg.trace(program, X)[1]._repr_html_()
    assert text.startswith("<div><iframe ") and "<table" in text and 'sandbox="allow-scripts"' in text


def test_a_notebook_keeps_little_of_a_very_long_tape() -> None:
    def long(x):
        for _ in range(1500):
            x = x + 0.1 * x
        return x

    tape = wg.trace(long, 1.0)[1]
    text = tape._repr_html_()
    assert f"{len(tape) - 50} more; see wg.show(tape)" in text and "<iframe" not in text
    assert len(text) < 100_000


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (2.5, "2.5"),
        (np.arange(10.0), "0 … 9, mean 4.5, 1 of 10 zero"),
        (np.array([1.0] * 7 + [np.nan, np.inf]), "1 … 1, mean 1, 1 nan, 1 inf"),
        (np.array([np.nan] * 8), "8 nan"),
        (np.array([True] * 8 + [False]), "8 of 9 true"),
        (np.full(7, 3 + 4j), "|z| 5 … 5, mean 5"),
        (np.array(["a"] * 9), "<U1[9]"),
        (np.empty((0, 9)), "[]"),
        ("line\nline", r"'line\nline'"),
    ],
)
def test_values_in_words(value: Any, words: str) -> None:
    assert in_words(value) == words
