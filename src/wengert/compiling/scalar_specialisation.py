"""Compute NumPy scalars as Python floats, above all in loops.

Python's arithmetic returns the same bits in a third of the time; if rounding may differ, `math.cos` replaces `np.cos`.
If NumPy returns inf or nan with a warning, Python may raise or stay silent: then the recorded tape runs. A list holds
the floats that a loop stores, one for each iteration.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compiling.float_lists import keep_arrays_in_lists
from wengert.compiling.graphs.from_tape import DecidingOps, deciding_in_loop
from wengert.compiling.guard_check import count_guards, in_all_iterations
from wengert.compiling.ops import info, is_item_store, source_of_floats
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.folding import is_pure
from wengert.tape.interface import AnyTape
from wengert.tape.loops import Loop, calls_in
from wengert.tape.needed import is_functional
from wengert.tape.ops import MISSING, Call, Op, Variable, value_of, with_variables
from wengert.values import functional
from wengert.values.keys import key_parts
from wengert.values.specs import FLOATS

_FLOAT_TESTS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "truth")


def with_floats(tape: AnyTape, exact: bool, answered: Counter[Any]) -> Any:
    """Return a tape that computes the same with Python floats but may raise; the tape itself if nothing is gained.

    Add the guards that it answers to `answered`.
    """
    calls = calls_in(tape)
    has_scalars = any([type(op.val) is np.float64 for op in calls])
    computes = any([type(op.val) in FLOATS and info(op.fn).on_floats for op in calls]) if has_scalars else False
    may_gain = computes or any([isinstance(op.fn, Loop) for op in calls])
    if not may_gain or not all([_has_no_side_effects(op.fn) for op in calls]):
        return tape
    ops = list(tape)
    if any([op.val is MISSING for op in (*ops, *calls)]):
        return tape
    floats = _FloatSpecialiser(tape, exact)
    floats.read(ops, DecidingOps(ops))
    made = floats.finished()
    if not (keep_arrays_in_lists(made) or floats.changes):
        return tape
    answered.update(floats.answered)
    return made


def _has_no_side_effects(fn: Any) -> bool:
    """Whether a call has no side effects, so that it may run again."""
    own = isinstance(fn, Loop) or is_functional(fn)
    return own or bool(info(fn).name) or getattr(fn, "__module__", "") == "numpy" or is_pure(fn)


class _FloatSpecialiser(TapeRewriter):
    """Copies ops, with Python floats; `table` maps each op to its Variable on the new tape, or to a number."""

    def __init__(self, tape: AnyTape, exact: bool, bodies: dict[Any, Any] | None = None) -> None:
        super().__init__(tape)
        self.exact, self.changes = exact, False
        self.bodies: dict[Any, Any] = {} if bodies is None else bodies  # of the loops so far
        self.known: dict[Any, Variable] = {}
        self.exact_ops = DecidingOps(())
        self.computed: set[Any] = set()
        self.as_arrays: set[Any] = set()  # the ops whose arrays without axes other calls than arithmetic read
        self.answered: Counter[Any] = Counter()  # guards on the types of numbers

    def read(self, ops: Sequence[Op], exact_ops: DecidingOps) -> None:
        """Copy these ops, except inputs that were copied already; `exact_ops` are not to round otherwise."""
        self.exact_ops = exact_ops
        for op in reversed(ops):
            if self.is_number(op):
                self.computed.update([v.op for v in op.references()])
            elif not isinstance(op, Call) or not (op.fn in (float, np.float64) or info(op.fn).name in _FLOAT_TESTS):
                self.as_arrays.update([v.op for v in op.references()])
        for op in ops:
            if op not in self.table:
                self.table[op] = self.specialise(op)

    def is_number(self, op: Any) -> bool:
        """Whether a call returns a float, or an array without axes that only arithmetic reads, of Python's floats."""
        if not isinstance(op, Call):
            return False
        is_float = type(op.val) in FLOATS or (_is_point(op.val) and op not in self.as_arrays)
        return is_float and (_takes_out_number(op) or bool(self.python_function(op)))

    def python_function(self, op: Call) -> Any:
        """Return the Python function that replaces that of a call; None if there is none."""
        if op.kwargs or op.guard:
            return None
        row = info(op.fn)
        same = row.exact or _is_of_floats(op.fn) or not (self.exact or op in self.exact_ops)
        fits = len(op.args) == row.arity or (row.is_variadic and len(op.args) > row.arity)
        return row.on_floats if same and fits else None

    def specialise(self, op: Op) -> Any:
        if not isinstance(op, Call):
            return self.new.push(self.copy(op))
        if type(op.fn) is Loop:
            return self.loop(op, op.fn)
        if op.guard:
            return self.copy_guard(op)
        if op.fn is functional.getfield and type(whole := self.as_computed(op.args[0])) is Variable:
            args = (whole, *map(self.value, op.args[1:]))
            return self.call(op, op.fn, args, op.fn(*map(value_of, args)))
        is_float = type(op.val) in FLOATS or (_is_point(op.val) and self.is_number(op))
        found = self.number(op, with_variables(op.args, self.as_computed)) if is_float else None
        return self.copy_as_recorded(op) if found is None else found

    def copy_guard(self, op: Call) -> Any:
        """Copy a guard: Python floats pass it as NumPy's do, except guards on their type."""
        if op.fn is np.iscomplexobj and _is_float(x := self.as_computed(op.args[0])):
            self.answered += count_guards([op])
            is_sure = _is_always_float(x)
            return op.val if is_sure else self.new.push(Call(type, (x,), val=float, site=op.site, guard=True))
        return self.copy_as_recorded(op)

    def as_computed(self, a: Any) -> Any:
        return self.table[a.op] if type(a) is Variable else a

    def number(self, op: Call, args: Sequence[Any]) -> Any:
        """Return the replacement of a call that returns a number, if a Python float can replace it."""
        if op.fn in (float, np.float64):
            return args[0] if len(args) == 1 and _is_float(args[0]) else None
        if _takes_out_number(op):
            return args[0] if _is_float(args[0]) else None
        if op.fn is operator.getitem and op in self.computed and _is_element(*op.args):
            return self.call(op, np.ndarray.item, args, float(op.val))
        fn = self.python_function(op)
        if fn is None:
            return None
        word = info(op.fn).word
        bools = () if word is None else word.bools
        operands = [a for k, a in enumerate(args) if k not in bools] if bools else args
        if not all(map(_is_operand, operands)) or not any(map(_is_float, operands)):
            return None
        if fn is operator.pow and not float(value_of(args[1])).is_integer():
            return None
        if source_of_floats(fn) is not None:  # it may return an operand as it is
            args = [float(a) if type(a) is int and k not in bools else a for k, a in enumerate(args)]
            if int in [type(value_of(a)) for k, a in enumerate(args) if k not in bools]:
                return None
        key = fn, *[a.op if type(a) is Variable else None for a in args]
        if None in key or key not in self.known:
            args = [float(a) if type(a) is np.float64 else a for a in args]
            self.known[key] = self.call(op, fn, args, float(op.val))
        return self.known[key]

    def copy_as_recorded(self, op: Call) -> Variable:
        """Copy the call as recorded; its arguments keep their types, unless Python floats do the same there."""
        return self.new.push(op.copy(self.as_computed if self.takes_floats(op) else self.value))

    def takes_floats(self, op: Call) -> bool:
        """Whether a call does the same with Python floats as with NumPy's."""
        if is_item_store(op):
            return True
        values = [value_of(self.as_computed(a)) for a in op.args]
        arrays = [x.dtype for x in values if type(x) is np.ndarray]
        if info(op.fn).name in _FLOAT_TESTS and (op.guard or not arrays):
            return True
        numbers = isinstance(op.fn, np.ufunc) or np.float64 in map(type, values)
        known = isinstance(op.fn, np.ufunc) or info(op.fn).exact or _is_of_floats(op.fn)
        return known and not op.kwargs and (all([d == np.float64 for d in arrays]) if arrays else numbers)

    def variable(self, op: Any) -> Any:
        """Return the replacement of an op, with its recorded type."""
        found, was = self.table[op], op.val
        make = np.asarray if type(was) is np.ndarray else np.float64
        if (type(was) is not np.float64 and not _is_point(was)) or not _is_float(found):
            return found
        if type(found) is not Variable:
            return was
        key = make, found.op
        if key not in self.known:
            self.known[key] = self.call(op, make, (found,), was)
        return self.known[key]

    def call(self, like: Any, fn: Any, args: Any, value: Any) -> Variable:
        """Push a call that replaces another op."""
        self.changes = self.changes or fn is not getattr(like, "fn", None)
        return self.new.push(Call(fn, args, val=value, site=like.site, note=like.note))

    # -- loops

    def loop(self, op: Call, loop: Loop) -> Variable:
        """Push the call of a loop, which carries Python floats if its iterations compute them."""
        key = loop, self.exact_ops.results_of(op)
        if key not in self.bodies:
            self.bodies[key] = self.body(*key)
        made, floats, inner = self.bodies[key]
        args = [self.as_float(op, a) if k in floats else self.value(a) for k, a in enumerate(op.args)]
        self.changes = self.changes or inner.changes
        self.answered += in_all_iterations(loop, inner.answered)
        values = value_of(inner.new.result)
        return self.new.push(Call(made, args, val=values, site=op.site, note=op.note))

    def body(self, loop: Loop, exact_results: frozenset[int]) -> tuple[Loop, set[int], _FloatSpecialiser]:
        """Return the loop that replaces one, its inputs that are Python floats, and what has made its body."""
        n, m = len(loop.steps), loop.carried
        floats = {k for k, v in enumerate(loop.inputs) if type(value_of(v)) is np.float64}
        exact_ops = deciding_in_loop(loop, exact_results)
        while True:
            inner = _FloatSpecialiser(loop.body, self.exact, self.bodies)
            inner.iteration(loop, floats, exact_ops)
            results = [inner.as_computed(r) for r in loop.results]
            others = {n + k for k, r in enumerate(results[:m]) if n + k in floats and not _is_float(r)}
            if not others:
                break
            floats -= others
        for k, r in enumerate(loop.results[:m]):
            if n + k not in floats and type(r) is Variable:
                results[k] = inner.value(r)
        values = tuple(map(value_of, results))
        inner.new.result = inner.new.push(Call(functional.make_tuple, results, val=values))
        return loop.with_body(inner.new), floats, inner

    def iteration(self, loop: Loop, floats: set[int], exact_ops: DecidingOps) -> None:
        """Push the body of a loop without its result; inputs with indices in `floats` are Python floats."""
        for k, v in enumerate(loop.inputs):
            copy: Any = v.op.copy()  # type: ignore[union-attr]
            copy.val = float(copy.val) if k in floats else copy.val
            self.table[v.op] = self.new.push(copy)
        self.as_arrays.update([v.op for v in loop.results if type(v) is Variable])
        self.read([op for op in loop.body if op is not loop.body.result.op], exact_ops)

    def as_float(self, op: Call, a: Any) -> Any:
        """Return an argument of a loop as a Python float."""
        found = self.as_computed(a)
        if type(found) is not Variable:
            return float(found)
        return found if _is_float(found) else self.call(op, float, (found,), float(value_of(found)))


