"""Rules that take containers, converted to rules of the leaves, so that each leaf can be checked alone."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from wengert.errors import GradientCheckError
from wengert.recording.container_arguments import form_and_leaves, spread, with_held_leaves
from wengert.rulebook.calling import value_and_pullback
from wengert.rulebook.registry import Registry
from wengert.rulebook.rule import Rule
from wengert.values.cotangents import ZeroTangent, is_zero
from wengert.values.trees import is_container, leaves

Args = tuple[Any, ...]
Flat = tuple[Callable[..., Any], Args, list[str], Registry]


def takes_containers(rule: Rule, args: Args) -> bool:
    """Whether differentiable values are passed to a rule inside containers."""
    return rule.kind == "rrule" and any(is_container(a) and leaves(a) for a in args)


def flattened(rule: Rule, f: Callable[..., Any], args: Args, kwargs: Mapping[str, Any]) -> Flat:
    """Return the function of all leaves of a call, the leaves, their names, and a registry with its rule."""
    form, held = form_and_leaves(args)
    registry = Registry()
    assert rule.body is not None
    body = rule.body

    def flat(*held: Any) -> Any:
        return f(*with_held_leaves(args, held), **kwargs)

    def flat_rule(*held: Any) -> Any:
        whole = with_held_leaves(args, held)
        y, pullback = value_and_pullback(rule, body(*whole, **kwargs))

        def flat_pullback(y_bar: Any) -> Args:
            parts = _leaf_cotangents(rule, args, form, rule.cotangents(pullback(y_bar), whole))
            return tuple([parts.get(k, ZeroTangent()) for k in range(len(held))])

        return y, flat_pullback

    flat.__module__, flat.__name__, flat.__qualname__ = f.__module__, f.__name__, f.__qualname__
    registry.add(Rule(rule.name, (flat,), "rrule", flat_rule, rule.where))
    names = [re.sub(r"^argument\[(\d+)\]", r"argument \1", path) for path, _ in leaves(args, "argument")]
    return flat, tuple(held), names, registry


def _leaf_cotangents(rule: Rule, args: Args, form: Args, cotangents: Args) -> dict[int, Any]:
    """Return the cotangents of the leaves by number; leaves for which the rule returns none are left out."""
    found = {}
    for k, x_bar in enumerate(cotangents):
        if x_bar is not None and not is_zero(x_bar) and not leaves(args[k]):
            raise GradientCheckError(
                f"rule {rule.name} at {rule.where}: argument {k} has no derivative, but its cotangent is {x_bar!r}. "
                "Return None"
            )
        found.update({place.number: part for place, part in spread(form[k], x_bar, operator.call)})
    return found
