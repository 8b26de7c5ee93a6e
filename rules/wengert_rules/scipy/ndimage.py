"""Rules for scipy.ndimage: images."""

from __future__ import annotations
