"""The public interface for rules; the rules of this package use it too."""

from wengert.api.examples import as_written, on_examples
from wengert.api.gradient import grad
from wengert.api.implicit import followed
from wengert.api.integral import Tolerance, nodes_for
from wengert.api.jacobians import jacobian
from wengert.api.parameters import stopped
from wengert.api.stationary import minimum, with_value
from wengert.errors import NoDerivativeError, NotConvergedWarning, RefusedCallError, RuleError
from wengert.hooks.solver_callbacks import is_traced, order, unseen
from wengert.rulebook.batching import Batch, batching
from wengert.rulebook.declare import (
    accumulates,
    adjoint,
    computes_nothing,
    holds,
    jvp_rule,
    linear,
    multilinear,
    non_differentiable,
    partials,
    rrule,
    stands_for,
    times,
    vjp_rule,
)
from wengert.rulebook.purity import computes
from wengert.rulebook.registry import rules
from wengert.values.cotangents import (
    InplaceableThunk,
    KnownInPart,
    NoTangent,
    Tangent,
    Thunk,
    ZeroTangent,
    add_inplace,
    unthunk,
)
from wengert.values.functional import (
    additem,
    addlens,
    as_index,
    getfield,
    getitem,
    iterations,
    lens,
    make_dict,
    make_list,
    make_tuple,
    overlaps,
    setitem,
    setlens,
    setpart,
    sumprod,
    whole,
)
from wengert.values.projection import ProjectTo
from wengert.values.specs import Spec, is_complex

__all__ = [
    "Batch",
    "InplaceableThunk",
    "KnownInPart",
    "NoDerivativeError",
    "NoTangent",
    "NotConvergedWarning",
    "ProjectTo",
    "RefusedCallError",
    "RuleError",
    "Spec",
    "Tangent",
    "Thunk",
    "Tolerance",
    "ZeroTangent",
    "accumulates",
    "add_inplace",
    "additem",
    "addlens",
    "adjoint",
    "as_index",
    "as_written",
    "batching",
    "computes",
    "computes_nothing",
    "followed",
    "getfield",
    "getitem",
    "grad",
    "holds",
    "is_complex",
    "is_traced",
    "iterations",
    "jacobian",
    "jvp_rule",
    "lens",
    "linear",
    "make_dict",
    "make_list",
    "make_tuple",
    "minimum",
    "multilinear",
    "nodes_for",
    "non_differentiable",
    "on_examples",
    "order",
    "overlaps",
    "partials",
    "rrule",
    "rules",
    "setitem",
    "setlens",
    "setpart",
    "stands_for",
    "stopped",
    "sumprod",
    "times",
    "unseen",
    "unthunk",
    "vjp_rule",
    "whole",
    "with_value",
]
