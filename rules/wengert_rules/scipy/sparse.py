"""Rules for scipy.sparse: sparse matrices."""

from __future__ import annotations
