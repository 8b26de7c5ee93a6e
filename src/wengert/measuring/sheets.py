"""What was measured as the data of a page."""

from __future__ import annotations

from typing import Any

from wengert.pages.sources import Sources
from wengert.values.names import in_line
from wengert.values.sites import Site


def profile_data(profile: Any, sources: Sources) -> dict[str, Any]:
    """The data of the page of a profile: the source with bars, the lines and the primitives."""
    lines = [{"line": sources.line(Site(*row.what)) if row.what else -1, **_amounts(row)} for row in profile.lines]
    primitives = [{"name": in_line(row.what), **_amounts(row)} for row in profile.primitives]
    totals = {"plain": profile.plain, "gradient": profile.gradient, "rest": profile.rest}
    measured = {"lines": lines, "primitives": primitives, **totals}
    return {"title": in_line(f"profile of {profile.title}"), "profile": measured, **sources.data()}


def _amounts(row: Any) -> dict[str, Any]:
    return {name: value for name, value in row._asdict().items() if name != "what"}
