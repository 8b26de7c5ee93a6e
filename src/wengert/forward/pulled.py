"""Forward steps through a call of a user's rule: by its pushforward, else by the transpose of its pullback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.recording.container_arguments import Place, spread, with_held_leaves
from wengert.recording.user_pullbacks import RruleCall
from wengert.rulebook.pushforwards import push, row_of, transposed
from wengert.values.projection import plainly
from wengert.values.results import cotangent, form_of, is_flat, keys_of
from wengert.values.trees import is_container, leaves, walk

ENTERED = "The pullback is called here, on traced values, in order to transpose it."


def pushed_by_rule(
    call: Callable[..., Any],
    pull: RruleCall,
    y: Any,
    args: tuple[Any, ...],
    kwargs: Any,
    tangents: Any,
    size: int | None,
) -> Any:
    """Push tangents through a user's rule that declares a pushforward, which takes containers of tangents."""
    if size is not None and (pull.forms or is_container(y)):
        rows = [pushed_by_rule(call, pull, y, args, kwargs, row_of(call, tangents, k), None) for k in range(size)]
        return None if rows[0] is None else _stack_rows(call, rows)
    given = [
        tangent
        if tangent is None or k not in pull.forms
        else with_held_leaves(x, _with_zero_tangents(pull.forms[k], tangent))
        for k, (x, tangent) in enumerate(zip(args, tangents, strict=True))
    ]
    return push(call, pull.fn, pull.rule, y, args, kwargs, tuple(given), size)


def _with_zero_tangents(form: Any, tangents: tuple[Any, ...]) -> list[Any]:
    """Return the tangents of a container's leaves, with zeros for None."""
    pairs = zip(tangents, _leaf_places(form), strict=True)
    return [np.zeros(place.spec.shape, place.spec.dtype) if tangent is None else tangent for tangent, place in pairs]


def pushed_by_transpose(
    call: Callable[..., Any],
    pull: RruleCall,
    y: Any,
    args: tuple[Any, ...],
    tangents: tuple[Any, ...],
    size: int | None,
) -> Any:
    """Push tangents through a user's rule by its pullback; a container has a tuple with a tangent for each leaf."""
    if size is not None:
        rows = [pushed_by_transpose(call, pull, y, args, row_of(call, tangents, k), None) for k in range(size)]
        return None if rows[0] is None else _stack_rows(call, rows)
    specs: list[Any] = []
    given: list[Any] = []
    for k, (x, tangent) in enumerate(zip(args, tangents, strict=True)):
        if k in pull.forms:
            places = _leaf_places(pull.forms[k])
            specs.extend([place.spec for place in places])
            given.extend(tangent if tangent is not None else [None] * len(places))
        else:
            specs.append(x)
            given.append(tangent)

    def pullback(y_bar: Any) -> list[Any]:
        return _flat_cotangents(pull, pull.rule.cotangents(pull.pullback(y_bar), args))

    return transposed(call, pull.rule, pullback, y, tuple(specs), tuple(given))


def body_tangent(y: Any, inner: Any) -> Any:
    """Return the tangent of a rule's result `y` from the tangents `inner` of its leaves in the rule's body."""
    if type(inner) is not tuple or is_flat(y):
        return inner
    form = form_of(y)
    return cotangent(form, dict(zip(keys_of(form), inner, strict=True)), False)


def _flat_cotangents(pull: RruleCall, x_bars: tuple[Any, ...]) -> list[Any]:
    """List the cotangents of the arguments; a container has one for each leaf."""
    flat: list[Any] = []
    for k, x_bar in enumerate(x_bars):
        if k not in pull.forms:
            flat.append(x_bar)
            continue
        parts: list[Any] = [None] * len(_leaf_places(pull.forms[k]))
        for place, part in spread(pull.forms[k], x_bar, plainly):
            parts[place.number] = part
        flat.extend(parts)
    return flat


def _leaf_places(form: Any) -> list[Place]:
    """List the Places in the form of a container, in order."""
    found: list[Place] = []

    def note(part: Any) -> Any:
        if type(part) is Place:
            found.append(part)
        return part

    if type(form) is Place:
        return [form]
    walk(form, "", {}, at_other=note)
    return sorted(found)


def _stack_rows(call: Callable[..., Any], rows: list[Any]) -> Any:
    """Stack tangents of one result, a container or not: each leaf gets a leading axis for them."""
    parts = zip(*[[leaf for _, leaf in leaves(row)] for row in rows], strict=True)
    return with_held_leaves(rows[0], [call(np.stack, part) for part in parts])
