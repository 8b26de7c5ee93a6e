"""Forward mode: tangents pushed through a function, while it runs or afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.api import nan_checks
from wengert.api.gradient import Args, Places, pullback_of
from wengert.errors import ArgumentError
from wengert.forward.step import require_known
from wengert.forward.stream import Stream
from wengert.forward.walk import Tangents, forward
from wengert.hooks.tracer import enter_arguments, open_level, run, without_innermost_level
from wengert.mutation import residuals
from wengert.recording import no_path
from wengert.recording.container_arguments import with_held_leaves
from wengert.recording.inputs import Swaps
from wengert.recording.recording import STATE, Level, Recording, calling
from wengert.recording.session import active_recording, tidying
from wengert.recording.slots import slot_of
from wengert.values import signatures
from wengert.values.argnums import argument_at, asked_for, with_aux
from wengert.values.cotangents import force
from wengert.values.results import with_leaves
from wengert.values.settings import SETTINGS
from wengert.values.specs import Spec, as_float, is_complex, same_numbers, spec_of
from wengert.values.transformed import check_function
from wengert.values.trees import itself, leaves, mirror
from wengert.values.views import owner_of


@signatures.jvp
def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *more: Any, has_aux: bool = False
) -> tuple[Any, ...]:
    """Compute the value of `f(*primals)` and its derivative ẏ = Σ ∂f/∂x ẋ in the direction `tangents`: `(y, ẏ)`.

    The tangents are pushed through while f runs, and no tape is kept: memory does not grow with the number of steps.

    Parameters:
        f (callable): The function. Its result may be a number, an array, or a container of these.
        primals (Sequence): Its arguments.
        tangents (Sequence): A direction for each of the primals, of its structure and shapes; None means zero.
        *more (Any): Not accepted: put all arguments of f into `primals`.
        has_aux (bool): f returns `(y, aux)`, and only y is differentiated.
    Returns:
        tuple: `(y, ẏ)`, or `(y, ẏ, aux)` with `has_aux`. ẏ has the structure and shapes of y, with None for parts that
            are not floats.
    Raises:
        ArgumentError: The tangents have another structure or shape than the primals, or are complex and the primals
            real; else the errors of `grad`.
    Warns:
        NoPathWarning: The result depends on none of the primals.
    See Also:
        linearize, vjp, jacfwd, hvp

    Examples:
        >>> wg.jvp(lambda x: x**2, (np.array([1.0, 2.0]),), (np.array([1.0, 10.0]),))
        (array([1., 4.]), array([ 2., 40.]))
    """
    if more:
        raise ArgumentError(
            "jvp takes a function, a tuple of its arguments and a tuple of their tangents by position, and got "
            f"{len(more)} more. If f has further arguments, write jvp(f, (x, a), (x_dot, None)); None is a zero "
            "tangent. has_aux is a keyword argument."
        )
    check_function(jvp, f, "(f, (x,), (x_dot,))")
    if not isinstance(primals, (tuple, list)):
        raise ArgumentError(
            f"jvp: primals must be a tuple, not {type(primals).__name__}. Write jvp(f, (x,), (x_dot,))."
        )
    y, y_dot, aux = jvp_of_call(f, tuple(primals), {}, tuple(range(len(primals))), tangents, has_aux)
    return (y, y_dot, aux) if has_aux else (y, y_dot)


@tidying
def jvp_of_call(
    f: Callable[..., Any], args: Args, kwargs: dict[str, Any], wanted: Places, tangents: Sequence[Any],
    has_aux: bool = False, size: int | None = None, quiet: bool = False,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the value of a call, its tangent for `tangents` of the `wanted` arguments, and aux or None.

    With `size`, push so many directions at once: each tangent, and ẏ, has one more axis of that length in front.
    `quiet`: do not warn if the arguments hold nothing that has a derivative.
    """
    work = DerivativeRequest(f, args, kwargs, wanted, has_aux, quiet)
    if size is None and isinstance(tangents, (tuple, list)):  # the basis of several directions is ours
        tangents = [_copy_tangent(tangent, calling(active_recording())) for tangent in tangents]
    with open_level() as (recording, here):
        depth = len(recording.levels) - 1
        if depth or recording.keep:
            value, form, aux, swaps, asked = _record_call(recording, here, work)
            seeds = asked.seeds(tangents, calling(recording), size)
            end = len(recording.entries)
            residuals.materialise(recording, here.start, end, written_only=True)
            with without_innermost_level(recording):
                slot_tangents = forward(recording, here.start, end, seeds, recording.call, depth, size)
                y_dot = _result_tangent(form, slot_tangents, seeds, recording.call, size)
            recording.stopped = len(recording.entries)
        else:
            stream = recording.stream = recording.entries = Stream(recording, size)  # type: ignore[assignment]
            STATE.fast = recording if recording.nan_checker is None else None
            try:
                value, form, aux, swaps, asked = _record_call(recording, here, work, (tangents, size))
                seeds = {slot: stream.tangents[slot] for slot in here.inputs}
                y_dot = _result_tangent(form, stream.tangents, seeds, calling(None), size)
            finally:
                recording.stream, recording.entries = None, []  # break the cycle
        if SETTINGS.debug_nans and not depth:
            nan_checks.check_finite_result(recording, value, y_dot)
        value = swaps.leave(value)
    return value, y_dot, swaps.leave(aux)


