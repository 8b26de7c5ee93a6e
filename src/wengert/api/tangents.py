"""Forward mode: tangents pushed through a function, while it runs or afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.api.gradient import pullback_of
from wengert.api.nan_checks import check_given
from wengert.errors import ArgumentError
from wengert.forward.step import require_known
from wengert.forward.stream import Stream
from wengert.forward.walk import Tangents, forward
from wengert.hooks.tracer import enter_arguments, level, run, without_innermost_level
from wengert.mutation.residuals import excerpt, materialise
from wengert.recording.container_arguments import with_held_leaves as filled
from wengert.recording.inputs import Swaps
from wengert.recording.no_path import is_lost, warn_of_loss
from wengert.recording.recording import STATE, Level, Recording, calling
from wengert.recording.session import SESSION, active_recording
from wengert.recording.slots import slot_of
from wengert.values import signatures
from wengert.values.argnums import asked_for, with_aux
from wengert.values.cotangents import force
from wengert.values.results import with_leaves
from wengert.values.settings import SETTINGS
from wengert.values.specs import Spec, as_float, is_complex, same_numbers, spec_of
from wengert.values.trees import itself, leaves, mirror
from wengert.values.views import owner_of

Args = tuple[Any, ...]
Places = tuple[int | str, ...]


@signatures.jvp
def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """The value of `f(*primals)` and its derivative in the direction `tangents`: `(y, ẏ)`, ẏ = Σ ∂f/∂x ẋ.

    `tangents` has one for each of the `primals`, of its structure and shapes; None stands for zero. They are pushed
    along while f runs, and no tape is kept: memory does not grow with the number of steps. With `has_aux`, f returns
    `(y, aux)`, and `jvp` returns `(y, ẏ, aux)`.

    >>> wg.jvp(lambda x: x**2, (np.array([1.0, 2.0]),), (np.array([1.0, 10.0]),))
    (array([1., 4.]), array([ 2., 40.]))

    Shapes: ẏ has the structure and shapes of y, with None for what is no float.
    Errors: those of `grad`; ArgumentError for tangents of another structure or shape, or complex ones of real primals.
    NoPathWarning where the result depends on none of the primals.
    """
    if not isinstance(primals, (tuple, list)):
        raise ArgumentError(f"jvp takes the primals in a tuple, not {type(primals).__name__}: jvp(f, (x,), (x_dot,)).")
    y, y_dot, aux = pushed(f, tuple(primals), {}, tuple(range(len(primals))), tangents, has_aux)
    return (y, y_dot, aux) if has_aux else (y, y_dot)


def jvp_many(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], size: int) -> tuple[Any, Any]:
    """`jvp` in `size` directions at once: each tangent has one more axis in front, of that length, and so has ẏ."""
    return pushed(f, tuple(primals), {}, tuple(range(len(primals))), tangents, size=size)[:2]


def pushed(
    f: Callable[..., Any], args: Args, kwargs: dict[str, Any], wanted: Places, tangents: Sequence[Any],
    has_aux: bool = False, size: int | None = None, quiet: bool = False,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The value of a call, its tangent from those of the `wanted` arguments, and what it returns besides, or None.

    With `size`, so many directions at once: each tangent has one more axis in front, of that length, and so has ẏ.
    `quiet`: it is meant where the arguments hold nothing that has a derivative.
    """
    try:
        return _pushed(Work(f, args, kwargs, wanted, has_aux, quiet), tangents, size)
    finally:
        SESSION.tidy()


