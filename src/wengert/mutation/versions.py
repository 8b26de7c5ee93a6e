"""Versions of the arrays that own written memory, with the views through which each was read or written."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from wengert.values.keys import composed, has_plain_parts
from wengert.values.specs import Spec
from wengert.values.views import basic_key, lens_of


class Storage:
    """The current version of an owner's content; `slot` is None if it does not depend on an input."""

    __slots__ = ("owner", "shadowed", "short_dtype", "slot", "spec", "stamp", "views")

    def __init__(self, owner: weakref.ref[np.ndarray], slot: int | None, spec: Spec) -> None:
        self.owner = owner
        self.shadowed: weakref.ref[np.ndarray] | None = None  # removes the owner from the shadow table
        self.slot = slot
        self.spec = spec
        self.short_dtype: Any = None  # that of NumPy's memory of floats or complex numbers, on no tape
        self.stamp = 0
        # of each view: itself, the stamp of the version that it showed at this slot, its key, the owner's shape then
        self.views: dict[int, tuple[weakref.ref[np.ndarray], int, int | None, Any, Any]] = {}

    def add_view(self, view: np.ndarray, slot: int | None, key: Any = None, shape: Any = None) -> None:
        """Add a view of the current version at its slot, with its key in an owner of this shape if that is known."""
        self.views[id(view)] = weakref.ref(view), self.stamp, slot, key, shape

    def note_key(self, view: np.ndarray, key: Any, shape: tuple[int, ...]) -> None:
        """Add a view that has not been read yet, with its key in an owner of this shape."""
        self.views[id(view)] = weakref.ref(view), -1, None, key, shape

    def shows(self, view: np.ndarray) -> bool:
        """Whether a view has a slot of its own for the current version, as an argument of an inner level has."""
        seen = self.views.get(id(view))
        return seen is not None and seen[1] == self.stamp and seen[0]() is view

    def key_of(self, view: np.ndarray, owner: np.ndarray) -> Any:
        """Return the basic key that selects a view from its owner, or None; it is computed once for each view."""
        reference, stamp, slot, key, shape = self.views.get(id(view), _UNSEEN)
        if reference is None or reference() is not view:
            reference, stamp, slot, key = weakref.ref(view), -1, None, None
        if key is None or shape != owner.shape:
            key = basic_key(lens_of(view, owner), owner)
            self.views[id(view)] = reference, stamp, slot, key, owner.shape
        region = None if key is None else owner[key]
        if region is None or region.shape != view.shape or region.strides != view.strides:
            return None
        return key if region.dtype is view.dtype else None

    def key_within(self, view: np.ndarray, key: Any, owner: np.ndarray) -> Any:
        """Return the key that selects `view[key]` from the owner, for a basic `key` of plain parts, or None."""
        known = self.key_of(view, owner)
        return None if known is None or not has_plain_parts(key) else composed(known, key, owner.shape)


_UNSEEN = None, -1, None, None, None

PartUpdate = tuple[np.ndarray | None, Any, Any, Any, Any, Any]
"""The part that `a[key] op= v` has read and is about to store back: a view or copy to which nothing else refers; its
key in the array that owns the memory; the shapes of `a` and of that array, which v might set; and the Storage of that
array with its stamp at the read. The Storage is None once the store is recorded."""
NO_UPDATE: PartUpdate = (None, None, None, None, None, None)
