"""Syntax trees of rules, also where another library has written attributes into nodes that all trees share."""

from __future__ import annotations

import ast
import math

import pytest

from wengert.rulebook.syntax import copied_tree, walk_tree


@pytest.fixture
def _with_parents():
    """Give nodes their parents, as IPython does for tracebacks: `Load()` is one object, which belongs to all trees."""
    tree = ast.parse("def f(a):\n    return [a, a.real, a[0], -a + a]\n")
    nodes = [*ast.walk(tree)]
    for node in nodes:
        for part in ast.iter_child_nodes(node):
            part.parent = node  # type: ignore[attr-defined]
    yield
    for node in nodes:
        vars(node).pop("parent", None)


@pytest.mark.usefixtures("_with_parents")
def test_trees_end_where_the_nodes_of_another_one_have_parents():
    tree = ast.parse("def g(x):\n    y = [x.imag, x[1]]\n    return -y[0] + y[1]\n")
    nodes = [n for n in ast.walk(tree) if not isinstance(n, ast.expr_context)]
    assert {*map(id, walk_tree(tree))} == {*map(id, nodes)}
    copy = copied_tree(tree)
    assert ast.dump(copy, include_attributes=True) == ast.dump(tree, include_attributes=True)
    space: dict = {}
    exec(compile(copy, "<copy>", "exec"), space)
    assert math.isclose(space["g"](type("X", (list,), {"imag": 2.0})([5.0, 7.0])), 5.0)
