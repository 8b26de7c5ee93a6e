"""Derivatives by a single pass: products with the Hessian, and derivatives of functions of single numbers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from wengert.api.derivative_code import warm_call
from wengert.api.gradient import are_arrays_at, grad, vjp_of_call
from wengert.api.jacobian_blocks import JacobianCall, Options, by_columns, by_directions
from wengert.api.tangents import jvp_of_call
from wengert.errors import ArgumentError
from wengert.recording.container_arguments import with_held_leaves
from wengert.values import signatures
from wengert.values.argnums import Argnums, check_argnums
from wengert.values.callables import callable_name, unwrapped
from wengert.values.specs import Spec, is_inexact
from wengert.values.transformed import check_function, transforms
from wengert.values.trees import is_container, itself, leaves, mirror

ENTERED = "It computes with derivatives, also with those that an outer derivative traces."

_NO_KEYWORDS: Mapping[str, Any] = MappingProxyType({})

__all__ = ["derivative", "elementwise_grad", "hvp", "vhp"]


@signatures.product_with_hessian
def hvp(
    f: Callable[..., Any], primals: Any = ..., tangents: Any = ..., *more: Any, has_aux: bool = False,
    holomorphic: bool = False,
) -> Any:  # fmt: skip
    """Compute the product H ẋ of the Hessian of `f` with a direction, by forward mode through the gradient.

    No matrix is made. With `f` alone, `hvp` returns the function of primals and tangents, `hvp(f)(x, v)`, as SciPy's
    optimisers expect it: `scipy.optimize.minimize(f, x0, args=data, jac=grad(f), hessp=hvp(f))`. Its further arguments
    are constant arguments of f: the product `hvp(f)(x, v, y)` is that of f(x, y), by x.

    To get the gradient too, call `jvp(grad(f), (x,), (v,))`; for many products at one point, `linearize(grad(f), x)`.

    Parameters:
        f (callable): The function; it returns one number.
        primals (Any): A tuple of f's arguments, and f is differentiated by all of them; or f's only argument, if that
            is not a tuple.
        tangents (Any): A tuple of directions of the same structures and shapes; or the direction of the only argument.
        *more (Any): Not accepted here: pass constants to the function `hvp(f)`, as in `hvp(f)(x, v, y)`.
        has_aux (bool): f returns `(y, aux)`, and the result is `(product, aux)`.
        holomorphic (bool): f is holomorphic, as for `grad`.
    Returns:
        Any: A tuple of products, or one product, of the structures and shapes of the primals; with `f` alone, a
            function.
    Raises:
        ArgumentError: Primals and tangents do not fit each other, or there are `more`; else the errors of `grad`.
    See Also:
        vhp, hessian, jvp, linearize

    Examples:
        >>> wg.hvp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 10.0]))
        array([  6., 120.])
        >>> wg.hvp(lambda x, y: x * x * y, (3.0, 5.0), (1.0, 0.0))
        (10.0, 6.0)

        >>> wg.hvp(lambda x, y: np.sum(x**3) * y)(np.array([1.0, 2.0]), np.array([1.0, 10.0]), 2.0)
        array([ 12., 240.])
    """
    _refuse_more(hvp, more)
    return _product_or_function(hvp, f, primals, tangents, has_aux, holomorphic)


@signatures.product_with_hessian
def vhp(
    f: Callable[..., Any], primals: Any = ..., cotangents: Any = ..., *more: Any, has_aux: bool = False,
    holomorphic: bool = False,
) -> Any:  # fmt: skip
    """Compute the product vᵀH of a vector with the Hessian of `f`, by reverse mode through the gradient.

    `hvp` returns the same numbers by forward mode. In long loops of small steps `vhp` is faster. `vhp(f)` is a
    function, too, as `hvp(f)` is.

    Parameters:
        f (callable): The function; it returns one number.
        primals (Any): The arguments, as for `hvp`.
        cotangents (Any): A vector for each argument, as the tangents of `hvp`.
        *more (Any): Not accepted here, as for `hvp`.
        has_aux (bool): f returns `(y, aux)`, and the result is `(product, aux)`.
        holomorphic (bool): f is holomorphic, as for `grad`.
    Returns:
        Any: The products, as in `hvp`.
    Raises:
        ArgumentError: Primals and cotangents do not fit each other, or there are `more`; else the errors of `grad`.
    See Also:
        hvp, hessian, vjp

    Examples:
        >>> wg.vhp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 10.0]))
        array([  6., 120.])
    """
    _refuse_more(vhp, more)
    return _product_or_function(vhp, f, primals, cotangents, has_aux, holomorphic)


def _refuse_more(make: Callable[..., Any], more: tuple[Any, ...]) -> None:
    """Refuse `hvp(f, x, v, a)`, which does not say whether to differentiate by `a`."""
    if more:
        name = make.__name__
        raise ArgumentError(
            f"{name} takes a function, primals and directions by position, and got {len(more)} more. If f has further "
            f"arguments, write {name}(f)(x, v, a) with a constant, or {name}(f, (x, a), (v, w)) to differentiate by a "
            "too. has_aux and holomorphic are keyword arguments."
        )


_SIGNATURE_OF_PRODUCT = inspect.Signature(
    [
        inspect.Parameter("primals", inspect.Parameter.POSITIONAL_ONLY, default=..., annotation=Any),
        inspect.Parameter("vectors", inspect.Parameter.POSITIONAL_ONLY, default=..., annotation=Any),
        inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL, annotation=Any),
        inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD, annotation=Any),
    ],
    return_annotation=Any,
)


def _product_or_function(
    make: Callable[..., Any], f: Callable[..., Any], primals: Any, vectors: Any, has_aux: bool, holomorphic: bool
) -> Any:
    """Return the product of `hvp` or `vhp`, or without primals the function that computes it."""
    if primals is not ... or vectors is not ...:
        return _product_with_hessian(make, f, primals, vectors, has_aux, holomorphic)
    original, f = f, unwrapped(f)

    def product(primals: Any = ..., vectors: Any = ..., /, *args: Any, **kwargs: Any) -> Any:
        return _product_with_hessian(make, f, primals, vectors, has_aux, holomorphic, args, kwargs)

    made = transforms(make, original, has_aux=has_aux, holomorphic=holomorphic)(product)
    for function in (product, made):
        vars(function)["__signature__"] = _SIGNATURE_OF_PRODUCT  # not that of f
    return made


def _product_with_hessian(
    make: Callable[..., Any], f: Callable[..., Any], primals: Any, vectors: Any, has_aux: bool, holomorphic: bool,
    more: tuple[Any, ...] = (), kwargs: Mapping[str, Any] = _NO_KEYWORDS,
) -> Any:  # fmt: skip
    """Push the `vectors` through the gradient of f, or pull them back through it; `more` and `kwargs` are constant."""
    check_function(make, f, "(f, x, v)")
    if primals is ... or vectors is ...:
        name = make.__name__
        raise ArgumentError(f"{name} needs primals and a direction: write {name}(f, x, v), or {name}(f)(x, v).")
    args, vectors = _as_tuples(primals, vectors)
    places, args, named = tuple(range(len(args))), args + more, dict(kwargs)
    plain = not (named or has_aux or holomorphic) and _fit(args, vectors)
    copies = tuple(map(np.array, vectors)) if plain else ()  # f may write into their memory
    coded = warm_call(make, f, places, args, copies, walks=True) if plain else None
    if coded is not None:
        vectors = copies
        coded.rows_of = lambda args, y, pullback: grad(f, argnums=places)(*args)  # refuses a result of several numbers
        linear = coded.linearize(coded.call_gradient, args, make is vhp)
        products = coded.value if linear is None else coded.learn(_product(linear, vectors))
        return products if type(primals) is tuple else products[0]
    gradient = grad(f, argnums=places, has_aux=has_aux, holomorphic=holomorphic)
    if make is hvp:
        _, products, aux = jvp_of_call(gradient, args, named, places, vectors, has_aux)
    else:
        _, pullback, aux = vjp_of_call(gradient, args, named, places, has_aux)
        products = pullback(vectors)
    products = products if type(primals) is tuple else products[0]
    return (products, aux) if has_aux else products


def _fit(args: tuple[Any, ...], vectors: tuple[Any, ...]) -> bool:
    """Whether there is an array of float64, of the argument's shape, for each of the first arguments."""
    pairs = zip(args, vectors, strict=False)
    return are_arrays_at(vectors, range(len(vectors))) and all([x.shape == v.shape for x, v in pairs])


