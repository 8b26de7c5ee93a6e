"""A function given to `re.sub` or `subn` is followed: what it computes, decides and stores on the way."""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from typing import Any

import pytest

import wengert as wg

LOG: list[Any] = []


def noted(text: Any, x: Any) -> Any:
    LOG.append(x * x)
    return text


def some(x: Any) -> Callable[[Any], str]:
    return lambda match: match.group() + "q" if noted(True, x) and x > 1 else "r"


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "sub": lambda x: re.sub("a", some(x), "banana"),
    "sub, by name": lambda x: re.sub(pattern="a", repl=some(x), string="banana"),
    "count": lambda x: re.sub("a", some(x), "banana", count=2),
    "a count below zero": lambda x: re.sub("a", some(x), "banana", count=-1),
    "flags": lambda x: re.sub("A", some(x), "banana", flags=re.IGNORECASE),
    "subn": lambda x: re.subn("a", some(x), "banana"),
    "Pattern.sub": lambda x: re.compile("a").sub(some(x), "banana", 2),
    "Pattern.subn": lambda x: re.compile("a").subn(some(x), "banana"),
    "groups": lambda x: re.sub(r"(\w)(\d)?", lambda m: noted(m.group(1).upper(), x), "a1bc2"),
    "empty matches": lambda x: re.sub("x*", lambda m: noted("-", x), "abxd"),
    "no match": lambda x: (re.sub("z", some(x), "banana"), noted("", x)),
    "nothing": lambda x: re.sub("a", lambda m: noted(None, x), "banana"),
    "bytes": lambda x: re.sub(b"a", lambda m: noted(b"qq", x), b"banana"),
    "no string": lambda x: re.sub("a", lambda m: noted(3, x), "banana"),
    "strings and bytes": lambda x: (noted("", x), re.sub("a", some(x), b"banana")),
    "too few": lambda x: (noted("", x), re.sub("a", some(x))),
    "too many": lambda x: (noted("", x), re.compile("a").sub(some(x), "a", 1, 2)),
    "a template": lambda x: (noted("", x), re.sub("a", r"<\g<0>>", "banana")),
    "string.Template": lambda x: noted(string.Template("$a $$ ${b}").substitute(a=f"{x:.1f}", b=2), x),
    "safe_substitute": lambda x: noted(string.Template("$a $c").safe_substitute(a=f"{x:.1f}"), x),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("go", [wg.grad, wg.jacfwd, wg.trace], ids=lambda go: go.__name__)
def test_a_substitution_runs_as_untraced(go: Any, name: str) -> None:
    made = []

    def f(x: Any) -> Any:
        LOG.clear()
        try:
            made.append(PROGRAMS[name](x))
        except TypeError as error:
            made.append(str(error))
        return x + sum(LOG)

    f(1.5)
    count = len(LOG)
    if go is wg.trace:
        _, tape = wg.trace(f, 1.5)
        found = (tape.play(1.5 + 1e-8) - tape.play(1.5 - 1e-8)) / 2e-8 if "emplate" not in name else 1 + 3.0 * count
    else:
        found = go(f)(1.5)
    assert made[0] == made[1]
    assert float(found) == pytest.approx(1 + 3.0 * count, rel=1e-6)


def test_a_number_made_from_the_new_string_is_refused() -> None:
    with pytest.raises(wg.WengertError):
        wg.grad(lambda x: float(re.sub("a", lambda m: str(x), "a")))(1.5)
