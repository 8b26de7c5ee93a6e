"""`check_grads`: derivatives compared with finite differences, in both modes and to any order."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.api.differences import copies, ngradient_with_progress
from wengert.api.gradient import quiet_gradients, vjp
from wengert.api.jacobians import jacfwd
from wengert.api.parameters import ravel
from wengert.api.tangents import jvp
from wengert.errors import ArgumentError, GradientCheckError, NonScalarOutputError, NoPathWarning
from wengert.values import signatures
from wengert.values.argnums import refuse_swallowed
from wengert.values.callables import callable_name, parameter_names, signature, takes_any_keyword
from wengert.values.check_errors import LargestError
from wengert.values.progress import Telling
from wengert.values.transformed import Transformed, check_function
from wengert.values.trees import Leaf, leaves, mirror

ENTERED = "It computes with the results of the user's function."


Modes = tuple[str, ...]


class Check(NamedTuple):
    """The parameters of `check_grads`, the progress display that counts the numbers checked, and the order at work."""

    gradient: Callable[..., tuple[Any, ...]] | None
    rtol: float | None
    atol: float | None
    order: int
    modes: Modes
    quiet: bool
    progress: Any = None
    current_order: int = 1


@signatures.check_grads
def check_grads(
    f: Callable[..., Any],
    *args: Any,
    gradient: Callable[..., tuple[Any, ...]] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    order: int = 1,
    modes: Modes = ("rev",),
    quiet: bool = False,
    **kwargs: Any,
) -> Any:
    """Compare the derivatives of `f(*args, **kwargs)` with finite differences; return the largest relative error.

    Fixed random weights reduce the result to one number. Every float and array among the positional arguments is
    checked. On a terminal it shows its progress.

    Parameters:
        f (callable): The function. Its result may have any shape, or be a container.
        *args (Any): Its positional arguments. Without them, `check_grads` returns a function that checks f at the
            arguments of its call: `check_grads(f, order=2)(x)`.
        gradient (callable | None): Another function to check instead of wengert's own gradient: `gradient(f, *args)`
            returns a tuple with a gradient for each positional argument.
        rtol (float | None): The relative tolerance, by default eps^(1/3) of each leaf's dtype.
        atol (float | None): The absolute tolerance, by default eps^(1/2) of each leaf's dtype; an error below it counts
            as 0.
        order (int): The highest order to check. 2 also checks the derivatives of pullbacks and pushforwards in these
            modes, with respect to the arguments and the cotangents or tangents; and so on.
        modes (Sequence[str]): The modes: "rev" for gradients, "fwd" for tangents.
        quiet (bool): Show no progress.
        **kwargs (Any): Its keyword arguments, which are constants.
    Returns:
        float: The largest relative error. Its attribute `errors` has the measured errors, by the paths of the
            arguments, also those below the absolute tolerance.
    Raises:
        GradientCheckError: A derivative disagrees; the error names the leaf, both numbers and their error.
        ArgumentError: There is nothing to check, or `order` or `modes` have another value.
    See Also:
        ngradient, grad, test_rrule

    Examples:
        >>> wg.check_grads(np.sin, np.array([0.5, 2.0])) < 1e-9
        True
        >>> wg.check_grads(np.sin, order=2, modes=("rev", "fwd"))(0.5) < 1e-9
        True
        >>> errors = wg.check_grads(lambda x, y: x * y**2, 1.0, 2.0).errors
        >>> list(errors), max(errors.values()) < 1e-9
        (['x', 'y'], True)
    """
    check_function(check_grads, f, "(f, x)")
    _check_options(f, gradient, kwargs)
    check = Check(gradient, rtol, atol, order, tuple(modes) if isinstance(modes, (tuple, list)) else (modes,), quiet)
    if not check.modes or not set(check.modes) <= _GRADIENTS_BY_MODE.keys() or type(order) is not int or order < 1:
        raise ArgumentError(
            "check_grads: modes must be 'rev', 'fwd' or a tuple of these, and order an integer of at least 1; got "
            f"{modes!r}, {order!r}."
        )
    refuse_swallowed(f, kwargs, "check_grads")
    if not args and not kwargs:
        return lambda *args, **kwargs: _check_with_progress(check, f, args, kwargs)
    return _check_with_progress(check, f, args, kwargs)


def _check_options(f: Any, gradient: Any, words: dict[str, Any]) -> None:
    """Refuse a `gradient` that is none, and a keyword that is nearly an option and no parameter of `f`."""
    if gradient is not None and (not callable(gradient) or isinstance(gradient, Transformed)):
        raise ArgumentError(
            f"check_grads calls gradient(f, *args), and gradient={gradient!r:.60} is no such function. Write "
            "gradient=lambda f, x: (my_gradient(x),)."
        )
    own = [
        name for name, value in inspect.signature(check_grads).parameters.items() if value.kind is value.KEYWORD_ONLY
    ]
    for name in words:
        near = difflib.get_close_matches(name, own, 1, 0.8)
        if near and name not in parameter_names(f) and not takes_any_keyword(f):
            raise ArgumentError(
                f"neither check_grads nor {callable_name(f)} has an argument {name!r}. Write {near[0]}=."
            )


def _check_with_progress(
    check: Check, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> LargestError:
    with Telling("check_grads", f, "numbers", quiet=check.quiet) as progress:
        return _check_all_orders(check._replace(progress=progress), f, args, kwargs)


def _check_all_orders(
    check: Check, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> LargestError:
    if not leaves(args):
        raise ArgumentError(
            f"check_grads has nothing to check: {callable_name(f)} has no float among its positional arguments. "
            "Pass floats (1.0, not 1) by position; keyword arguments are constants."
        )
    found = [_check_first_order(check, f, args, kwargs)]
    if check.order > 1:
        with warnings.catch_warnings(action="ignore", category=NoPathWarning):
            found += [_check_next_order(mode, check, f, args, kwargs) for mode in check.modes]
    return LargestError.of_all(found)


def _check_first_order(
    check: Check, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> LargestError:
    """Compare first derivatives, in each mode; return the largest relative errors."""
    g = _as_scalar_function(f, args, kwargs)
    makers = [_GRADIENTS_BY_MODE[mode] for mode in check.modes] if check.gradient is None else [check.gradient]
    found = [gradients(g, *args, **kwargs) for gradients in makers]
    check.progress.total += sum([np.size(leaf) for _, leaf in leaves(args)])
    expected = ngradient_with_progress(g, args, kwargs, check.progress.count)
    labels = _argument_labels(f, len(args))
    largest = LargestError.of_all([_compare_gradients(check, labels, args, actual, expected) for actual in found])
    if check.current_order == 1:
        return largest
    measured = max(largest.errors.values(), default=0.0)
    return LargestError(largest, {f"derivatives of order {check.current_order}": measured})


def _check_next_order(
    mode: str, check: Check, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> LargestError:
    """Check the pullback, or the pushforward, as a function of the arguments and of its cotangent or tangents."""
    places = [k for k, x in enumerate(args) if leaves(x)]
    xs = tuple([args[k] for k in places])

    def of_floats(*xs: Any) -> Any:
        floats = dict(zip(places, xs, strict=True))
        return f(*[floats.get(k, x) for k, x in enumerate(args)], **kwargs)

    def pullback(y_bar: Any, *xs: Any) -> Any:
        return vjp(of_floats, *xs)[1](y_bar)

    def pushforward(x_dots: Any, *xs: Any) -> Any:
        return jvp(of_floats, xs, x_dots)[1]

    random = np.random.default_rng(2)
    y = of_floats(*copies(xs))
    if not leaves(y):
        return LargestError(0.0, {})
    direction = mirror(y if mode == "rev" else xs, lambda leaf: _random_like(random, leaf))
    check = check._replace(order=check.order - 1, gradient=None, current_order=check.current_order + 1)
    try:
        return _check_all_orders(check, pullback if mode == "rev" else pushforward, (direction, *xs), {})
    except GradientCheckError as error:
        of = "pullback" if mode == "rev" else "pushforward"
        raise GradientCheckError(f"the derivative of the {of} of {callable_name(f)} is wrong: {error}") from None


def _random_like(random: np.random.Generator, leaf: Leaf) -> Any:
    """Return random numbers of the shape, dtype and type of a leaf."""
    numbers = random.standard_normal(np.shape(leaf))
    if np.iscomplexobj(leaf):
        numbers = numbers + 1j * random.standard_normal(np.shape(leaf))
    if isinstance(leaf, np.ndarray):
        return np.asarray(numbers, leaf.dtype)
    return type(leaf)(numbers)


def _reverse_gradients(g: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    return _by_argument(args, lambda places: quiet_gradients(g, args, kwargs, places))


def _forward_gradients(g: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    with warnings.catch_warnings(action="ignore", category=NoPathWarning):
        return _by_argument(args, lambda places: jacfwd(g, argnums=places)(*args, **kwargs))


_GRADIENTS_BY_MODE: dict[str, Callable[..., tuple[Any, ...]]] = {"rev": _reverse_gradients, "fwd": _forward_gradients}


def _by_argument(args: tuple[Any, ...], gradients: Callable[[tuple[int, ...]], Any]) -> tuple[Any, ...]:
    """Return a tuple with a gradient for each argument: None for those that hold no float."""
    places = tuple([k for k, x in enumerate(args) if leaves(x)])
    table = dict(zip(places, gradients(places), strict=True))
    return tuple(table.get(k) for k in range(len(args)))


def _compare_gradients(
    check: Check, names: list[str], args: tuple[Any, ...], actual: Any, expected: Any
) -> LargestError:
    """Compare gradients leaf by leaf; return the largest relative errors."""
    if not isinstance(actual, tuple) or len(actual) != len(args):
        raise GradientCheckError(f"expected a tuple of {len(args)} gradients, one per argument, got {actual!r}")
    largest: list[LargestError] = []
    for name, x, found, wanted in zip(names, args, actual, expected, strict=True):
        actual_at, wanted_at = dict(leaves(found, name)), dict(leaves(wanted, name))
        for path, leaf in leaves(x, name):
            if path not in actual_at:
                raise GradientCheckError(
                    f"the gradient has no entry at {path}. Give it the structure of the arguments."
                )
            _check_shape_and_dtype(path, actual_at[path], leaf)
            largest.append(_compare_leaf(path, actual_at[path], wanted_at[path], check.rtol, check.atol))
        for path in sorted(actual_at.keys() - wanted_at.keys()):
            raise GradientCheckError(
                f"the gradient has an entry at {path}, where the argument has no float. Leave it out."
            )
    return LargestError.of_all(largest)


def _argument_labels(f: Callable[..., Any], count: int) -> list[str]:
    """Return a name for each positional argument: `args[i]` if the parameters are not known."""
    try:
        bound = signature(f).bind(*range(count)).arguments
    except (TypeError, ValueError):
        return [f"args[{i}]" for i in range(count)]
    names: list[str] = []
    for name, value in bound.items():
        names += [f"{name}[{i}]" for i in range(len(value))] if isinstance(value, tuple) else [name]
    return names


def _as_scalar_function(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
    """Return f if its result is a real number, else the sum of its numbers with fixed random weights."""
    result = f(*copies(args), **copies(kwargs))
    if np.isscalar(result) and np.asarray(result).dtype.kind == "f":
        return f
    if not leaves(result) and np.asarray(result).dtype.kind not in "biu":
        raise NonScalarOutputError(
            f"{callable_name(f)} returned {result!r:.60}, which contains no number. Return a float or an array."
        )
    numbers = ravel(result)[0]
    weights = np.random.default_rng(0).standard_normal(numbers.shape)
    if numbers.dtype.kind == "c":
        weights = weights + 1j * np.random.default_rng(1).standard_normal(numbers.shape)

    def weighted_sum(*args: Any, **kwargs: Any) -> Any:
        return np.sum(np.real(ravel(f(*args, **kwargs))[0] * weights))

    return weighted_sum


def _check_shape_and_dtype(path: str, found: Any, leaf: Leaf) -> None:
    """Raise if a gradient has another shape or dtype than its leaf."""
    for what, has, needs in (
        ("shape", np.shape(found), np.shape(leaf)),
        ("dtype", np.asarray(found).dtype, np.asarray(leaf).dtype),
    ):
        if has != needs:
            raise GradientCheckError(f"the gradient at {path} has {what} {has}, but the argument has {needs}")


def _compare_leaf(path: str, found: Any, wanted: Any, rtol: float | None, atol: float | None) -> LargestError:
    """Return the largest relative error at one leaf. Errors: GradientCheckError if it exceeds the tolerances."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    if not wanted.size:
        return LargestError(0.0, {})
    eps = float(np.finfo(wanted.dtype).eps)
    rtol = eps ** (1 / 3) if rtol is None else rtol
    atol = eps ** (1 / 2) if atol is None else atol
    with np.errstate(all="ignore"):
        gap = np.abs(found - wanted)
        relative = np.where(gap <= atol, 0.0, gap / np.abs(wanted))
        wrong = ~(gap <= atol + rtol * np.abs(wanted))  # so that a nan is wrong
    if not wrong.any():
        return LargestError(float(relative.max()), {path: _measured_error(gap, wanted)})
    severity = np.where(wrong, np.nan_to_num(relative, nan=np.inf), -1.0)
    index = tuple(int(i) for i in np.unravel_index(int(severity.argmax()), severity.shape))
    at = path + (f"[{', '.join(map(str, index))}]" if index else "")
    raise GradientCheckError(
        f"the gradient disagrees with differences at {at}\n"
        f"    gradient:       {found[index]!s}\n"
        f"    differences:    {wanted[index]!s}\n"
        f"    relative error: {relative[index]:.2g}, allowed {rtol:.2g}\n"
        f"{int(wrong.sum())} of {wrong.size} numbers at {path} disagree"
    )


def _measured_error(gap: np.ndarray, wanted: np.ndarray) -> float:
    """Return the largest difference over the largest number of a derivative."""
    most, scale = float(gap.max()), float(np.abs(wanted).max())
    return most / scale if scale else 0.0 if not most else np.inf
