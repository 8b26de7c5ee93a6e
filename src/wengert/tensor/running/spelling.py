"""Spelling of names, index expressions, bounds and numbers in generated source."""

from __future__ import annotations

import builtins
from fractions import Fraction
from keyword import kwlist, softkwlist

from wengert.tensor.language.indices import AffineExpr
from wengert.tensor.planning.loops import STRIP_SUFFIX, Limit

INDICES = [*"ijklmnpqrs", *(f"i{k}i" for k in range(100))]  # none is a fresh name or the bound of another
LOW, END = "0", "1"  # suffixes of an index for the names of its bounds

RESERVED_NAMES = frozenset(
    ["np", "numba", "njit", "prange", "run", "inputs", "relations", "points", "walks", "space", "dtype", "at", "rest"]
    + ["window", "contract_axes", "summed_at", "find", "first_of", *dir(builtins), *kwlist, *softkwlist]
    + [f"{index}{strip}{bound}" for index in INDICES for strip in ("", STRIP_SUFFIX) for bound in ("", LOW, END)]
)
"""Names that generated source uses itself. Every other name in it comes from `spelled`."""


def spelled(name: str, taken: set[str]) -> str:
    """Make a Python name for `name` that is not in `taken`, and add it; `taken` includes RESERVED_NAMES."""
    base = "".join(c if c.isalnum() and c.isascii() else "_" for c in name.removeprefix("in.")) or "t"
    base = f"t{base}" if base[0].isdigit() else base
    found, number = base, 1
    while found in taken:
        found, number = f"{base}_{number}", number + 1
    taken.add(found)
    return found


def index_source(a: AffineExpr) -> str:
    """The source of an index expression: i + 2*j - 1."""
    text = ""
    for name, c in a.terms:
        term = name if abs(c) == 1 else f"{abs(c)}*{name}"
        text += (f" {'-' if c < 0 else '+'} {term}") if text else (f"-{term}" if c < 0 else term)
    if not text:
        return str(a.constant)
    return text if not a.constant else f"{text} {'-' if a.constant < 0 else '+'} {abs(a.constant)}"


def lowest_source(bounds: tuple[Limit, ...]) -> str:
    texts = [index_source(b.of) if b.by == 1 else f"-(-({index_source(b.of)}) // {b.by})" for b in bounds]
    return texts[0] if len(texts) == 1 else f"max({', '.join(texts)})"


def end_source(bounds: tuple[Limit, ...]) -> str:
    """The source of a range's end: one past the greatest index."""
    texts = [index_source(b.of + 1) if b.by == 1 else f"({index_source(b.of)}) // {b.by} + 1" for b in bounds]
    return texts[0] if len(texts) == 1 else f"min({', '.join(texts)})"


EXACT_INTEGERS = 2**53  # integers up to this magnitude are exact floats


def number_source(value: int | float | Fraction) -> str:
    if isinstance(value, int) and abs(value) <= EXACT_INTEGERS:
        return repr(int(value))
    number = float(value)
    if number != number:
        return "(1e999 - 1e999)"
    return repr(number).replace("inf", "1e999")


def aligned(text: str, axes: list[str], wanted: list[str]) -> str:
    """The source of an array transposed to the axes `wanted`, with a new axis of length one for each that it lacks."""
    if axes == wanted or not axes:
        return text
    order = sorted(axes, key=wanted.index)
    if order != axes:
        text = f"{in_parentheses(text)}.transpose({', '.join(str(axes.index(i)) for i in order)})"
    if len(order) == len(wanted):
        return text
    first = next(k for k, i in enumerate(wanted) if i in axes)  # broadcasting adds leading axes itself
    return (
        f"{in_parentheses(text)}[{', '.join(':' if i in axes else 'None' for i in wanted[first:])}]"
        if len(wanted) - first > len(order)
        else text
    )


def in_parentheses(text: str) -> str:
    return f"({text})" if " " in text and not _is_closed(text) else text


def _is_closed(text: str) -> bool:
    """Whether source has no operator outside of parentheses and brackets."""
    depth = 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == " " and depth == 0:
            return False
    return True
