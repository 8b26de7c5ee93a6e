"""The tests of an entry, left out one at a time: what one test alone watches is stale without it.

So each form of test is seen to be needed, and by the changes of `test_outer_reads.py` to be tested itself.
"""

from __future__ import annotations

import collections
import re
from typing import Any

import pytest
from test_outer_reads import WAYS, X, of, outcome, same

import wengert as wg
from wengert.compiling.entries import Miss

NEVER = {"'_' in P", "P() == P", "P.get_cache_token() == 0 or (issubclass(P, P) is True)"}
"""Forms that no change alone fails here: a class keeps what Python itself gives it, and stays registered with an
abstract one; settings are those of the process."""


def form(test: str) -> str:
    """What a test asks, whatever it asks it of."""
    test = re.sub(r"'[^']*'", "'_'", test)
    test = re.sub(r"\b[ka]\d+((\.[a-z_]+\b(?!\())|\[[^][]*\])*", "P", test)
    test = re.sub(r"tuple\.__getitem__\(P, \d+\)", "P", test)
    test = re.sub(r"\b\d[\d.e+-]*", "0", test)
    test = re.sub(r"(id\(P\), )+", "id(P), ", test)
    return re.sub(r"== \[.*\]", "== [_]", test)


def holds(entry: Any, test: str) -> bool:
    try:
        return bool(eval(test, {**entry.names, "a0": X}))
    except (KeyError, IndexError, AttributeError, TypeError, ValueError):
        return False


def without(entry: Any, test: str) -> Any:
    """The entry's function without a test."""
    names = dict(entry.names)
    exec(entry.source.replace(f"({test})", "(True)"), names)
    return names["entry"]


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
def test_each_form_of_test_is_needed() -> None:
    needed: collections.Counter[str] = collections.Counter()
    forms: set[str] = set()
    for head, body, change, _ in WAYS:
        space, f = of(head, body)
        plain, g = wg.value_and_grad(f), wg.compile(wg.value_and_grad(f))
        g(X)
        for entry in [entry for entries in g._entries.values() for entry in entries]:
            tests = [test for test in entry.guards if ":=" not in test]  # the code tests the kinds of its inputs, too
            forms |= {*map(form, tests)}
            exec(change, space)
            failing = [test for test in tests if not holds(entry, test)]
            if len(failing) == 1:
                result = without(entry, failing[0])(X)
                needed[form(failing[0])] += type(result) is not Miss and not same(result, outcome(plain, X))
    assert forms - {form for form, count in needed.items() if count} == NEVER
    assert needed.total() > 40
