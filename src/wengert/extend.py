"""The public interface for rules; the rules of this package use it too."""

from typing import TYPE_CHECKING, Any

from wengert.errors import (
    NoDerivativeError,
    NoPathWarning,
    NotConvergedWarning,
    NotNativeError,
    RefusedCallError,
    RuleError,
    StaleTapeError,
    WengertWarning,
)
from wengert.rulebook.batching import Batch, batching
from wengert.rulebook.declare import (
    accumulates,
    adjoint,
    jvp_rule,
    linear,
    multilinear,
    non_differentiable,
    partials,
    rrule,
    times,
    vjp_rule,
)
from wengert.rulebook.others import compiled_by, computes_nothing, holds, only_reads, stands_for
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
    length,
    lens,
    make_dict,
    make_list,
    make_tuple,
    overlaps,
    setitem,
    setlens,
    setpart,
    stopped,
    sumprod,
    whole,
)
from wengert.values.lazy_names import import_name
from wengert.values.projection import ProjectTo
from wengert.values.sealed import Sealed
from wengert.values.settings import chosen_adjoint
from wengert.values.specs import Spec, is_complex

if TYPE_CHECKING:
    from wengert.api.compiled_integrals import integral_by_code
    from wengert.api.examples import on_examples
    from wengert.api.gradient import grad
    from wengert.api.implicit import followed
    from wengert.api.integral import Tolerance, nodes_for
    from wengert.api.jacobians import jacobian
    from wengert.api.native_functions import kernel, native_function, not_native, refuse_native
    from wengert.api.partial_results import partly_known
    from wengert.api.stationary import minimum, with_value
    from wengert.compiling.watched.refusals import KnownEnds
    from wengert.hooks.solver_callbacks import as_written, directly, is_traced, order, order_in_batch, unseen

__all__ = [
    "Batch",
    "InplaceableThunk",
    "KnownEnds",
    "KnownInPart",
    "NoDerivativeError",
    "NoPathWarning",
    "NoTangent",
    "NotConvergedWarning",
    "NotNativeError",
    "ProjectTo",
    "RefusedCallError",
    "RuleError",
    "Sealed",
    "Spec",
    "StaleTapeError",
    "Tangent",
    "Thunk",
    "Tolerance",
    "WengertWarning",
    "ZeroTangent",
    "accumulates",
    "add_inplace",
    "additem",
    "addlens",
    "adjoint",
    "as_index",
    "as_written",
    "batching",
    "chosen_adjoint",
    "compiled_by",
    "computes",
    "computes_nothing",
    "directly",
    "followed",
    "getfield",
    "getitem",
    "grad",
    "holds",
    "integral_by_code",
    "is_complex",
    "is_traced",
    "iterations",
    "jacobian",
    "jvp_rule",
    "kernel",
    "length",
    "lens",
    "linear",
    "make_dict",
    "make_list",
    "make_tuple",
    "minimum",
    "multilinear",
    "native_function",
    "nodes_for",
    "non_differentiable",
    "not_native",
    "on_examples",
    "only_reads",
    "order",
    "order_in_batch",
    "overlaps",
    "partials",
    "partly_known",
    "refuse_native",
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

_HOMES = {
    "integral_by_code": "wengert.api.compiled_integrals",
    "on_examples": "wengert.api.examples",
    "grad": "wengert.api.gradient",
    "followed": "wengert.api.implicit",
    "Tolerance": "wengert.api.integral",
    "nodes_for": "wengert.api.integral",
    "jacobian": "wengert.api.jacobians",
    "native_function": "wengert.api.native_functions",
    "partly_known": "wengert.api.partial_results",
    "minimum": "wengert.api.stationary",
    "with_value": "wengert.api.stationary",
    "not_native": "wengert.api.native_functions",
    "refuse_native": "wengert.api.native_functions",
    "kernel": "wengert.api.native_functions",
    "as_written": "wengert.hooks.solver_callbacks",
    "directly": "wengert.hooks.solver_callbacks",
    "KnownEnds": "wengert.compiling.watched.refusals",
    "is_traced": "wengert.hooks.solver_callbacks",
    "order": "wengert.hooks.solver_callbacks",
    "order_in_batch": "wengert.hooks.solver_callbacks",
    "unseen": "wengert.hooks.solver_callbacks",
}


if not TYPE_CHECKING:  # a type checker would take every name for present

    def __getattr__(name: str) -> Any:
        """Import a name that few rules need when it is first used, or return what has another name now."""
        return import_name(__name__, _HOMES, name)
