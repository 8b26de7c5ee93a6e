"""Every rule against numbers on every sample, and the set of rules against itself."""

from __future__ import annotations

import ast
import inspect
import itertools
import operator
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from samples import BY_FUNCTION, BY_HAND, SAMPLES, Sample
from sampling import is_of_numpy

import wengert_rules  # noqa: F401 (registers the rules)
from wengert.api.rulecheck import test_rrule
from wengert.errors import NoDerivativeError, RuleError
from wengert.extend import rules
from wengert.rulebook.syntax import definition, named_object
from wengert.tape.liveness import is_new_memory
from wengert.tape.ops import Call


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_rule_on_sample(sample: Sample) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        warnings.filterwarnings("ignore", r"complex\(\) argument", DeprecationWarning)  # of complex(z, w), from 3.14
        test_rrule(sample.f, *sample.args, **sample.kwargs)


def test_every_rule_has_a_sample() -> None:
    """But those that other tests declare."""
    ruled = {f for f in rules if rules[f].kind != "constant" and is_of_numpy(f)}
    assert {sample.f for sample in SAMPLES} | BY_HAND == ruled


def leaves(x: Any) -> Iterator[Any]:
    """The parts of nested tuples and lists."""
    if isinstance(x, (tuple, list)):
        for part in x:
            yield from leaves(part)
    else:
        yield x


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BY_FUNCTION)
def test_flags_tell_of_results_that_share_memory(name: str) -> None:
    """What liveness trusts: a call is said to make new memory only where it does."""
    for sample in BY_FUNCTION[name]:
        made = [y for y in leaves(sample.f(*sample.args, **sample.kwargs)) if isinstance(y, np.ndarray)]
        given = [x for x in leaves((sample.args, list(sample.kwargs.values()))) if isinstance(x, np.ndarray)]
        shares = any(np.may_share_memory(x, y) for x in given for y in made)
        assert not (shares and is_new_memory(Call(sample.f, sample.args, sample.kwargs))), sample


OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.USub: operator.neg, ast.Invert: operator.invert, ast.Not: operator.not_,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Subscript: operator.getitem,
}  # fmt: skip
PLAIN = {tuple, list, range, zip, isinstance, slice, any, itertools.product, RuleError}  # they only hold or ask
PLAIN |= {NoDerivativeError, np.finfo, np.arange}  # np.arange: of whole numbers
PLAIN |= {max, min, sorted, set, dict, enumerate}  # of shapes, subscripts and static arguments
METHODS = {"append", "tolist"}  # of lists, and of the indices that a permutation is sorted into
METHODS |= {"count", "fromkeys", "get", "index", "join", "partition", "replace", "split"}  # of subscripts and axes


def calls(function: Any, seen: set[Any]) -> Iterator[Any]:
    """Everything that a rule's body calls, through the helpers that it calls."""
    if function in seen:
        return
    seen.add(function)
    node = definition(function) or ast.parse(inspect.getsource(function)).body[0]
    for n in ast.walk(node):
        if isinstance(n, (ast.BinOp, ast.UnaryOp)):
            yield OPERATORS[type(n.op)]
        elif isinstance(n, ast.Compare):
            yield from (OPERATORS[type(op)] for op in n.ops if type(op) not in (ast.Is, ast.IsNot, ast.In, ast.NotIn))
        elif isinstance(n, ast.Call) and not (isinstance(n.func, ast.Attribute) and n.func.attr in METHODS):
            called = named_object(n.func, function)
            if isinstance(called, types.FunctionType) and called not in rules:
                yield from calls(called, seen)
            else:
                yield called


OURS = [rules[f] for f in rules if is_of_numpy(f)]
BODIES = sorted({rule.body for rule in OURS if rule.body}, key=lambda body: (body.__qualname__, body.__module__))


@pytest.mark.parametrize("body", BODIES, ids=lambda body: f"{body.__module__}.{body.__name__}")
def test_what_a_rule_calls_has_a_rule(body: Any) -> None:
    missing = [f for f in calls(body, set()) if f not in PLAIN and f not in rules]
    assert not missing
