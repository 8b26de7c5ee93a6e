"""Rules for scipy.linalg: linear algebra."""

from __future__ import annotations
