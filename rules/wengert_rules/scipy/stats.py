"""Rules for scipy.stats: distributions and statistics."""

from __future__ import annotations
