"""`vmap`: a function applied to a batch of examples at once."""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.batching.axes import Examples, Shared, mark_leaves, move_examples, replace_marks, split_arguments
from wengert.batching.example import OutsideWriteError, as_outer_variables, first_example, trace_program
from wengert.batching.play import DiffersError, play_batched
from wengert.errors import ArgumentError, NoBatchingRuleWarning
from wengert.recording.recording import calling
from wengert.recording.session import active_recording, tidying
from wengert.rulebook.batched import stacked
from wengert.values import signatures
from wengert.values.callables import callable_name, named_parameters, unwrapped
from wengert.values.frames import levels_above
from wengert.values.structures import is_structure, keyed_parts, with_parts
from wengert.values.transformed import transforms


@signatures.vmap
def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Any:
    """Return the function that computes `f` for every example of a batch at once, and stacks the results.

    It is `np.stack([f(x) for x in xs])` for any number of arguments and results, also in tuples, lists, dictionaries
    and objects such as data classes, but each operation runs once, on all examples. You may differentiate it, and `f`
    may be a derivative: `vmap(grad(loss), (None, 0, 0))(w, xs, ys)` returns the gradient of each example's loss.

    f runs once, on the first example, and is recorded. If another example takes another branch, if f writes into its
    arguments, or if it cannot be recorded, vmap calls f on one example after another. Side effects of f (printing,
    appending to a list, drawing random numbers) happen once.

    Parameters:
        f (callable): The function of one example. An example has the shape of its array without the axis of the
            examples; an example of an array with one axis is a number.
        in_axes (int | None | tuple): The axis of the examples: an integer for all arguments, or a tuple with one for
            each, None for an argument that all examples share; for an argument that is a container, also a container of
            these, for an object a dictionary by attribute or an object of the same class. All examples share strings,
            booleans and functions. Keyword arguments have their examples on axis 0.
        out_axes (int | None | tuple): The axis of the examples in the results, likewise; None for a result that all
            examples share.
    Returns:
        callable: A function of the batches that returns the results.
    Raises:
        ArgumentError: An argument has no such axis, the numbers of examples differ, or a result is not a number, an
            array or a container of these.
        RefusedCallError: f writes into an array from outside.
    Warns:
        NoBatchingRuleWarning: f runs on one example after another; the warning names the line.
    See Also:
        elementwise_grad, jacobian, grad

    Examples:
        >>> xs = np.array([[1.0, 2.0], [3.0, 4.0]])
        >>> wg.vmap(lambda x: x / np.sum(x))(xs)
        array([[0.33333333, 0.66666667],
               [0.42857143, 0.57142857]])
        >>> wg.vmap(wg.grad(lambda w, x: np.dot(w, x) ** 2), (None, 0))(np.ones(2), xs)
        array([[ 6., 12.],
               [42., 56.]])
    """

    for axes in (in_axes, out_axes):
        if callable(axes) or isinstance(axes, np.ndarray):
            raise ArgumentError(
                f"vmap: {axes!r:.60} is not an axis. The function comes first, and the batches go to the function that "
                "vmap returns: write vmap(f)(xs)."
            )
    original, f = f, unwrapped(f)

    @transforms(vmap, original, in_axes=in_axes, out_axes=out_axes)
    def on_examples(*args: Any, **kwargs: Any) -> Any:
        return _map_examples(f, args, kwargs, in_axes, out_axes)

    return on_examples


@tidying
def _map_examples(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Any, out_axes: Any) -> Any:
    outer = active_recording()
    call = calling(outer)
    batches, keywords, size = split_arguments(args, kwargs, in_axes, _positional_names(f, args), call)
    program = None
    try:
        program = trace_program(f, batches, keywords, outer)
        with as_outer_variables(program, outer):
            result = play_batched(program, size, call)
    except Exception as error:
        if isinstance(error, ArgumentError | OutsideWriteError) or (outer is not None and error in outer.refusals):
            raise
        result = _loop_over_examples(f, batches, keywords, size, call)
        reason = str(error).partition("\n")[0]
        if program is not None and program.ran_unseen and isinstance(error, DiffersError):
            reason = f"a solver such as solve_ivp or root takes its own steps for each of them, or else {reason}"
        _warn_of_loop(f, reason)
    return move_examples(result, out_axes, size, call)


def _positional_names(f: Any, args: tuple[Any, ...]) -> list[str]:
    """Return the names of the positional arguments for messages."""
    names = named_parameters(f)
    return [names[k] if k < len(names) else f"argument {k + 1}" for k in range(len(args))]


def _loop_over_examples(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], size: int, call: Callable[..., Any]
) -> Any:
    """Call f on each example in turn and stack the results: returns a structure of Examples."""
    results = []
    for i in range(size or 1):

        def example(mark: Examples | Shared, i: int = i) -> Any:
            if isinstance(mark, Shared):
                return mark.value
            return call(operator.getitem, mark.batch, i) if size else first_example(mark.batch)

        positional = [replace_marks(a, example) for a in args]
        results.append(call(f, *positional, **{name: replace_marks(a, example) for name, a in kwargs.items()}))
    return mark_leaves(_stacked_parts(results, size, call))


def _stacked_parts(results: list[Any], size: int, call: Callable[..., Any]) -> Any:
    """Stack the results of the examples, part by part."""
    first = results[0]
    if not is_structure(first):
        is_same_text = isinstance(first, str | bytes) and results.count(first) == len(results)
        return first if is_same_text else call(stacked, results, size)
    parts = [{key: part for _, key, part in keyed_parts(result)} for result in results]
    return with_parts(first, [_stacked_parts([of[key] for of in parts], size, call) for key in parts[0]])


def _warn_of_loop(f: Any, reason: str) -> None:
    warnings.warn(
        f"vmap calls {callable_name(f)} on the examples one by one: {reason}",
        NoBatchingRuleWarning,
        levels_above(1, sys._getframe()),
    )
