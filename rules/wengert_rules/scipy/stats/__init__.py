"""Rules for scipy.stats: what its distributions and statistics compute in C."""

from __future__ import annotations

from wengert_rules.scipy.stats import (
    closed_forms,
)
