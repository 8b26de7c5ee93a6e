"""Gradients: trace, walk back, hand over in the arguments' own structure."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from wengert.errors import ArgumentError, NonScalarOutputError, RefusedCallError
from wengert.hooks.tracer import closed, enter, enter_leaves, level, run
from wengert.memory.residuals import materialise
from wengert.memory.storage import Memory
from wengert.recording.inputs import Leaves, Swaps, outline
from wengert.recording.no_path import is_lost, warn_of_loss
from wengert.recording.recording import STATE, Level, Recording
from wengert.recording.session import SESSION, followed
from wengert.recording.shadow import SHADOW
from wengert.recording.slots import slot_of
from wengert.reverse.accumulators import Bars
from wengert.reverse.seeds import scalar_seed, seeds_of
from wengert.reverse.walk import reverse
from wengert.rulebook.declare import non_differentiable
from wengert.values.cotangents import is_exclusive
from wengert.values.specs import fresh, is_complex
from wengert.values.trees import leaves
from wengert.values.views import owner_of
from wengert.wanted import (
    Argnums,
    check_argnums,
    check_inputs,
    names_of,
    places_of,
    refuse_positions,
    refuse_shared,
    refuse_swallowed,
    refuse_words,
)

_DOUBLE = np.dtype(float)
_LEADING = {n: tuple(range(n)) for n in range(1, 20)}  # as argnums has them: all of n arguments


class Gradients(tuple[Any, ...]):
    """The gradients of a call: that of the function itself, then one per argument; `g["name"]` by parameter."""

    names: tuple[str, ...] = ()

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"no argument {key!r}; there are {', '.join(self.names[1:])}")
            return tuple.__getitem__(self, self.names.index(key))
        return tuple.__getitem__(self, key)


def grad(
    f: Callable[..., Any] | None = None,
    *args: Any,
    argnums: Argnums = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    seed: Any = None,
    **kwargs: Any,
) -> Any:
    """∂f/∂x of a function with a scalar result.

    With a function only, a function: `grad(f)(x, y)`. With arguments, at once: `value, (df, dx, dy) = grad(f, x, y)`,
    where df is the gradient of f's own arrays (of a callable object, a closure) or None. Without either, a decorator.

    >>> def f(x, n):
    ...     return np.sum(x**n)
    >>> x = np.array([1.0, 2.0])
    >>> wg.grad(f)(x, 3)
    array([ 3., 12.])

    `argnums`: with respect to what: a position, a name, or a tuple of these, which gives a tuple. By default the first
    argument; at once, all. What it asks for holds floats, or is a whole number, which counts as one.
    `allow_int`: what `argnums` asks for and has no derivative (an array of integers, a bool) has None, and is no error.
    `has_aux`: f returns `(y, aux)`, of which y is differentiated; `grad(f)(x)` is `(x̄, aux)`, at once the value is
    `(y, aux)`.
    `holomorphic`: f is a complex function of complex arguments that is holomorphic: the result is f'(z). Without it f's
    result is real, and the gradient at z = a + ib is ∂f/∂a - i ∂f/∂b, as JAX has it: descend along its conjugate.
    `seed`, at once only: the cotangent ȳ of a result of any shape, in the place of 1: the gradient is that of Σ ȳ·f(x).

    >>> wg.grad(lambda x: (np.sum(x), len(x)), has_aux=True)(x)
    (array([1., 1.]), 2)
    >>> wg.grad(lambda z: z**2, holomorphic=True)(1 + 2j), wg.grad(lambda z: (z**2).real)(1 + 2j)
    ((2+4j), (2+4j))
    >>> wg.grad(lambda x: x**2, x, seed=np.array([1.0, 10.0]))[1][1]
    array([ 2., 40.])

    Shapes: those of the arguments, also of their containers' leaves; dtypes likewise.
    Errors: ArgumentError, NonScalarOutputError, IntegerInputError, NoGradientPathError, NoRuleError,
    RefusedCallError, AliasedArgumentsError. A result that depends on nothing asked for warns: NoPathWarning.
    """
    options: dict[str, Any] = {"has_aux": has_aux, "holomorphic": holomorphic, "allow_int": allow_int}
    if args:
        return _at_once(f, args, kwargs, argnums, seed, options)
    refuse_words(f, kwargs, seed)
    if f is None:
        return lambda f: grad(f, argnums=argnums, **options)
    both = value_and_grad(f, argnums=0 if argnums is None else argnums, **options)

    @_wraps(f)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, result = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return gradient


def value_and_grad(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Any:
    """A function that gives `(f(x), ∂f/∂x)`, or `((f(x), aux), ∂f/∂x)` where f returns a pair and `has_aux`.

    Fits `scipy.optimize.minimize(value_and_grad(f), x0, jac=True)` as it is. All else is as `grad(f)` has it.

    >>> wg.value_and_grad(lambda x: x**2)(3.0)
    (9.0, 6.0)
    """
    options: dict[str, Any] = {"has_aux": has_aux, "holomorphic": holomorphic, "allow_int": allow_int}
    if f is None:
        return lambda f: value_and_grad(f, argnums=argnums, **options)
    check_argnums(argnums)

    @_wraps(f)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            refuse_swallowed(f, kwargs)
        if type(argnums) is tuple and argnums == _LEADING.get(len(args)):  # all of them: nothing to look up
            places, single = argnums, False
        else:
            places, single = places_of(f, args, kwargs, argnums)
        try:
            value, gradients = _gradient(f, args, kwargs, places, None, False, **options)
        finally:
            SESSION.tidy()
        return value, gradients[0] if single else tuple(gradients)

    return value_and_gradient


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """`(f(*primals), pullback)`; the pullback gives ȳ ↦ (x̄, …), any number of times.

    The result may be a number, an array, or a container of these; ȳ has its structure and shapes. x̄, … is a tuple with
    one cotangent for each of the primals. With `has_aux`, f returns `(y, aux)`, and this `(y, pullback, aux)`.

    >>> y, pullback = wg.vjp(lambda x: x**2, np.array([1.0, 2.0]))
    >>> pullback(np.array([1.0, 10.0]))
    (array([ 2., 40.]),)

    Errors: as `grad`, and ValueError for a ȳ of another structure or shape.
    """
    try:
        return _vjp(f, primals, has_aux)
    finally:
        SESSION.tidy()


def _vjp(f: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool) -> Any:
    with level(False) as (recording, here):
        depth = len(recording.levels) - 1
        swaps, f, entered, named = enter(recording, here, f, primals, {}, dict.fromkeys(range(len(primals))))
        slots = {id(leaf): slot_of(recording, leaf) for leaf in swaps.made}
        try:
            result = run(f, entered, named, recording)
        finally:
            swaps.restore()
        aux = None
        if has_aux:
            result, aux = result
        outputs = [(path, slot_of(recording, leaf), leaf) for path, leaf in leaves(result)]
        if all(is_lost(recording, here, slot) for _, slot, _ in outputs):
            warn_of_loss(recording, here, f, "the primals")
        materialise(recording, here.start, len(recording.entries), written_only=False)
        public = swaps.leave(result)
        kept, folds = _part(recording, here.start), len(recording.folds)

    def pullback(y_bar: Any) -> tuple[Any, ...]:
        watching = followed()
        is_own = watching is recording
        if is_own and any(start <= here.start for start in recording.folds[folds:]):
            raise recording.refuse(
                RefusedCallError(
                    f"{STATE.site}: the pullback of a wg.vjp inside a function under wg.checkpoint is called after "
                    "that function has returned, when what it recorded is gone. Call it inside, or take the vjp "
                    "outside of the checkpoint."
                )
            )
        seeds = seeds_of(outputs, y_bar, _calling(watching))
        walked = recording if is_own else kept
        owed = len(walked.owed)
        try:
            bars = reverse(walked, here, seeds, depth, False, watching)
        finally:
            walked.owed.pay(owed)  # what an interrupt kept from being paid
        return swaps.mirrors(_Finish(bars, slots, watching is not None))

    return (public, pullback, swaps.leave(aux)) if has_aux else (public, pullback)


def _part(recording: Recording, start: int) -> Recording:
    """What was recorded from `start` on, at its slots: it stays as it is, for any later time."""
    made = Recording(False)
    made.memory = Memory(recording)  # not its own: what a cycle holds is alive for checkpoints around the vjp
    made.memory.has_pulls = recording.memory.has_pulls
    made.entries = dict(enumerate(recording.entries[start:], start))  # type: ignore[assignment]
    return made


def _calling(watching: Recording | None) -> Callable[..., Any]:
    """What calls a piece of the reverse pass: seen by the recording that is open, if one is."""
    return _call if watching is None else watching.call


def _call(fn: Callable[..., Any], *args: Any) -> Any:
    return fn(*args)


def stop_gradient(x: Any) -> Any:
    """x, a number or an array, as a constant: the same value, with derivative zero.

    >>> wg.grad(lambda x: x * wg.stop_gradient(x))(3.0)
    3.0
    """
    return x.copy() if isinstance(x, np.ndarray) else fresh(x)


non_differentiable(stop_gradient)


def _at_once(
    f: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: Argnums,
    seed: Any,
    options: dict[str, Any],
) -> Any:
    refuse_swallowed(f, kwargs)
    refuse_shared(f, {"argnums": argnums, "seed": seed, **options})
    if argnums is None:
        if not kwargs:
            refuse_positions(f, args, lambda: bool(leaves(outline(f))))
        places: tuple[int | str, ...] = (*range(len(args)), *kwargs)
    else:
        check_argnums(argnums)
        places, _ = places_of(f, args, kwargs, argnums)
    try:
        value, gradients = _gradient(f, args, kwargs, places, seed, True, lenient=argnums is None, **options)
    finally:
        SESSION.tidy()
    result = Gradients(gradients)
    result.names = ("", *names_of(f, args, kwargs, places))
    return value, result


def _gradient(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    wanted: tuple[int | str, ...],
    seed: Any,
    itself: bool,
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    lenient: bool = False,
    quiet: bool = False,
) -> tuple[Any, list[Any]]:
    """The value, and the gradients in the order of `wanted` (that of f in front, where asked for)."""
    simple = wanted == _LEADING.get(len(args)) and not kwargs and not itself and _are_leaves(args)
    if not simple and not (allow_int or lenient):
        check_inputs(f, args, kwargs, wanted)
    with level(False) as (recording, here):
        depth = len(recording.levels) - 1
        recording.reruns |= not depth
        if simple:
            swaps: Swaps | Leaves = enter_leaves(recording, here, args)
            entered, named = tuple(swaps.made), kwargs
        else:
            swaps, f, entered, named = enter(recording, here, f, args, kwargs, wanted, itself, not lenient)
        slots = {id(leaf): SHADOW[id(leaf)] for leaf in swaps.made} if not simple or depth else {}
        try:
            result = run(f, entered, named, recording)
        finally:
            swaps.restore()
        value, aux = result if has_aux else (result, None)
        if holomorphic:
            _check_complex(swaps.paths, value)
        watching = recording if depth else None
        seeds = scalar_seed(recording, value, seed, holomorphic, _calling(watching))
        with closed(recording):
            bars = reverse(recording, here, seeds, depth, depth == 0, watching)
            finish = _Finish(bars, slots, depth > 0)
            gradients = finish.leading(swaps.made, here.start) if simple and not depth else [*swaps.mirrors(finish)]
        missed = not finish.reached(here) if depth else not seeds
        quiet |= allow_int and not swaps.made
        if missed and not quiet and is_lost(recording, here, seeds[0][0] if seeds else None):
            warn_of_loss(recording, here, f, _asked(f, args, kwargs, wanted))
        if depth:
            recording.stopped = len(recording.entries)  # that of a linear function is a constant
        value = swaps.leave(value)
        if has_aux:
            value = (value, swaps.leave(aux))
    return value, gradients


def quiet_gradients(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], places: tuple[int, ...]) -> list[Any]:
    """The gradients with respect to arguments, without a warning where they are zero for want of a path."""
    return _gradient(f, args, kwargs, places, None, False, False, False, False, quiet=True)[1]


def _check_complex(paths: list[tuple[str, Any]], value: Any) -> None:
    """A holomorphic function is one of complex numbers to complex numbers: else a part of its derivative is dropped."""
    real = [path for path, leaf in paths if not is_complex(leaf)]
    if real:
        raise ArgumentError(
            f"holomorphic=True needs complex arguments, but {real[0]} is real. Pass it as a complex number, or leave "
            "it out: of argnums=, and what f itself holds by grad(f, argnums=...)(x) in place of grad(f, x)."
        )
    if not is_complex(value):
        raise NonScalarOutputError(
            "holomorphic=True needs a complex result, but the function returned a real number. Leave holomorphic=True "
            "out: np.real, np.abs and the like are not holomorphic."
        )


def _are_leaves(args: tuple[Any, ...]) -> bool:
    """Whether all arguments are leaves of the commonest kinds."""
    return all([type(a) is float or (type(a) is np.ndarray and a.dtype is _DOUBLE) for a in args])


def _asked(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: tuple[int | str, ...]) -> str:
    """The arguments that a derivative is asked for, in a message."""
    return " or ".join(names_of(f, args, kwargs, wanted)) or "any argument"


class _Finish:
    """The gradient of a leaf as the user gets it: real zeros, the leaf's own type, memory of its own."""

    def __init__(self, bars: Bars, slots: Mapping[int, int | None], traced: bool) -> None:
        self.bars, self.slots, self.traced = bars, slots, traced
        self.given: set[int] = set()

    def reached(self, here: Level) -> bool:
        """Whether a cotangent came to any input of a level."""
        table = self.bars.table
        return any([table[slot] is not None for slot in here.inputs if self.traced or slot < len(table)])

    def leading(self, made: list[Any], start: int) -> list[Any]:
        """The gradients of leaves whose slots lead a level; most need no change and are handed over at once."""
        given, table, out = self.given, self.bars.table, []
        for slot, leaf in enumerate(made, start):
            bar = table[slot] if slot < len(table) else None
            if (
                type(bar) is np.ndarray is type(leaf)
                and bar.dtype is _DOUBLE is leaf.dtype
                and is_exclusive(table, slot, 1)
                and bar.shape == leaf.shape
            ):
                given.add(id(bar))
                out.append(bar)
            else:
                out.append(self.of(leaf, slot, bar, False))
        return out

    def __call__(self, leaf: Any) -> Any:
        slot = self.slots.get(id(leaf))
        table = self.bars.table
        bar = None if slot is None or (not self.traced and slot >= len(table)) else table[slot]
        alone = self.traced or (slot is not None and bar is not None and is_exclusive(table, slot, 1))
        return self.of(leaf, slot, bar, alone)

    def of(self, leaf: Any, slot: int | None, bar: Any, alone: bool) -> Any:
        """The gradient of a leaf from its cotangent, which goes out as it is where nobody else has it (`alone`)."""
        if bar is None:
            return np.zeros_like(leaf) if isinstance(leaf, np.ndarray) else type(leaf)(0)
        found = bar
        bar = self.bars.project(bar, leaf, True)
        if is_complex(leaf):
            bar = self.bars.call(np.conj, bar)
        if isinstance(bar, np.ndarray):
            owner = id(owner_of(bar))
            own = bar.base is None and bar.flags.writeable and (alone or bar is not found)
            if owner in self.given or not (slot in self.bars.owned or own):
                bar = self.bars.call(np.array, bar)
                owner = id(owner_of(bar))
            self.given.add(owner)
            return bar
        if isinstance(leaf, np.ndarray):  # of no dimension, where arithmetic gives numbers
            return self.bars.call(np.array, bar)
        return bar if self.traced and type(bar) is type(leaf) else self.bars.call(type(leaf), bar)


def _wraps(f: Any) -> Callable[[Any], Any]:
    try:
        return functools.wraps(f)
    except AttributeError:
        return lambda g: g


__all__ = ["Gradients", "grad", "stop_gradient", "value_and_grad", "vjp"]
