"""The NumPy back end: readable source, with views for affine accesses, and BLAS for pieces that are products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wengert.tensor.planning.enumeration import affine_values, assignments, tabulated
from wengert.tensor.planning.nests import EntryIndex
from wengert.tensor.planning.plan import Plan
from wengert.tensor.planning.regions import Conjunction
from wengert.tensor.planning.walks import Entries
from wengert.tensor.running.numpy_source import NumpySource, PointSpec
from wengert.tensor.running.numpy_support import broadcast_result, contract_axes, summed_at, window


@dataclass
class NumpyProgram:
    """A plan as a NumPy function: called with inputs by name and relations as Entries, it returns the outputs."""

    plan: Plan
    text: str
    function: Callable[..., Any]
    point_specs: Mapping[str, PointSpec]
    last_prepared: tuple[dict[str, Entries], dict[str, Any]] | None = field(default=None, repr=False)

    def __call__(self, inputs: Mapping[str, Any], relations: Mapping[str, Entries]) -> Any:
        return self.function(inputs, *self.prepared(relations))

    def without_relations(self) -> Callable[[Mapping[str, Any]], Any]:
        """The program as a function of its inputs only, if its plan has no relations."""
        known, points = self.prepared({})
        return lambda inputs: self.function(inputs, known, points)

    def prepared(self, relations: Mapping[str, Entries]) -> tuple[dict[str, Entries], dict[str, Any]]:
        """The relations with their tables, and the points of listed pieces; cached for the same relations."""
        last = self.last_prepared  # another thread may replace it at any time
        if last is None or any([last[0].get(name) is not r for name, r in relations.items()]):
            known = dict(relations)
            for name, (indices, p) in self.plan.tables.items():
                known[name] = tabulated(indices, p, known)
            points = {key: _listed_points(*spec, known) for key, spec in self.point_specs.items()}
            self.last_prepared = last = known, points
        return last


def _listed_points(
    ranges: dict[str, int], where: Conjunction, entries: dict[EntryIndex, str], known: dict[str, Entries]
) -> Any:
    columns, count = assignments(ranges, where, known)
    at: dict[str, Any] = {**columns, "count": count}
    for entry, name in entries.items():
        position = known[entry.relation].find(tuple(affine_values(a, columns, count) for a in entry.at))
        every = count == known[entry.relation].count and bool((position == np.arange(count)).all())
        at[name] = slice(None) if every else position
    return at


def source_helpers() -> dict[str, Any]:
    return {"window": window, "contract_axes": contract_axes, "summed_at": summed_at}


def numpy_program(plan: Plan) -> NumpyProgram:
    source = NumpySource(plan)
    text = source.text()
    boxes = {name: broadcast_result(f) for name, f in source.functions.items()}
    space: dict[str, Any] = {"np": np, **source_helpers(), **boxes}
    exec(compile(text, "<tensor program>", "exec"), space)
    return NumpyProgram(plan, text, space["run"], source.point_specs)
