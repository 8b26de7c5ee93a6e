"""Write keys in one form: a list of integers as an array; and drop stores at `False`, which write nothing: NumPy's
own functions make such, as np.quantile does.

An array of integers that differs from iteration to iteration is one table of a loop, a list one for each of its items.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert.compiling.tape_rewriter import TapeRewriter, inputs_first
from wengert.tape.liveness import is_store
from wengert.tape.ops import Call, Variable, value_of
from wengert.values.keys import key_parts


def with_plain_keys(tape: Any) -> Any:
    """Return the tape with the keys of all reads and stores in plain form; the tape itself if they are."""
    new, changed = TapeRewriter(tape), False
    ops: list[Any] = inputs_first(tape)
    for op in ops:
        keyed = isinstance(op, Call) and (op.fn is operator.getitem or is_store(op)) and not op.kwargs
        if not keyed or len(op.args) < 2 or type(value_of(op.args[0])) is not np.ndarray:
            new.push(op)
            continue
        key = with_arrays(op.args[1])
        if is_store(op) and _is_one_bool(key) and not key and isinstance(op.args[0], Variable):
            new.table[op], changed = new.value(op.args[0]), True
            continue
        if key is not op.args[1]:
            op, old, changed = op.copy(), op, True
            op.args = (op.args[0], key, *op.args[2:])
            new.push(op)
            new.table[old] = new.table[op]
        else:
            new.push(op)
    return new.finished() if changed else tape


def with_arrays(key: Any) -> Any:
    """Return a key in which arrays replace lists of integers or bools; the key itself if there are none."""
    parts = key_parts(key)
    if not any([_is_list_of_numbers(part) for part in parts]):
        return key
    plain = tuple([np.array(part) if _is_list_of_numbers(part) else part for part in parts])
    return plain if isinstance(key, tuple) else plain[0]


def _is_one_bool(key: Any) -> bool:
    """Whether a key is a bool or an array of one, which selects everything or nothing."""
    return type(key) in (bool, np.bool_) or (type(key) is np.ndarray and not key.ndim and key.dtype == bool)


def _is_list_of_numbers(part: Any) -> bool:
    return type(part) is list and len({*map(type, part)}) == 1 and type(part[0]) in (int, bool)
