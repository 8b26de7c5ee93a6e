"""Compiled classes that hold arrays, and questions about types: they compute nothing on the numbers."""

from __future__ import annotations

import numpy as np
from pandas._libs import arrays, indexing, internals, lib, missing, ops_dispatch, reshape
from pandas._libs.tslibs import offsets
from pandas.core.arrays.string_arrow import ArrowStringArray
from pandas.core.dtypes.cast import construct_1d_object_array_from_listlike

from wengert.extend import computes_nothing, non_differentiable, stands_for
from wengert_rules.pandas.gaps import elementwise
from wengert_rules.pandas.names import present

_HOLDERS = (
    *present(internals, "Block", "NumpyBlock", "SharedBlock", "BlockManager", "BlockPlacement", "BlockValuesRefs"),
    arrays.NDArrayBacked,
    indexing.NDFrameIndexerBase,
)

for _holder in _HOLDERS:
    computes_nothing(*[vars(_holder)[name] for name in ("__new__", "__init__") if name in vars(_holder)])

computes_nothing(
    *present(internals.BlockManager, "_rebuild_blknos_and_blklocs", "_post_setstate"),
    *present(internals.BlockValuesRefs, "add_reference", "add_index_reference", "has_reference"),
    *present(arrays.NDArrayBacked, "_simple_new", "_from_backing_data"),
    *present(
        lib, "is_list_like", "is_scalar", "is_iterator", "is_float", "is_integer", "is_bool", "is_complex",
        "is_decimal", "is_interval", "is_period", "is_np_dtype", "is_pyarrow_array", "is_all_arraylike",
        "dtypes_all_equal", "check_na_tuples_nonequal", "is_int_or_none", "is_range_indexer", "is_sequence_range",
    ),
    *present(missing, "is_matching_na", "is_numeric_na"),
    *present(offsets, "to_offset"),
)  # fmt: skip

non_differentiable(
    *present(lib, "infer_dtype", "is_float_array", "has_infs", "has_only_ints_or_nan"), *present(missing, "checknull")
)


@stands_for(internals.Block.slice_block_rows)
def slice_block_rows(self, slicer):
    return type(self)(self.values[..., slicer], self._mgr_locs, ndim=self.ndim, refs=self.refs)


@stands_for(internals.BlockManager.get_slice)
def get_slice(self, slobj, axis=0, new_index=None):
    if axis == 0:
        blocks = self._slice_take_blocks_ax0(slobj)
    else:
        blocks = [block.slice_block_rows(slobj) for block in self.blocks]
    axes = list(self.axes)
    axes[axis] = axes[axis]._getitem_slice(slobj) if new_index is None else new_index
    return type(self)(tuple(blocks), axes, verify_integrity=False)


@stands_for(lib.map_infer)
def map_infer(arr, f, convert=True, ignore_na=False):
    """Apply a function to each element; return an array of floats if all results are numbers."""
    made = np.empty(len(arr), object)
    for k, value in enumerate(arr):
        made[k] = value if ignore_na and missing.checknull(value) else lib.item_from_zerodim(f(value))
    return lib.maybe_convert_objects(made) if convert else made


@stands_for(lib.maybe_convert_objects)
def maybe_convert_objects(objects, *, safe=False, convert_numeric=True, convert_to_nullable_dtype=False, **options):
    """Objects, one of them a float, as an array of numbers where all are, and None is a missing one."""
    if convert_to_nullable_dtype:
        raise NotImplementedError("wengert cannot convert traced numbers to a nullable dtype. Use float64")
    kinds = (float, complex) if safe else (float, complex, int, np.integer, type(None))
    are_numbers = all(isinstance(v, kinds) and not isinstance(v, bool) for v in objects)
    return np.array([np.nan if v is None else v for v in objects]) if are_numbers and convert_numeric else objects


@stands_for(*present(ArrowStringArray, "_cast_pointwise_result"))
def cast_of_texts(self, values):
    """Convert the results of a function of strings to floats where all are numbers."""
    if self.dtype.na_value is not np.nan:
        raise NotImplementedError("wengert cannot convert traced numbers to a nullable dtype. Use float64")
    return lib.maybe_convert_objects(construct_1d_object_array_from_listlike(values), convert_non_numeric=True)


@stands_for(lib.fast_unique_multiple_list_gen)
def unique_names(gen, sort=True):
    """The names that lists have, each once."""
    names = list({name: None for some in gen for name in some})
    return lib.fast_unique_multiple_list_gen([names], sort=sort)


@stands_for(lib.dicts_to_array)
def dicts_to_array(dicts, columns):
    made = np.full((len(dicts), len(columns)), np.nan, object)
    for k, row in enumerate(dicts):
        for column, name in enumerate(columns):
            if name in row:
                made[k, column] = row[name]
    return made


@stands_for(reshape.unstack)
def unstack(values, mask, stride, length, width, new_values, new_mask=None):
    """Long columns written into wide ones, at the places that the mask names."""
    rows, places = np.divmod(np.flatnonzero(mask), width)
    for column in range(stride):
        new_values[rows, column * width + places] = values[:, column]
        if new_mask is not None:
            new_mask[rows, column * width + places] = 1


def _of_backing(name):
    """Have a method of the arrays that hold NumPy's, or a property, be that of the array held."""

    def made(self, *args, **options):
        found = getattr(self._ndarray, name)
        return self._from_backing_data(found(*args, **options) if callable(found) else found)

    stands_for(vars(arrays.NDArrayBacked)[name])(made)


for _name in ("T", "copy", "transpose", "swapaxes", "reshape", "ravel", "repeat"):
    _of_backing(_name)


@stands_for(lib.item_from_zerodim)
def item_from_zerodim(val):
    return val[()] if hasattr(val, "ndim") and hasattr(val, "dtype") and val.ndim == 0 else val


@stands_for(ops_dispatch.maybe_dispatch_ufunc_to_dunder_op)
def dispatched(self, ufunc, method, *inputs, **kwargs):
    """Call the operator method that a ufunc corresponds to; a unary ufunc on data with gaps runs at once."""
    if ufunc.nin == ufunc.nout == 1 and method == "__call__" and not kwargs:
        found = elementwise(self, ufunc)
        if found is not None:
            return found
    name = ops_dispatch.UFUNC_ALIASES.get(ufunc.__name__, ufunc.__name__)
    if kwargs or ufunc.nin > 2 or method != "__call__" or name not in ops_dispatch.DISPATCHED_UFUNCS:
        return NotImplemented
    if inputs[0] is self:
        found = getattr(self, f"__{name}__", None)
        others = () if name in ops_dispatch.UNARY_UFUNCS else inputs[1:]
    else:
        found = getattr(self, ops_dispatch.REVERSED_NAMES.get(name, f"__r{name}__"), None)
        others = inputs[:1]
    return NotImplemented if found is None else found(*others)
