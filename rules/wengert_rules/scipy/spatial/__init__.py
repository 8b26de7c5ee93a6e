"""Rules for scipy.spatial: distances and rotations."""

from __future__ import annotations

from wengert_rules.scipy.spatial import distances, hulls, rotations, trees
