"""One forward step: the tangent of an entry's value, from the tangents of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np

from wengert.errors import RuleError
from wengert.forward.pulled import body_tangent, pushed_by_rule, pushed_by_transpose
from wengert.recording.primitives import INPUT, Bound
from wengert.recording.pullback_reads import OuterState
from wengert.recording.recording import STATE, Entry, Recording, Traced
from wengert.recording.subclasses import viewed_plain
from wengert.recording.user_pullbacks import RruleCall
from wengert.rulebook.pushforwards import aligned, fitted, push
from wengert.values.cotangents import has_nan, is_all_zero
from wengert.values.functional import getfield


class ForwardStep:
    """The forward step through entries of `recording`; `call` runs its computations, `depth` counts the outer levels.

    With `size`, each tangent has a leading axis of that length, for as many directions. With `by_partials`, a rule that
    declares partials and a pushforward takes the former, which is faster on small arrays.
    """

    by_partials = False

    def __init__(self, recording: Recording, call: Callable[..., Any], depth: int, size: int | None) -> None:
        self.recording, self.call, self.depth, self.size = recording, call, depth, size

    def __call__(self, entry: Entry, tangents: Any) -> Any:
        """Return the tangent of the entry's value from those of its arguments: None is zero, and not all are None."""
        tangent = self.push(entry, tangents)
        if not has_nan(tangent):
            return tangent
        if type(entry[0]) is Bound:
            with np.errstate(all="ignore"):
                return self.push(entry, tangents, True)
        return None if STATE.recording is None and is_all_zero(tangents) else tangent

    def push(self, entry: Entry, tangents: Any, keeps: bool = False) -> Any:
        """Return the tangent of the entry's value; with `keeps`, products with a factor of zero are zero."""
        bound, y, _, args, kwargs, _ = entry
        if bound is INPUT:
            return tangents[0]
        if type(bound) is RruleCall:
            if y is None:  # an undeclared write of a rule's function: an error if anything reads it
                return UnknownTangent(partial(bound.pullback, None))
            if bound.level != self.depth:  # this level recorded the rule's body
                inner = tangents[-1] if type(tangents[-1]) is tuple else tangents[-1:]
                return next((tangent for tangent in inner if type(tangent) is UnknownTangent), None) or body_tangent(
                    y, tangents[-1]
                )
            tangents = (*map(require_known, tangents[:-1]), None)
            if bound.rule.forward is None:
                with self._with_old_values(bound):
                    return pushed_by_transpose(self.call, bound, y, args, tangents[:-1], self.size)
        elif type(bound) is not Bound:
            return None
        elif bound.rule.kind == "rrule" and bound.rule.forward is None:  # a tape's call, in the body of the rule itself
            return UnknownTangent(partial(_refuse_unknown, bound))
        tangents = tuple(map(require_known, tangents))
        if bound.fn is getfield:
            return None if tangents[0] is None else getfield(tangents[0], args[1])
        if y is None:
            y = args[0]  # of a store, whose result is the array itself
        if bound.is_simple and bound.rule.kind == "partials" and (self.by_partials or bound.rule.forward is None):
            if self.size is None:
                return self._push_by_partials(bound, y, args, tangents, keeps, ())
            if type(y) is np.ndarray and all([x_dot is None or type(x_dot) is np.ndarray for x_dot in tangents]):
                stacks = tuple([x_dot if x_dot is None else aligned(self.call, x_dot, y.ndim) for x_dot in tangents])
                return self._push_by_partials(bound, y, args, stacks, keeps, (self.size,))
        if kwargs:
            kwargs = {name: value.value if type(value) is Traced else value for name, value in kwargs.items()}
        if type(bound) is RruleCall:
            return pushed_by_rule(self.call, bound, y, args, kwargs, tangents[:-1], self.size)
        if bound.of_subclass:
            y, *args = [viewed_plain(x, self.call) for x in (y, *args)]  # type: ignore[assignment]
        with self._with_old_values(bound):
            return push(self.call, bound.fn, bound.rule, y, tuple(args), kwargs or {}, tangents, self.size, keeps)

    def _push_by_partials(
        self, bound: Bound, y: Any, args: Any, tangents: Any, keeps: bool, directions: tuple[int, ...]
    ) -> Any:
        """Return ẏ = Σ pₖ ẋₖ of a call by position; `directions` is the shape of the leading axis, if there is one."""
        pushing = bound.rule.pushing(tuple([x_dot is not None for x_dot in tangents]), keeps)
        y_dot = self.call(pushing, tangents, y, *args)
        if type(y_dot) is np.ndarray is type(y) and y_dot.shape == directions + y.shape and y_dot.dtype == y.dtype:
            return y_dot
        return fitted(self.call, y_dot, y, self.size)

    def _with_old_values(self, bound: Any) -> AbstractContextManager[None]:
        """Make a context in which values that the rule reads besides its arguments are as they were at the call."""
        if bound.outer_state is None:
            return nullcontext()
        state: OuterState = bound.outer_state
        return state.restored(STATE.recording is not None, self.recording.owed)


class UnknownTangent:
    """An unknown tangent; `refuse()` raises the error that says so."""

    def __init__(self, refuse: Callable[[], Any]) -> None:
        self.refuse = refuse


def require_known(tangent: Any) -> Any:
    """Return a tangent, or a tuple of tangents. Errors: that of an UnknownTangent among them."""
    if type(tangent) is tuple:
        return tuple(map(require_known, tangent))
    return tangent.refuse() if type(tangent) is UnknownTangent else tangent


def _refuse_unknown(bound: Bound) -> None:
    raise RuleError(
        f"{bound.rule.primitive}: the pullback of its rule ({bound.rule.where}) is not known here. "
        f"Declare a pushforward: @wg.jvp_rule({bound.rule.primitive})"
    )
