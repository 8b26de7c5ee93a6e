"""Sparsity rules: the dependences of a call's result on its arguments, element by element.

If nothing better is known, each element of the result depends on each element of the arguments. So no entry is ever
missed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from wengert.errors import NoRuleError
from wengert.rulebook.registry import rules
from wengert.rulebook.rule import Rule
from wengert.sparse.dependences import (
    Dependences,
    RuleDoesNotApply,
    UniformDependence,
    everywhere,
    recorded_value,
    shaped_like,
    united_by,
)
from wengert.sparse.index_maps import moved_sets
from wengert.sparse.products import terms_of
from wengert.sparse.scipy_patterns import pattern_rule_of
from wengert.sparse.sets import EMPTY
from wengert.sparse.stores import addition_dependences, bincount_dependences, read_dependences, store_dependences
from wengert.tape.ops import Call, Variable, references, with_variables
from wengert.values import functional
from wengert.values.names import is_of_wengert
from wengert.values.numeric_trees import leaf_values

ELEMENTWISE = (
    np.clip, np.where, np.choose, np.conjugate, np.real, np.imag, divmod, math.modf, sum, functional.setpart,
)  # fmt: skip
IN_FIRST = (np.interp,)  # elementwise in the first argument
MOST_UNITS = 256  # elements of a constant factor; the function runs once for each
MOST_OF_FIBRE = 2000  # elements along an axis; the function runs once for each
_COMPARABLE_TYPES = (Variable, int, float, complex, str, bytes, slice, np.generic, np.dtype, np.ufunc, type)
PRODUCTS = (np.matmul, np.dot, np.inner, np.vdot, np.outer, np.einsum)


def dependences(deps: Dependences, op: Call, in_place: bool) -> Any:
    """Return the dependences of a call's result; with `in_place`, a store may overwrite its array's dependences."""
    if all(deps.known(v) is None for v in op.references()):
        return None
    for rule in _candidate_rules(deps, op, in_place):
        try:
            return rule(deps, op)
        except RuleDoesNotApply:
            continue
    return dense_dependences(deps, op)


def _candidate_rules(deps: Dependences, op: Call, in_place: bool) -> Iterator[Callable[[Dependences, Call], Any]]:
    """Yield the sparsity rules to try, the most exact one first."""
    fn = op.fn
    rule = None if isinstance(fn, Variable) else rules.get(fn)
    if fn is functional.getitem or fn is functional.lens:
        yield read_dependences
    elif fn is functional.setitem or fn is functional.setlens:
        yield lambda deps, op: store_dependences(deps, op, in_place)
    elif fn is functional.additem or fn is functional.addlens:
        yield lambda deps, op: addition_dependences(deps, op, in_place)
    elif fn is functional.getfield:
        yield item_dependences
    elif fn in functional.DISPLAYS or hasattr(fn, "_fields"):
        yield container_dependences
    elif fn is np.bincount:
        yield bincount_dependences
    elif rule is not None and rule.kind == "constant":
        yield lambda deps, op: None
    elif rule is not None and rule.kind != "rrule":
        if declared := pattern_rule_of(fn):
            yield lambda deps, op: declared(deps, _bound_arguments(op, rule)[0], op.val)
        if _acts_elementwise(deps, op, rule):
            yield elementwise_dependences
        yield lambda deps, op: moved_dependences(deps, op, rule)
        yield lambda deps, op: product_dependences(deps, op, rule)
        yield lambda deps, op: unit_dependences(deps, op, rule)
        yield lambda deps, op: linear_map_dependences(deps, op, rule)
        yield lambda deps, op: fibre_dependences(deps, op, rule)


def _is_of(rule: Rule, fns: tuple[Any, ...]) -> bool:
    return any(rules.get(fn) is rule for fn in fns)


def _acts_elementwise(deps: Dependences, op: Call, rule: Rule) -> bool:
    """Whether each element of the result depends only on the arguments' elements at the same position."""
    if rule.kind == "partials" or _is_of(rule, ELEMENTWISE):
        return True
    if isinstance(op.fn, np.ufunc):
        return op.fn.signature is None
    return _is_of(rule, IN_FIRST) and not any(deps.known(v) is not None for v in references(op.args[1:]))


def dense_dependences(deps: Dependences, op: Call) -> Any:
    """Let each element of the result depend on all elements of the arguments."""
    sets = np.unique(np.concatenate([*deps.reached(op)]))
    union = int(deps.sets.unions(np.zeros_like(sets), sets, 1)[0])
    deps.dense.append((op, union))
    return everywhere(op.val, union)


