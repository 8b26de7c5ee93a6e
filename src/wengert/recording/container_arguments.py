"""Containers as arguments of a rule: their form, and which part of a container's cotangent belongs to which leaf."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from wengert.errors import NoRuleError, RuleError
from wengert.recording.recording import C_ONLY_TYPES, Recording, flat_slots, users_line
from wengert.rulebook.rule import Rule
from wengert.values.cotangents import AbstractTangent, Tangent, force, is_zero
from wengert.values.named_tuples import NamedTuple
from wengert.values.specs import Spec, is_inexact, spec_of
from wengert.values.trees import form_of, is_container, shallow_copy, shelves, walk

__all__ = ["Inside", "Place", "form_and_leaves", "inside", "not_taken", "spread", "with_held_leaves"]

Args = tuple[Any, ...]
SlotOf = Callable[[Recording, Any], int | None]


class Place(NamedTuple):
    """Placeholder for the leaf with this number in a form; knows the Spec that its cotangent must have."""

    number: int
    spec: Spec


class Inside(NamedTuple):
    """A container among the arguments: its form (itself, with Places for leaves), and the slot of each leaf or None."""

    form: Any
    slots: tuple[int | None, ...]


def inside(recording: Recording, rule: Rule, args: Args, ins: Args, slot_of: SlotOf) -> dict[int, Inside]:
    """Return the containers among the arguments of a call that hold traced values, by position.

    Errors: NoRuleError where the rule is not of the general form, which alone takes them; on a tape, where lists and
    tuples only can be named.
    """
    general = rule.kind == "rrule"
    if rule.kind == "constant" or not (general or any([type(a) not in C_ONLY_TYPES or type(a) is dict for a in args])):
        return {}
    found = {}
    for k, (a, slot) in enumerate(zip(args, ins, strict=True)):
        if type(slot) is not int and is_container(a) and (general or type(a) not in (list, tuple)):
            form, held = form_and_leaves(a)
            slots = tuple([slot_of(recording, leaf) for leaf in held])
            if any(s is not None for s in slots):
                found[k] = Inside(form, slots)
    for k, (_, slots) in found.items():
        is_unnamed = len(flat_slots((ins[k],))) < len(flat_slots(slots))
        if not general or (is_unnamed and (recording.context is not None or recording.is_for_tape(slots))):
            raise recording.refuse(not_taken(rule, k, args[k]))
    return found


def not_taken(rule: Rule, k: int, argument: Any) -> NoRuleError:
    """Return the error for a container of traced values that a rule cannot accept."""
    why, instead = f"its rule ({rule.where}) is not an @rrule", "if the rule is yours, write it as an @wg.rrule"
    if rule.kind == "rrule":
        why, instead = "a tape cannot name them", "in a list or a tuple"
    elif rule.kind == "pullback" and type(argument) in (list, tuple):
        instead = f"if the rule is yours, declare it with sequence={k}"
    return NoRuleError(
        f"{users_line()}: argument {k + 1} of {rule.primitive}, a {type(argument).__name__}, contains traced values, "
        f"but {why}. Pass them as separate arguments, or {instead}."
    )


def form_and_leaves(argument: Any) -> tuple[Any, list[Any]]:
    """Return the form of a container, with a Place for each leaf, and the leaves; a leaf held twice counts as two."""
    found: list[Any] = []

    def place(leaf: Any, _: Any) -> Place:
        found.append(leaf)
        return Place(len(found) - 1, spec_of(leaf))

    return walk(argument, "", {}, at_leaf=place, hold=shallow_copy), found


def with_held_leaves(container: Any, held: Sequence[Any]) -> Any:
    """Copy a container with the leaves `held`, in the order of `form_and_leaves`."""
    if is_inexact(container):
        return held[0]
    numbers = count()
    return walk(container, "", {}, at_leaf=lambda *_: held[next(numbers)], hold=shallow_copy)


def spread(form: Any, x_bar: Any, call: Callable[..., Any]) -> Iterator[tuple[Place, Any]]:
    """Pair each Place of `form` with its part of the cotangent `x_bar`; zero parts are left out.

    The cotangent is a Tangent, or a container like the argument; `call(fn, *args)` runs what is computed. Errors:
    RuleError where it has another form.
    """
    if type(form) is not Place and isinstance(x_bar, AbstractTangent):
        x_bar = call(force, x_bar)
    if x_bar is None or is_zero(x_bar):
        return
    if type(form) is Place:
        yield form, x_bar
    elif is_container(form):
        keyed = dict(_children(form))
        given = _named(x_bar, form) if isinstance(x_bar, Tangent) else _given(x_bar, form, call)
        strange = [key for key in given if key not in keyed]
        if strange or (isinstance(x_bar, Tangent) and not issubclass(type(form), x_bar.of)):
            what = f"a Tangent of {x_bar.of.__name__}" if isinstance(x_bar, Tangent) else type(x_bar).__name__
            raise RuleError(
                f"the cotangent of a {type(form).__name__} with {_listed(keyed)} is {what} with {_listed(given)}. "
                "Return the same parts"
            )
        for key, part in given.items():
            yield from spread(keyed[key], part, call)


def _named(x_bar: Tangent, form: Any) -> dict[Any, Any]:
    """Return the parts of a Tangent by key, or of a named tuple by position."""
    fields = getattr(type(form), "_fields", ()) if isinstance(form, tuple) else ()
    return {fields.index(key) if key in fields else key: part for key, part in x_bar.parts.items()}


def _given(x_bar: Any, form: Any, call: Callable[..., Any]) -> dict[Any, Any]:
    """Return the parts by key of a cotangent that is itself a container."""
    plain = isinstance(form, (tuple, list)) and isinstance(x_bar, (tuple, list, np.ndarray))
    if not plain and not isinstance(x_bar, (dict, type(form))):
        raise RuleError(
            f"the cotangent of a {type(form).__name__} must be one too, or a Tangent({type(form).__name__}, ...), "
            f"not {type(x_bar).__name__}"
        )
    parts = dict(enumerate(call(list, x_bar)) if isinstance(x_bar, np.ndarray) else _children(x_bar))
    if plain and len(x_bar) != len(form):
        raise RuleError(f"the cotangent of {len(form)} values has {len(x_bar)} parts. Return one for each value")
    return parts


def _children(container: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (key, item) for each item of a container: the key is an attribute name, a key or a position."""
    form = form_of(type(container))
    assert form is not None
    if form.items is tuple:
        yield from enumerate(container)
        return
    for shelf in shelves(container, form):
        for key in shelf.keys:
            yield getattr(key, "__name__", key), shelf.load(shelf.holder, key)


def _listed(keyed: dict[Any, Any]) -> str:
    return ", ".join(map(str, keyed)) or "no parts"
