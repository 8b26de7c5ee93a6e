"""Tell which code LLVM should translate as it is."""

from __future__ import annotations

import ast

MOST_STRAIGHT_LINES, PER_LINE_IN_LOOPS = 1500, 20
"""Lines outside of loops, and their ratio to those in loops, above which LLVM does not optimise the code."""


def is_long_and_straight(source: str) -> bool:
    """Whether a source runs many lines once: to optimise them takes many seconds, and saves a few microseconds."""
    functions = [each for each in ast.parse(source).body if isinstance(each, ast.FunctionDef)]
    in_loops = sum([_lines(each) for f in functions for each in f.body if isinstance(each, (ast.For, ast.While))])
    straight = sum(map(_lines, functions)) - in_loops
    return straight > max(MOST_STRAIGHT_LINES, PER_LINE_IN_LOOPS * in_loops)


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or 0) - node.lineno
