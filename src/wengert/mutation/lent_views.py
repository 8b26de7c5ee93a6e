"""Views that functions with rules return of existing memory: of an argument, of a workspace.

View and memory are the same numbers with different derivatives. While both are only read, each has its own variable.
After a write, a view that was overwritten entirely shows the new values; any other view is refused.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.recording.interface import WrittenMemory
from wengert.recording.recording import Recording, users_line
from wengert.values.views import owner_of

Ref = weakref.ref[np.ndarray]


class LentViews(dict[int, list[Ref]]):
    """The views that functions with rules returned, by the owner of their memory, and those refused since a write.

    It also has the results that something else holds too, such as workspaces.
    """

    __slots__ = ("_memory", "_workspaces", "overwritten", "unspoken")

    def __init__(self, memory: WrittenMemory) -> None:
        self._memory = memory
        self.overwritten: dict[int, Ref] = {}
        self._workspaces: dict[int, Ref] = {}
        self.unspoken: set[int] = set()  # slots of values that such functions wrote into their arguments

    def note(self, view: np.ndarray) -> None:
        """Add a view that a function with a rule returned, or a view of such a view."""
        self.setdefault(id(owner_of(view)), []).append(weakref.ref(view))
        self._memory.has_lent = True

    def shows(self, array: Any) -> bool:
        """Whether an array is a view added by `note`."""
        known = self.get(id(owner_of(array)), ()) if isinstance(array, np.ndarray) else ()
        return any([ref() is array for ref in known])

    def keep(self, owner: np.ndarray) -> None:
        """Add an array that a function with a rule returned and something else holds too."""
        self._workspaces[id(owner)] = weakref.ref(owner)

    def workspaces(self) -> list[np.ndarray]:
        """Return the arrays added by `keep` that are still alive."""
        return [owner for ref in self._workspaces.values() if (owner := ref()) is not None]

    def is_workspace(self, array: np.ndarray) -> bool:
        """Whether an array was added by `keep`."""
        ref = self._workspaces.get(id(array))
        return ref is not None and ref() is array

    def before_write(self, region: np.ndarray, whole: bool) -> None:
        """Refuse from now on the views that a write into `region` overwrites in part; `whole`: it fills the region."""
        for ref in self.pop(id(owner_of(region)), ()):
            view = ref()
            if view is not None and not (whole and _is_within(view, region)):
                self.overwritten[id(view)] = ref
        self._memory.has_lent = bool(self)

    def refuse_spoilt(self, recording: Recording, array: np.ndarray) -> None:
        """Refuse to read a view that was partly overwritten."""
        ref = self.overwritten.get(id(array))
        if ref is not None and ref() is array:
            raise recording.refuse(
                RefusedCallError(
                    f"{users_line()}: this line reads a view that a function with a rule returned. Its memory was "
                    "written later, so that its derivative is ambiguous. Return a copy from that function."
                )
            )


def _is_within(view: np.ndarray, region: np.ndarray) -> bool:
    if region.size == owner_of(region).size:
        return True
    same_place = view.__array_interface__["data"] == region.__array_interface__["data"]
    return same_place and (view.shape, view.strides, view.dtype) == (region.shape, region.strides, region.dtype)
