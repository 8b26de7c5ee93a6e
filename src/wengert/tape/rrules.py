"""Gradient tapes: each call of a tape becomes a call of its rrule, then the reverse pass is appended.

    rr = rrule(f, x, y)        for each call between a wanted input and the result
    val = getfield(rr, 0)
    pb = getfield(rr, 1)
    seed                       the cotangent of the result
    cotangents = pb(val_bar)   from the result to the inputs; the cotangents of a value used twice are added

Source: the seed "Build your own AD" (Yota.jl).
"""

from __future__ import annotations

import operator
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.errors import NoGradientPathError, NonScalarOutputError, NoRuleError
from wengert.rulebook.registry import rules
from wengert.rulebook.rule import Rule
from wengert.tape.dump import line
from wengert.tape.ops import Call, Constant, Op, Variable, mkcall, references, substituted, value_of
from wengert.tape.tape import Context, Tape
from wengert.values.functional import Path, getfield, make_tuple
from wengert.values.results import keys_of
from wengert.values.settings import SETTINGS, accumulation_options
from wengert.values.specs import is_complex, is_inexact


class RRuleContext(Context):
    """A Context that records `rrule(f, ...)` and its two results, value and pullback, instead of `f(...)`.

    `pullbacks` maps the Variable of a value to that of its pullback, and `derivs` to that of its cotangent.

    See Also:
        rrule_tape, Context, rrule

    Examples:
        >>> _, tape = wg.trace(lambda x: x * x, 3.0, ctx=wg.RRuleContext())
        >>> tape.ctx.pullbacks
        {%4: %5}
    """

    def __init__(self) -> None:
        self.pullbacks: dict[Variable, Variable] = {}
        self.derivs: dict[Variable, Variable] = {}

    def record_primitive(self, tape: Tape, v_f: Any, *v_args: Any, **v_kwargs: Any) -> Variable:
        rule = rules[value_of(v_f)]
        if rule.kind == "constant":
            return super().record_primitive(tape, v_f, *v_args, **v_kwargs)
        args, kwargs = rule.normalise(v_args, v_kwargs)
        through = part_rrule if value_of(v_f) is getfield else rules.rrule
        v_rr = tape.push(mkcall(through, v_f, *args, **kwargs))
        v_val = tape.push(mkcall(getfield, v_rr, 0))
        v_pb = tape.push(mkcall(getfield, v_rr, 1))
        tape[v_pb].note = ("pullback of", v_val)
        self.pullbacks[v_val] = v_pb
        return v_val

    def rebind(self, changes: Mapping[Variable, Variable]) -> None:
        for table in (self.pullbacks, self.derivs):
            table.update({y: changes.get(v, v) for y, v in table.items()})


