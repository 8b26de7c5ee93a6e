"""Expressions of `pandas.eval`, `DataFrame.eval` and `query`: their string holds names and no traced numbers."""

from __future__ import annotations

from pandas.core.computation import engines

from wengert.extend import stands_for, unseen

_native = engines.AbstractEngine.convert


@stands_for(_native)
def convert(engine):
    return unseen(_native, engine)