def elementwise_dependences(deps: Dependences, op: Call) -> Any:
    """Let each element of the result depend on the arguments' elements at the same position, after broadcasting."""
    deps.free.add(op.id)
    sets: Any = EMPTY
    for v in {v.id: v for v in op.references()}.values():
        if deps.known(v) is not None:
            sets = deps.sets.union(sets, deps.array(v))
    return shaped_like(op.val, lambda number: _broadcast_sets(sets, np.shape(number)).copy())


def _broadcast_sets(sets: Any, shape: tuple[int, ...]) -> np.ndarray:
    try:
        return np.broadcast_to(sets, shape)
    except ValueError as error:
        raise RuleDoesNotApply from error


def container_dependences(deps: Dependences, op: Call) -> Any:
    """Return the dependences of a list, tuple or dictionary that is made of values."""
    parts = [_dependences_within(deps, arg) for arg in op.args]
    return dict(zip(op.args[0], parts[1:], strict=True)) if op.fn is functional.make_dict else parts


def _dependences_within(deps: Dependences, arg: Any) -> Any:
    """Return the dependences of an argument that may be a nested sequence of Variables."""
    if isinstance(arg, Variable):
        return deps.known(arg)
    return [_dependences_within(deps, item) for item in arg] if isinstance(arg, tuple | list) else None


def item_dependences(deps: Dependences, op: Call) -> Any:
    """Return the dependences of an item of a container."""
    whole, key = deps.known(op.args[0]), deps.value(op.args[1])
    return everywhere(op.val, whole.set) if isinstance(whole, UniformDependence) else functional.getfield(whole, key)


def moved_dependences(deps: Dependences, op: Call, rule: Rule) -> Any:
    """Return the dependences of a call that moves elements: each of its result is an argument's, or a constant."""
    if not _is_linear(deps, op, rule):
        raise RuleDoesNotApply
    return _moves(deps, op, rule)


def unit_dependences(deps: Dependences, op: Call, rule: Rule) -> Any:
    """Return the dependences of a bilinear call with a short constant factor, such as a convolution with a filter.

    The result is a sum over the factor's elements, each of which must only move elements of the other argument.
    """
    args, static = _bound_arguments(op, rule)
    constant = [k for k, arg in enumerate(args) if not _is_dependent(deps, arg)]
    if len(args) != 2 or len(constant) != 1 or not _is_bilinear(rule):
        raise RuleDoesNotApply
    factor = np.asarray(deps.value(args[constant[0]]))
    if factor.size > MOST_UNITS:
        raise RuleDoesNotApply
    sets: Any = EMPTY
    for place in np.argwhere(factor):
        unit = functional.setitem(np.zeros(factor.shape), tuple(place), 1.0)
        given = [unit if k == constant[0] else arg for k, arg in enumerate(args)]
        sets = deps.sets.union(sets, _moves(deps, Call(op.fn, given, static, op.val), rule))
    return _broadcast_sets(sets, np.shape(op.val)).copy()


def _is_bilinear(rule: Rule) -> bool:
    """Whether a rule is linear in each of its two arguments, by declaration or because its pullbacks show it."""
    if rule.forward is not None and rule.forward.kind == "multilinear":
        return True
    return _is_of_wengert(rule) and all(_reads_none_of(rule, wanted) for wanted in ((True, False), (False, True)))


def linear_map_dependences(deps: Dependences, op: Call, rule: Rule) -> Any:
    """Return the dependences of one linear function applied to each fibre along an axis, such as a filter.

    Its values at unit vectors give the matrix of this function.
    """
    args, static = _bound_arguments(op, rule)
    sets, axes = _fibres(deps, args, static, rule, is_flattened=isinstance(op.val, np.ndarray))
    is_filter = isinstance(op.val, np.ndarray) and op.val.ndim == sets.ndim and len(axes) == 1
    if not is_filter or not _is_linear(deps, op, rule):
        raise RuleDoesNotApply
    n, others = sets.shape[axes[0]], [arg for arg in (*args, *static.values()) if not _is_dependent(deps, arg)]
    is_alike = all(np.ndim(deps.value(arg)) < 2 for arg in others if isinstance(recorded_value(arg), np.ndarray))
    if not is_alike or n > MOST_OF_FIBRE or not all(map(_is_comparable, leaf_values((args, static)))):
        raise RuleDoesNotApply
    units = np.eye(n).reshape(n, *_unit_shape(deps, args, n, axes[0], sets.ndim))
    found = [_value_at(deps, op.fn, args, static, unit) for unit in (0.0 * units.sum(0), *units)]
    matrix = np.array([np.ravel(y) != np.ravel(found[0]) for y in found[1:]]).T
    made = np.moveaxis(united_by(deps, matrix, np.moveaxis(sets, axes[0], 0)), 0, axes[0])
    if made.shape != np.shape(op.val):
        raise RuleDoesNotApply
    return made


