"""Gradients: trace, walk back, hand over in the arguments' own structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.api.nan_checks import check_given
from wengert.errors import RefusedCallError, WengertError
from wengert.hooks.tracer import enter_arguments, enter_leaves, level, run, without_innermost_level
from wengert.mutation.residuals import excerpt
from wengert.recording.inputs import Leaves, Swaps, gradient_form
from wengert.recording.no_path import is_lost, warn_of_loss
from wengert.recording.recording import STATE, Level, Recording, calling, silent
from wengert.recording.session import SESSION, active_recording
from wengert.recording.shadow import SHADOW
from wengert.recording.slots import slot_of
from wengert.reverse.leaf_gradients import LeafGradients
from wengert.reverse.seeds import result_seeds, scalar_seed
from wengert.reverse.walk import reverse
from wengert.rulebook.pushforwards import ReverseMode, plainly
from wengert.values import signatures
from wengert.values.argnums import (
    Argnums,
    argument_names,
    asked_for,
    check_argnums,
    check_complex,
    check_inputs,
    places_of,
    refuse_positions,
    refuse_shared,
    refuse_swallowed,
    refuse_words,
    with_aux,
)
from wengert.values.callables import unwrapped
from wengert.values.gradients import Gradients
from wengert.values.settings import SETTINGS
from wengert.values.transformed import check_function, transforms
from wengert.values.trees import leaves

Args = tuple[Any, ...]
Places = tuple[int | str, ...]

_DOUBLE = np.dtype(float)
_LEADING = {n: tuple(range(n)) for n in range(1, 20)}  # as argnums has them: all of n arguments


@signatures.grad
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
    """The gradient ∂f/∂x of a function `f` that returns one number.

    With `f` alone, `grad` returns a function: `grad(f)(x, y)`. With arguments as well it computes at once:
    `value, (df, dx, dy) = grad(f, x, y)`, where df is the gradient of the arrays that f itself holds, in its closure or
    as an object, or None if it holds none. Without `f` it is a decorator.

    >>> def f(x, n):
    ...     return np.sum(x**n)
    >>> x = np.array([1.0, 2.0])
    >>> wg.grad(f)(x, 3)
    array([ 3., 12.])

    `argnums` says which arguments: a position, a name, or a tuple of these, for which the result is a tuple of
    gradients. By default it is the first argument, and at once all of them. An argument that it asks for holds floats
    or is a whole number, which counts as a float.
    `allow_int`: an argument that `argnums` asks for and that has no derivative (an array of integers, a bool) gets None
    instead of an error.
    `has_aux`: f returns a pair `(y, aux)`, and only y is differentiated. `grad(f)(x)` then returns `(x̄, aux)`, and
    `grad(f, x)` has `(y, aux)` for its value.
    `holomorphic`: f is holomorphic, from complex arguments to a complex result, and the result is f'(z). Without it f's
    result is real, and the gradient at z = a + ib is ∂f/∂a - i ∂f/∂b, as in JAX: descend along its conjugate.
    `seed`, at once only: the cotangent ȳ of a result of any shape, in place of 1; the gradient is that of Σ ȳ·f(x).

    >>> wg.grad(lambda x: (np.sum(x), len(x)), has_aux=True)(x)
    (array([1., 1.]), 2)
    >>> wg.grad(lambda z: z**2, holomorphic=True)(1 + 2j), wg.grad(lambda z: (z**2).real)(1 + 2j)
    ((2+4j), (2+4j))
    >>> wg.grad(lambda x: x**2, x, seed=np.array([1.0, 10.0]))[1][1]
    array([ 2., 40.])

    Shapes: a gradient has the structure, shapes and dtypes of its argument.
    Errors: NonScalarOutputError for a result that is not one number and NoGradientPathError for one that is no float;
    IntegerInputError for an argument without derivative; ArgumentError for options that do not fit the call;
    NoRuleError and RefusedCallError for code that cannot be seen into; AliasedArgumentsError for arguments that share
    memory which f writes. NoPathWarning where the result depends on none of the arguments asked for.
    """
    options: dict[str, Any] = {"has_aux": has_aux, "holomorphic": holomorphic, "allow_int": allow_int}
    if args:
        return _at_once(f, args, kwargs, argnums, seed, options)
    refuse_words(f, kwargs, seed)
    if f is None:
        return lambda f: grad(f, argnums=argnums, **options)
    argnums = 0 if argnums is None else argnums
    check_argnums(argnums)
    given, f = f, unwrapped(f)

    @transforms(grad, given, argnums=argnums, **options)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, result = _value_and_gradient(f, args, kwargs, argnums, options)
        return (result, value[1]) if has_aux else result

    return gradient


@signatures.value_and_grad
def value_and_grad(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Any:
    """The function that returns `(f(x), ∂f/∂x)`; without `f`, a decorator.

    SciPy's optimisers take it as it is: `scipy.optimize.minimize(value_and_grad(f), x0, jac=True)`. `argnums`,
    `holomorphic` and `allow_int` mean what they mean for `grad(f)`, and so do shapes and errors. With `has_aux`, f
    returns `(y, aux)`, and the function returns `((y, aux), ∂y/∂x)`.

    >>> wg.value_and_grad(lambda x: x**2)(3.0)
    (9.0, 6.0)
    >>> wg.value_and_grad(lambda x, y: (x * y, "aux"), argnums=("x", 1), has_aux=True)(3.0, 2.0)
    ((6.0, 'aux'), (2.0, 3.0))
    """
    options: dict[str, Any] = {"has_aux": has_aux, "holomorphic": holomorphic, "allow_int": allow_int}
    if f is None:
        return lambda f: value_and_grad(f, argnums=argnums, **options)
    check_argnums(argnums)
    given, f = f, unwrapped(f)

    @transforms(value_and_grad, given, argnums=argnums, **options)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        return _value_and_gradient(f, args, kwargs, argnums, options)

    return value_and_gradient


def _value_and_gradient(f: Any, args: Args, kwargs: dict[str, Any], argnums: Argnums, options: dict[str, Any]) -> Any:
    """The value of a call, and the gradients that `argnums` asks for."""
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


@signatures.vjp
def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of `f(*primals)` and its pullback ȳ ↦ (x̄, …): `(y, pullback)`.

    y may be a number, an array, or a container of these. The pullback may be called any number of times; it takes a ȳ
    of the structure and shapes of y, and returns a tuple with a cotangent for each of the primals, in their structure
    and shapes. With `has_aux`, f returns `(y, aux)`, and `vjp` returns `(y, pullback, aux)`.

    >>> y, pullback = wg.vjp(lambda x: x**2, np.array([1.0, 2.0]))
    >>> pullback(np.array([1.0, 10.0]))
    (array([ 2., 40.]),)

    Errors: those of `grad`; ValueError for a ȳ of another structure or shape.
    """
    y, pullback, aux = pulled(f, primals, {}, tuple(range(len(primals))), has_aux)
    return (y, pullback, aux) if has_aux else (y, pullback)


