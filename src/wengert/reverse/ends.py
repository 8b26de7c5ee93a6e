"""The two ends of a reverse pass: the cotangents with which it starts, and the gradients that the user receives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from wengert.errors import ArgumentError, NoGradientPathError, NonScalarOutputError
from wengert.recording.recording import Level, Recording
from wengert.recording.shadow import SHADOW
from wengert.recording.slots import slot_of
from wengert.reverse.accumulators import Cotangents, Seeds
from wengert.values.cotangents import is_exclusive
from wengert.values.specs import FLOATS, as_float, is_complex, is_inexact, number_type
from wengert.values.trees import array_in, leaves
from wengert.values.views import owner_of

_FLOAT64 = np.dtype(float)


def result_seeds(outputs: list[tuple[str, int | None, Any]], y_bar: Any, call: Callable[..., Any]) -> Seeds:
    """List the pairs (slot, cotangent) of the leaves of a result, from a cotangent `y_bar` of the same structure.

    `outputs` are the leaves as (path, slot, leaf). If there is only one, its cotangent need not be in a container.
    `call(fn, *args)` calls fn so that an outer level records it. Errors: ArgumentError if ȳ has another structure or
    shape, or is complex and the result real.
    """
    given, bare = leaves(y_bar), as_float(y_bar)
    if len(outputs) == 1 and is_inexact(bare):
        given = [(outputs[0][0], bare)]
    if [path for path, _ in given] != [path for path, _, _ in outputs]:
        if not outputs:
            raise ArgumentError(
                "the result holds no float, so it takes no cotangent. Pass floats to the function: 1.0, not 1"
            )
        expected = "a float or an array of floats"
        if any([path for path, _, _ in outputs]):
            expected = f"floats at {', '.join([path for path, _, _ in outputs])}"
        raise ArgumentError(f"the cotangent must have the structure of the result: {expected}, not {y_bar!r:.60}")
    seeds: Seeds = []
    for (_, cotangent), (path, slot, leaf) in zip(given, outputs, strict=True):
        if np.shape(cotangent) != np.shape(leaf):
            raise ArgumentError(
                f"the cotangent{path} has shape {np.shape(cotangent)}, but the result has {np.shape(leaf)}. "
                "Pass one of the same shape."
            )
        if is_complex(cotangent) and not is_complex(leaf):
            raise ArgumentError(
                f"the cotangent{path} is complex, but the result is real: pass its real part, {cotangent!r:.40}.real"
            )
        if slot is not None:
            cotangent = _unmasked(cotangent, call)
            seeds.append((slot, call(np.conj, cotangent) if np.iscomplexobj(cotangent) else cotangent))
    return seeds


def scalar_seed(recording: Recording, value: Any, seed: Any, holomorphic: bool, call: Callable[..., Any]) -> Seeds:
    """Return the pair (slot, cotangent) of a scalar result, in a list: `seed`, or 1; empty if it is not traced.

    Errors: NoGradientPathError or NonScalarOutputError if the result has no gradient; ArgumentError if the seed has
    another shape.
    """
    if type(value) in FLOATS and seed is None:  # the usual case, with nothing to check
        slot = SHADOW.get(id(value))
        return [] if slot is None else [(slot, type(value)(1))]
    if value is None or isinstance(value, (bool, int, str, np.bool_, np.integer)):
        raise NoGradientPathError(
            f"the function returned {value!r} ({type(value).__name__}), which has no derivative. "
            "Return the float (or array) from which it was computed."
        )
    if not is_inexact(value) and (array := array_in(value)) is not None:
        value = array
    if not is_inexact(value):
        kind = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        error = NoGradientPathError if isinstance(value, np.ndarray) else NonScalarOutputError
        raise error(
            f"grad needs a scalar result, not {kind}. Return one number, use has_aux=True for a pair "
            "(value, aux), or wg.vjp for several results."
        )
    if seed is None and np.size(value) != 1:
        raise NonScalarOutputError(
            f"grad needs a scalar result, but the function returned shape {np.shape(value)}. Reduce it (.sum()), "
            "pass a seed=, or use wg.jacobian(f) for the derivatives of all its elements."
        )
    if is_complex(value) and not holomorphic and seed is None:
        raise NonScalarOutputError(
            "grad needs a real result, but the function returned a complex number. Return np.real(...) or abs(...)**2, "
            "or pass holomorphic=True for a holomorphic function."
        )
    slot = slot_of(recording, value)
    if slot is None:
        return []
    if seed is not None:
        if np.shape(seed) != np.shape(value):
            raise ArgumentError(
                f"the seed has shape {np.shape(seed)}, but the result has {np.shape(value)}. "
                "Pass one of the same shape."
            )
        return [(slot, call(np.conj, _unmasked(seed, call)))]
    return [(slot, np.ones(value.shape, value.dtype) if isinstance(value, np.ndarray) else number_type(type(value))(1))]


def _unmasked(cotangent: Any, call: Callable[..., Any]) -> Any:
    """Fill a masked cotangent with zeros under its mask; return any other one unchanged."""
    if (
        type(cotangent) is np.ndarray
        or not isinstance(cotangent, np.ndarray)
        or not isinstance(cotangent, np.ma.MaskedArray)
    ):
        return cotangent
    return call(np.ma.filled, cotangent, 0.0)


class LeafGradients:
    """A function from a leaf to its gradient: of the leaf's type, in memory of its own, zero without a cotangent.

    `cotangents` are by slot; `slots` has the slot of a leaf by its id. `traced` says that an outer level records the
    computations made here.
    """

    def __init__(self, cotangents: Cotangents, slots: Mapping[int, int | None], traced: bool) -> None:
        self.cotangents, self.slots, self.traced = cotangents, slots, traced
        self.returned: set[int] = set()  # the owners of gradients

    def is_reached(self, here: Level) -> bool:
        """Whether any input of the level `here` has a cotangent."""
        table = self.cotangents.table
        return any([table[slot] is not None for slot in here.inputs if self.traced or slot < len(table)])

    def __call__(self, leaf: Any) -> Any:
        slot = self.slots.get(id(leaf))
        table = self.cotangents.table
        cotangent = None if slot is None or (not self.traced and slot >= len(table)) else table[slot]
        exclusive = self.traced or (slot is not None and cotangent is not None and is_exclusive(table, slot, 1))
        return self.gradient_of(leaf, slot, cotangent, exclusive)

    def gradient_of(self, leaf: Any, slot: int | None, cotangent: Any, exclusive: bool) -> Any:
        """Return the gradient of `leaf` from its cotangent, copied if other code may share its memory."""
        if cotangent is None:
            return np.zeros_like(leaf) if isinstance(leaf, np.ndarray) else type(leaf)(0)
        original = cotangent
        cotangent = self.cotangents.project(cotangent, leaf, True)
        if is_complex(leaf):
            cotangent = self.cotangents.call(np.conj, cotangent)
        if isinstance(cotangent, np.ndarray):
            owner = id(owner_of(cotangent))
            own = cotangent.base is None and cotangent.flags.writeable and (exclusive or cotangent is not original)
            if owner in self.returned or not (slot in self.cotangents.owned or own):
                cotangent = self.cotangents.call(np.array, cotangent)
                owner = id(owner_of(cotangent))
            self.returned.add(owner)
            return cotangent if type(leaf) is np.ndarray else self._masked(cotangent, leaf)
        if isinstance(leaf, np.ndarray):  # zero-dimensional: arithmetic returns scalars
            return self.cotangents.call(np.array, cotangent)
        return (
            cotangent if self.traced and type(cotangent) is type(leaf) else self.cotangents.call(type(leaf), cotangent)
        )

    def _masked(self, cotangent: np.ndarray, leaf: np.ndarray) -> np.ndarray:
        """Mask the gradient of a masked array; return that of any other array unchanged."""
        if not isinstance(leaf, np.ma.MaskedArray):
            return cotangent
        return self.cotangents.call(np.ma.array, cotangent, mask=np.array(leaf.mask))


def leading_gradients(cotangents: Cotangents, leaves: list[Any], start: int) -> list[Any]:
    """List the gradients of `leaves`, whose slots begin at `start`; most cotangents are returned as is."""
    table, out, others = cotangents.table, list[Any](), None
    for slot, leaf in enumerate(leaves, start):
        cotangent = table[slot] if slot < len(table) else None
        if (
            type(cotangent) is np.ndarray is type(leaf)
            and cotangent.dtype is _FLOAT64 is leaf.dtype
            and is_exclusive(table, slot, 1)
            and cotangent.shape == leaf.shape
        ):
            out.append(cotangent)
        else:
            others = others or LeafGradients(cotangents, {}, False)
            out.append(others.gradient_of(leaf, slot, cotangent, False))
    return out
