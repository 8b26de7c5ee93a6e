"""Pages for those who come from elsewhere: what stands beside a peer's code gives the numbers that the peer gave."""

from __future__ import annotations

import json

import pytest
from replacements import DOCS, FOLDER, namespace, plain, rows

import wengert as wg

PEERS = sorted(path.stem for path in (DOCS / "coming-from").glob("*.md"))


def approx(value):
    """`pytest.approx` of numbers in lists and dictionaries."""
    if isinstance(value, dict):
        return {key: approx(part) for key, part in value.items()}
    return [approx(part) for part in value] if isinstance(value, list) else pytest.approx(value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("peer", PEERS)
def test_each_replacement_gives_what_the_peer_gave(peer: str) -> None:
    page = f"coming-from/{peer}"
    given = json.loads((FOLDER / f"{peer}.json").read_text(encoding="utf-8"))
    assert [theirs for theirs, _ in rows(page)] == list(given), f"run python tests/house/replacements.py {peer}"
    with wg.rules.scope():
        names = namespace(page, "python")
        for theirs, ours in rows(page):
            found = eval(ours, names)
            if given[theirs] is not None:
                assert plain(found) == approx(given[theirs]), f"{ours} is not {theirs}"


def test_the_same_code_in_four() -> None:
    """The first column of the comparison is wengert's, the second what it gives."""
    names = namespace("comparison", "python")
    assert len(rows("comparison")) == 12
    for gradient, expected in rows("comparison"):
        assert plain(eval(gradient, names)) == approx(eval(expected, names)), gradient
