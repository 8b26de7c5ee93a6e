"""Tables as data: which of their methods and attributes only read, and what they hold."""

from __future__ import annotations

from numpy import ndarray
from pandas import (
    NA,
    CategoricalIndex,
    DataFrame,
    DatetimeIndex,
    Index,
    Interval,
    IntervalIndex,
    MultiIndex,
    NaT,
    Period,
    PeriodIndex,
    RangeIndex,
    Series,
    Timedelta,
    TimedeltaIndex,
    Timestamp,
)
from pandas.arrays import BooleanArray, FloatingArray, IntegerArray, IntervalArray, StringArray
from pandas.core import indexing
from pandas.core.arrays import Categorical, DatetimeArray, NumpyExtensionArray, PeriodArray, TimedeltaArray

from wengert.extend import only_reads

_OPERATORS = [
    f"__{kind}{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")
    for kind in ("", "r")
]
_COMPARISONS = ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"]
_READS = [
    *_OPERATORS, *_COMPARISONS, "__getitem__", "__len__", "__contains__", "__array__", "__neg__", "__invert__",
    "__abs__", "T", "array", "axes", "columns", "dtype", "dtypes", "empty", "hasnans", "index", "is_unique", "name",
    "names", "ndim", "shape", "size", "values", "at", "iat", "iloc", "loc", "abs", "add", "all", "any", "argsort",
    "astype", "between", "clip", "copy", "corr", "count", "cov", "cumsum", "diff", "div", "drop", "drop_duplicates",
    "dropna", "duplicated", "eq", "factorize", "fillna", "filter", "ge", "get", "get_indexer", "get_loc", "gt", "head",
    "idxmax", "idxmin", "isin", "isna", "isnull", "keys", "le", "lt", "max", "mean", "median", "min", "mul", "ne",
    "nlargest", "notna", "notnull", "nsmallest", "nunique", "prod", "quantile", "reindex", "reset_index",
    "select_dtypes", "set_index", "shift", "sort_index", "sort_values", "std", "sub", "sum", "tail", "to_list",
    "to_numpy", "tolist", "transpose", "unique", "value_counts", "var", "where",
]  # fmt: skip


def parts_of_table(table):
    """The arrays of the columns and their places, the labels, the name, and what the user has attached, if anything."""
    manager, attrs, flags = [object.__getattribute__(table, name) for name in ("_mgr", "_attrs", "_flags")]
    blocks = [part for block in manager.blocks for part in (block.values, block.mgr_locs.indexer)]
    attached = [attrs] if attrs else []
    return [*blocks, *manager.axes, vars(table).get("_name"), flags._allows_duplicate_labels, *attached]


def parts_of_array(array):
    """The elements, their dtype (with its time zone) and the frequency of dates, if any."""
    return array._ndarray, repr(array.dtype), getattr(array, "_freq", None) and repr(array._freq)


def numbers_of_series(series):
    """The array of numbers and the identity of the index; None if attributes are copied or numbers are not NumPy's."""
    manager = object.__getattribute__(series, "_mgr")
    (block,), (index,) = manager.blocks, manager.axes
    is_plain = type(block.values) is ndarray and block.values.dtype.kind in "fi"
    return (block.values, index._id or index) if is_plain and not series._attrs else None


_LABELS = [*_READS, "__iter__"]  # labels do not change: an iterator over them shows what was there when it was made
only_reads(DataFrame, parts=parts_of_table, names=_LABELS)
only_reads(Series, parts=parts_of_table, names=_READS, column=numbers_of_series)


def parts_of_levels(index):
    """The labels of each level, their places and names, and up to which level they are sorted."""
    return [*index._levels, *index._codes, *index._names, index.sortorder]


only_reads(
    Index, DatetimeIndex, TimedeltaIndex, PeriodIndex, IntervalIndex, CategoricalIndex,
    parts=lambda index: (index._data, index._name), names=_LABELS,
)  # fmt: skip
only_reads(MultiIndex, parts=parts_of_levels, names=[*_LABELS, "levels", "codes", "get_level_values", "nlevels"])
only_reads(RangeIndex, parts=lambda index: (index._range, index._name), names=_LABELS)
only_reads(type(NaT), type(NA), Timestamp, Timedelta, Period, parts=lambda time: (repr(time),), names=())
only_reads(DatetimeArray, TimedeltaArray, PeriodArray, NumpyExtensionArray, StringArray, parts=parts_of_array, names=())
only_reads(IntegerArray, FloatingArray, BooleanArray, parts=lambda array: (array._data, array._mask), names=())
only_reads(IntervalArray, parts=lambda array: (array._left, array._right, array.closed), names=())
only_reads(Interval, parts=lambda interval: (interval.left, interval.right, interval.closed), names=())
only_reads(Categorical, parts=lambda array: (array._ndarray, array.dtype.categories, array.dtype.ordered), names=())
only_reads(
    indexing._LocIndexer, indexing._iLocIndexer, indexing._AtIndexer, indexing._iAtIndexer,
    parts=lambda indexer: (indexer.obj, indexer.name, getattr(indexer, "axis", None)),
    names=["__getitem__"],
)  # fmt: skip
