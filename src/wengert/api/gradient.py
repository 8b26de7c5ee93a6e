"""Gradients: trace, walk back, return the gradients in the structure of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert.api import nan_checks
from wengert.errors import RefusedCallError, WengertError
from wengert.hooks.tracer import enter_arguments, enter_leaves, open_level, run, without_innermost_level
from wengert.mutation import residuals
from wengert.recording import no_path
from wengert.recording.inputs import Leaves, Swaps, gradient_form
from wengert.recording.recording import STATE, Level, Recording, calling, silent
from wengert.recording.session import SESSION, active_recording, tidying
from wengert.recording.shadow import SHADOW
from wengert.recording.slots import slot_of
from wengert.reverse.ends import LeafGradients, leading_gradients, result_seeds, scalar_seed
from wengert.reverse.walk import reverse
from wengert.values import gradients as gradients_module
from wengert.values import signatures
from wengert.values.argnums import (
    Argnums,
    Place,
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
from wengert.values.projection import plainly
from wengert.values.settings import SETTINGS
from wengert.values.specs import is_complex
from wengert.values.transformed import check_function, transforms
from wengert.values.trees import leaves

Args = tuple[Any, ...]
Places = tuple[Place, ...]

_DOUBLE = np.dtype(float)
_ALL_POSITIONS = {n: tuple(range(n)) for n in range(1, 20)}  # argnums for all of n arguments


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
    """Compute the gradient ∂f/∂x of a function `f` that returns one number.

    With `f` alone, `grad` returns a function: `grad(f)(x, y)`. With arguments as well it computes at once:
    `value, (df, dx, dy) = grad(f, x, y)`, where df is the gradient of the arrays that f itself holds, in its closure or
    as an object, or None if it holds none. Global variables are constants.

    Parameters:
        f (callable): The function. Without it, `grad` returns a decorator.
        *args (Any): Its positional arguments, to compute at once.
        argnums (int | str | tuple | None): The arguments to differentiate: a position, a name, or a tuple of these, for
            which the result is a tuple of gradients. A path such as `"p.layers[0].w"`, as `tree_paths(p)` spells it,
            names a part of the argument p; all else in p is constant. By default `grad(f)` takes the first argument,
            `grad(f, x)` all of them. These arguments must hold floats, or be an integer, which counts as a float.
        has_aux (bool): f returns a pair `(y, aux)`, and only y is differentiated. `grad(f)(x)` then returns
            `(x̄, aux)`, and the value that `grad(f, x)` returns is `(y, aux)`.
        holomorphic (bool): f is holomorphic, from complex arguments to a complex result, and the result is f'(z).
            Without it f's result must be real, and the gradient at z = a + ib is ∂f/∂a - i ∂f/∂b, as in JAX: descend
            along its conjugate.
        allow_int (bool): An argument of `argnums` without derivative (an array of integers, a bool) gets None instead
            of an error.
        seed (float | array | None): For `grad(f, x)` only: the cotangent ȳ of a result of any shape, instead of 1; the
            gradient is that of Σ ȳ·f(x).
        **kwargs (Any): Its keyword arguments, to compute at once.
    Returns:
        callable | tuple: A function with f's parameters that returns the gradient; with arguments, the value and the
            `Gradients`, which have names too: `gradients["x"]`, and `gradients.closure["w"]` for a closure variable w.
            A gradient has the structure, shapes and dtypes of its argument.
    Raises:
        NonScalarOutputError: The result is not one number. Return a sum or a mean, or call `jacobian`.
        NoGradientPathError: The result is not a float.
        IntegerInputError: An argument has no derivative. Pass floats, or `allow_int=True`.
        ArgumentError: The options do not fit the call.
        NoRuleError: A call without a rule receives a traced value. Declare a rule.
        RefusedCallError: The code cannot be traced.
        AliasedArgumentsError: f writes into memory that two arguments share. Pass a copy of one.
    Warns:
        NoPathWarning: The result depends on none of the arguments of `argnums`.
    See Also:
        value_and_grad, jacobian, hessian, vjp, check_grads, compile

    Examples:
        >>> def f(x, n):
        ...     return np.sum(x**n)
        >>> x = np.array([1.0, 2.0])
        >>> wg.grad(f)(x, 3)
        array([ 3., 12.])

        >>> wg.grad(lambda p: p["w"] ** 2 * p["b"], argnums="p['w']")({"w": 3.0, "b": 5.0})
        30.0
        >>> wg.grad(lambda x: (np.sum(x), len(x)), has_aux=True)(x)
        (array([1., 1.]), 2)
        >>> wg.grad(lambda z: z**2, holomorphic=True)(1 + 2j), wg.grad(lambda z: (z**2).real)(1 + 2j)
        ((2+4j), (2+4j))
        >>> wg.grad(lambda x: x**2, x, seed=np.array([1.0, 10.0]))[1][1]
        array([ 2., 40.])
    """
    options: dict[str, Any] = {"has_aux": has_aux, "holomorphic": holomorphic, "allow_int": allow_int}
    if args:
        return _gradient_at_once(f, args, kwargs, argnums, seed, options)
    refuse_words(f, kwargs, seed)
    if f is None:
        return lambda f: grad(f, argnums=argnums, **options)
    argnums = 0 if argnums is None else argnums
    check_argnums(grad, argnums)
    original, f = f, unwrapped(f)

    @transforms(grad, original, argnums=argnums, **options)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, result = _gradient_when_called(f, args, kwargs, argnums, options)
        return (result, value[1]) if has_aux else result

    return gradient


@signatures.value_and_grad
def value_and_grad(
    f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False,
    allow_int: bool = False,
) -> Any:  # fmt: skip
    """Return the function that computes `(f(x), ∂f/∂x)`; without `f`, a decorator.

    Pass it to SciPy's optimisers: `scipy.optimize.minimize(value_and_grad(f), x0, jac=True)`.

    Parameters:
        f (callable): The function; it returns one number. Without it, `value_and_grad` returns a decorator.
        argnums (int | str | tuple): The arguments to differentiate, as for `grad(f)`.
        has_aux (bool): f returns `(y, aux)`, and only y is differentiated.
        holomorphic (bool): f is holomorphic, as for `grad`.
        allow_int (bool): Arguments without derivative get None, as for `grad`.
    Returns:
        callable: A function with f's parameters that returns the value and the gradient; with `has_aux`,
            `((y, aux), ∂y/∂x)`.
    Raises:
        NonScalarOutputError: The result is not one number; else the errors of `grad`.
    See Also:
        grad, value_and_jacobian, compile

    Examples:
        >>> wg.value_and_grad(lambda x: x**2)(3.0)
        (9.0, 6.0)
        >>> wg.value_and_grad(lambda x, y: (x * y, "aux"), argnums=("x", 1), has_aux=True)(3.0, 2.0)
        ((6.0, 'aux'), (2.0, 3.0))
    """
    options: dict[str, Any] = {"has_aux": has_aux, "holomorphic": holomorphic, "allow_int": allow_int}
    if f is None:
        return lambda f: value_and_grad(f, argnums=argnums, **options)
    check_argnums(value_and_grad, argnums)
    original, f = f, unwrapped(f)

    @transforms(value_and_grad, original, argnums=argnums, **options)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        return _gradient_when_called(f, args, kwargs, argnums, options)

    return value_and_gradient


def _gradient_when_called(f: Any, args: Args, kwargs: dict[str, Any], argnums: Argnums, options: dict[str, Any]) -> Any:
    """Compute `grad(f, argnums=...)(*args)`: return the value, and the gradient or the tuple of gradients."""
    if kwargs:
        refuse_swallowed(f, kwargs)
    if type(argnums) is tuple and argnums == _ALL_POSITIONS.get(len(args)):  # all of them: nothing to look up
        places, single = argnums, False
    elif type(argnums) is int and 0 <= argnums < len(args):
        places, single = (argnums,), True
    else:
        places, single = places_of(f, args, kwargs, argnums)
    try:
        value, gradients = _trace_and_reverse(f, args, kwargs, places, **options)
    finally:
        if SESSION.recordings:
            SESSION.tidy()
    return value, gradients[0] if single else tuple(gradients)


@signatures.vjp
def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Compute the value of `f(*primals)` and its pullback ȳ ↦ (x̄, …): return `(y, pullback)`.

    You may call the pullback any number of times.

    Parameters:
        f (callable): The function. Its result y may be a number, an array, or a container of these.
        *primals (Any): Its arguments.
        has_aux (bool): f returns `(y, aux)`, and only y is differentiated.
    Returns:
        tuple: `(y, pullback)`, or `(y, pullback, aux)` with `has_aux`. The pullback takes a ȳ of the structure and
            shapes of y, and returns a tuple with a cotangent for each of the primals, of the same structure and shapes.
    Raises:
        ValueError: From the pullback: ȳ has another structure or shape than y; else the errors of `grad`.
    See Also:
        jvp, linearize, jacrev, grad

    Examples:
        >>> y, pullback = wg.vjp(lambda x: x**2, np.array([1.0, 2.0]))
        >>> pullback(np.array([1.0, 10.0]))
        (array([ 2., 40.]),)
    """
    check_function(vjp, f, "(f, x)")
    y, pullback, aux = vjp_of_call(f, primals, {}, tuple(range(len(primals))), has_aux)
    return (y, pullback, aux) if has_aux else (y, pullback)