def _product(linear: tuple[Any, Any, Any], vectors: tuple[Any, ...]) -> Any:
    """Pull the vectors back through a gradient, or push them if there is no pullback."""
    _, push, pullback = linear
    return push(vectors, None) if pullback is None else pullback(vectors)


def _as_tuples(primals: Any, vectors: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return primals and vectors as tuples of the same length.

    Errors: ArgumentError if their numbers or structures differ.
    """
    if type(primals) is not tuple:
        primals, vectors = (primals,), (vectors,)
    if not isinstance(vectors, (tuple, list)) or len(vectors) != len(primals):
        raise ArgumentError(
            f"primals is a tuple of {len(primals)}, so the directions must be a tuple of {len(primals)} too, not "
            f"{type(vectors).__name__}{f' of {len(vectors)}' if isinstance(vectors, (tuple, list)) else ''}. If f's "
            "only argument is a tuple x, pass (x,) and (v,)."
        )
    for k, (x, v) in enumerate(zip(primals, vectors, strict=True), 1):
        paths = [[path for path, _ in leaves(tree)] for tree in (x, v)]
        if is_container(x) and v is not None and paths[0] != paths[1]:
            present = ", ".join([path for path in paths[1] if path]) or "none of them"
            raise ArgumentError(
                f"argument {k} has floats at {', '.join(paths[0])}, its direction at {present}. Pass one float or "
                "array for each; for a zero direction 0.0, or zeros of the same shape."
            )
    return primals, tuple(vectors)


@signatures.elementwise_grad
def elementwise_grad(
    f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False,
    allow_int: bool = False,
) -> Any:  # fmt: skip
    """Return the function that computes the slopes f'(x) of an elementwise `f` in one pass; without `f`, a decorator.

    Each number of the result depends only on the number at the same index of the argument; the slopes are the diagonal
    of the Jacobian, which is not made.

    Parameters:
        f (callable): The function. Without it, `elementwise_grad` returns a decorator.
        argnums (int | str | tuple): The arguments to differentiate, as for `grad`.
        has_aux (bool): f returns `(y, aux)`, as for `jacobian`.
        holomorphic (bool): f is holomorphic, as for `jacobian`.
        allow_int (bool): Arguments without derivative get None, as for `grad`.
    Returns:
        callable: A function with f's parameters that returns the slopes, of the shape of the result.
    Raises:
        ArgumentError: The arguments do not broadcast to the shape of the result; else the errors of `jacobian`.
    See Also:
        derivative, grad, vmap

    Examples:
        >>> wg.elementwise_grad(np.tanh)(np.array([0.0, 1.0])).round(6)
        array([1.      , 0.419974])
    """
    options = Options(argnums, has_aux, holomorphic, allow_int)
    check_argnums(elementwise_grad, argnums)
    if f is None:
        return lambda f: elementwise_grad(f, *options[:4])
    original, f = f, unwrapped(f)
    recipe = {"argnums": argnums, "has_aux": has_aux, "holomorphic": holomorphic, "allow_int": allow_int}

    @transforms(elementwise_grad, original, **recipe)
    def slopes_of_elements(*args: Any, **kwargs: Any) -> Any:
        call = JacobianCall(f, args, kwargs, options)
        shifts = [Spec((), x.dtype, x.pytype) for x in call.xs]  # each moves all numbers of an argument alike
        y, aux, ys, blocks = by_directions(call, shifts, _uniform_directions)
        if not is_inexact(y) or not all([_broadcasts_to(x, ys[0]) for x in call.xs]):
            raise ArgumentError(
                f"elementwise_grad needs a result of the shape of the arguments, but {callable_name(f)} maps "
                f"{', '.join([str(x.shape) for x in call.xs])} to {', '.join([str(y.shape) for y in ys])}. "
                "For a function that is not elementwise use wg.jacobian(f)."
            )
        slopes: Any = call.filled(blocks[0])
        slopes = slopes[0] if call.single else slopes
        return (slopes, aux) if has_aux else slopes

    return slopes_of_elements


def _uniform_directions(vectors: Any, x: Spec) -> Any:
    """Broadcast directions of a single number to the shape of `x`, so that all its numbers move alike."""
    return np.broadcast_to(vectors.reshape((-1,) + (1,) * x.ndim), (len(vectors), *x.shape))


def _broadcasts_to(x: Spec, y: Spec) -> bool:
    """Whether an array of the shape of `x` broadcasts to that of `y`."""
    ends = zip(x.shape[::-1], y.shape[::-1], strict=False)
    return x.ndim <= y.ndim and all([a in (1, b) for a, b in ends])


@signatures.derivative
def derivative(
    f: Callable[..., Any] | None = None, order: int = 1, argnums: int | str = 0, has_aux: bool = False,
    holomorphic: bool = False,
) -> Any:  # fmt: skip
    """Return the derivative, of any `order`, of a function `f` of one number, as a function; without `f`, a decorator.

    Parameters:
        f (callable): The function. Its result may be an array or a container. Without it, `derivative` returns a
            decorator.
        order (int): The order of the derivative.
        argnums (int | str): The argument that is the number.
        has_aux (bool): f returns `(y, aux)`, as for `jacobian`.
        holomorphic (bool): f is holomorphic, as for `jacobian`.
    Returns:
        callable: A function with f's parameters that returns the derivative, of the structure and shapes of the result.
    Raises:
        ArgumentError: The argument is not a single number, or the order is negative; else the errors of `jacobian`.
    See Also:
        elementwise_grad, grad, jacfwd

    Examples:
        >>> wg.derivative(lambda t: np.array([t**3, np.exp(2 * t)]))(0.0)
        array([0., 2.])
        >>> wg.derivative(lambda t: t**5, order=3)(2.0)
        240.0
    """
    if type(order) is not int or order < 0:
        raise ArgumentError(f"derivative: order must be an integer of at least 0, not {order!r}.")
    check_argnums(derivative, argnums)
    if f is None:
        return lambda f: derivative(f, order, argnums, has_aux, holomorphic)
    df = unwrapped(f)
    for _ in range(order):
        df = _first_derivative(df, Options(argnums, has_aux, holomorphic))
    recipe = {"order": order, "argnums": argnums, "has_aux": has_aux, "holomorphic": holomorphic}
    return transforms(derivative, f, **recipe)(df) if order else f


def _first_derivative(f: Callable[..., Any], options: Options) -> Callable[..., Any]:
    """Return the first derivative of a function of one number."""

    @functools.wraps(f)
    def slope(*args: Any, **kwargs: Any) -> Any:
        call = JacobianCall(f, args, kwargs, options)
        if [x.shape for x in call.xs] != [()]:
            raise ArgumentError(
                f"derivative takes functions of one number, but {callable_name(f)} was called with "
                f"{f'an array of shape {call.xs[0].shape}' if len(call.xs) == 1 else f'{len(call.xs)} numbers'}. "
                "For an elementwise function of arrays use wg.elementwise_grad(f), for others wg.jacobian(f)."
            )
        y, aux, _, blocks = by_columns(call)
        slopes = with_held_leaves(mirror(y, itself), [block for (block,) in blocks])
        return (slopes, aux) if options.has_aux else slopes

    return slope