def _unit_shape(deps: Dependences, args: Any, n: int, axis: int, ndim: int) -> tuple[int, ...]:
    """Return the shape of a fibre of n elements, or that of the argument if the function flattens it."""
    shape = next(np.shape(recorded_value(arg)) for arg in args if _is_dependent(deps, arg))
    return shape if len(shape) != ndim else tuple([n if k == axis else 1 for k in range(ndim)])


def _value_at(deps: Dependences, fn: Any, args: Any, static: dict[str, Any], unit: np.ndarray) -> Any:
    """Call a function with `unit` in place of the argument that depends on columns."""
    given = [unit if _is_dependent(deps, arg) else deps.value(arg) for arg in args]
    try:
        with np.errstate(all="ignore"):
            return fn(*given, **{name: deps.value(arg) for name, arg in static.items()})
    except Exception as error:
        raise RuleDoesNotApply from error


def _moves(deps: Dependences, op: Call, rule: Rule) -> Any:
    """Find the dependences of a call that only moves elements, by running it on labels."""
    if not _is_of_wengert(rule) or not all(map(_is_comparable, leaf_values((op.args, op.kwargs)))):
        deps.may_change = True
    given = {v.id: v for v in op.references() if deps.known(v) is not None}
    sets = np.concatenate([deps.array(v).ravel() for v in given.values()])

    def run(labels: list[Any]) -> Any:
        table = dict(zip(given, labels, strict=True))

        def value(v: Variable) -> Any:
            return table[v.id] if v.id in table else deps.value(v)

        return op.fn(*with_variables(op.args, value), **with_variables(op.kwargs, value))

    try:
        return moved_sets(run, [recorded_value(v) for v in given.values()], op.val, sets)
    except Exception as error:  # the function does more, or does not accept labels
        raise RuleDoesNotApply from error


def _is_comparable(leaf: Any) -> bool:
    """Whether comparing a leaf with an earlier one compares all that a function may read from it."""
    if isinstance(leaf, np.ndarray):
        return not leaf.dtype.hasobject
    return leaf is None or leaf is Ellipsis or isinstance(leaf, _COMPARABLE_TYPES)


def _is_linear(deps: Dependences, op: Call, rule: Rule) -> bool:
    """Whether a call is linear in all arguments that depend on columns, by declaration or as its pullback shows.

    A user's pullback does not show it: it may pass cotangents through a step function.
    """
    args, _ = _bound_arguments(op, rule)
    wanted = [_is_dependent(deps, arg) for arg in args]
    forward = rule.forward
    if forward is not None and forward.kind == "linear":
        return forward.args is None or all(k in forward.args for k, is_wanted in enumerate(wanted) if is_wanted)
    return _is_of_wengert(rule) and _reads_none_of(rule, tuple(wanted))


def _reads_none_of(rule: Rule, wanted: tuple[bool, ...]) -> bool:
    """Whether the pullback of a rule reads neither the wanted arguments nor the result."""
    variant = rule.variant(wanted)
    reads = [how for how, is_wanted in zip(variant.reads, wanted, strict=False) if is_wanted]
    return "value" not in [*reads, variant.reads_y]


def _is_of_wengert(rule: Rule) -> bool:
    return is_of_wengert(rule.body)


def _is_dependent(deps: Dependences, arg: Any) -> bool:
    return any(deps.known(v) is not None for v in references(arg))