def conjugates(cotangents: Iterable[Any]) -> tuple[Any, ...]:
    """Convert cotangents of a rule to those of a pullback of `vjp`, or back: complex ones to their conjugates."""
    call = calling(active_recording())
    return tuple([call(np.conj, cotangent) if is_complex(cotangent) else cotangent for cotangent in cotangents])


@tidying
def vjp_of_call(
    f: Callable[..., Any], args: Args, kwargs: dict[str, Any], wanted: Places, has_aux: bool, quiet: bool = False,
    is_done: Callable[[Any, Any], bool] | None = None,
) -> tuple[Any, Callable[[Any], Args], Any]:  # fmt: skip
    """Return the value of a call, its pullback to the `wanted` arguments, and aux or None.

    `quiet`: do not warn if these arguments hold nothing that has a derivative. If `is_done(inputs, value)`, no pullback
    is made.
    """
    with open_level() as (recording, here):
        depth = len(recording.levels) - 1
        swaps: Swaps | Leaves
        if wanted == (0,) and len(args) == 1 and not kwargs and _are_plain_leaves(args):
            swaps = enter_leaves(recording, here, args)
            entered, named = tuple(swaps.made), kwargs
        else:
            swaps, f, entered, named = enter_arguments(recording, here, f, args, kwargs, wanted)
        slots = {id(leaf): slot_of(recording, leaf) for leaf in swaps.made}
        try:
            result = run(f, entered, named, recording)
        finally:
            swaps.restore()
        if is_done is not None and is_done(swaps.made, result):
            return result, _no_pullback, None
        aux = None
        if has_aux:
            result, aux = with_aux(f, result)
        ends = [slot_of(recording, leaf) for _, leaf in leaves(result)]
        if ends and (swaps.made or not quiet) and all(no_path.is_lost(recording, here, slot) for slot in ends):
            no_path.warn_of_loss(recording, here, f, asked_for(f, args, kwargs, wanted))
        if SETTINGS.debug_nans and not depth:
            nan_checks.check_finite_result(recording, result)
        pullback = pullback_of(recording, here, residuals.excerpt(recording, here.start), swaps, slots, result)
        value = swaps.leave(result)
    return value, pullback, swaps.leave(aux)


