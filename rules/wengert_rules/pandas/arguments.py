"""Series and DataFrames as arguments: the arrays of their columns of floats."""

from __future__ import annotations

from pandas import DataFrame, Series

from wengert.extend import holds


def blocks_of_floats(table):
    """The places among the blocks of a Series or DataFrame of those that are NumPy's arrays of floats."""
    blocks = table._mgr.blocks
    return [k for k, block in enumerate(blocks) if block.dtype.kind in "fc" and not block.is_extension]


def load(table, place):
    return table._mgr.blocks[place].values


def store(table, place, values):
    """Exchange an array; columns that the table keeps, once taken out, show the one before."""
    getattr(table, "_item_cache", {}).clear()
    table._mgr.blocks[place].values = values


def copy(table):
    return table.copy(deep=False)


holds(Series, DataFrame, keys=blocks_of_floats, load=load, store=store, copy=copy)
