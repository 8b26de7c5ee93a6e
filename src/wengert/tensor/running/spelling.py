"""How generated source spells names, index expressions, bounds and numbers."""

from __future__ import annotations

import builtins
from fractions import Fraction
from keyword import kwlist, softkwlist

from wengert.tensor.language.indices import AffineExpr
from wengert.tensor.planning.loops import IN_STRIPS, Limit

INDICES = [*"ijklmnpqrs", *(f"i{k}i" for k in range(100))]  # no name that is made fresh, none a bound of another
LOW, END = "0", "1"  # behind the name of an index, for its bounds

OWN = frozenset(
    ["np", "numba", "njit", "prange", "run", "inputs", "relations", "points", "walks", "space", "dtype", "at", "rest"]
    + ["window", "contracted", "summed_at", "find", "first_of", *dir(builtins), *kwlist, *softkwlist]
    + [f"{index}{strip}{bound}" for index in INDICES for strip in ("", IN_STRIPS) for bound in ("", LOW, END)]
)
"""Names of generated source itself. Every other name in it is given by `spelled`."""


def spelled(name: str, taken: set[str]) -> str:
    """A Python name for `name` that is not in `taken`, and now is; what the text says by itself is in it: OWN."""
    base = "".join(c if c.isalnum() and c.isascii() else "_" for c in name.removeprefix("in.")) or "t"
    base = f"t{base}" if base[0].isdigit() else base
    found, number = base, 1
    while found in taken:
        found, number = f"{base}_{number}", number + 1
    taken.add(found)
    return found


def index_text(a: AffineExpr) -> str:
    """The text of an index expression: i + 2*j - 1."""
    text = ""
    for name, c in a.terms:
        term = name if abs(c) == 1 else f"{abs(c)}*{name}"
        text += (f" {'-' if c < 0 else '+'} {term}") if text else (f"-{term}" if c < 0 else term)
    if not text:
        return str(a.constant)
    return text if not a.constant else f"{text} {'-' if a.constant < 0 else '+'} {abs(a.constant)}"


def lowest_text(bounds: tuple[Limit, ...]) -> str:
    texts = [index_text(b.of) if b.by == 1 else f"-(-({index_text(b.of)}) // {b.by})" for b in bounds]
    return texts[0] if len(texts) == 1 else f"max({', '.join(texts)})"


def end_text(bounds: tuple[Limit, ...]) -> str:
    """The text of the end of a range: one past the greatest."""
    texts = [index_text(b.of + 1) if b.by == 1 else f"({index_text(b.of)}) // {b.by} + 1" for b in bounds]
    return texts[0] if len(texts) == 1 else f"min({', '.join(texts)})"


EXACT = 2**53  # whole numbers up to here are floats


def number_text(value: int | float | Fraction) -> str:
    if isinstance(value, int) and abs(value) <= EXACT:
        return repr(int(value))
    number = float(value)
    if number != number:
        return "(1e999 - 1e999)"
    return repr(number).replace("inf", "1e999")


def aligned(text: str, axes: list[str], wanted: list[str]) -> str:
    """The text of an array transposed to the axes `wanted`, with an axis of length one for each that it lacks."""
    if axes == wanted or not axes:
        return text
    order = sorted(axes, key=wanted.index)
    if order != axes:
        text = f"{in_parentheses(text)}.transpose({', '.join(str(axes.index(i)) for i in order)})"
    if len(order) == len(wanted):
        return text
    first = next(k for k, i in enumerate(wanted) if i in axes)  # leading axes of one come by themselves
    return (
        f"{in_parentheses(text)}[{', '.join(':' if i in axes else 'None' for i in wanted[first:])}]"
        if len(wanted) - first > len(order)
        else text
    )


def in_parentheses(text: str) -> str:
    return f"({text})" if " " in text and not _is_closed(text) else text


def _is_closed(text: str) -> bool:
    """Whether a text is a call, an access or a bracket as a whole, so that no operator stands outside."""
    depth = 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == " " and depth == 0:
            return False
    return True
