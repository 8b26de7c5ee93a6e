"""The engine's interface for stand-ins of solvers: call code untraced, find traced values, count derivative orders."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from wengert.errors import NoDerivativeError
from wengert.hooks.code_swap import copy_function
from wengert.hooks.search import run_watching_writes
from wengert.recording.pullback_reads import FarReach
from wengert.recording.recording import STATE, Recording, silent
from wengert.recording.slots import slot_of
from wengert.recording.traced_search import TracedSearch
from wengert.values.specs import is_inexact
from wengert.values.trees import leaves

SPARE = 2
"""The extra derivative orders that a tape allows for, since it may be differentiated later."""


def unseen(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return `f(*args, **kwargs)`, untraced, so that it is a constant to every derivative.

    Parameters:
        f (callable): The function.
        *args (Any): Its positional arguments.
        **kwargs (Any): Its keyword arguments.
    Returns:
        Any: Its result, a constant.
    See Also:
        stop_gradient, is_traced, directly

    Examples:
        >>> wg.grad(lambda x: x * wg.extend.unseen(lambda: x * x))(3.0)
        9.0
    """

    effects: Any = None

    def run(*reached: Any) -> Any:
        with silent():
            return f(*args, **kwargs) if effects is None else effects.without(f, *args, **kwargs)

    recording = STATE.recording
    if recording is None:
        return run()
    recording.caches.setdefault(unseen, {})  # a tape has constants that may be others for other values
    reach = FarReach((f, args, kwargs))
    if reach.finds_user_code():
        effects = recording.solver_effects
    try:  # f may write into arrays; pullbacks read them as they are now
        return run_watching_writes(recording, run, tuple(reach.arrays), {})
    except NoDerivativeError as error:
        raise recording.refuse(error) from None


def begin_again() -> None:
    """Put back the state that the functions of a solver have before it is called."""
    if STATE.recording is not None and STATE.recording.solver_effects is not None:
        STATE.recording.solver_effects.begin_again()


def directly(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return `f(*args, **kwargs)`, where f computes with no traced value: it runs as it is written, at full speed.

    Unlike `unseen`, it does not end the trace: f may call `is_traced` and `order`. It must call no code of the user's.

    Parameters:
        f (callable): A function of a package with rules.
        *args (Any): Its positional arguments.
        **kwargs (Any): Its keyword arguments.
    Returns:
        Any: Its result.
    See Also:
        unseen, is_traced

    Examples:
        >>> wg.grad(lambda x: x * wg.extend.directly(wg.extend.order))(3.0)
        1.0
    """
    return f(*args, **kwargs)


def as_written(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a Python function that runs the code of `f` as the user wrote it, without hooks; else f itself.

    Parameters:
        f (callable): The function.
    Returns:
        callable: A function that computes the same.
    See Also:
        unseen

    Examples:
        >>> wg.extend.as_written(lambda x: x + 1)(1)
        2
    """
    return copy_function(f) if type(f) is types.FunctionType else f


def reaches_traced(*things: Any) -> bool:
    """Whether a traced value is reachable from these things: in containers, closures, objects, by global names."""
    recording = STATE.recording
    if recording is None:
        return False
    near = [a for thing in things if type(thing) is tuple for a in thing]  # most arguments are numbers and arrays
    found = any([is_inexact(a) and slot_of(recording, a) is not None for a in near])
    return found or _ReachSearch(recording, things).found


class _ReachSearch(TracedSearch):
    """A search that stops at the first traced value."""

    def __init__(self, recording: Recording, things: Any) -> None:
        self._recording, self.found = recording, False
        super().__init__(things)

    def _parts(self, thing: Any) -> Iterable[Any]:
        if is_inexact(thing) and slot_of(self._recording, thing) is not None:
            self.found = True
        return () if self.found else super()._parts(thing)


def is_traced(value: Any) -> bool:
    """Whether the number or array `value`, or one that it holds as a container, depends on an input of a derivative.

    Parameters:
        value (Any): A number, an array or a container.
    Returns:
        bool: Whether it depends on such an input.
    See Also:
        unseen, order

    Examples:
        >>> wg.extend.is_traced(3.0)
        False
    """
    recording = STATE.recording
    if recording is None:
        return False
    return any([slot_of(recording, leaf) is not None for _, leaf in leaves(value)])


def order() -> int:
    """Return the derivative order that the current computation must support: the number of nested derivatives.

    Returns:
        int: The number of nested derivatives.
    See Also:
        is_traced

    Examples:
        >>> wg.extend.order()
        0
    """
    total, recording = 0, STATE.recording
    while recording is not None:
        spare = SPARE if recording.keep else 0
        total += len(recording.levels) + (spare if recording.reads is None else -1)  # its code is for these calls alone
        recording = recording.around
    return total


def order_in_batch() -> int | None:
    """Return the number of nested derivatives around code that `vmap` runs once for all examples.

    None if no `vmap` runs it, or if a tape records it, which may be played on other inputs.

    Returns:
        int | None: The number of derivatives.
    See Also:
        order, batching

    Examples:
        >>> wg.vmap(lambda x: x * wg.extend.order_in_batch())(np.ones(2))
        array([0., 0.])
    """
    recording, total = STATE.recording, 0
    if recording is None or not recording.is_mapped or recording.reads is not None:
        return None
    while recording is not None:
        if recording.keep and not recording.is_mapped:
            return None
        total += len(recording.levels) - recording.is_mapped
        recording = recording.around
    return total


def is_taped() -> bool:
    """Whether an open recording is for a tape, which may be played on other inputs."""
    return any([recording.keep for recording in open_recordings()])


def is_for_code() -> bool:
    """Whether `wg.compile` makes code of an open recording."""
    return any([recording.reads is not None for recording in open_recordings()])


def open_recordings() -> Iterator[Recording]:
    """Yield the open recordings, the innermost first."""
    recording = STATE.recording
    while recording is not None:
        yield recording
        recording = recording.around
