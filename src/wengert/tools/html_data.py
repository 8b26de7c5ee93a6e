"""Measurements as the data of an HTML page."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.tools.sources import Sources
from wengert.values.names import in_line
from wengert.values.sites import Site

CURVE_POINTS = 2000  # points of a curve


def profile_data(profile: Any, sources: Sources) -> dict[str, Any]:
    """Return the data of the page of a profile: the source with bars, the lines and the primitives."""
    lines = [{"line": sources.line(Site(*row.what)) if row.what else -1, **_amounts(row)} for row in profile.lines]
    primitives = [{"name": in_line(row.what), **_amounts(row)} for row in profile.primitives]
    totals = {"plain": profile.plain, "gradient": profile.gradient, "rest": profile.rest}
    measured = {"lines": lines, "primitives": primitives, **totals}
    return {"title": in_line(f"profile of {profile.title}"), "profile": measured, **sources.data()}


def memory_data(use: Any, sources: Sources) -> dict[str, Any]:
    """Return the data of the page of a MemoryUse: the curves over time, and the lines and kinds at the peak."""
    rows = [
        {
            "line": sources.line(Site(*row.line)) if row.line else -1,
            "kind": row.kind,
            "bytes": row.nbytes,
            "pieces": row.pieces,
        }
        for row in use.lines
    ]
    step = max(1, len(use.held) // CURVE_POINTS)
    starts = range(0, len(use.held), step)  # each point of a curve is the maximum of so many moments
    curves = {
        name: [int(np.max(curve[k : k + step])) for k in starts]
        for name, curve in (("held", use.held), ("total", use.total))
    }
    turned = use.turned // step
    found = {"lines": rows, "peak": use.peak, "moments": len(use.held), "turned": turned, **curves}
    return {"title": in_line(f"memory of {use.title}"), "memory": found, **sources.data()}


def _amounts(row: Any) -> dict[str, Any]:
    return {name: value for name, value in row._asdict().items() if name != "what"}
