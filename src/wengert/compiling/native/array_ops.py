"""The table of emitters: the native code of calls that are not elementwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compiling.native.indices import emit_as_index, emit_astype, emit_whole
from wengert.compiling.native.small_matrices import (
    emit_cholesky,
    emit_det,
    emit_inv,
    emit_slogdet,
    emit_solve,
    emit_tril,
    emit_triu,
)
from wengert.compiling.native.sums import (
    emit_add_reduce,
    emit_dot,
    emit_einsum,
    emit_extremum,
    emit_matmul,
    emit_max,
    emit_mean,
    emit_min,
    emit_norm,
    emit_outer,
    emit_power,
    emit_sum,
    emit_total,
    emit_trace,
    emit_vdot,
)
from wengert.compiling.native.views import (
    emit_additem,
    emit_array,
    emit_attribute,
    emit_bincount,
    emit_broadcast_to,
    emit_concatenate,
    emit_copy,
    emit_diag,
    emit_empty,
    emit_full,
    emit_getfield,
    emit_getitem,
    emit_item,
    emit_ones,
    emit_reshape,
    emit_setitem,
    emit_stack,
    emit_swapaxes,
    emit_take,
    emit_transpose,
    emit_tuple,
    emit_window,
    emit_zeros,
)

EMITTERS: dict[str, Callable[..., Any]] = {
    "getitem": emit_getitem, "item": emit_item, "getattr": emit_attribute, "getfield": emit_getfield,
    "memory_query": emit_window, "setitem": emit_setitem, "additem": emit_additem, "tuple": emit_tuple,
    "reshape": emit_reshape, "expand_dims": emit_reshape, "squeeze": emit_reshape, "ravel": emit_reshape,
    "transpose": emit_transpose, "swapaxes": emit_swapaxes, "broadcast_to": emit_broadcast_to,
    "zeros": emit_zeros, "zeros_like": emit_zeros, "ones": emit_ones, "ones_like": emit_ones,
    "empty": emit_empty, "empty_like": emit_empty, "full": emit_full, "full_like": emit_full,
    "concatenate": emit_concatenate, "stack": emit_stack, "copy": emit_copy, "array": emit_array,
    "sum": emit_sum, "add_reduce": emit_add_reduce, "mean": emit_mean, "max": emit_max, "min": emit_min,
    "norm": emit_norm, "vdot": emit_vdot, "power": emit_power, "bincount": emit_bincount,
    "diag": emit_diag, "diagonal": emit_diag, "trace": emit_trace, "dot": emit_dot,
    "total": emit_total, "larger": emit_extremum, "smaller": emit_extremum,
    "inv": emit_inv, "solve": emit_solve, "cholesky": emit_cholesky,
    "slogdet": emit_slogdet, "det": emit_det, "tril": emit_tril, "triu": emit_triu,
    "whole": emit_whole, "as_index": emit_as_index, "astype": emit_astype, "take": emit_take,
    "outer": emit_outer, "matmul": emit_matmul, "einsum": emit_einsum,
}  # fmt: skip
"""Emitters of calls, by the name of the operation: (body, op, values of the arguments) -> value of the call."""