def part_rrule(f: Any, t: Any, i: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Apply the rrule of getfield: return the part, and a pullback to a dict that maps the part's key to ȳ."""
    return f(t, i), lambda y_bar: ({i: y_bar}, None)


def rrule_tape(
    tape: Tape, wanted_inputs: Sequence[Variable | int] | None = None, seed: Any = 1.0, strategy: str | None = None
) -> Tape:
    """Make the tape of `(value, gradients)` of a `tape`, from `rrule` calls and the pullbacks that these return.

    Cotangents are in the rules' convention, ȳ·conj(∂y/∂x): the gradient of a complex input is not conjugated.

    Parameters:
        tape (Tape): The tape of the function.
        wanted_inputs (Sequence[Variable | int] | None): The inputs to differentiate, as Variables or positions; by
            default all that hold floats.
        seed (Any): The cotangent of the result.
        strategy (str | None): How to sum cotangents, as in `accumulation_options`.
    Returns:
        Tape: The tape of the value and the gradients.
    Raises:
        NoRuleError: A call has no rule; the error names the user's line.
        NonScalarOutputError: The seed does not fit the result.
    See Also:
        trace, gradtape, rrule

    Examples:
        >>> _, tape = wg.trace(lambda x: x * x, 3.0)
        >>> wg.rrule_tape(tape).play(4.0)
        (16.0, (8.0,))
    """
    wanted = _wanted_inputs(tape, wanted_inputs)
    between = _calls_between(tape, wanted)
    made = Tape(RRuleContext())
    table: dict[Op, Variable] = {}

    def moved(v: Variable) -> Variable:
        return table[tape[v]]

    for op in tape:
        if isinstance(op, Call) and op in between:
            made.site = op.site
            table[op] = _record_call(made, op, moved)
            made.site = None
        else:
            table[op] = made.push(_recomputed(op.copy(moved)))
    made.result = moved(tape.result)
    with accumulation_options(strategy=strategy):
        return append_reverse_pass(made, [moved(v) for v in wanted], seed)


def _recomputed(op: Op) -> Op:
    """Compute the value of an op again, since its array may have been written after the recording."""
    if isinstance(op, Call):
        op.val = mkcall(op.fn, *op.args, **op.kwargs).val
    return op


def _record_call(made: Tape, op: Call, moved: Callable[[Variable], Variable]) -> Variable:
    if rules.get(op.fn) is None:
        raise NoRuleError(f"{_error_prefix(op)}{_message(op.fn)}")
    fn, args, kwargs = substituted(op, moved)
    v = made.ctx.record_primitive(made, fn, *args, **kwargs)
    made[v].note = op.note
    return v


def append_reverse_pass(tape: Tape, wanted: Sequence[Variable | int] | None = None, seed: Any = 1.0) -> Tape:
    """Append the reverse pass to a tape recorded with RRuleContext; its result becomes `(value, gradients)`.

    Errors: NonScalarOutputError if the seed does not fit; NoGradientPathError if the result has no derivative.
    """
    ctx: RRuleContext = tape.ctx
    inputs = _wanted_inputs(tape, wanted)
    value = tape.result
    reached = _reached_ops(tape, inputs)
    forward = list(tape)
    ctx.derivs = {value: tape.push(Constant(_seed_like(value_of(value), seed), note="seed"))}
    reverse = _ReversePass(tape, reached, _passed_through(tape, forward, reached, {tape[v] for v in inputs}))
    for op in reversed(forward):
        reverse.step(op)
    tape.site = None
    cotangents = [
        _as_python_number(tape, x, ctx.derivs[x]) if x in ctx.derivs else _zero_cotangent(tape, x) for x in inputs
    ]
    tape.result = tape.push(
        mkcall(make_tuple, value, tape.push(_with_note(mkcall(make_tuple, *cotangents), "gradients")))
    )
    return tape


class _ReversePass:
    """The reverse pass of one tape.

    `reached` are the ops that a wanted input can change. Those in `through` pass on each contribution at once, in a
    step of its own; the others pass on the sum.
    """

    def __init__(self, tape: Tape, reached: set[Op], through: set[Op]) -> None:
        self.tape, self.reached, self.through = tape, reached, through
        self.waiting: deque[tuple[Variable, Variable]] = deque()

    def step(self, op: Op) -> None:
        """Take the step of one op, and then the steps for the contributions that are passed on at once."""
        y, ctx = Variable(op), self.tape.ctx
        if op in self.reached and op not in self.through and y in ctx.pullbacks and y in ctx.derivs:
            self._call(op, ctx.derivs[y], "pullback of")
        while self.waiting:
            y, y_bar = self.waiting.popleft()
            self._call(self.tape[y], y_bar, "passed through")

    def _call(self, op: Any, y_bar: Variable, label: str) -> None:
        """Call the pullback of `op` on `y_bar`, and pass the cotangents it returns to the arguments."""
        tape, y = self.tape, Variable(op)
        tape.site = op.site
        if isinstance(value_of(y_bar), dict):
            y_bar = tape.push(
                _with_note(mkcall(every_part, y_bar, _container_keys(op.val, value_of(y_bar))), "x̄ of", y)
            )
        cotangents = tape.push(_with_note(mkcall(tape.ctx.pullbacks[y], y_bar), label, y))
        call: Any = tape[op.args[0]]
        _refuse_lost(call, self.reached, value_of(cotangents))
        for k, x in enumerate(call.args[1:]):
            for path, leaf in _variables_with_cotangent(
                x, value_of(cotangents)[k] if k < len(value_of(cotangents)) else None
            ):
                if leaf.op in self.reached:
                    self._set_or_add(leaf, _read_cotangent_part(tape, cotangents, (k, *path), leaf))

    def _set_or_add(self, x: Variable, x_bar: Variable) -> None:
        derivs = self.tape.ctx.derivs
        if x.op in self.through:
            self.waiting.append((x, x_bar))
            return
        if x in derivs:
            x_bar = self.tape.push(_with_note(mkcall(accumulate(value_of(x_bar)), derivs[x], x_bar), "x̄ of", x))
        derivs[x] = x_bar


def _passed_through(tape: Tape, forward: Sequence[Op], reached: set[Op], inputs: set[Op]) -> set[Op]:
    """Find the ops that pass on each contribution to their cotangent at once: see `reverse/strategies.py`."""
    if SETTINGS.strategy != "pass through":
        return set()
    uses = Counter(v.op for op in forward if op in reached for v in op.references())
    values = [op for op in reached - inputs if Variable(op) in tape.ctx.pullbacks and not _is_container(op.val)]
    return {op for op in values if uses[op] > 1}


def _variables_with_cotangent(
    x: Any, x_bar: Any, path: tuple[int, ...] = ()
) -> Iterator[tuple[tuple[int, ...], Variable]]:
    """Yield the Variables in an argument `x` that have a cotangent, each with the path of its cotangent in `x_bar`."""
    if x_bar is None:
        return
    if isinstance(x, Variable):
        yield path, x
    elif isinstance(x, tuple | list):
        for k, (part, part_bar) in enumerate(zip(x, x_bar, strict=True)):
            yield from _variables_with_cotangent(part, part_bar, (*path, k))


def _read_cotangent_part(tape: Tape, cotangents: Variable, path: tuple[int, ...], x: Variable) -> Variable:
    for k in path:
        cotangents = tape.push(_with_note(mkcall(getfield, cotangents, k), "x̄ of", x))
    return cotangents


def accumulate(x_bar: Any) -> Any:
    """Return the function that sums cotangents like `x_bar`: operator.add, or add_parts for containers."""
    return add_parts if _is_container(x_bar) else operator.add


def add_parts(a: Any, b: Any) -> Any:
    """Add two cotangents of a container; a part that is None is zero."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, dict):
        return {key: add_parts(a.get(key), b.get(key)) for key in {**a, **b}}
    if isinstance(a, tuple | list):
        return type(a)(map(add_parts, a, b))
    return a + b


def every_part(x_bar: dict[Any, Any], keys: Sequence[Any]) -> dict[Any, Any]:
    """Complete the cotangent of a container: return a dict with all of its keys, None for parts without cotangent."""
    return {key: x_bar.get(key) for key in keys}


def _is_container(value: Any) -> bool:
    return isinstance(value, tuple | list | dict)


def _container_keys(container: Any, x_bar: dict[Any, Any]) -> tuple[Any, ...]:
    if any(type(key) is Path for key in x_bar):
        return tuple(keys_of(container))
    return tuple(container if isinstance(container, dict) else range(len(container)))


def _as_python_number(tape: Tape, x: Variable, x_bar: Variable) -> Variable:
    """Convert the cotangent of a Python number to a Python number."""
    kind = type(value_of(x))
    if kind not in (float, complex) or type(value_of(x_bar)) is kind:
        return x_bar
    return tape.push(_with_note(mkcall(kind, x_bar), "x̄ of", x))


def _zero_cotangent(tape: Tape, x: Variable) -> Variable:
    value = value_of(x)
    zero = np.zeros_like(value) if isinstance(value, np.ndarray) else type(value)(0)
    return tape.push(Constant(zero, note=("x̄ of", x)))


def _with_note(call: Call, *note: Any) -> Call:
    call.note = note
    return call


def _wanted_inputs(tape: Tape, wanted: Sequence[Variable | int] | None) -> list[Variable]:
    if wanted is not None:
        return [tape.bound_variable(v) for v in wanted]
    return [v for v in tape.inputs if is_inexact(value_of(v))]


def _reached_ops(tape: Tape, wanted: Sequence[Variable]) -> set[Op]:
    """Find the ops whose value has a derivative and depends on a wanted input."""
    reached = {tape[v] for v in wanted}
    for op in tape:
        if isinstance(op, Call) and not op.guard and any(v.op in reached for v in op.references()):
            rule = None if isinstance(op.fn, Variable) else rules.get(op.fn)
            if rule is None or rule.kind != "constant":
                reached.add(op)
    return reached


def _calls_between(tape: Tape, wanted: Sequence[Variable]) -> set[Op]:
    """Find the calls between a wanted input and the result."""
    reached, leads = _reached_ops(tape, wanted), {tape[tape.result]}
    for op in reversed(list(tape)):
        if op in leads:
            leads.update(v.op for v in op.references() if v.op is not None)
    return {op for op in leads & reached if isinstance(op, Call)}


def _refuse_lost(call: Call, reached: set[Op], cotangents: Sequence[Any]) -> None:
    """Raise an error if a wanted value is in an argument for which the rule has no derivative."""
    rule = rules[value_of(call.args[0])]
    args = call.args[1:]
    parts, count = _splatted(rule, args), len(cotangents)
    if rule.analysis is not None:
        count = len(rule.plan(len(parts), tuple(call.kwargs)).positions)
    lost = [v for arg in (*parts[count:], *call.kwargs.values()) for v in references(arg)]
    packed = [x for x, x_bar in zip(args, cotangents, strict=False) if x_bar is None and isinstance(x, Variable)]
    for v in (*lost, *packed):
        if v.op in reached and (is_inexact(value_of(v)) if v in lost else _is_container(value_of(v))):
            raise NoRuleError(
                f"{_error_prefix(call)}the rule of {rule.primitive} ({rule.where}) has no derivative for {v}\n"
                "  fix: make it a positional argument of the rule"
            )


def _splatted(rule: Rule, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments as the rule sees them; a Variable that is a whole sequence is repeated for each item."""
    k = rule.sequence
    if k is not None and rule.is_single(value_of(args[k])):
        return args
    if k is not None and isinstance(args[k], Variable):
        args = (*args[:k], [args[k]] * len(value_of(args[k])), *args[k + 1 :])
    return rule.splat(args)


def _seed_like(value: Any, seed: Any) -> Any:
    """Convert the seed to a cotangent of the result, of its shape and dtype."""
    if not is_inexact(value):
        raise NoGradientPathError(f"the result is a {type(value).__name__}, which has no derivative")
    if np.shape(value) != np.shape(seed) and np.size(value) != 1:
        raise NonScalarOutputError(
            f"the result has shape {np.shape(value)}, the seed {np.shape(seed)}\n"
            "  fix: pass an array of the result's shape as seed="
        )
    if not isinstance(value, np.ndarray | np.generic) or (is_complex(seed) and not is_complex(value)):
        return seed
    like = np.asarray(seed, value.dtype)
    like = like if like.shape == value.shape else like.reshape(value.shape)
    return like if isinstance(value, np.ndarray) else like[()]


def _error_prefix(op: Call) -> str:
    return f"{op.site}: in `{line(op)}`: " if op.site else f"in `{line(op)}`: "


def _message(fn: Any) -> str:
    try:
        rules[fn]
    except NoRuleError as error:
        return str(error)
    return ""
