"""The table of emitters: the native code of calls that are not elementwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compiling.native import factors, fourier, indices, sequences, small_matrices, sorting, sums, views
from wengert.compiling.native.stacks import over_stacks

EMITTERS: dict[str, Callable[..., Any]] = {
    "getitem": views.emit_getitem, "item": views.emit_item, "getattr": views.emit_attribute,
    "getfield": views.emit_getfield, "tuple": views.emit_tuple, "take": views.emit_take,
    "memory_query": views.emit_window, "setitem": views.emit_store, "additem": views.emit_store,
    "expand_dims": views.emit_reshape, "ravel": views.emit_reshape, "reshape": views.emit_reshape,
    "squeeze": views.emit_reshape, "swapaxes": views.emit_swapaxes, "transpose": views.emit_transpose,
    "broadcast_to": views.emit_broadcast_to, "diag": views.emit_diag, "diagonal": views.emit_diag,
    "full": views.emit_full, "full_like": views.emit_full, "array": views.emit_array, "copy": views.emit_copy,
    "concatenate": views.emit_concatenate, "stack": views.emit_stack, "bincount": views.emit_bincount,
    **dict.fromkeys(("zeros", "zeros_like", "ones", "ones_like", "empty", "empty_like"), views.emit_uniform),
    "sum": sums.emit_sum, "add_reduce": sums.emit_add_reduce, "total": sums.emit_total, "mean": sums.emit_mean,
    "max": sums.emit_max, "min": sums.emit_min, "larger": sums.emit_extremum, "smaller": sums.emit_extremum,
    "norm": sums.emit_norm, "power": sums.emit_power, "trace": sums.emit_trace, "vdot": sums.emit_vdot,
    "dot": sums.emit_matmul, "matmul": sums.emit_matmul, "outer": sums.emit_outer, "einsum": sums.emit_einsum,
    "whole": indices.emit_whole, "as_index": indices.emit_as_index, "astype": indices.emit_astype,
    "solve": over_stacks(small_matrices.emit_solve), "cholesky": over_stacks(small_matrices.emit_cholesky),
    **dict.fromkeys(("slogdet", "det"), over_stacks(small_matrices.emit_determinant)),
    "qr": over_stacks(factors.emit_qr), "svd": over_stacks(factors.emit_svd), "lstsq": factors.emit_lstsq,
    **dict.fromkeys(("eig", "eigvals"), over_stacks(factors.emit_eig)),
    **dict.fromkeys(("eigh", "eigvalsh"), over_stacks(factors.emit_eigh)),
    **dict.fromkeys(sequences.STEPS, sequences.emit_running), "sums_onward": sequences.emit_sums_onward,
    "sort": sorting.emit_sort, "argsort": sorting.emit_sort,
    "argmax": sorting.emit_place_of_extremum, "argmin": sorting.emit_place_of_extremum, "prod": sums.emit_prod,
    "searchsorted": sequences.emit_searchsorted,
    "nonzero": sequences.emit_nonzero, "where": sequences.emit_nonzero, "flatnonzero": sequences.emit_flatnonzero,
    "tolist": views.emit_list, "real": views.emit_real_part, "imag": views.emit_real_part,
}  # fmt: skip
"""Emitters of calls, by the name of the operation: (body, op, values of the arguments) -> value of the call."""

OF_COMPLEX: dict[str, Callable[..., Any]] = {
    "fft": fourier.emit_fft, "ifft": fourier.emit_fft, "rfft": fourier.emit_rfft, "irfft": fourier.emit_irfft,
    "solve": small_matrices.emit_complex_solve, "inv": small_matrices.emit_complex_inverse,
}  # fmt: skip
"""Emitters of calls that take or return complex numbers, and are neither elementwise nor done to each part."""