def _is_point(x: Any) -> bool:
    """Whether a value is an array of floats without axes, as NumPy functions return for numbers."""
    return type(x) is np.ndarray and not x.ndim and x.dtype == np.float64


def _takes_out_number(op: Call) -> bool:
    """Whether a call is `x[()]`, the number in an array of floats without axes."""
    if op.fn is not operator.getitem or type(op.args[1]) is not tuple or op.args[1]:
        return False
    whole = value_of(op.args[0])
    return type(whole) is np.float64 or _is_point(whole)


def _is_float(x: Any) -> bool:
    return type(value_of(x)) is float


def _is_operand(x: Any) -> bool:
    """Whether Python's arithmetic may take an argument: a float, an int or a constant NumPy float."""
    return type(value_of(x)) in (float, int) or type(x) is np.float64


def _is_element(x: Any, key: Any) -> bool:
    """Whether `x[key]` is an element of an array of floats, by integer indices."""
    array, plain = value_of(x), all([type(value_of(k)) is int for k in key_parts(key)])
    return type(array) is np.ndarray and array.dtype == np.float64 and plain


def _is_always_float(x: Any) -> bool:
    """Whether a value is certainly a Python float, whatever its operands are."""
    return type(x) is not Variable or (isinstance(x.op, Call) and (x.op.fn is float or _is_of_floats(x.op.fn)))


def _is_of_floats(fn: Any) -> bool:
    """Whether a function computes with Python floats itself, and always returns one."""
    return fn is info(fn).on_floats and (source_of_floats(fn) is not None or fn.__module__ == "math")