def _no_pullback(y_bar: Any) -> Args:
    raise AssertionError("no pullback was made")


def pullback_of(
    recording: Recording, here: Level, kept: Recording, swaps: Swaps | Leaves, slots: dict[int, int | None], result: Any
) -> Callable[[Any], Args]:
    """Return the pullback of a level that is about to end, from its `result` to the inputs in `swaps`, at `slots`.

    `kept` is the excerpt of the recording that the pullback reads once the recording has ended.
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
                    "that function has returned, and its recording is gone. Call the pullback inside that function, "
                    "or take the vjp outside of the checkpoint."
                )
            )
        seeds = result_seeds(outputs, y_bar, calling(watching))
        walked = recording if is_own else kept
        owed = len(walked.owed)
        try:
            cotangents = reverse(walked, here, seeds, depth, False, watching)
        finally:
            walked.owed.pay(owed)  # if an interrupt came before
        if is_own:
            recording.stopped = len(recording.entries)  # the pullback of a linear function is a constant
        return swaps.mirrors(LeafGradients(cotangents, slots, watching is not None))

    return pullback


def _gradient_at_once(
    f: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: Argnums,
    seed: Any,
    options: dict[str, Any],
) -> Any:
    """Compute `grad(f, *args)`: return the value and the Gradients, by default of all arguments and of f itself."""
    check_function(grad, f)
    refuse_swallowed(f, kwargs)
    refuse_shared(f, {"argnums": argnums, "seed": seed, **options})
    if argnums is None:
        if not kwargs:
            refuse_positions(f, args, lambda: bool(leaves(gradient_form(f))))
        places: Places = (*range(len(args)), *kwargs)
    else:
        check_argnums(grad, argnums)
        places, _ = places_of(f, args, kwargs, argnums)
    try:
        value, gradients = _trace_and_reverse(
            f, args, kwargs, places, seed, itself=True, lenient=argnums is None, **options
        )
    finally:
        SESSION.tidy()
    return value, gradients_module.named_gradients(gradients, f, argument_names(f, args, kwargs, places))


def _trace_and_reverse(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    wanted: Places,
    seed: Any = None,
    itself: bool = False,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    lenient: bool = False,
    quiet: bool = False,
    begin: Callable[[Recording], None] | None = None,
) -> tuple[Any, list[Any]]:
    """Return the value, and the gradients in the order of `wanted`, with that of f in front if `itself`.

    `lenient`: take the arguments as they are, also such as hold no floats. `quiet`: do not warn if nothing is reached.
    `begin` is called with the recording before its first entry.
    """
    simple = wanted == _ALL_POSITIONS.get(len(args)) and not kwargs and not itself and _are_plain_leaves(args)
    if not simple and not (allow_int or lenient):
        check_inputs(f, args, kwargs, wanted)
    with open_level() as (recording, here):
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
            if not simple:
                swaps.restore()
        value, aux = with_aux(f, result) if has_aux else (result, None)
        if holomorphic:
            check_complex(swaps.paths, value)
        watching = recording if depth else None
        seeds = scalar_seed(recording, value, seed, holomorphic, plainly if watching is None else watching.call)
        with without_innermost_level(recording):
            cotangents = (recording.reverse or reverse)(recording, here, seeds, depth, depth == 0, watching)
            if simple and not depth:
                gradients = leading_gradients(cotangents, swaps.made, here.start)
            else:
                gradient_of = LeafGradients(cotangents, slots, depth > 0)
                gradients = [*swaps.mirrors(gradient_of)]
            if recording.nan_checker is not None and not depth:
                nan_checks.check_finite_result(recording, value, gradients)
        missed = not gradient_of.is_reached(here) if depth else not seeds
        quiet |= allow_int and not swaps.made
        if missed and not quiet and no_path.is_lost(recording, here, seeds[0][0] if seeds else None):
            no_path.warn_of_loss(recording, here, f, asked_for(f, args, kwargs, wanted))
        if depth:
            recording.stopped = len(recording.entries)  # the gradient of a linear function is a constant
        if not simple or type(value) is not np.float64:  # which is none of the arguments
            value = swaps.leave(value)
        if has_aux:
            value = (value, swaps.leave(aux))
    return value, gradients


def quiet_gradients(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], places: tuple[int, ...]) -> list[Any]:
    """Return the gradients with respect to arguments, without a warning if the result does not depend on them."""
    return _trace_and_reverse(f, args, kwargs, places, quiet=True)[1]


@tidying
def measured_gradients(
    f: Any, args: Args, kwargs: dict[str, Any], argnums: Argnums, begin: Any = None
) -> tuple[Any, list[Any]]:
    """Compute `grad(f, *args, argnums=argnums, **kwargs)` with `begin` called with its recording, to measure it.

    Errors: WengertError inside another trace, since the recording would be that one's.
    """
    if active_recording() is not None:
        raise WengertError("a gradient cannot be measured inside another trace; measure it outside")
    places = (*range(len(args)), *kwargs) if argnums is None else places_of(f, args, kwargs, argnums)[0]
    return _trace_and_reverse(f, args, kwargs, places, itself=argnums is None, lenient=argnums is None, begin=begin)


def gradients_with_closure(f: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
    """Return the value of f(*args), a float, and its gradients with respect to f's own arrays and to args[1:]."""
    wanted = (*range(1, len(args)),)
    return _trace_and_reverse(f, args, kwargs, wanted, itself=True, allow_int=True, lenient=True, quiet=True)


def gradients_to_transpose(call: Callable[..., Any], f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Return the gradients that transpose a pullback, computed under `call`; if that is `plainly`, unrecorded."""
    with silent(call is plainly):
        return call(quiet_gradients, f, args, {}, tuple(range(len(args))))


def _are_plain_leaves(args: tuple[Any, ...]) -> bool:
    """Whether all arguments are floats or arrays of float64."""
    for a in args:  # noqa: SIM110 (a generator would cost a call)
        if type(a) is not float and (type(a) is not np.ndarray or a.dtype is not _DOUBLE):
            return False
    return True


def are_plain_at(args: tuple[Any, ...], places: Any) -> bool:
    """Whether there are arguments at these places, given by number, and each is a float or an array of float64."""
    known = all([type(place) is int and 0 <= place < len(args) for place in places])
    return known and _are_plain_leaves(tuple([args[place] for place in places]))


def are_arrays_at(args: tuple[Any, ...], places: Any) -> bool:
    """Whether there are different arrays of float64 at these places, given by number."""
    known = are_plain_at(args, places) and all([type(args[place]) is np.ndarray for place in places])
    return known and len({id(args[place]) for place in places}) == len(places)


__all__ = ["grad", "value_and_grad", "vjp"]
