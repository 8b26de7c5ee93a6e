"""The cost of a program: additions, multiplications and black-box calls, counted exactly at given sizes and relations.

Memory traffic, index arithmetic, predicates, ⊞, accesses and pairs are free.

Source: "Differentiating a Tensor Language", 4.22 to 4.34.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wengert.tensor.language.assignments import Assignments, World
from wengert.tensor.language.evaluation import behind_brackets, summands
from wengert.tensor.language.substitution import children
from wengert.tensor.language.terms import Add, Apply, Bracket, Expr, Gen, Mul, Sum, TensorProgram


def cost(
    program: TensorProgram, sizes: Mapping[str, int] | None = None, relations: Mapping[str, np.ndarray] | None = None
) -> int:
    return cost_at(program.body, Assignments(World(sizes or {}, relations or {}), 1, {}))


def cost_at(e: Expr, table: Assignments) -> int:
    """Return the cost of e, summed over the rows of a table."""
    match e:
        case Add(left, right):
            return _addition(left, right, table)
        case Sum():
            return _summation(e, table)
        case Gen(index, size, body):
            return cost_at(body, table.extended([(index, size)])[0])
        case Bracket(where, body):
            return cost_at(body, table.where(where))
    own = table.rows if isinstance(e, (Mul, Apply)) else 0
    return own + sum(cost_at(child, table) for child in children(e))


def _addition(left: Expr, right: Expr, table: Assignments) -> int:
    """Count by 4.24: [p]e0 + [q]e1 adds where both hold, and costs [p]cost(e0) + [q]cost(e1) + [p∧q]."""
    (p, e0), (q, e1) = behind_brackets(left), behind_brackets(right)
    first = table.where(p)
    return cost_at(e0, first) + cost_at(e1, table.where(q)) + first.where(q).rows


def _summation(e: Sum, table: Assignments) -> int:
    """Count by 4.30: Σ ī [p]e costs Σ_ī [p](cost(e)+1) − [∃ī.p], since the first term is not added."""
    indices, where, body = summands(e)
    inner, origins = table.extended(indices.items(), where)
    return cost_at(body, inner) + inner.rows - len(np.unique(origins))
