"""The table of emitters: the native code of calls that are not elementwise."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.graphs.graph import ADD_REDUCE
from wengert.compiling.native.sums import (
    emit_einsum,
    emit_matmul,
    emit_max,
    emit_mean,
    emit_min,
    emit_norm,
    emit_outer,
    emit_power,
    emit_sum,
    emit_vdot,
)
from wengert.compiling.native.views import (
    emit_additem,
    emit_array,
    emit_attribute,
    emit_bincount,
    emit_broadcast_to,
    emit_concatenate,
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
    emit_transpose,
    emit_tuple,
    emit_zeros,
)
from wengert.values import functional

EMITTERS: dict[Any, Callable[..., Any]] = {
    operator.getitem: emit_getitem,
    np.ndarray.item: emit_item,
    np.reshape: emit_reshape, np.ndarray.reshape: emit_reshape, np.expand_dims: emit_reshape, np.squeeze: emit_reshape,
    np.ravel: emit_reshape, np.ndarray.ravel: emit_reshape, np.ndarray.flatten: emit_reshape,
    np.ndarray.squeeze: emit_reshape,
    np.transpose: emit_transpose, np.ndarray.transpose: emit_transpose, getattr: emit_attribute,
    np.swapaxes: emit_swapaxes, np.ndarray.swapaxes: emit_swapaxes,
    np.broadcast_to: emit_broadcast_to,
    np.zeros: emit_zeros, np.zeros_like: emit_zeros, np.ones: emit_ones, np.ones_like: emit_ones,
    np.empty: emit_empty, np.empty_like: emit_empty, np.full: emit_full, np.full_like: emit_full,
    functional.setitem: emit_setitem, functional.additem: emit_additem,
    np.concatenate: emit_concatenate, np.stack: emit_stack, np.array: emit_array, np.asarray: emit_array,
    functional.make_tuple: emit_tuple, functional.make_list: emit_tuple,
    functional.getfield: emit_getfield,
    np.sum: emit_sum, np.ndarray.sum: emit_sum, ADD_REDUCE: emit_sum, np.mean: emit_mean, np.ndarray.mean: emit_mean,
    np.max: emit_max, np.ndarray.max: emit_max, np.min: emit_min, np.ndarray.min: emit_min,
    np.linalg.norm: emit_norm, np.vdot: emit_vdot, operator.pow: emit_power, np.power: emit_power, pow: emit_power,
    np.outer: emit_outer, np.matmul: emit_matmul, operator.matmul: emit_matmul, np.einsum: emit_einsum,
    np.bincount: emit_bincount,
}  # fmt: skip
"""Emitters of calls, by function: (body, op, values of the arguments) -> value of the call."""

STATIC_FUNCTIONS = (np.iscomplexobj, np.isrealobj, np.ndim, np.shape, np.size, len, type)
"""Functions whose result depends only on types and shapes."""
