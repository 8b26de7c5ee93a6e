"""Views that functions with rules give of memory that stood there before: of their argument, of a workspace.

View and memory are the same numbers with different derivatives. While both are only read, each has its own variable. A
write makes them one: a view of which it overwrites all shows what was written, any other is refused from then on.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.recording.recording import Recording, here
from wengert.values.views import owner_of

Ref = weakref.ref[np.ndarray]


class Lent(dict[int, list[Ref]]):
    """The views that functions with rules gave, by the owner of their memory, and those of them that are refused.

    It also knows the arrays that functions keep of their results, such as workspaces.
    """

    __slots__ = ("_kept", "spoilt", "unspoken")

    def __init__(self) -> None:
        self.spoilt: dict[int, Ref] = {}
        self._kept: dict[int, Ref] = {}
        self.unspoken: set[int] = set()  # variables of what such functions wrote into arrays that they were given

    def note(self, view: np.ndarray) -> None:
        """Note a view that a function with a rule gave, or a view of such a view."""
        self.setdefault(id(owner_of(view)), []).append(weakref.ref(view))

    def shows(self, array: Any) -> bool:
        """Whether an array is a view that was noted."""
        known = self.get(id(owner_of(array)), ()) if isinstance(array, np.ndarray) else ()
        return any([ref() is array for ref in known])

    def keep(self, owner: np.ndarray) -> None:
        """Note an array that a function with a rule gave, and that something else holds, too."""
        self._kept[id(owner)] = weakref.ref(owner)

    def workspaces(self) -> list[np.ndarray]:
        """The arrays noted by `keep` that are still alive."""
        return [owner for ref in self._kept.values() if (owner := ref()) is not None]

    def is_workspace(self, array: np.ndarray) -> bool:
        """Whether an array was noted by `keep`, or shows such an array."""
        ref = self._kept.get(id(array))
        return ref is not None and ref() is array

    def before_write(self, region: np.ndarray, whole: bool) -> None:
        """A region is about to be overwritten, the `whole` of it or some: refuse the views that show the rest."""
        for ref in self.pop(id(owner_of(region)), ()):
            view = ref()
            if view is not None and not (whole and _is_within(view, region)):
                self.spoilt[id(view)] = ref

    def refuse_spoilt(self, recording: Recording, array: np.ndarray) -> None:
        """Refuse to read a view that was partly overwritten."""
        ref = self.spoilt.get(id(array))
        if ref is not None and ref() is array:
            raise recording.refuse(
                RefusedCallError(
                    f"{here()}: this line reads a view that a function with a rule gave of memory that was there "
                    "before, and that was written since: what it shows has two derivatives, the rule's and the "
                    "memory's. Let the function give a copy."
                )
            )


def _is_within(view: np.ndarray, region: np.ndarray) -> bool:
    if region.size == owner_of(region).size:
        return True
    same_place = view.__array_interface__["data"] == region.__array_interface__["data"]
    return same_place and (view.shape, view.strides, view.dtype) == (region.shape, region.strides, region.dtype)
