"""The public door for rules; those of this package come in through it too."""

from wengert.errors import NoDerivativeError, RuleError
from wengert.rulebook.batching import Batch, batching
from wengert.rulebook.declare import (
    accumulates,
    adjoint,
    linear,
    multilinear,
    non_differentiable,
    partials,
    pullback,
    pushforward,
    rrule,
    stands_for,
    times,
)
from wengert.rulebook.purity import computes
from wengert.rulebook.registry import rules
from wengert.values.cotangents import InplaceableThunk, NoTangent, Tangent, Thunk, ZeroTangent, add_inplace, unthunk
from wengert.values.functional import (
    additem,
    addlens,
    getfield,
    getitem,
    lens,
    make_dict,
    make_list,
    make_tuple,
    overlaps,
    setitem,
    setlens,
    setpart,
)
from wengert.values.projection import ProjectTo
from wengert.values.specs import Spec, is_complex

__all__ = [
    "Batch",
    "InplaceableThunk",
    "NoDerivativeError",
    "NoTangent",
    "ProjectTo",
    "RuleError",
    "Spec",
    "Tangent",
    "Thunk",
    "ZeroTangent",
    "accumulates",
    "add_inplace",
    "additem",
    "addlens",
    "adjoint",
    "batching",
    "computes",
    "getfield",
    "getitem",
    "is_complex",
    "lens",
    "linear",
    "make_dict",
    "make_list",
    "make_tuple",
    "multilinear",
    "non_differentiable",
    "overlaps",
    "partials",
    "pullback",
    "pushforward",
    "rrule",
    "rules",
    "setitem",
    "setlens",
    "setpart",
    "stands_for",
    "times",
    "unthunk",
]