def _bound_arguments(op: Call, rule: Rule) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the positional arguments that a call's rule takes, and the static ones by name.

    Errors: RuleDoesNotApply if a list of arguments is itself a Variable.
    """
    try:
        args, kwargs = rule.normalise(op.args, op.kwargs)
        args = rule.splat(args)
        return rule.plan(len(args), tuple(kwargs)).bind(args, kwargs)
    except (NoRuleError, TypeError) as error:
        raise RuleDoesNotApply from error


def fibre_dependences(deps: Dependences, op: Call, rule: Rule) -> Any:
    """Let each fibre of the result along an axis depend on the argument's fibre at the same position.

    This holds for NumPy functions with an `axis` that remove this axis or change its length.
    """
    sets, axes = _fibres(deps, *_bound_arguments(op, rule), rule)
    shape = tuple(1 if k in axes else n for k, n in enumerate(sets.shape))
    fibre = np.arange(math.prod(shape)).reshape(shape)
    of_fibres = deps.sets.unions(np.broadcast_to(fibre, sets.shape).ravel(), sets.ravel(), fibre.size).reshape(shape)

    def beside(y: Any) -> np.ndarray:
        found = of_fibres if np.ndim(y) == sets.ndim else np.squeeze(of_fibres, axes)
        if np.ndim(y) != found.ndim or any(n != m for n, m in zip(np.shape(y), found.shape, strict=True) if m != 1):
            raise RuleDoesNotApply
        return np.broadcast_to(found, np.shape(y)).copy()

    made, fibres = shaped_like(op.val, beside), of_fibres.ravel()
    if fibres.size:
        deps.dense.append((op, int(fibres[np.argmax(deps.sets.sizes[fibres])])))
    return made


def _fibres(
    deps: Dependences, args: Any, static: dict[str, Any], rule: Rule, is_flattened: bool = False
) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return the dependences of the only argument that depends on columns, and the axes of its fibres.

    `is_flattened`: without an axis, the fibre is the whole argument in one dimension.
    """
    wanted = [arg for arg in args if _is_dependent(deps, arg)]
    if rule.analysis is None or "axis" not in rule.analysis.static or not _is_of_wengert(rule):
        raise RuleDoesNotApply
    axis = deps.value(static.get("axis", rule.analysis.kwdefaults.get("axis")))
    if len(wanted) != 1 or (axis is None and not is_flattened):
        raise RuleDoesNotApply
    sets = deps.array(wanted[0])
    if axis is None:
        return sets.ravel(), (0,)
    if not sets.ndim:
        raise RuleDoesNotApply
    return sets, normalize_axis_tuple(axis, sets.ndim)


def product_dependences(deps: Dependences, op: Call, rule: Rule) -> Any:
    """Return the dependences of a matrix product or an `einsum`: each element depends on the elements it sums."""
    name = next((fn.__name__ for fn in PRODUCTS if rules.get(fn) is rule), None)
    if name is None:
        raise RuleDoesNotApply
    args = [arg for arg in op.args if not isinstance(arg, str)]
    found = terms_of(name, op.args[0], [np.ndim(recorded_value(arg)) for arg in args])
    if found is None:
        raise RuleDoesNotApply
    terms, result = found
    sets: Any = EMPTY
    for k, arg in enumerate(args):
        if deps.known(arg) is not None:
            factor = (args[1 - k], terms[1 - k]) if len(args) == 2 else (arg, "")
            term = _nonzero(deps, *factor, deps.array(arg), terms[k], result)
            if term is None:
                term = _sums_over_axes(deps, deps.array(arg), terms[k], result)
            sets = deps.sets.union(sets, term)
    return _broadcast_sets(sets, np.shape(op.val)).copy()


def _sums_over_axes(deps: Dependences, sets: np.ndarray, term: str, result: str) -> np.ndarray:
    """Unite an operand's sets along the axes that the result lacks; broadcast them to the result's axes."""
    kept = "".join(c for c in result if c in term)
    fibres = np.einsum(f"{term}->{kept}{''.join(set(term) - set(kept))}", sets)
    shape = fibres.shape[: len(kept)]
    rows = np.arange(math.prod(shape)).reshape(shape + (1,) * (fibres.ndim - len(kept)))
    groups = np.broadcast_to(rows, fibres.shape).ravel()
    sums = deps.sets.unions(groups, fibres.ravel(), math.prod(shape)).reshape(shape)
    return sums[tuple(slice(None) if c in kept else None for c in result)]


def _nonzero(deps: Dependences, factor: Any, letters: str, sets: np.ndarray, term: str, result: str) -> Any:
    """Unite an operand's sets over the elements that the other operand, a constant matrix, does not multiply by zero.

    None if the other operand is not a constant matrix.
    """
    shared = [c for c in letters if c in term]
    rest = [c for c in term if c not in shared]
    rows = [c for c in letters if c not in shared]
    if len(letters) != 2 or len(shared) != 1 or sorted(rows + rest) != sorted(result) or deps.known(factor) is not None:
        return None
    matrix = np.einsum(f"{letters}->{rows[0]}{shared[0]}", deps.value(factor))
    columns = np.einsum(f"{term}->{shared[0]}{''.join(rest)}", sets)
    if matrix.shape[1] != len(columns):  # one of both is stretched
        return None
    sums = united_by(deps, matrix, columns)
    return np.einsum(f"{rows[0]}{''.join(rest)}->{result}", sums)
