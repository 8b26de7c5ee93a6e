"""Matrix products and similar functions as sums over labelled axes, in the notation of `np.einsum`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

STACKED = "ZYXWVUTSRQPONMLKJIHGFEDCBA"  # the axes of stacks of matrices, the last one last


def terms_of(name: str, subscripts: Any, ndims: Sequence[int]) -> tuple[list[str], str] | None:
    """Return the axes of the operands and of the result as letters: `(["ik", "kj"], "ij")` for a matrix product.

    `name` is the function's name, `ndims` the numbers of axes of its operands. None if it is not such a product.
    """
    if name == "einsum":
        return _parse_einsum(subscripts, ndims) if isinstance(subscripts, str) else None
    if len(ndims) != 2 or 0 in ndims:
        return None
    if name == "outer":
        return (["i", "j"], "ij") if max(ndims) == 1 else None
    if name != "matmul" and max(ndims) > (1 if name == "vdot" else 2):
        return None
    m, n = ndims
    left, right = "i" if m > 1 else "", "j" if n > 1 else ""
    stacks = [STACKED[len(STACKED) - max(k - 2, 0) :] for k in ndims]
    second = right + "k" if name == "inner" else "k" + right
    return [stacks[0] + left + "k", stacks[1] + second], max(stacks, key=len) + left + right


def _parse_einsum(subscripts: str, ndims: Sequence[int]) -> tuple[list[str], str] | None:
    """Parse the subscripts of an einsum without an ellipsis; None if there is one."""
    left, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if "." in subscripts or [len(term) for term in terms] != list(ndims):
        return None
    letters = left.replace(",", "")
    return terms, result if arrow else "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
