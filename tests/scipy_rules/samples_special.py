"""Samples of scipy.special."""

from __future__ import annotations

from sampling import Sample

SAMPLES: list[Sample] = []