def pulled(
    f: Callable[..., Any], args: Args, kwargs: dict[str, Any], wanted: Places, has_aux: bool, quiet: bool = False
) -> tuple[Any, Callable[[Any], Args], Any]:
    """The value of a call, its pullback onto the `wanted` arguments, and what it returns besides, or None.

    `quiet`: it is meant where these hold nothing that has a derivative.
    """
    try:
        return _pulled(f, args, kwargs, wanted, has_aux, quiet)
    finally:
        SESSION.tidy()


def _pulled(
    f: Callable[..., Any], args: Args, kwargs: dict[str, Any], wanted: Places, has_aux: bool, quiet: bool
) -> tuple[Any, Callable[[Any], Args], Any]:
    """`pulled` itself; what an interrupt may have left open is tidied around it."""
    with level(False) as (recording, here):
        depth = len(recording.levels) - 1
        swaps, f, entered, named = enter_arguments(recording, here, f, args, kwargs, wanted)
        slots = {id(leaf): slot_of(recording, leaf) for leaf in swaps.made}
        try:
            result = run(f, entered, named, recording)
        finally:
            swaps.restore()
        aux = None
        if has_aux:
            result, aux = with_aux(f, result)
        slots_of_result = [slot_of(recording, leaf) for _, leaf in leaves(result)]
        if slots_of_result and (swaps.made or not quiet) and all(is_lost(recording, here, k) for k in slots_of_result):
            warn_of_loss(recording, here, f, asked_for(f, args, kwargs, wanted))
        if SETTINGS.debug_nans and not depth:
            check_given(recording, result)
        pullback = pullback_of(recording, here, excerpt(recording, here.start), swaps, slots, result)
        value = swaps.leave(result)
    return value, pullback, swaps.leave(aux)


def pullback_of(
    recording: Recording, here: Level, kept: Recording, swaps: Swaps, slots: dict[int, int | None], result: Any
) -> Callable[[Any], Args]:
    """The pullback of a level that is about to end, from its `result` onto what `swaps` has entered, at `slots`.

    `kept` is the excerpt of the recording, for later, when that is gone.
    """
    depth, folds = len(recording.levels) - 1, len(recording.folds)
    outputs = [(path, slot_of(recording, leaf), leaf) for path, leaf in leaves(result)]

    def pullback(y_bar: Any) -> tuple[Any, ...]:
        watching = active_recording()
        is_own = watching is recording
        if is_own and any(start <= here.start for start in recording.folds[folds:]):
            raise recording.refuse(
                RefusedCallError(
                    f"{STATE.site}: the pullback of a wg.vjp inside a function under wg.checkpoint is called after "
                    "that function has returned, when what it recorded is gone. Call it inside, or take the vjp "
                    "outside of the checkpoint."
                )
            )
        seeds = result_seeds(outputs, y_bar, calling(watching))
        walked = recording if is_own else kept
        owed = len(walked.owed)
        try:
            cotangents = reverse(walked, here, seeds, depth, False, watching)
        finally:
            walked.owed.pay(owed)  # what an interrupt kept from being paid
        if is_own:
            recording.stopped = len(recording.entries)  # that of a linear function is a constant
        return swaps.mirrors(LeafGradients(cotangents, slots, watching is not None))

    return pullback


