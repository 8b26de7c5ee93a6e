"""`primitivize`: inlines the calls of Python functions and tapes on a tape, down to primitives."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.api.taping import trace
from wengert.errors import TapeError
from wengert.tape.contexts import Context
from wengert.tape.dump import line, type_text
from wengert.tape.loops import Loop
from wengert.tape.needed import is_functional
from wengert.tape.ops import MISSING, Call, Constant, Input, Op, Variable, mkcall, substituted, value_of
from wengert.tape.play import run_call
from wengert.tape.tape import Tape, verify
from wengert.values.functional import getfield
from wengert.values.numeric_trees import leaf_values
from wengert.values.specs import is_inexact, same_numbers

ENTERED = "It makes the calls of a tape; traced code may play that tape."


def primitivize(tape: Tape, ctx: Context | None = None) -> Tape:
    """Replace each call on `tape` that is not a primitive by the primitives that it calls; return the same tape.

    Each such function runs twice more, on the recorded values.

    Parameters:
        tape (Tape): The tape, which is changed.
        ctx (Context | None): An object that decides which calls are primitives, as in `trace`.
    Returns:
        Tape: The same tape.
    Raises:
        TapeError: A function writes into its arguments, reads a value that a trace would freeze, or returns another
            result when it runs again.
        NoRuleError: As in `trace`.
        RefusedCallError: As in `trace`.
    See Also:
        trace, fold_constants

    Examples:
        >>> def square(x):
        ...     return x * x
        >>> tape = wg.Tape()
        >>> tape.inputs = [3.0]
        >>> tape.result = tape.push(wg.mkcall(square, tape.inputs[0]))
        >>> print(wg.primitivize(tape))
        Tape(Context)
          inp %1::float
          %2 = mul(%1, %1)::float
          return %2
    """
    pending = list(reversed(tape.calls))
    while pending:
        op = pending.pop()
        if _is_composite(op, ctx or Context()):
            new = _inline_tape(tape, op) if isinstance(op.fn, Tape) else _inline_function(tape, op, ctx)
            pending += [inlined for inlined in reversed(new) if isinstance(inlined, Call)]
    return verify(tape)


def _is_composite(op: Call, ctx: Context) -> bool:
    fn = value_of(op.fn)
    if op.guard or is_functional(fn) or (isinstance(fn, type) and issubclass(fn, tuple)):
        return False
    if ctx.is_primitive(fn, *(value_of(arg) for arg in op.args)):
        return False
    home = getattr(fn, "__module__", None) or ""
    if home.split(".")[0] in ("wengert", "wengert_rules") and not isinstance(fn, Tape | Loop):
        raise _inlining_error(op, "it is a step of a reverse pass", "use gradtape, whose tape has primitives only")
    return True


def _inline_tape(tape: Tape, op: Call) -> list[Op]:
    """Inline a called tape: replace its call by its ops."""
    inner: Tape = op.fn
    places = [place for place in inner if isinstance(place, Input) and not place.callee]
    if len(places) != len(op.args) or op.kwargs:
        raise _inlining_error(op, f"the tape has {len(places)} inputs", "pass one argument for each")
    return _splice(tape, op, inner, dict(zip(places, op.args, strict=True)), [], again=True)


def _inline_function(tape: Tape, op: Call, ctx: Context | None) -> list[Op]:
    """Inline a function: replace its call by the ops that it records."""
    traced = [v for v in dict.fromkeys(op.references()) if _is_trace_input(op, v)]
    values = [value_of(v) for v in traced]
    first, second = ([copy.deepcopy(value) for value in values] for _ in range(2))
    call = _function_of_inputs(op, traced)
    try:
        value, inner = trace(call, *first, ctx=ctx)
    except Exception as error:
        error.add_note(f"in `{line(op)}`" + (f" ({op.site})" if op.site else ""))
        raise
    if not _equal_results(first, values):
        raise _inlining_error(op, "it writes into its arguments", "trace a function that calls it")
    if not _equal_results(value, call(*second)):
        raise _inlining_error(op, "it returns another result when it runs again", "trace a function that calls it")
    places = [place for place in inner if isinstance(place, Input) and not place.callee]
    new_ops: list[Op] = []
    leaves = [leaf for v in traced for leaf in _argument_leaves(tape, op, v, value_of(v), new_ops)]
    if len(places) != len(leaves):
        raise _inlining_error(op, "an argument contains the same array twice", "pass the array once")
    return _splice(tape, op, inner, dict(zip(places, leaves, strict=True)), new_ops)


def _is_trace_input(op: Call, v: Variable) -> bool:
    """Whether an argument is an input of the function's trace; constants and guards may be frozen in it."""
    value, place = value_of(v), v.op
    if value is MISSING:
        raise _inlining_error(op, f"{v} has no value", "set tape.inputs, and push calls with mkcall")
    if all(map(is_inexact, leaf_values(value))):
        return True
    if isinstance(place, Constant) or (isinstance(place, Call) and place.guard):
        return False
    if isinstance(place, Input) and place.callee:
        return False
    raise _inlining_error(op, f"{v} is {type_text(value)}, which a trace would make constant", "pass it as a constant")


