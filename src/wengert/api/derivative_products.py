"""Derivatives by a single pass: products with the Hessian, and derivatives of functions of single numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.api.gradient import grad, vjp_of_call
from wengert.api.jacobian_blocks import JacobianCall, Options, by_columns, by_directions
from wengert.api.tangents import jvp_of_call
from wengert.errors import ArgumentError
from wengert.recording.container_arguments import with_held_leaves
from wengert.values import signatures
from wengert.values.argnums import Argnums, check_argnums
from wengert.values.callables import callable_name, unwrapped
from wengert.values.specs import Spec, is_inexact
from wengert.values.transformed import transforms
from wengert.values.trees import is_container, itself, leaves, mirror

ENTERED = "It computes with derivatives, also with those that an outer derivative traces."

__all__ = ["derivative", "elementwise_grad", "hvp", "vhp"]


@signatures.product_with_hessian
def hvp(f: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False, holomorphic: bool = False) -> Any:
    """Compute the product H ẋ of the Hessian of `f` with a direction, by forward mode through the gradient.

    No matrix is made. `primals` is a tuple of f's arguments, and f is differentiated by all of them; `tangents` is a
    tuple of directions of the same structures and shapes; the result is a tuple of products. If `primals` is not a
    tuple, it is f's only argument, and the result is one product, as SciPy's `hessp` returns it.

    >>> wg.hvp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([  6., 120.])
    >>> wg.hvp(lambda x, y: x * x * y, (3.0, 5.0), (1.0, 0.0))
    (10.0, 6.0)

    With `has_aux`, f returns `(y, aux)`, and the result is `(product, aux)`. `holomorphic` is as for `grad`. To get the
    gradient too, call `jvp(grad(f), (x,), (v,))`; for many products at one point, `linearize(grad(f), x)`.

    Shapes: those of the primals.
    Errors: those of `grad`; ArgumentError if primals and tangents do not fit each other.
    """
    return _product_with_hessian(f, primals, tangents, has_aux, holomorphic, forward=True)


@signatures.product_with_hessian
def vhp(f: Callable[..., Any], primals: Any, cotangents: Any, has_aux: bool = False, holomorphic: bool = False) -> Any:
    """Compute the product vᵀH of a vector with the Hessian of `f`, by reverse mode through the gradient.

    `primals`, `cotangents`, `has_aux` and `holomorphic`, shapes and errors are as in `hvp`, which returns the same
    numbers by forward mode. In long loops of small steps this function is faster.

    >>> wg.vhp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([  6., 120.])
    """
    return _product_with_hessian(f, primals, cotangents, has_aux, holomorphic, forward=False)


def _product_with_hessian(
    f: Callable[..., Any], primals: Any, vectors: Any, has_aux: bool, holomorphic: bool, forward: bool
) -> Any:
    """Push the `vectors` through the gradient of f, or pull them back through it."""
    args, vectors = _as_tuples(primals, vectors)
    places = tuple(range(len(args)))
    gradient = grad(f, argnums=places, has_aux=has_aux, holomorphic=holomorphic)
    if forward:
        _, products, aux = jvp_of_call(gradient, args, {}, places, vectors, has_aux)
    else:
        _, pullback, aux = vjp_of_call(gradient, args, {}, places, has_aux)
        products = pullback(vectors)
    products = products if type(primals) is tuple else products[0]
    return (products, aux) if has_aux else products


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
    of the Jacobian, which is not made. `argnums`, `has_aux`, `holomorphic` and `allow_int` are as for `jacobian`.

    >>> wg.elementwise_grad(np.tanh)(np.array([0.0, 1.0])).round(6)
    array([1.      , 0.419974])

    Shapes: those of the result, to which the arguments must broadcast.
    Errors: those of `jacobian`; ArgumentError if they do not.
    """
    options = Options(argnums, has_aux, holomorphic, allow_int)
    check_argnums(argnums)
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

    The result of f may be an array or a container; its derivative has the same structure. `argnums` says which argument
    is the number; `has_aux` and `holomorphic` are as for `jacobian`.

    >>> wg.derivative(lambda t: np.array([t**3, np.exp(2 * t)]))(0.0)
    array([0., 2.])
    >>> wg.derivative(lambda t: t**5, order=3)(2.0)
    240.0

    Shapes: those of the result.
    Errors: those of `jacobian`; ArgumentError for an argument that is not a single number, and for a negative order.
    """
    if type(order) is not int or order < 0:
        raise ArgumentError(f"derivative: order must be an integer of at least 0, not {order!r}.")
    check_argnums(argnums)
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
