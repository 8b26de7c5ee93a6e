"""Rules for scipy.interpolate: interpolation."""

from __future__ import annotations
