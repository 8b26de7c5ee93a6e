"""Operators on tables with traced numbers: the library computes untraced, and its numbers become those of one call."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.hooks.data_reads import NOT_READ
from wengert.hooks.operators import Binary
from wengert.recording.primitives import primitive_of
from wengert.recording.record import record_as
from wengert.recording.recording import STATE, silent
from wengert.recording.shadow import SHADOW
from wengert.values.data_classes import READS
from wengert.values.names import lookup
from wengert.values.specs import SCALARS

_ON_COLUMNS = {"add", "sub", "mul", "truediv", "pow"}


def operate_on_tables(op: Binary, left: Any, right: Any) -> Any:
    """Return `left op right` for tables with the same labels, numbers and arrays; NOT_READ if it must be traced.

    A gradient does this. A tape records the library's code instead, and compiled code guards what that reads.
    """
    recording = STATE.recording
    if recording is None or recording.keep or recording.reads is not None or recording.context is not None:
        return NOT_READ
    if op.name not in _ON_COLUMNS or recording.nan_checker is not None or recording.checks_fp_errors:
        return NOT_READ
    primitive, (a, labels), (b, others) = primitive_of(op.fn), _column_or_number(op, left), _column_or_number(op, right)
    if primitive is None or not primitive.is_trusted or a is None or b is None:
        return NOT_READ
    if labels is not None and others is not None and labels is not others:
        return NOT_READ
    with silent():
        table = op.fn(left, right)
    made, found = _column_or_number(op, table)
    if type(made) is not np.ndarray or found is not (others if labels is None else labels):
        return NOT_READ
    if made.base is not None or made.dtype != float or id(made) in SHADOW or not _have_shape(made.shape, a, b):
        return NOT_READ
    return table if record_as(primitive, made, (a, b)) is made else NOT_READ


def _column_or_number(op: Binary, thing: Any) -> tuple[Any, Any]:
    """Return the array of a table and its labels; a number or an array itself, and None; None for other things."""
    t = type(thing)
    if t in SCALARS or (t is np.ndarray and thing.dtype.kind in "fi"):
        return thing, None
    reads = READS.get(t)
    if reads is None or reads.column is None:
        return None, None
    if any([lookup(t, name) is not reads.names.get(name) for name in (op.method, op.reflected)]):
        return None, None
    with silent():
        return reads.column(thing) or (None, None)


def _have_shape(shape: tuple[int, ...], *operands: Any) -> bool:
    return all([type(a) in SCALARS or a.shape == shape for a in operands])