@signatures.linearize
def linearize(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Compute the value of `f(*primals)` and its derivative as a linear function: `(y, push)`, ẏ = `push(*tangents)`.

    f runs once; you may call `push` any number of times. It keeps the values that f computed.

    Parameters:
        f (callable): The function.
        *primals (Any): Its arguments.
        has_aux (bool): f returns `(y, aux)`, and only y is differentiated.
    Returns:
        tuple: `(y, push)`, or `(y, push, aux)` with `has_aux`. `push` takes tangents as `jvp` does.
    Raises:
        ArgumentError: As in `jvp`; else the errors of `grad`.
    See Also:
        jvp, vjp, hvp

    Examples:
        >>> y, push = wg.linearize(lambda x: x**2, np.array([1.0, 2.0]))
        >>> push(np.array([1.0, 10.0]))
        array([ 2., 40.])
    """
    check_function(linearize, f, "(f, x)")
    y, push, _, aux = linearize_call(DerivativeRequest(f, primals, {}, tuple(range(len(primals))), has_aux, False))

    def push_one(*tangents: Any) -> Any:
        return push(tangents, None)

    return (y, push_one, aux) if has_aux else (y, push_one)


def vjp_and_jvp_of_call(
    f: Callable[..., Any], args: Args, kwargs: dict[str, Any], wanted: Places, has_aux: bool, quiet: bool
) -> tuple[Any, Callable[..., Any], Callable[..., Any], Any]:
    """Return the value of a call, its pushforward `push(tangents, size)`, its pullback, and aux or None.

    The parameters are those of `jvp_of_call`; f runs once for both.
    """
    return linearize_call(DerivativeRequest(f, args, kwargs, wanted, has_aux, quiet), backward=True)


class DerivativeRequest(NamedTuple):
    """A call to differentiate, and the arguments to differentiate it by; see `jvp_of_call`."""

    f: Callable[..., Any]
    args: Args
    kwargs: dict[str, Any]
    wanted: Places
    has_aux: bool
    quiet: bool


class ResultForm(NamedTuple):
    """The structure of a result, to build its tangent from: a copy, with the slots and Specs of its leaves."""

    value: Any
    slots: list[int | None]
    specs: list[Spec]


class PrimalLeaves(NamedTuple):
    """The primals that tangents must fit: for each primal the path, slot and Spec of each of its leaves."""

    leaves: list[list[tuple[str, int, Spec]]]

    def seeds(self, tangents: Sequence[Any], call: Callable[..., Any], size: int | None) -> Tangents:
        """Return the `tangents` by slot; `call(fn, *args)` runs the conversions.

        Errors: ArgumentError if they do not fit the primals.
        """
        if not isinstance(tangents, (tuple, list)) or len(tangents) != len(self.leaves):
            raise ArgumentError(
                f"jvp: tangents must be a tuple of {len(self.leaves)}, one for each primal, not {tangents!r:.60}. Pass "
                "None for a zero tangent."
            )
        seeds: Tangents = {}
        for k, (tangent, inside) in enumerate(zip(tangents, self.leaves, strict=True), 1):
            if tangent is None:
                continue
            name = f"argument {k}"
            parts = dict(leaves(tangent, name)) if _has_parts(tangent) else {name: as_float(tangent)}
            for path, slot, spec in inside:
                if path not in parts:
                    raise ArgumentError(f"{path} has no tangent. For a zero tangent pass zeros of the primal's shape.")
                seed = _fit_tangent(path, parts.pop(path), spec, call, size)
                if slot in seeds and not same_numbers(seed, seeds[slot]):
                    raise ArgumentError(
                        f"{path} is an array that is in the primals twice, with different tangents. Pass the same one."
                    )
                seeds.setdefault(slot, seed)
            if parts:
                raise ArgumentError(
                    f"{next(iter(parts))} has a tangent, but the primal holds no float there. If it holds integers, "
                    "convert it, as by x.astype(float); else pass None as its tangent."
                )
        return seeds


def _has_parts(tangent: Any) -> bool:
    return not isinstance(tangent, (np.ndarray, np.generic, int, float, complex, type(None)))


def _fit_tangent(path: str, tangent: Any, spec: Spec, call: Callable[..., Any], size: int | None) -> Any:
    """Convert a tangent to the dtype and type of its primal. Errors: ArgumentError if its shape differs."""
    shape = spec.shape if size is None else (size, *spec.shape)
    if np.shape(tangent) != shape:
        raise ArgumentError(f"the tangent of {path} has shape {np.shape(tangent)}, but the primal has {shape}")
    if is_complex(tangent) and not is_complex(spec):
        raise ArgumentError(f"the tangent of {path} is complex, but the primal is real. Pass a real tangent.")
    if isinstance(tangent, np.ndarray):
        return tangent if tangent.dtype == spec.dtype else call(np.ndarray.astype, tangent, spec.dtype)
    if shape or issubclass(spec.pytype, np.ndarray):
        return call(np.asarray, tangent)
    return tangent if type(tangent) is spec.pytype else call(spec.pytype, tangent)


def _copy_tangent(tangent: Any, call: Callable[..., Any]) -> Any:
    """Copy the arrays of a `tangent`, since f may write into their memory."""
    if _has_parts(tangent):
        return with_leaves(tangent, lambda _, leaf: _copy_tangent(leaf, call))
    return call(np.array, tangent) if isinstance(tangent, np.ndarray) else tangent


@tidying
def linearize_call(
    work: DerivativeRequest, backward: bool = False, is_done: Callable[[], bool] | None = None
) -> tuple[Any, Any, Any, Any]:
    """Return the value of a call, its pushforward, its pullback if `backward`, and aux or None.

    If `is_done()` when the function has run, all are None.
    """
    with open_level() as (recording, here):
        depth = len(recording.levels) - 1
        result, form, aux, swaps, asked = _record_call(recording, here, work)
        if is_done is not None and is_done():
            return None, None, None, None
        kept, end, pullback = residuals.excerpt(recording, here.start), len(recording.entries), None
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
            slot_tangents = forward(walked, here.start, end, seeds, call, depth, size)
        finally:
            walked.owed.pay(owed)
        if walked is recording:
            recording.stopped = len(recording.entries)  # the tangent of a linear function is a constant
        return _result_tangent(form, slot_tangents, seeds, call, size)

    return value, push, pullback, swaps.leave(aux)


def _record_call(
    recording: Recording, here: Level, work: DerivativeRequest, streamed: Any = None
) -> tuple[Any, Any, Any, Swaps, PrimalLeaves]:
    """Run f in a level: return its value, the ResultForm of that, aux or None, the inputs, and the PrimalLeaves.

    Entries keep the shapes that forward mode needs. `streamed` are the tangents to push meanwhile, and the `size`.
    """
    keeps_results, recording.keeps_results = recording.keeps_results, True
    stream = recording.stream if streamed is None else None
    if stream is not None:
        streams_results, stream.keeps_results = stream.keeps_results, True
    try:
        swaps, f, entered, named = enter_arguments(recording, here, work.f, work.args, work.kwargs, work.wanted)
        primals = [argument_at(entered, named, key) for key in work.wanted]
        found = [leaves(primal, f"argument {k}") for k, primal in enumerate(primals, 1)]
        known = PrimalLeaves([[(at, slot_of(recording, x), spec_of(x)) for at, x in inside] for inside in found])  # type: ignore[misc]
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
        form = ResultForm(mirror(value, itself), slots, [spec_of(leaf) for leaf in found])
        if slots and (swaps.made or not work.quiet) and all(no_path.is_lost(recording, here, slot) for slot in slots):
            no_path.warn_of_loss(recording, here, f, asked_for(*work[:4]))
    finally:
        recording.keeps_results = keeps_results
        if stream is not None:
            stream.keeps_results = streams_results
    return value, form, aux, swaps, known


def _result_tangent(
    form: ResultForm, slot_tangents: Tangents, seeds: Tangents, call: Callable[..., Any], size: int | None
) -> Any:
    """Build the tangent of a result: zeros where there is none; copies of seeds and of arrays used twice."""
    used = {id(owner_of(seed)) for seed in seeds.values() if isinstance(seed, np.ndarray)}

    def fill(slot: int | None, spec: Spec) -> Any:
        tangent = None if slot is None else force(require_known(slot_tangents.get(slot)))
        if tangent is None:
            return _zero_tangent(spec, size)
        if isinstance(tangent, np.ndarray):
            if id(owner_of(tangent)) in used:
                tangent = call(np.array, tangent)
            used.add(id(owner_of(tangent)))
            return tangent
        if type(tangent) is spec.pytype:
            return tangent
        return call(np.asarray if size is not None or issubclass(spec.pytype, np.ndarray) else spec.pytype, tangent)

    return with_held_leaves(form.value, [fill(slot, spec) for slot, spec in zip(form.slots, form.specs, strict=True)])


def _zero_tangent(spec: Spec, size: int | None) -> Any:
    if size is not None:
        return np.zeros((size, *spec.shape), spec.dtype)
    number: Any = spec.pytype
    return np.zeros(spec.shape, spec.dtype) if issubclass(spec.pytype, np.ndarray) else number(0)
