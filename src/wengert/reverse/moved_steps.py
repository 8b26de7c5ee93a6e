"""Reverse steps that push tangents through small pullbacks of our own rules at once.

A gradient inside a derivative in forward mode needs each x̄ and its tangent. In general the outer derivative traces the
pullback, and pushes tangents through each call in it. But a pullback is linear in ȳ: if only ȳ moves, the pullback
itself maps the tangent of ȳ to that of x̄. For other elementwise pullbacks, the derivative is generated. Both take a
fraction of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.recording.primitives import Bound
from wengert.recording.recording import Entry, Traced, flat_slots, silent
from wengert.reverse.accumulators import DOUBLE, TracedCotangents, is_plain, is_small
from wengert.rulebook.moved_pullbacks import UnsupportedError, moved_pullback
from wengert.values.cotangents import has_nan
from wengert.values.functional import getfield, setitem
from wengert.values.projection import project, unbroadcast
from wengert.values.specs import FLOATS, Spec, is_complex, spec_of

FEW_DIRECTIONS = 16  # up to so many, a pullback is called for each direction


def moved_step(cotangents: TracedCotangents, op: Bound, y_bar: Any, y: Any, entry: Entry, ins: Any) -> bool:
    """Step back through a call, and give each cotangent its tangent; return whether this was possible.

    `op` and `ins` are those at the level of the pass; the `entry` also says which arguments an outer level moves.
    """
    stream = cotangents.recording.stream
    if op.primitive.has_users_rule or stream.aliases or not is_small(y_bar):
        return False
    _, _, slots, args, kwargs, _ = entry
    tangent = stream.tangent
    primals, static = (args, {}) if op.is_simple else bound_arguments(op, args, kwargs, slots, tangent)
    if primals is None:
        return False
    variant: Any = op.variant
    dots = [cotangents.tangent(y_bar), cotangents.tangent(y) if variant.reads_y == "value" else None]
    for reads, slot in zip(variant.reads, slots, strict=False):
        dot = None if slot is None or reads != "value" else tangent(slot)
        if dot is not None and not is_plain(dot):
            return False
        dots.append(dot)
    if not (dots[0] is None or is_plain(dots[0])) or not (dots[1] is None or is_plain(dots[1])):
        return False
    try:
        with silent():
            found = moved_parts(op, (y_bar, y, *primals), static, dots, stream.size, stream.rule_context.run)
    except (ArithmeticError, UnsupportedError):  # the former of Python's floats: the general step takes NumPy's
        return False
    if found is None or any([has_nan(x_bar) or has_nan(x_dot) for _, x_bar, x_dot in found]):
        return False
    for k, x_bar, x_dot in found:
        cotangents.add_moved(ins[k], x_bar, x_dot)
    return True


def bound_arguments(
    op: Bound, args: Any, kwargs: Any, slots: Any, tangent: Callable[[int], Any], is_splat: bool = False
) -> tuple[Any, dict[str, Any]]:
    """Return the differentiable arguments and the static ones; None for the former if such a step is not possible.

    With `is_splat`, the items of a sequence are among the arguments one by one.
    """
    rule = op.rule
    if op.outer_state is not None or op.of_subclass or op.fn is setitem or op.fn is getfield:
        return None, {}
    k = rule.sequence
    is_one = is_splat or k is None or (k < len(args) and type(args[k]) is not list and type(args[k]) is not tuple)
    if not is_one or rule.analysis is None or rule.analysis.acts:
        return None, {}
    primals, static = op.plan.bind(args, kwargs)
    rest = flat_slots(slots[len(primals) :])
    if any([type(value) is Traced for value in static.values()]) or any([tangent(slot) is not None for slot in rest]):
        return None, {}
    return primals, static


def moved_parts(
    op: Bound,
    given: tuple[Any, ...],
    static: dict[str, Any],
    dots: list[Any],
    size: int | None,
    run: Callable[..., Any],
) -> list[tuple[int, Any, Any]] | None:
    """Return `(place, x_bar, x_bar_dot)` for each wanted argument; None if a number is unusual, or nothing is known.

    `given` are ȳ, y and the arguments, and `dots` their tangents; with `size`, those of so many directions. `run` calls
    what computes tangents.
    """
    rule = op.rule
    if any([dot is not None for dot in dots[1:]]):
        moves = tuple([dot is not None for dot in dots])
        is_real = not any([type(x) not in FLOATS and is_complex(x) for x in given])
        both = moved_pullback(rule, op.wanted, moves) if is_real and not static else None
        if both is None:
            return None
        if size is not None:
            ndim = max([len(_shape(x)) for x in given])
            dots = [_with_axes(dot, ndim) for dot in dots]
        x_bars, x_dots = run(both, given, dots)
    else:
        x_bars = op.variant.call(*given, **static)  # type: ignore[union-attr]
        x_dots = None if dots[0] is None else run(_along, op, given, static, dots[0], size)
        if x_dots is NotImplemented:
            return None
    found = []
    for k in op.places:
        x_bar, x_dot = x_bars[k], None if x_dots is None else x_dots[k]
        if x_bar is None:
            continue
        x = given[k + 2]
        if size is None and type(x_bar) in FLOATS and type(x) in FLOATS and (x_dot is None or type(x_dot) in FLOATS):
            found.append((k, x_bar, x_dot))
            continue
        spec = spec_of(x)
        if not is_plain(x_bar) or spec.dtype is not DOUBLE or not (x_dot is None or is_plain(x_dot)):
            return None
        fits = _shape(x_bar) == spec.shape
        if not fits and not rule.broadcasts:
            return None
        if x_dot is not None:
            x_dot = _unbroadcast_tangent(x_dot, spec, size)
            if x_dot is None:
                return None
        found.append((k, x_bar if fits and spec.shape else project(x_bar, spec, rule.broadcasts), x_dot))
    return found


def _shape(x: Any) -> tuple[int, ...]:
    """Do `np.shape`, which takes a microsecond, for arrays, their Specs, and numbers."""
    return () if type(x) in FLOATS else x.shape if type(x) is np.ndarray or type(x) is Spec else np.shape(x)


def _along(op: Bound, given: tuple[Any, ...], static: dict[str, Any], y_bar_dot: Any, size: int | None) -> Any:
    """Return the tangents of a pullback that only ȳ moves, by calls of it on the tangent of ȳ."""
    call: Any = op.variant.call  # type: ignore[union-attr]
    if size is None:
        return call(y_bar_dot, *given[1:], **static)
    if op.rule.kind == "partials":
        return call(_with_axes(y_bar_dot, len(_shape(given[1]))), *given[1:], **static)
    if size > FEW_DIRECTIONS:
        return NotImplemented
    rows = [call(y_bar_dot[k], *given[1:], **static) for k in range(size)]
    return [None if part[0] is None else np.array(part) for part in zip(*rows, strict=True)]


def _with_axes(dot: Any, ndim: int) -> Any:
    """Insert axes after the first of a stack of tangents, so that it broadcasts against arrays of `ndim` axes."""
    missing = 0 if dot is None else ndim + 1 - len(_shape(dot))
    return dot if not missing else np.reshape(dot, (dot.shape[0], *(1,) * missing, *dot.shape[1:]))


def _unbroadcast_tangent(x_dot: Any, spec: Spec, size: int | None) -> Any:
    """Sum the tangent of a cotangent over broadcast axes, as its cotangent; None if it has too few axes."""
    shape = spec.shape if size is None else (size, *spec.shape)
    if _shape(x_dot) == shape:
        return x_dot
    lead = len(_shape(x_dot)) - len(shape)
    if lead < 0 or (size is not None and x_dot.shape[0] != size):
        return None
    if size is None:
        return project(x_dot, spec, True)
    return np.reshape(unbroadcast(x_dot, (size, *(1,) * lead, *spec.shape)), shape)


__all__ = ["bound_arguments", "moved_parts", "moved_step"]
