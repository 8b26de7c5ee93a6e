"""The errors that `check_grads` measures."""

from __future__ import annotations

from collections.abc import Iterable


class LargestError(float):
    """The largest relative error that `check_grads` found; one of at most the absolute tolerance counts as 0.

    `errors` maps the path of each float and array to its measured error, below the tolerance too: the largest
    difference over the largest number of its derivative.
    """

    errors: dict[str, float]

    def __new__(cls, largest: float, errors: dict[str, float]) -> LargestError:
        made = super().__new__(cls, largest)
        made.errors = errors
        return made

    def __reduce__(self) -> tuple[type[LargestError], tuple[float, dict[str, float]]]:
        return LargestError, (float(self), self.errors)

    @classmethod
    def of_all(cls, found: Iterable[LargestError]) -> LargestError:
        """Return the larger ones of several."""
        largest, errors = 0.0, dict[str, float]()
        for one in found:
            largest = max(largest, float(one))
            errors.update({path: max(error, errors.get(path, 0.0)) for path, error in one.errors.items()})
        return cls(largest, errors)
