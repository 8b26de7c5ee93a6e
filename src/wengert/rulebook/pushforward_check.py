"""Compare a pushforward with its pullback, a part of `test_rrule`; the pullback is tested against differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.rulebook.pushforwards import push
from wengert.rulebook.rule import Rule
from wengert.values.cotangents import Thunk
from wengert.values.numeric_trees import map_numbers
from wengert.values.projection import plainly


class Called(NamedTuple):
    """A call of `f` with a rule, and its value y."""

    f: Callable[..., Any]
    rule: Rule
    y: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def pushed(self, tangents: tuple[Any, ...], size: int | None = None) -> Any:
        """Push the tangents through the call, and return the tangent of y."""
        return push(plainly, self.f, self.rule, self.y, self.args, self.kwargs, tangents, size)

    def zeros(self) -> tuple[Any, ...]:
        """Return None, a zero tangent, for each argument, and for each item of a sequence."""
        k = self.rule.sequence
        parts = [(None,) * len(x) if i == k and not self.rule.is_single(x) else None for i, x in enumerate(self.args)]
        return tuple(parts)


def pushforward_agrees(
    call: Called, places: Sequence[Any], y_bar: Any, cotangents: Any, random_like: Callable[[Any], Any],
    close: Callable[[str, Any, Any], None],
) -> None:  # fmt: skip
    """Check Re⟨ȳ, ẏ⟩ = Re⟨x̄, ẋ⟩ for random tangents of all arguments and of each alone, and in two directions at once.

    `places` locate the differentiated arguments. `cotangents` are theirs for `y_bar`. `close(what, got, expected)`
    raises if the numbers differ.
    """
    for some in [places, *[[place] for place in places]] if len(places) > 1 else [places]:
        tangents = call.zeros()
        for place in some:
            tangents = place.put(tangents, random_like(place.of(call.args)))
        what = "pushforward, " + " and ".join(map(str, some))
        expected = sum([paired(place.of(cotangents), place.of(tangents)) for place in some])
        close(f"{what}: Re⟨ȳ, ẏ⟩ differs from Re⟨x̄, ẋ⟩ of the pullback", paired(y_bar, call.pushed(tangents)), expected)
        both = call.pushed(map_numbers(lambda tangent: np.stack([tangent, 2 * tangent]), tangents), 2)
        second = map_numbers(lambda tangent: tangent[1], both)
        close(f"{what}: two directions at once disagree with one", paired(y_bar, second), 2 * expected)


def paired(cotangents: Any, tangents: Any) -> float:
    """Return Re⟨x̄, ẋ⟩ over the parts of a value; None and delayed tangents count as zero."""
    if cotangents is None or tangents is None or isinstance(tangents, Thunk):
        return 0.0
    if isinstance(cotangents, (tuple, list)):
        return sum(map(paired, cotangents, tangents))
    if isinstance(cotangents, dict):
        return sum([paired(cotangents[key], tangents[key]) for key in cotangents])
    return float(np.sum(np.real(np.conj(cotangents) * tangents)))