def _function_of_inputs(op: Call, traced: list[Variable]) -> Callable[..., Any]:
    """Return the call as a function of the values that it reads."""

    def call(*values: Any) -> Any:
        table = dict(zip(traced, values, strict=True))

        def at(v: Variable) -> Any:
            return table[v] if v in table else value_of(v)

        fn, args, kwargs = substituted(op, at)
        return fn(*args, **kwargs)

    return call


def _argument_leaves(tape: Tape, op: Call, v: Variable, value: Any, new_ops: list[Op]) -> Iterator[Variable]:
    """Yield the Variables of an argument's leaves; append to `new_ops` the ops that take them out of a container."""
    if not isinstance(value, tuple | list | dict):
        yield v
        return
    for key in value if isinstance(value, dict) else range(len(value)):
        part = mkcall(getfield, v, key)
        part.site = op.site
        new_ops.append(part)
        yield from _argument_leaves(tape, op, Variable(part), part.val, new_ops)


def _splice(
    tape: Tape, op: Call, inner: Tape, table: dict[Op, Any], new_ops: list[Op], again: bool = False
) -> list[Op]:
    """Replace an op by the inner tape's ops, with their inputs replaced from the table.

    With `again`, run them on the values that they have here.
    """
    read = {v.op for each in inner for v in each.references()}
    for each in inner:
        if each in table or (isinstance(each, Input) and each not in read):
            continue  # an input, or the function itself, if nothing reads it
        new = Constant(each.val) if isinstance(each, Input) else each.copy(lambda v: table[v.op])  # type: ignore[index]
        new.site = new.site or op.site
        if again and isinstance(new, Call):
            new.val = run_call(new, value_of)
        new_ops.append(new)
        table[each] = Variable(new)
    _replace_op(tape, op, new_ops, table[inner.result.op])  # type: ignore[index]
    return new_ops


def _replace_op(tape: Tape, op: Call, new_ops: list[Op], result: Any) -> None:
    """Replace an op by new ones; its readers then read `result`, which may be an existing value."""
    if not isinstance(result, Variable):
        new_ops.append(Constant(result, site=op.site))
        result = Variable(new_ops[-1])
    last = next((k for k, new in enumerate(new_ops) if result.op is new), None)
    if last is None:
        tape.insert(Variable(op), *new_ops)
        tape.delete(Variable(op), rebind_to=result)
    else:
        new_ops[last].note = new_ops[last].note or op.note
        tape.replace(Variable(op), *new_ops, rebind_to=last)


def _equal_results(a: Any, b: Any) -> bool:
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(_equal_results, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(_equal_results(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray | np.generic | float | complex | int):
        return same_numbers(a, b)
    return a is b or (isinstance(a, str) and a == b)


def _inlining_error(op: Call, why: str, remedy: str) -> TapeError:
    where = f" ({op.site})" if op.site else ""
    return TapeError(f"cannot inline `{line(op)}`{where}: {why}\n  fix: {remedy}")


__all__ = ["primitivize"]
