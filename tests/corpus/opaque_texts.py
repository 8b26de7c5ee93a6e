"""Texts made from a traced value, on the ways by which a parser may get them."""

# ruff: noqa (programs are written as a user would)

from __future__ import annotations

import io
import itertools
import re
import string
import sys
from typing import Any

import numpy as np
from opaque_table import Cases

cases = Cases()

WAYS: dict[str, Any] = {
    "characters": lambda x: float("".join(c for c in str(x))),
    "list_of_characters": lambda x: float("".join(list(str(x)))),
    "mapped_characters": lambda x: float("".join(map(str, str(x)))),
    "reversed_twice": lambda x: float("".join(reversed("".join(reversed(str(x)))))),
    "starred_characters": lambda x: float("".join([*str(x)])),
    "characters_as_arguments": lambda x: (lambda *parts: float("".join(parts)))(*str(x)),
    "unpacked_characters": lambda x: (lambda first, *rest: float(first + "".join(rest)))(*str(x)),
    "zipped_characters": lambda x: float("".join(c for c, _ in zip(str(x), range(99)))),
    "iterator_of_characters": lambda x: float("".join(iter(str(x)))),
    "chained_characters": lambda x: float("".join(itertools.chain(str(x)))),
    "chained_texts": lambda x: float("".join(itertools.chain.from_iterable([str(x)]))),
    "keys_of_characters": lambda x: float("".join({c: 1 for c in str(x)})),
    "characters_fromkeys": lambda x: float("".join(dict.fromkeys(str(x)))),
    "one_character": lambda x: float([*str(x)][0]),
    "sliced": lambda x: float(str(x)[::-1][::-1]),
    "bytes_formatted": lambda x: float(b"%a" % x),
    "encoded": lambda x: float(str(x).encode()),
    "decoded": lambda x: float(str(str(x).encode(), "ascii")),
    "own_str": lambda x: float(x.__str__()),
    "object_str": lambda x: float(object.__str__(x)),
    "own_format": lambda x: float(x.__format__("")),
    "interned": lambda x: float(sys.intern(str(x))),
    "parsed_by_numpy": lambda x: np.float64(str(x)) * 1.0,
    "parsed_as_single": lambda x: float(np.float32(str(x))),
    "split_by_expression": lambda x: float(re.split("z", str(x))[0]),
    "in_a_template": lambda x: float(string.Template("$a").substitute(a=x)),
    "lines_written": lambda x: (lambda s: (s.writelines(str(v) for v in [x]), float(s.getvalue()))[1])(io.StringIO()),
    "joined_from_a_generator": lambda x: float("".join(str(v) for v in [x])),
}
for name, f in WAYS.items():
    cases.enter(f"text_{name}", (f, 1.375))


def characters_shown(x):
    """A text that nobody parses may be taken apart."""
    shown = [c for c in f"{x:.3f}" if c.isdigit()]
    return x * len(shown) + len([*reversed(str(x))])


class Named:
    def __init__(self, v):
        self.v = v

    def __str__(self):
        return super().__str__()[:3] + object.__str__(self)[:1]


def str_of_a_super(x):
    return x * len(str(Named(x)))


cases.enter("characters_shown", (characters_shown, 1.375))
cases.enter("str_of_a_super", (str_of_a_super, 1.375))
