"""Gradients of ordinary Python: wengert differentiates the NumPy code you already have, and shows the derivative.

`__all__` is the table of contents, by subject; `wengert.extend` is the interface for rules, `wengert.tensor` the tensor
language.
"""
# isort: skip_file

from typing import TYPE_CHECKING, Any

from wengert import errors
from wengert.api import HOMES
from wengert.errors import *
from wengert.values import fork_lock as _fork_lock  # it raises ImportError without the global lock
from wengert.values.lazy_names import import_name
from wengert.values.renamed import keep_old_names as _keep_old_names

if TYPE_CHECKING:
    from wengert import dask, extend, optim, tensor
    from wengert.api.batches import vmap
    from wengert.api.checks import check_grads
    from wengert.compiling.compile import compile
    from wengert.api.custom import custom_derivative, jacobian_rule, scalar_rule
    from wengert.api.differences import ngradient
    from wengert.api.explain import explain_call
    from wengert.api.gradient import grad, value_and_grad, vjp
    from wengert.api.memory_profile import MemoryUse, memory
    from wengert.hooks.escape_monitor import debug_callbacks
    from wengert.api.implicit import implicit
    from wengert.api.jacobians import hessian, jacfwd, jacobian, jacrev, value_and_jacobian
    from wengert.api.missing import find_missing_rules
    from wengert.api.nan_checks import debug_nans
    from wengert.api.derivative_products import derivative, elementwise_grad, hvp, vhp
    from wengert.api.parameters import ravel, stop_gradient
    from wengert.api.tape_page import show
    from wengert.api.profiling import Profile, profile
    from wengert.api.primitivize import primitivize
    from wengert.reverse.checkpoint import checkpoint, checkpoint_loop
    from wengert.rulebook.declare import accumulates, non_differentiable, jvp_rule, partials, rrule, vjp_rule
    from wengert.rulebook.registry import rules
    from wengert.api.rulecheck import test_rrule
    from wengert.api.sparse_jacobians import jacobian_pattern, sparse_hessian, sparse_jacobian
    from wengert.tape.folding import fold_constants
    from wengert.tape.ops import Call, Constant, Input, Variable, mkcall
    from wengert.tape.postmortem import PostMortem, post_mortem
    from wengert.tape.rrules import RRuleContext, rrule_tape
    from wengert.tape.tape import Context, Tape, bound_variable, verify
    from wengert.api.tangents import jvp, linearize
    from wengert.api.taping import gradtape, hvptape, jvptape, trace
    from wengert.api.trees import tree_leaves, tree_map, tree_paths
    from wengert.values.gradients import Gradients
    from wengert.values.projection import ProjectTo
    from wengert.values.cotangents import InplaceableThunk, NoTangent, Tangent, Thunk, ZeroTangent, add_inplace, unthunk
    from wengert.values.settings import accumulation_options, debug, ode_adjoint

__version__ = "0.1.0"
__all__ = [
    # derivatives, checkpoints, constants, and checks of derivatives; trees of parameters, and optimisers
    "grad", "value_and_grad", "vjp", "jvp", "linearize", "Gradients", "stop_gradient", "debug_callbacks", "debug_nans",
    "check_grads", "ngradient", "jacobian", "jacrev", "jacfwd", "value_and_jacobian", "hessian", "hvp", "vhp",
    "derivative", "elementwise_grad", "ravel", "sparse_jacobian", "sparse_hessian", "jacobian_pattern",
    "implicit", "vmap", "checkpoint", "checkpoint_loop", "accumulation_options", "ode_adjoint", "dask",
    "tree_leaves", "tree_map", "tree_paths", "optim",
    # rules, and the cotangents that they may return
    "rules", "partials", "vjp_rule", "rrule", "jvp_rule", "custom_derivative", "scalar_rule", "jacobian_rule",
    "accumulates", "non_differentiable", "primitivize", "test_rrule", "explain_call", "find_missing_rules", "extend",
    "ProjectTo", "Tangent", "Thunk", "InplaceableThunk", "NoTangent", "ZeroTangent", "unthunk", "add_inplace", "debug",
    # the tensor language
    "tensor",
    # tapes
    "compile", "trace", "gradtape", "jvptape", "hvptape", "post_mortem", "PostMortem", "Tape", "Input", "Constant",
    "Call", "Variable", "Context", "RRuleContext", "rrule_tape", "mkcall", "bound_variable", "verify", "fold_constants",
    # pages and measurements
    "show", "profile", "Profile", "memory", "MemoryUse",
    # errors and warnings
    "errors", "AliasedArgumentsError", "ArgumentError", "BytecodeError", "CacheWarning", "DensePatternWarning",
    "DuplicateRuleError", "GradientCheckError", "IntegerInputError", "NativeUnavailableError", "NoBatchingRuleWarning",
    "NoDerivativeError", "NoGradientPathError", "NoPathWarning", "NoRuleError", "NonFiniteError",
    "NonScalarOutputError", "NotCompiledError", "NotCompiledWarning", "NotConvergedWarning", "OutOfRangeError",
    "PluginWarning", "RecomputationError", "RefusedCallError", "RuleError", "StaleTapeError", "TapeError",
    "TensorLanguageError", "WengertError", "WengertWarning",
]  # fmt: skip
_keep_old_names(errors)


if not TYPE_CHECKING:  # a type checker would take every name for present

    def __getattr__(name: str) -> Any:
        """Import a name when it is first used, or return what has another name now."""
        return import_name(__name__, HOMES, name)


def __dir__() -> list[str]:
    return __all__
