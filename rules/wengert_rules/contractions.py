"""Sums of products over named or numbered axes: `einsum`, traces, Kronecker products."""

from __future__ import annotations

import numpy as np

from wengert.extend import accumulates, linear, multilinear, vjp_rule
from wengert_rules.diagonals import add_diagonal, onto_diagonal
from wengert_rules.products import conj

NUMBERED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # in the order of the numbers that they stand for
LETTERS = NUMBERED.swapcase()


@vjp_rule(np.einsum, broadcasts=True, view=True)
def einsum(y_bar, y, *given, out=None, optimize=False, dtype=None, order="K", casting="safe", wanted):
    """For each operand the contraction of ȳ with the conjugates of the others, spread over what it alone sums."""
    subscripts, places = spelt_out(given)
    terms, result = letters(subscripts, [np.ndim(given[place]) for place in places])
    cotangents = [None] * len(given)
    for k, place in enumerate(places):
        if wanted[place]:
            others = [(terms[i], given[p]) for i, p in enumerate(places) if i != k]
            cotangents[place] = operand_bar(
                y_bar, result, others, terms[k], np.shape(given[place]), optimize is not False
            )
    return tuple(cotangents)


def spelt_out(given):
    """The subscripts as text, and the places of the operands; a call may also give each operand a list of numbers."""
    if isinstance(given[0], str):
        return given[0], list(range(1, len(given)))
    pairs = len(given) // 2
    lists = [as_text(given[2 * k + 1]) for k in range(pairs)]
    result = "->" + as_text(given[-1]) if len(given) % 2 else ""
    return ",".join(lists) + result, [2 * k for k in range(pairs)]


def as_text(numbers):
    return "".join(["..." if n is Ellipsis else NUMBERED[n] for n in numbers])


def letters(subscripts, ndims):
    """The labels of each operand and of the result, one letter an axis; those of an ellipsis are letters as well."""
    left, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    named = left.replace(",", "").replace("...", "")
    hidden = [n - len(term.replace("...", "")) for term, n in zip(terms, ndims, strict=True)]
    tangents = "".join([c for c in LETTERS if c not in subscripts])[: max(hidden)]
    if not arrow:
        result = "..." + "".join(sorted([c for c in set(named) if named.count(c) == 1]))
    terms = [term.replace("...", tangents[len(tangents) - n :]) for term, n in zip(terms, hidden, strict=True)]
    return terms, result.replace("...", tangents)


def operand_bar(y_bar, result, others, term, shape, optimize):
    """The cotangent of the operand labelled `term`; axes of length 1 may be stretched as by broadcasting."""
    if 0 in [np.size(y_bar), *[np.size(x) for _, x in others]]:
        return np.zeros(shape, y_bar.dtype)  # np.einsum itself may give NaN as the sum of no long doubles
    labels = "".join(dict.fromkeys(term))
    known = result + "".join([t for t, _ in others])
    kept = "".join([c for c in labels if c in known])
    if others or kept != result:
        subscripts = ",".join([result, *[t for t, _ in others]]) + "->" + kept
        y_bar = np.einsum(subscripts, y_bar, *[conj(x) for _, x in others], optimize=optimize)
    sizes = dict(zip(kept, np.shape(y_bar), strict=True))
    present = [sizes.get(c, 1) for c in labels]
    full = [shape[term.index(c)] if n == 1 else n for c, n in zip(labels, present, strict=True)]
    y_bar = np.reshape(y_bar, present) if kept != labels else y_bar
    spread = np.broadcast_to(y_bar, full) if full != present else y_bar
    return spread if labels == term else embedded(spread, labels, term)


def embedded(x_bar, labels, term):
    """Zeros, with `x_bar` where the axes of `term` that share a label have equal indices."""
    axes = list(labels)
    for c in labels:
        for _ in range(term.count(c) - 1):
            k = axes.index(c)
            x_bar = np.transpose(x_bar, [*range(k), *range(k + 1, len(axes)), k])
            axes = [*axes[:k], *axes[k + 1 :], c, c]
            n = np.shape(x_bar)[-1]
            x_bar = onto_diagonal(x_bar, (*np.shape(x_bar), n), 0, -2, -1)
    order = []
    for c in term:
        order.append(axes.index(c))
        axes[order[-1]] = None
    return np.transpose(x_bar, order)


@vjp_rule(np.trace, np.ndarray.trace)
def trace(y_bar, y, a, *, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """ȳ on the diagonal."""
    rows, columns, offset = np.shape(a)[axis1], np.shape(a)[axis2], int(offset)
    length = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    spread = np.broadcast_to(np.expand_dims(y_bar, -1), (*np.shape(y_bar), length))
    return onto_diagonal(spread, np.shape(a), offset, axis1, axis2)


@accumulates(np.trace, arg=0, scatters=True)
def trace_onto(x_bar, y_bar, y, a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    return add_diagonal(x_bar, np.expand_dims(y_bar, -1), offset, axis1, axis2)


@vjp_rule(np.kron)
def kron(y_bar, y, a, b):
    """Y[i p + k, …] = A[i, …] B[k, …]: ȳ, its axes split in two, against the conjugate of the other factor."""
    if np.size(y) == 0:
        return np.zeros(np.shape(a), y.dtype), np.zeros(np.shape(b), y.dtype)
    n = max(np.ndim(a), np.ndim(b))
    left, right = lengths(a, n), lengths(b, n)
    of_a, of_b = list(range(0, 2 * n, 2)), list(range(1, 2 * n, 2))
    split = np.reshape(y_bar, [size for pair in zip(left, right, strict=True) for size in pair])
    a_bar = np.einsum(split, list(range(2 * n)), np.reshape(conj(b), right), of_b, of_a)
    b_bar = np.einsum(split, list(range(2 * n)), np.reshape(conj(a), left), of_a, of_b)
    return np.reshape(a_bar, np.shape(a)), np.reshape(b_bar, np.shape(b))


def lengths(x, n):
    """The shape of `x` with leading axes of length 1, n in all."""
    return (1,) * (n - np.ndim(x)) + np.shape(x)


linear(np.trace)
multilinear(np.einsum, np.kron)
