"""Rules for scipy.special: special functions."""

from __future__ import annotations
