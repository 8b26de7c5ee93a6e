"""The means and variances of Python's `statistics`, on batches of numbers; loaded once a program has imported that."""

from __future__ import annotations

import statistics

import numpy as np

from wengert.extend import batching
from wengert_rules.batches.axes import spread
from wengert_rules.batches.numbers_of_python import items


@batching(statistics.mean, statistics.variance, statistics.pvariance, statistics.stdev, statistics.pstdev)
def averages(batch, data, *centre, **given):
    if centre or given:
        return NotImplemented
    terms, on = items(batch, data, batch.axes[0])
    rows = np.stack([spread(x, has, batch.size) for x, has in zip(terms, on, strict=True)])
    if batch.fn is statistics.mean:
        return np.mean(rows, axis=0)
    spread_out = np.var if batch.fn in (statistics.variance, statistics.pvariance) else np.std
    return spread_out(rows, axis=0, ddof=1 if batch.fn in (statistics.variance, statistics.stdev) else 0)
