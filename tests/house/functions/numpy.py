"""What becomes of NumPy's public functions and classes that have no rule."""

MODULES = (
    "numpy", "numpy.lib", "numpy.lib.array_utils", "numpy.lib.introspect", "numpy.lib.mixins", "numpy.lib.scimath",
    "numpy.lib.stride_tricks",
)  # fmt: skip

TRACED = {
    "amax amin ptp angle append apply_along_axis apply_over_axes array_split asarray_chkfinite astype atleast_1d",
    "atleast_2d atleast_3d average bartlett blackman block column_stack compress corrcoef cov cumulative_prod",
    "cumulative_sum delete diff dsplit dstack ediff1d extract fill_diagonal fliplr flipud fromfunction full_like",
    "geomspace gradient hamming hanning histogram histogram2d histogramdd hsplit insert intersect1d ix_ kaiser",
    "logspace moveaxis nan_to_num nancumprod nancumsum nanmean nanpercentile nanprod nanquantile nansum pad",
    "percentile piecewise poly polyadd polyder polydiv polyfit polyint polymul polysub polyval put put_along_axis",
    "quantile real_if_close require resize rollaxis roots rot90 row_stack select setdiff1d setxor1d sort_complex",
    "split tensordot trapezoid trapz trim_zeros union1d unique_values unique_all unique_counts unique_inverse",
    "unstack unwrap vsplit asmatrix bmat matrix poly1d vectorize ndenumerate memmap arccos arcsin arctanh log log10",
    "log2 logn power sqrt errstate NDArrayOperatorsMixin printoptions in1d bool bool_ byte bytes_ character",
    "complexfloating floating generic inexact int16 int32 int64 int8 int_ intc",
    "integer intp long longlong number object_ short signedinteger str_ ubyte uint uint16 uint32 uint64",
    "uint8 uintc uintp ulong ulonglong unsignedinteger ushort frompyfunc savetxt",
}

CONSTANT = {
    "diag_indices diag_indices_from tril_indices tril_indices_from triu_indices triu_indices_from ndindex": (
        "indices made from shapes"
    ),
    "mask_indices nanargmax nanargmin isin histogram_bin_edges": "integers or booleans, which change in jumps",
    "common_type isdtype mintypecode typename iterable isfortran iinfo finfo dtype byte_bounds": "types and shapes",
    "normalize_axis_index normalize_axis_tuple einsum_path busdaycalendar opt_func_info": "types and shapes",
    "base_repr binary_repr format_float_positional format_float_scientific": "strings; parsing one raises an error",
    "info get_include get_printoptions set_printoptions getbufsize setbufsize geterr seterr geterrcall seterrcall": (
        "settings and information about NumPy"
    ),
    "show_config show_runtime test add_docstring add_newdoc __array_namespace_info__ NumpyVersion": (
        "settings and information about NumPy"
    ),
    "load loadtxt genfromtxt fromregex fromfile fromstring from_dlpack": "data read from outside",
    "busday_count busday_offset is_busday datetime_as_string datetime_data datetime64 timedelta64": "dates",
}

REFUSED = {
    "packbits unpackbits frombuffer record void flexible recarray": "it reads raw memory",
    "nested_iters flatiter Arrayterator": "a C iterator",
    "ufunc": "users do not call this class",
}
