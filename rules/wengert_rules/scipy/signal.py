"""Rules for scipy.signal: filters and convolutions."""

from __future__ import annotations
