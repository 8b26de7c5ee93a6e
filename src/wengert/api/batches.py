"""A function on a batch of examples: `vmap`."""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Callable
from typing import Any

from wengert.batching.axes import Examples, Shared, mark_leaves, move_examples, replace_marks, split_arguments
from wengert.batching.example import OutsideWriteError, as_outer_variables, first_example, trace_program
from wengert.batching.play import play_batched
from wengert.errors import ArgumentError, NoBatchingRuleWarning
from wengert.recording.session import SESSION, active_recording
from wengert.rulebook.batching import stacked
from wengert.values.callables import callable_name, named_parameters, unwrapped
from wengert.values.frames import levels_above
from wengert.values.transformed import transforms


def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """The function that computes `f` for each of a batch of examples, at once, and stacks what it gives.

    Like `np.stack([f(x) for x in xs])`, of as many arguments and results as f has, also in tuples, lists and
    dictionaries, but each operation runs once, on all examples. It may be differentiated, and `f` may be a derivative:
    `vmap(grad(loss), (None, 0, 0))(w, xs, ys)` are the gradients of each example's loss.

    >>> xs = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> wg.vmap(lambda x: x / np.sum(x))(xs)
    array([[0.33333333, 0.66666667],
           [0.42857143, 0.57142857]])
    >>> wg.vmap(wg.grad(lambda w, x: np.dot(w, x) ** 2), (None, 0))(np.ones(2), xs)
    array([[ 6., 12.],
           [42., 56.]])

    `in_axes` says on which axis of the arguments the examples are: a whole number for all of them, or a tuple with one
    for each, None for what all examples see; for an argument that is a container, also a container of these. Arguments
    by name have them on axis 0. `out_axes` says likewise where the results have them; None is for what is the same for
    all.

    f runs once, on the first example, and is recorded. Where another example would have run another way (a branch by
    its numbers), where f writes into its arguments, and where it cannot be recorded, f is called on the examples one by
    one, and a NoBatchingRuleWarning says so, with the line. What f does besides its result (it prints, appends to a
    list, draws random numbers) it does once.

    Shapes: an example has the shape of its array without that axis; of an array of one axis it is a number.
    Errors: ArgumentError where arguments have no such axis, or different numbers of examples, and for results that are
    no numbers, arrays or containers of these; RefusedCallError where f writes into an array from outside.
    """

    given, f = f, unwrapped(f)

    @transforms(vmap, given, in_axes=in_axes, out_axes=out_axes)
    def on_examples(*args: Any, **kwargs: Any) -> Any:
        try:
            return _on_examples(f, args, kwargs, in_axes, out_axes)
        finally:
            SESSION.tidy()

    return on_examples


def _on_examples(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Any, out_axes: Any) -> Any:
    outer = active_recording()
    call = _plainly if outer is None else outer.call
    given, words, size = split_arguments(args, kwargs, in_axes, _names(f, args), call)
    try:
        program = trace_program(f, given, words, outer)
        with as_outer_variables(program, outer):
            result = play_batched(program, size, call)
    except Exception as error:
        if isinstance(error, ArgumentError | OutsideWriteError) or (outer is not None and error in outer.refusals):
            raise
        result = _one_by_one(f, given, words, size, call)
        _warn(f, error)
    return move_examples(result, out_axes, size, call)


def _plainly(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return f(*args, **kwargs)


def _names(f: Any, args: tuple[Any, ...]) -> list[str]:
    """Return the names of the positional arguments, for messages."""
    names = named_parameters(f)
    return [names[k] if k < len(names) else f"argument {k + 1}" for k in range(len(args))]


def _one_by_one(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], size: int, call: Callable[..., Any]) -> Any:
    """Call f on each example in turn and stack the results: returns a structure of Examples."""
    made = []
    for i in range(size or 1):

        def example(mark: Examples | Shared, i: int = i) -> Any:
            if isinstance(mark, Shared):
                return mark.value
            return call(operator.getitem, mark.batch, i) if size else first_example(mark.batch)

        given, words = (
            [replace_marks(a, example) for a in args],
            {name: replace_marks(a, example) for name, a in kwargs.items()},
        )
        made.append(call(f, *given, **words))
    return mark_leaves(call(stacked, made, size))


def _warn(f: Any, error: Exception) -> None:
    reason = str(error).partition("\n")[0]
    warnings.warn(
        f"vmap calls {callable_name(f)} on the examples one by one: {reason}",
        NoBatchingRuleWarning,
        levels_above(1, sys._getframe()),
    )
