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
    keyed = [op for op in tape.calls if _has_key(op)]
    plain = {op: key for op in keyed if (key := with_arrays(op.args[1])) is not op.args[1]}
    empty = {op for op in keyed if _stores_nothing(op, plain.get(op, op.args[1]))}
    if not plain and not empty:
        return tape
    new = TapeRewriter(tape)
    for op in inputs_first(tape):
        if op in empty:
            new.table[op] = new.value(op.args[0])  # type: ignore[attr-defined]
        elif op in plain:
            copy: Any = op.copy()
            copy.args = (copy.args[0], plain[op], *copy.args[2:])
            new.push(copy)
            new.table[op] = new.table[copy]
        else:
            new.push(op)
    return new.finished()


def _has_key(op: Call) -> bool:
    """Whether a call reads or stores items of an array."""
    is_keyed = (op.fn is operator.getitem or is_store(op)) and not op.kwargs
    return is_keyed and len(op.args) > 1 and type(value_of(op.args[0])) is np.ndarray


def _stores_nothing(op: Call, key: Any) -> bool:
    """Whether a call is a store at a key that selects nothing."""
    return is_store(op) and _is_one_bool(key) and not key and isinstance(op.args[0], Variable)


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
