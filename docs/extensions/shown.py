"""A page of the site that `wg.show` writes: a gradient beside the code that it is of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg


def heat(u, conductivity):
    """What is left of the heat in a rod after ten steps."""
    u = u.copy()
    for _ in range(10):
        u[1:-1] += conductivity * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def write(app: Any, exception: Exception | None) -> None:
    """Write the gradient of `heat` beside the other pages, once these are written."""
    if exception is None and app.builder.format == "html":
        wg.show(wg.gradtape(heat, np.sin(np.linspace(0.0, 3.0, 20)), 0.2), str(Path(app.outdir) / "shown.html"))


def setup(app: Any) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
