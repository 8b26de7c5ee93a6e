"""The public functions, one file for each family; the `wengert` namespace exports them all."""

from typing import TYPE_CHECKING

from wengert.values.late_modules import imported_late

_NAMES = {
    "api.batches": "vmap",
    "api.checks": "check_grads",
    "api.custom": "custom_derivative jacobian_rule scalar_rule",
    "api.derivative_products": "derivative elementwise_grad hvp vhp",
    "api.differences": "ngradient",
    "api.explain": "explain_call",
    "api.gradient": "grad value_and_grad vjp",
    "api.implicit": "implicit",
    "api.jacobians": "hessian jacfwd jacobian jacrev value_and_jacobian",
    "api.memory_profile": "MemoryUse memory",
    "api.missing": "find_missing_rules",
    "api.nan_checks": "debug_nans",
    "api.parameters": "ravel stop_gradient",
    "api.primitivize": "primitivize",
    "api.profiling": "Profile profile",
    "api.rulecheck": "test_rrule",
    "api.sparse_jacobians": "jacobian_pattern sparse_hessian sparse_jacobian",
    "api.tangents": "jvp linearize",
    "api.tape_page": "show",
    "api.taping": "gradtape hvptape jvptape trace",
    "api.trees": "tree_leaves tree_map tree_paths",
    "compiling.compile": "compile",
    "hooks.escape_monitor": "debug_callbacks",
    "reverse.checkpoint": "checkpoint checkpoint_loop",
    "rulebook.declare": "accumulates jvp_rule non_differentiable partials rrule vjp_rule",
    "rulebook.registry": "rules",
    "tape.folding": "fold_constants",
    "tape.ops": "Call Constant Input Variable mkcall",
    "tape.postmortem": "PostMortem post_mortem",
    "tape.rrules": "RRuleContext rrule_tape",
    "tape.tape": "Context Tape bound_variable verify",
    "values.cotangents": "InplaceableThunk NoTangent Tangent Thunk ZeroTangent add_inplace unthunk",
    "values.gradients": "Gradients",
    "values.projection": "ProjectTo",
    "values.settings": "accumulation_options debug ode_adjoint",
}
HOMES = {name: f"wengert.{module}" for module, names in _NAMES.items() for name in names.split()} | {
    name: f"wengert.{name}" for name in ("dask", "extend", "optim", "tensor")
}
"""The module that defines each name of the `wengert` namespace; it is imported when the name is first used."""

if not TYPE_CHECKING:  # a type checker sees the modules themselves
    __getattr__ = imported_late(__name__, "nan_checks")
