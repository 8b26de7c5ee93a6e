"""Native code for calls that are not elementwise."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.graphs.graph import ADD_REDUCE
from wengert.compiling.native.sums import (
    einsum,
    matmul,
    maximum,
    mean,
    minimum_native,
    norm,
    outer,
    powered,
    sum_native,
    vdot,
)
from wengert.compiling.native.views import (
    additem_native,
    attribute_native,
    bincount,
    broadcast_to,
    concatenate,
    empty,
    full,
    gathered,
    getfield_native,
    getitem_native,
    item_native,
    make_tuple_native,
    ones,
    reshape,
    setitem_native,
    stack,
    swapaxes,
    transpose,
    zeros,
)
from wengert.values import functional

OPS: dict[Any, Callable[..., Any]] = {
    operator.getitem: getitem_native,
    np.ndarray.item: item_native,
    np.reshape: reshape, np.ndarray.reshape: reshape, np.expand_dims: reshape, np.squeeze: reshape,
    np.ravel: reshape, np.ndarray.ravel: reshape, np.ndarray.flatten: reshape, np.ndarray.squeeze: reshape,
    np.transpose: transpose, np.ndarray.transpose: transpose, getattr: attribute_native,
    np.swapaxes: swapaxes, np.ndarray.swapaxes: swapaxes,
    np.broadcast_to: broadcast_to,
    np.zeros: zeros, np.zeros_like: zeros, np.ones: ones, np.ones_like: ones,
    np.empty: empty, np.empty_like: empty, np.full: full, np.full_like: full,
    functional.setitem: setitem_native, functional.additem: additem_native,
    np.concatenate: concatenate, np.stack: stack, np.array: gathered, np.asarray: gathered,
    functional.make_tuple: make_tuple_native, functional.make_list: make_tuple_native,
    functional.getfield: getfield_native,
    np.sum: sum_native, np.ndarray.sum: sum_native, ADD_REDUCE: sum_native, np.mean: mean, np.ndarray.mean: mean,
    np.max: maximum, np.ndarray.max: maximum, np.min: minimum_native, np.ndarray.min: minimum_native,
    np.linalg.norm: norm, np.vdot: vdot, operator.pow: powered, np.power: powered, pow: powered,
    np.outer: outer, np.matmul: matmul, operator.matmul: matmul, np.einsum: einsum,
    np.bincount: bincount,
}  # fmt: skip
"""For a function, what native code does for a call of it: (body, op, the arguments' values) -> the value."""

STATIC = (np.iscomplexobj, np.isrealobj, np.ndim, np.shape, np.size, len, type)
"""Functions whose result is known before the value is computed."""
