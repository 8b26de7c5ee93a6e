"""Statistics of ranks, which change in jumps."""

from __future__ import annotations

from scipy.stats import _stats

from wengert.extend import non_differentiable

non_differentiable(_stats._weightedrankedtau, _stats._kendall_dis)
