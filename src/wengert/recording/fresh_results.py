"""Fresh results: each traced result is a new object, so that it identifies one call; others are refused."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.errors import NoRuleError
from wengert.recording import pullback_reads, reachability
from wengert.recording.nondifferentiable import LARGE_INTEGER, taken_apart
from wengert.recording.primitives import Primitive
from wengert.recording.recording import STATE, Recording, users_line
from wengert.recording.slots import flat, slot_of
from wengert.recording.subclasses import renewed
from wengert.values.codes import code_of
from wengert.values.cotangents import is_exclusive
from wengert.values.lazy_attribute import computed_once
from wengert.values.results import form_of, hidden, is_flat, is_tree, leaves_of, reaches, with_leaves
from wengert.values.specs import fresh, is_inexact
from wengert.values.trees import is_container, leaves
from wengert.values.views import owner_of


def made_new(held: list[Any], args: Sequence[Any] = (), by: Primitive | None = None) -> Any:
    """Return the result of a call, passed in the list `held`, as a new object, so that it belongs to this call alone.

    The result may be an older object: an argument, a literal, a global, a workspace, a cached result. The leaves of a
    container are renewed. `by` is the primitive that returned it, if any.
    """
    value = held[0]
    if by is not None and by.returns_new:
        return value
    if is_container(value):
        held.clear()
        return with_leaves(value, lambda _, leaf: made_new([leaf], args, by))
    if not is_inexact(value):
        return value
    is_trusted = by is not None and by.is_trusted
    was_there = not is_trusted or any([value is a for a in flat(args)])
    if not isinstance(value, np.ndarray):
        made = _new_number(value)
    elif is_trusted:
        made = renewed(value) if was_there else value if _lends(by) else _whole(value)
    else:
        del value
        made = held[0] if is_exclusive(held) else renewed(held[0])
    if was_there:
        note_stand(made, held[0])
    return made


def _lends(primitive: Primitive | None) -> bool:
    """Whether the function may return a view of an argument."""
    return primitive is None or primitive.rule is None or primitive.rule.view


def _whole(value: np.ndarray) -> np.ndarray:
    """Return an array that may be written: a copy if it views parts of elements (`w.real` of complex eigenvalues)."""
    return value if value.base is None or owner_of(value).dtype == value.dtype else value.copy()


def note_stand(made: Any, given: Any) -> None:
    """Map a fresh object to the one it replaces, for `is`."""
    recording = STATE.recording
    if recording is not None and made is not given:
        recording.fresh_objects[id(made)] = _reference(made), _reference(given)


def _reference(thing: Any) -> Callable[[], Any]:
    """Return a function that returns the number, or the array while it is alive."""
    return weakref.ref(thing) if isinstance(thing, np.ndarray) else lambda: thing


def _new_number(value: Any) -> Any:
    made = fresh(value)
    if made is value:  # a member of an Enum, say: its copy is itself
        raise NoRuleError(
            f"{users_line()}: a function with a rule returned the singleton {value!r}, which wengert cannot trace. "
            "Return its value as a float, or declare the function constant: wg.non_differentiable."
        )
    return made


def made_constant(recording: Recording, primitive: Primitive, value: Any) -> Any:
    """Return the result of a non-differentiable function, with new objects in place of traced values."""

    def is_traced(part: Any) -> bool:
        return is_inexact(part) and slot_of(recording, part) is not None

    what = hidden(value, is_traced)
    if what is not None:
        raise recording.refuse(
            NoRuleError(
                f"{users_line()}: {primitive.name}, which is declared constant, returned a {type(what).__name__} with "
                "traced values, which wengert cannot make constant. Return wg.stop_gradient(...) of them."
            )
        )
    if not any([is_traced(leaf) or _is_of_traced(recording, leaf) for _, leaf in leaves(value)]):
        return value
    return with_leaves(value, lambda _, leaf: _cut(recording, leaf))


def _is_of_traced(recording: Recording, leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) and recording.memory.is_traced(leaf)


def _cut(recording: Recording, leaf: Any) -> Any:
    """Return a leaf as a constant: a view of traced memory, which may not be written while the view is alive."""
    if not isinstance(leaf, np.ndarray):
        return fresh(leaf)
    if not _is_of_traced(recording, leaf):
        return leaf
    view = renewed(leaf)
    recording.memory.lent.note(view)
    recording.memory.add_view(view, None)
    return view


def check_result(recording: Recording, primitive: Primitive, value: Any, args: Sequence[Any]) -> None:
    """Refuse a result that holds floats which cannot become variables, or a form that the rule does not support."""
    rule = primitive.rule
    assert rule is not None
    if type(value) is float or (type(value) is np.ndarray and is_inexact(value)):
        return
    known = _Known(primitive, args)
    what = hidden(value, is_old=known.has_class, is_key=known.has_number)
    if what is not None:
        why = "in" if what is value else f"which holds a {type(what).__name__}, in"
        why = f"which has the key {what!r}, for" if is_inexact(what) else why
        why += (
            " which wengert finds no derivative. Return numbers and arrays, alone, in tuples, lists, dicts or objects"
        )
    elif rule.kind != "rrule" and is_tree(value) and leaves_of(value):
        why = f"but its rule ({rule.where}) is not an @rrule. Return a tuple, or write the rule as an @wg.rrule"
    elif recording.keep and is_tree(value) and not all(key.of(value) is leaf for key, leaf in leaves_of(value)):
        why = "whose items or attributes are not the values that it stores, so a tape cannot name them. Return a tuple"
    else:
        with_leaves(value, lambda _, leaf: leaf, lambda part: in_other_form(recording, primitive, part))
        return
    raise recording.refuse(NoRuleError(f"{users_line()}: {primitive.name} returned a {type(value).__name__}, {why}."))


class _Known:
    """The ids of objects reachable before a call: arguments, closures, globals and constants."""

    def __init__(self, primitive: Primitive, args: Sequence[Any]) -> None:
        self._primitive, self._args = primitive, args

    @computed_once
    def _reached(self) -> list[pullback_reads.FarReach]:
        assert self._primitive.rule is not None
        return [pullback_reads.FarReach(self._primitive.fn), pullback_reads.FarReach(self._primitive.rule.body)]

    def has_class(self, thing: Any) -> bool:
        return any([thing is cls for reach in self._reached for cls in reach.classes])

    def has_number(self, number: Any) -> bool:
        codes = [code for reach in self._reached for f in reach.functions for code in reachability.nested(code_of(f))]
        known = [self._args, [reach.held() for reach in self._reached], [code.co_consts for code in codes]]
        return reaches(known, lambda part: part is number)


def in_other_form(recording: Recording, primitive: Primitive, part: Any) -> Any:
    """Note a string, from which a number may be parsed; refuse an integer that holds all digits of a float."""
    kind = part.dtype.kind if isinstance(part, (np.ndarray, np.generic)) else "i" if isinstance(part, int) else ""
    if kind in ("S", "U", "T") or isinstance(part, (str, bytes, bytearray)):
        recording.texts[id(part)] = part
    elif kind in ("i", "u") and np.size(part) and max(int(np.max(part)), -int(np.min(part))) >= LARGE_INTEGER:
        raise taken_apart(recording, primitive.name)
    return part


def kept_parts(recording: Recording, value: Any) -> Any:
    """Return the residual of a result in parts: a flat tuple as it is, on a tape the whole, else its form."""
    return value if is_flat(value) else with_leaves(value, lambda _, leaf: leaf) if recording.keep else form_of(value)
