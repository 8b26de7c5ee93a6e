"""Gradients of ordinary Python: wengert differentiates the NumPy code you already have, and shows the derivative."""

from importlib import import_module
from typing import Any

import wengert_rules
from wengert import extend as extend
from wengert.accumulation import accumulation
from wengert.checkpointing import checkpoint, checkpoint_loop
from wengert.checks import check_grads, ngradient
from wengert.errors import (
    AliasedArgumentsError,
    ArgumentError,
    BytecodeError,
    CacheWarning,
    DuplicateRuleError,
    GradientCheckError,
    IntegerInputError,
    NoDerivativeError,
    NoGradientPathError,
    NonScalarOutputError,
    NoPathWarning,
    NoRuleError,
    OutOfRangeError,
    PluginWarning,
    RecomputationError,
    RefusedCallError,
    RuleError,
    StaleTapeError,
    TapeError,
    TensorLanguageError,
    WengertError,
)
from wengert.folding import fold_constants
from wengert.forms import accumulates, non_differentiable, partials, pullback, rrule
from wengert.gradient import Gradients, grad, stop_gradient, value_and_grad, vjp
from wengert.net import strict
from wengert.ops import Call, Constant, Input, Variable, mkcall
from wengert.postmortem import PostMortem, post_mortem
from wengert.primitivize import primitivize
from wengert.projection import ProjectTo
from wengert.recipe import RRuleContext, rrule_tape
from wengert.registry import rules
from wengert.rulecheck import test_rrule
from wengert.tangents import InplaceableThunk, NoTangent, Tangent, Thunk, ZeroTangent, add_inplace, debug, unthunk
from wengert.tape import Context, Tape, bound, verify
from wengert.taping import gradtape, trace

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`wengert.tensor`, imported when it is first used."""
    if name == "tensor":
        return import_module("wengert.tensor")
    raise AttributeError(f"module 'wengert' has no attribute {name!r}")