def _at_once(
    f: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: Argnums,
    seed: Any,
    options: dict[str, Any],
) -> Any:
    """`grad(f, *args)` with arguments: the value, and the Gradients."""
    check_function(grad, f)
    refuse_swallowed(f, kwargs)
    refuse_shared(f, {"argnums": argnums, "seed": seed, **options})
    if argnums is None:
        if not kwargs:
            refuse_positions(f, args, lambda: bool(leaves(gradient_form(f))))
        places: tuple[int | str, ...] = (*range(len(args)), *kwargs)
    else:
        check_argnums(argnums)
        places, _ = places_of(f, args, kwargs, argnums)
    try:
        value, gradients = _gradient(f, args, kwargs, places, seed, True, lenient=argnums is None, **options)
    finally:
        SESSION.tidy()
    result = Gradients(gradients)
    result.names = ("", *argument_names(f, args, kwargs, places))
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
    begin: Callable[[Recording], None] | None = None,
) -> tuple[Any, list[Any]]:
    """The value, and the gradients in the order of `wanted` (that of f in front, where asked for).

    `begin` is called with the recording, before anything is written down.
    """
    simple = wanted == _LEADING.get(len(args)) and not kwargs and not itself and _are_leaves(args)
    if not simple and not (allow_int or lenient):
        check_inputs(f, args, kwargs, wanted)
    with level(False) as (recording, here):
        depth = len(recording.levels) - 1
        recording.reruns |= not depth
        if begin is not None:
            begin(recording)
        if simple:
            swaps: Swaps | Leaves = enter_leaves(recording, here, args)
            entered, named = tuple(swaps.made), kwargs
        else:
            swaps, f, entered, named = enter_arguments(recording, here, f, args, kwargs, wanted, itself, not lenient)
        slots = {id(leaf): SHADOW[id(leaf)] for leaf in swaps.made} if not simple or depth else {}
        try:
            result = run(f, entered, named, recording)
        finally:
            swaps.restore()
        value, aux = with_aux(f, result) if has_aux else (result, None)
        if holomorphic:
            check_complex(swaps.paths, value)
        watching = recording if depth else None
        seeds = scalar_seed(recording, value, seed, holomorphic, calling(watching))
        with without_innermost_level(recording):
            cotangents = (recording.reverse or reverse)(recording, here, seeds, depth, depth == 0, watching)
            gradient_of = LeafGradients(cotangents, slots, depth > 0)
            leading = simple and not depth
            gradients = gradient_of.list_leading(swaps.made, here.start) if leading else [*swaps.mirrors(gradient_of)]
            if SETTINGS.debug_nans and not depth:
                check_given(recording, value, gradients)
        missed = not gradient_of.is_reached(here) if depth else not seeds
        quiet |= allow_int and not swaps.made
        if missed and not quiet and is_lost(recording, here, seeds[0][0] if seeds else None):
            warn_of_loss(recording, here, f, asked_for(f, args, kwargs, wanted))
        if depth:
            recording.stopped = len(recording.entries)  # that of a linear function is a constant
        value = swaps.leave(value)
        if has_aux:
            value = (value, swaps.leave(aux))
    return value, gradients


def quiet_gradients(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], places: tuple[int, ...]) -> list[Any]:
    """The gradients with respect to arguments, without a warning where they are zero for want of a path."""
    return _gradient(f, args, kwargs, places, None, False, False, False, False, quiet=True)[1]


def measured_gradients(
    f: Any, args: Args, kwargs: dict[str, Any], argnums: Argnums, begin: Any = None
) -> tuple[Any, list[Any]]:
    """The value and the gradients of `grad(f, *args, argnums=argnums, **kwargs)`; `begin` is as in `_gradient`.

    Errors: WengertError inside another trace, whose recording it would be.
    """
    if active_recording() is not None:
        raise WengertError("what a gradient takes cannot be measured inside another trace; measure it outside")
    places = (*range(len(args)), *kwargs) if argnums is None else places_of(f, args, kwargs, argnums)[0]
    try:
        return _gradient(
            f, args, kwargs, places, None, argnums is None, False, False, False, argnums is None, begin=begin
        )
    finally:
        SESSION.tidy()


def gradients_held(f: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
    """The value of f(*args), a float, and its gradients with respect to all that f itself holds and to args[1:]."""
    wanted = (*range(1, len(args)),)
    return _gradient(f, args, kwargs, wanted, None, True, False, False, True, lenient=True, quiet=True)


def _slopes(call: Callable[..., Any], f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The gradients that transpose a pullback, in a piece of work that `call` runs; plainly, no trace sees it."""
    with silent(call is plainly):
        return call(quiet_gradients, f, args, {}, tuple(range(len(args))))


ReverseMode.gradients = staticmethod(_slopes)


def _are_leaves(args: tuple[Any, ...]) -> bool:
    """Whether all arguments are leaves of the commonest kinds."""
    return all([type(a) is float or (type(a) is np.ndarray and a.dtype is _DOUBLE) for a in args])


__all__ = ["grad", "value_and_grad", "vjp"]
