"""Call a rule of any form: return the value of a call and its pullback."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from wengert.errors import RuleError
from wengert.rulebook.interface import AnyRule
from wengert.rulebook.runtime import own
from wengert.values.cotangents import Tangent, Thunk, force, is_zero
from wengert.values.projection import project
from wengert.values.results import form_of, is_flat, is_tree, names_parts
from wengert.values.specs import Spec, is_inexact, spec_of

Args = tuple[Any, ...]
Pullback = Callable[[Any], Args]
Function = TypeVar("Function", bound=Callable[..., Any])


def by_hand(f: Function) -> Function:
    """Mark a function that calls a rule for a user: a trace does not record it, and refuses traced arguments."""
    f.by_hand = True  # type: ignore[attr-defined]
    return f


def rrule(rule: AnyRule, f: Callable[..., Any], args: Args, kwargs: Mapping[str, Any]) -> tuple[Any, Pullback]:
    """Return the value of `f(*args, **kwargs)` and its pullback, from a rule of any form."""
    args, kwargs = rule.normalise(args, kwargs)
    if getattr(f, "__objclass__", None) is np.ndarray and isinstance(args[0], np.generic):
        args = (np.asarray(args[0]), *args[1:])  # NumPy returned an array of no axes as a scalar
    plan = rule.plan(len(rule.splat(args)), tuple(kwargs))
    primals, static = plan.bind(rule.splat(args), kwargs)
    specs = [spec_of(x) if is_inexact(x) else None for x in primals]
    if rule.kind == "rrule":
        y, inner = _called(rule, primals, static)
    else:
        y = f(*args, **kwargs)
        inner = _derived(rule, specs, y, primals, static)

    form: Any = tuple.__new__(type(y), map(spec_of, y)) if is_flat(y) else form_of(y) if is_tree(y) else None

    @by_hand
    def pullback(y_bar: Any) -> Args:
        if names_parts(y_bar, form):
            y_bar = rule.result_bar(y_bar, form)
        return rule.gather(_projected(rule, inner(y_bar), primals, specs), args)

    return y, pullback


def _derived(rule: AnyRule, specs: Sequence[Spec | None], y: Any, primals: Args, static: Mapping[str, Any]) -> Pullback:
    """Return the pullback of a rule that states partials or a pullback; it keeps only the residuals that it reads."""
    if rule.kind == "constant":
        return lambda y_bar: ()
    variant = rule.variant(tuple(spec is not None for spec in specs))
    y_kept, kept = variant.residuals(y, primals)
    return lambda y_bar: variant.call(y_bar, y_kept, *kept, **static)


def _called(rule: AnyRule, args: Args, static: Mapping[str, Any]) -> tuple[Any, Pullback]:
    """Call a rule of the general form, and return its value and a pullback whose results are checked."""
    assert rule.body is not None
    y, inner = value_and_pullback(rule, rule.body(*args, **static))

    return y, lambda y_bar: rule.cotangents(inner(own(y_bar)), args)


def value_and_pullback(rule: AnyRule, made: Any) -> tuple[Any, Pullback]:
    """Return `made`, the result of a rule of the general form, if it is (value, pullback); else raise a RuleError."""
    if not isinstance(made, tuple) or len(made) != 2 or not callable(made[1]):
        raise RuleError(
            f"the rule of {rule.primitive} ({rule.where}) must return (y, pullback), not {type(made).__name__}"
        )
    return made


def _projected(rule: AnyRule, cotangents: Sequence[Any], primals: Args, specs: Sequence[Spec | None]) -> Args:
    """Convert each cotangent that a pullback returned to the form of its primal."""
    made = []
    for i, (x_bar, x, spec) in enumerate(zip(cotangents, primals, specs, strict=True)):
        try:
            made.append(_settled(x_bar, x, spec, rule.broadcasts))
        except RuleError as error:
            raise RuleError(f"the rule of {rule.primitive} ({rule.where}), argument {i}: {error}") from None
    return tuple(made)


def _settled(x_bar: Any, x: Any, spec: Spec | None, broadcasts: bool) -> Any:
    """Return a cotangent as a number, array or container like its primal `x`, or None if it is certainly zero."""
    if x_bar is None or is_zero(x_bar):
        return None
    if spec is not None:
        return project(x_bar, spec, broadcasts)
    if not isinstance(x, (tuple, list, dict)):
        return None if isinstance(x_bar, Thunk) else x_bar
    x_bar = force(x_bar)
    parts = x_bar.parts if isinstance(x_bar, Tangent) else _items(x_bar)
    inner = _items(x)
    if not parts.keys() <= inner.keys():
        name = type(x).__name__
        raise RuleError(
            f"the cotangent of a {name} of {len(x)} values has parts that the {name} lacks: {x_bar!r}. Leave them out"
        )
    made = {
        key: _settled(parts.get(key), part, spec_of(part) if is_inexact(part) else None, broadcasts)
        for key, part in inner.items()
    }
    return made if isinstance(x, dict) else type(x)(made.values()) if type(x) in (tuple, list) else tuple(made.values())


def _items(container: Any) -> dict[Any, Any]:
    if isinstance(container, dict):
        return container
    if not isinstance(container, (tuple, list, np.ndarray)):
        raise RuleError(f"the cotangent of a container must be a container or Tangent, not {type(container).__name__}")
    return dict(enumerate(container))
