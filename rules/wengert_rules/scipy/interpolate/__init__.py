"""Rules for scipy.interpolate: the few functions of C below its classes, whose Python code is traced through."""

from __future__ import annotations

from wengert_rules.scipy.interpolate import bsplines, fitpack, grids, polynomials, products, radial, scattered