@signatures.linearize
def linearize(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of `f(*primals)` and its derivative there, a linear function: `(y, push)`, ẏ = `push(*tangents)`.

    f runs once; `push` may be called any number of times. It takes tangents as `jvp` does, and keeps what f computed.
    With `has_aux`, f returns `(y, aux)`, and `linearize` returns `(y, push, aux)`.

    >>> y, push = wg.linearize(lambda x: x**2, np.array([1.0, 2.0]))
    >>> push(np.array([1.0, 10.0]))
    array([ 2., 40.])

    Shapes: those of `jvp`.
    Errors: those of `jvp`.
    """
    try:
        y, push, _, aux = _linearized(Work(f, primals, {}, tuple(range(len(primals))), has_aux, False))
    finally:
        SESSION.tidy()

    def push_one(*tangents: Any) -> Any:
        return push(tangents, None)

    return (y, push_one, aux) if has_aux else (y, push_one)


def either_way(
    f: Callable[..., Any], args: Args, kwargs: dict[str, Any], wanted: Places, has_aux: bool, quiet: bool
) -> tuple[Any, Callable[..., Any], Callable[..., Any], Any]:
    """The value of a call, its pushforward `push(tangents, size)`, its pullback, and what it returns besides.

    The parameters are those of `pushed`; f runs once for both.
    """
    try:
        return _linearized(Work(f, args, kwargs, wanted, has_aux, quiet), True)
    finally:
        SESSION.tidy()


class Work(NamedTuple):
    """A call to differentiate, and the arguments to differentiate it by; see `pushed`."""

    f: Callable[..., Any]
    args: Args
    kwargs: dict[str, Any]
    wanted: Places
    has_aux: bool
    quiet: bool


class Form(NamedTuple):
    """The structure of a result, from which its tangent is built: a copy, with the slots and Specs of its leaves."""

    value: Any
    slots: list[int | None]
    specs: list[Spec]


class Primals(NamedTuple):
    """The primals that tangents have to fit: for each of them the path, slot and Spec of each of its leaves."""

    leaves: list[list[tuple[str, int, Spec]]]

    def seeds(self, tangents: Sequence[Any], call: Callable[..., Any], size: int | None) -> Tangents:
        """The `tangents` by slot, checked; `call(fn, *args)` runs what is computed.

        Errors: ArgumentError where they do not fit.
        """
        if not isinstance(tangents, (tuple, list)) or len(tangents) != len(self.leaves):
            raise ArgumentError(
                f"jvp takes one tangent for each of the {len(self.leaves)} primals, in a tuple, not {tangents!r:.60}. "
                "None stands for zero."
            )
        seeds: Tangents = {}
        for k, (tangent, inside) in enumerate(zip(tangents, self.leaves, strict=True), 1):
            if tangent is None:
                continue
            name = f"argument {k}"
            given = dict(leaves(tangent, name)) if _is_structured(tangent) else {name: as_float(tangent)}
            for path, slot, spec in inside:
                if path not in given:
                    raise ArgumentError(f"there is no tangent for {path}. One of zero is as large as the primal.")
                seed = _fitted(path, given.pop(path), spec, call, size)
                if slot in seeds and not same_numbers(seed, seeds[slot]):
                    raise ArgumentError(f"{path} is an array that stands elsewhere too, with another tangent")
                seeds.setdefault(slot, seed)
            if given:
                raise ArgumentError(f"there is a tangent at {next(iter(given))}, where the primal holds no float")
        return seeds


def _is_structured(tangent: Any) -> bool:
    return not isinstance(tangent, (np.ndarray, np.generic, int, float, complex, type(None)))


def _fitted(path: str, tangent: Any, spec: Spec, call: Callable[..., Any], size: int | None) -> Any:
    """The tangent of a primal as it enters: of the primal's shape and dtype."""
    shape = spec.shape if size is None else (size, *spec.shape)
    if np.shape(tangent) != shape:
        raise ArgumentError(f"the tangent of {path} has shape {np.shape(tangent)}, the primal {shape}")
    if is_complex(tangent) and not is_complex(spec):
        raise ArgumentError(f"the tangent of {path} is complex, the primal is real: its derivative goes in no such way")
    if isinstance(tangent, np.ndarray):
        return tangent if tangent.dtype == spec.dtype else call(np.ndarray.astype, tangent, spec.dtype)
    if shape or issubclass(spec.pytype, np.ndarray):
        return call(np.asarray, tangent)
    return tangent if type(tangent) is spec.pytype else call(spec.pytype, tangent)


def _pushed(work: Work, tangents: Sequence[Any], size: int | None) -> tuple[Any, Any, Any]:
    if size is None and isinstance(tangents, (tuple, list)):  # those of several directions are nobody else's
        tangents = [_copied(tangent, calling(active_recording())) for tangent in tangents]
    with level(False) as (recording, here):
        depth = len(recording.levels) - 1
        if depth or recording.keep:
            value, form, aux, swaps, asked = _recorded(recording, here, work)
            seeds = asked.seeds(tangents, calling(recording), size)
            end = len(recording.entries)
            materialise(recording, here.start, end, written_only=True)
            with without_innermost_level(recording):
                dots = forward(recording, here.start, end, seeds, recording.call, depth, size)
                y_dot = _filled(form, dots, seeds, recording.call, size)
            recording.stopped = len(recording.entries)
        else:
            stream = recording.stream = recording.entries = Stream(recording, size)  # type: ignore[assignment]
            STATE.quick = stream if recording.watch is None else None  # type: ignore[assignment]
            try:
                value, form, aux, swaps, asked = _recorded(recording, here, work, (tangents, size))
                seeds = {slot: stream.tangents[slot] for slot in here.inputs}
                y_dot = _filled(form, stream.tangents, seeds, calling(None), size)
            finally:
                recording.stream, recording.entries = None, []  # no cycle for the collector
        if SETTINGS.debug_nans and not depth:
            check_given(recording, value, y_dot)
        value = swaps.leave(value)
    return value, y_dot, swaps.leave(aux)


def _copied(tangent: Any, call: Callable[..., Any]) -> Any:
    """A `tangent` with copies of its arrays, since f may write into their memory."""
    if _is_structured(tangent):
        return with_leaves(tangent, lambda _, leaf: _copied(leaf, call))
    return call(np.array, tangent) if isinstance(tangent, np.ndarray) else tangent


def _linearized(work: Work, backward: bool = False) -> tuple[Any, Any, Any, Any]:
    """The value of a call, its pushforward, its pullback where `backward` asks for it, and what it returns besides."""
    with level(False) as (recording, here):
        depth = len(recording.levels) - 1
        result, form, aux, swaps, asked = _recorded(recording, here, work)
        kept, end, pullback = excerpt(recording, here.start), len(recording.entries), None
        if backward:
            slots: dict[int, int | None] = dict(zip(map(id, swaps.made), sorted(here.inputs), strict=True))
            pullback = pullback_of(recording, here, kept, swaps, slots, result)
        value = swaps.leave(result)

    def push(tangents: Sequence[Any], size: int | None) -> Any:
        watching = active_recording()
        call = calling(watching)
        seeds = asked.seeds(tangents, call, size)
        walked = recording if watching is recording else kept
        owed = len(walked.owed)
        try:
            dots = forward(walked, here.start, end, seeds, call, depth, size)
        finally:
            walked.owed.pay(owed)
        if walked is recording:
            recording.stopped = len(recording.entries)  # that of a linear function is a constant
        return _filled(form, dots, seeds, call, size)

    return value, push, pullback, swaps.leave(aux)


def _recorded(
    recording: Recording, here: Level, work: Work, streamed: Any = None
) -> tuple[Any, Any, Any, Swaps, Primals]:
    """Run f in a level: its value, the Form of that, what else it gave, and what was entered.

    What is recorded keeps what forward mode needs. `streamed` are tangents that go along, and the number of directions.
    """
    holds, quick = recording.holds, STATE.quick
    recording.holds = True
    if streamed is None:
        STATE.quick = None  # the short path drops shapes
    try:
        swaps, f, entered, named = enter_arguments(recording, here, work.f, work.args, work.kwargs, work.wanted)
        primals = [named[key] if isinstance(key, str) else entered[key] for key in work.wanted]
        found = [leaves(primal, f"argument {k}") for k, primal in enumerate(primals, 1)]
        known = Primals([[(at, slot_of(recording, x), spec_of(x)) for at, x in inside] for inside in found])  # type: ignore[misc]
        try:
            if streamed is not None:
                tangents, size = streamed
                recording.stream.tangents.update(known.seeds(tangents, calling(None), size))
            result = run(f, entered, named, recording)
        finally:
            swaps.restore()
        value, aux = with_aux(work.f, result) if work.has_aux else (result, None)
        found = [leaf for _, leaf in leaves(value)]
        slots = [slot_of(recording, leaf) for leaf in found]
        form = Form(mirror(value, itself), slots, [spec_of(leaf) for leaf in found])
        if slots and (swaps.made or not work.quiet) and all(is_lost(recording, here, slot) for slot in slots):
            warn_of_loss(recording, here, f, asked_for(*work[:4]))
    finally:
        recording.holds, STATE.quick = holds, quick
    return value, form, aux, swaps, known


def _filled(form: Form, dots: Tangents, seeds: Tangents, call: Callable[..., Any], size: int | None) -> Any:
    """The tangent of a result: zeros where there is none, and no array of the user's or twice."""
    given = {id(owner_of(dot)) for dot in seeds.values() if isinstance(dot, np.ndarray)}

    def fill(slot: int | None, spec: Spec) -> Any:
        dot = None if slot is None else force(require_known(dots.get(slot)))
        if dot is None:
            return _zeros(spec, size)
        if isinstance(dot, np.ndarray):
            if id(owner_of(dot)) in given:
                dot = call(np.array, dot)
            given.add(id(owner_of(dot)))
            return dot
        if type(dot) is spec.pytype:
            return dot
        return call(np.asarray if size is not None or issubclass(spec.pytype, np.ndarray) else spec.pytype, dot)

    return filled(form.value, [fill(slot, spec) for slot, spec in zip(form.slots, form.specs, strict=True)])


def _zeros(spec: Spec, size: int | None) -> Any:
    if size is not None:
        return np.zeros((size, *spec.shape), spec.dtype)
    number: Any = spec.pytype
    return np.zeros(spec.shape, spec.dtype) if issubclass(spec.pytype, np.ndarray) else number(0)
