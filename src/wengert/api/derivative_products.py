"""Derivatives that one pass gives: products with the Hessian, and derivatives of functions of single numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.api.gradient import grad, pulled
from wengert.api.jacobian_blocks import Call, Options, along, by_columns
from wengert.api.tangents import pushed
from wengert.errors import ArgumentError
from wengert.recording.container_arguments import with_held_leaves
from wengert.values import signatures
from wengert.values.argnums import Argnums, check_argnums
from wengert.values.callables import callable_name, unwrapped
from wengert.values.specs import Spec, is_inexact
from wengert.values.transformed import transforms
from wengert.values.trees import is_container, itself, leaves, mirror

ENTERED = "It computes with derivatives, also with those that an outer derivative watches."

__all__ = ["derivative", "elementwise_grad", "hvp", "vhp"]


@signatures.product_with_hessian
def hvp(f: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False, holomorphic: bool = False) -> Any:
    """The product H ẋ of the Hessian of `f` with a direction: how the gradient changes along it. No matrix is made.

    `primals` is a tuple of f's arguments, all of which it is differentiated by, and `tangents` one of directions, of
    their structures and shapes; the result is a tuple of products. Anything but a tuple is f's only argument, and the
    product is bare, as SciPy's `hessp` has it.

    >>> wg.hvp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([  6., 120.])
    >>> wg.hvp(lambda x, y: x * x * y, (3.0, 5.0), (1.0, 0.0))
    (10.0, 6.0)

    With `has_aux`, f returns `(y, aux)`, and the result is `(product, aux)`. `holomorphic` means what it does for
    `grad`. The gradient comes with it by `jvp(grad(f), (x,), (v,))`, many products at one point by `linearize(grad(f),
    x)`.

    Shapes: those of the primals.
    Errors: those of `grad`; ArgumentError where primals and tangents do not fit each other.
    """
    args, dots = _paired(primals, tangents)
    _, found, aux = pushed(
        _gradient(f, len(args), has_aux, holomorphic), args, {}, tuple(range(len(args))), dots, has_aux
    )
    found = found if type(primals) is tuple else found[0]
    return (found, aux) if has_aux else found


@signatures.product_with_hessian
def vhp(f: Callable[..., Any], primals: Any, cotangents: Any, has_aux: bool = False, holomorphic: bool = False) -> Any:
    """The product vᵀH of a vector with the Hessian of `f`, by reverse mode through the gradient. No matrix is made.

    `primals`, `cotangents`, `has_aux` and `holomorphic`, shapes and errors are as in `hvp`, which gives the same
    numbers by forward mode. In long loops of small steps this one is faster.

    >>> wg.vhp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([  6., 120.])
    """
    args, bars = _paired(primals, cotangents)
    places = tuple(range(len(args)))
    _, pullback, aux = pulled(_gradient(f, len(args), has_aux, holomorphic), args, {}, places, has_aux)
    found = pullback(bars)
    found = found if type(primals) is tuple else found[0]
    return (found, aux) if has_aux else found


def _gradient(f: Callable[..., Any], count: int, has_aux: bool, holomorphic: bool) -> Callable[..., Any]:
    """The gradient of f with respect to all of its arguments."""
    return grad(f, argnums=tuple(range(count)), has_aux=has_aux, holomorphic=holomorphic)


def _paired(primals: Any, others: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Primals and tangents as tuples, of the same length."""
    if type(primals) is not tuple:
        primals, others = (primals,), (others,)
    if not isinstance(others, (tuple, list)) or len(others) != len(primals):
        raise ArgumentError(
            f"there are {len(primals)} primals, in a tuple: there has to be one direction for each, in a tuple, "
            f"not {type(others).__name__}. A tuple that is f's only argument is given in a tuple: (x,)."
        )
    for k, (x, v) in enumerate(zip(primals, others, strict=True), 1):
        places = [[path for path, _ in leaves(held)] for held in (x, v)]
        if is_container(x) and v is not None and places[0] != places[1]:
            told = ", ".join([at for at in places[1] if at]) or "none of them"
            raise ArgumentError(
                f"argument {k} has floats at {', '.join(places[0])}, its direction at {told}: "
                "there has to be one for each. That of zero is 0.0, or zeros of its shape."
            )
    return primals, tuple(others)


@signatures.elementwise_grad
def elementwise_grad(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Any:
    """The function that returns the slopes f'(x) of an elementwise function, in one pass; without `f`, a decorator.

    Each number of the result depends on that at its place in the argument; the slopes are the diagonal of the Jacobian,
    which is not made. `argnums`, `has_aux`, `holomorphic` and `allow_int` mean what they mean for `jacobian`.

    >>> wg.elementwise_grad(np.tanh)(np.array([0.0, 1.0])).round(6)
    array([1.      , 0.419974])

    Shapes: those of the result, to which the arguments broadcast.
    Errors: those of `jacobian`; ArgumentError for a result of a shape to which they do not.
    """
    options = Options(argnums, has_aux, holomorphic, allow_int)
    check_argnums(argnums)
    if f is None:
        return lambda f: elementwise_grad(f, *options[:4])
    given, f = f, unwrapped(f)

    @transforms(elementwise_grad, given, argnums=argnums, has_aux=has_aux, holomorphic=holomorphic, allow_int=allow_int)
    def of_elements(*args: Any, **kwargs: Any) -> Any:
        call = Call(f, args, kwargs, options)
        shifts = [Spec((), x.dtype, x.pytype) for x in call.xs]  # of all numbers of an argument by the same
        y, aux, ys, found = along(call, shifts, _for_all)
        if not is_inexact(y) or not all([_broadcasts(x, ys[0]) for x in call.xs]):
            raise ArgumentError(
                f"elementwise_grad needs a result of the shape of the arguments, but {callable_name(f)} takes "
                f"{', '.join([str(x.shape) for x in call.xs])} to {', '.join([str(y.shape) for y in ys])}. "
                "wg.jacobian(f) has all derivatives of any function."
            )
        slopes: Any = call.filled(found[0])
        slopes = slopes[0] if call.single else slopes
        return (slopes, aux) if has_aux else slopes

    return of_elements


def _for_all(vectors: Any, x: Spec) -> Any:
    """Directions in which all numbers of `x` move alike, from those of one number."""
    return np.broadcast_to(vectors.reshape((-1,) + (1,) * x.ndim), (len(vectors), *x.shape))


def _broadcasts(x: Spec, y: Spec) -> bool:
    """Whether an array of the shape of `x` broadcasts to that of `y`."""
    ends = zip(x.shape[::-1], y.shape[::-1], strict=False)
    return x.ndim <= y.ndim and all([a in (1, b) for a, b in ends])


@signatures.derivative
def derivative(
    f: Callable[..., Any] | None = None,
    order: int = 1,
    argnums: int | str = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Any:
    """The function that returns the derivative of a function of one number, of any `order`; without `f`, a decorator.

    The result of f may be an array or a container, and its derivative is one like it. `argnums` says which argument is
    the number; `has_aux` and `holomorphic` mean what they mean for `jacobian`.

    >>> wg.derivative(lambda t: np.array([t**3, np.exp(2 * t)]))(0.0)
    array([0., 2.])
    >>> wg.derivative(lambda t: t**5, order=3)(2.0)
    240.0

    Shapes: those of the result.
    Errors: those of `jacobian`; ArgumentError for an argument that is no single number, and for a negative order.
    """
    if type(order) is not int or order < 0:
        raise ArgumentError(f"the order of a derivative is a whole number from 0 on, not {order!r}.")
    check_argnums(argnums)
    if f is None:
        return lambda f: derivative(f, order, argnums, has_aux, holomorphic)
    found = unwrapped(f)
    for _ in range(order):
        found = _slope(found, Options(argnums, has_aux, holomorphic))
    recipe = {"order": order, "argnums": argnums, "has_aux": has_aux, "holomorphic": holomorphic}
    return transforms(derivative, f, **recipe)(found) if order else f


def _slope(f: Callable[..., Any], options: Options) -> Callable[..., Any]:
    """The first derivative of a function of one number."""

    @functools.wraps(f)
    def slope(*args: Any, **kwargs: Any) -> Any:
        call = Call(f, args, kwargs, options)
        if [x.shape for x in call.xs] != [()]:
            raise ArgumentError(
                f"derivative takes functions of one number, but {callable_name(f)} is given "
                f"{f'an array of shape {call.xs[0].shape}' if len(call.xs) == 1 else f'{len(call.xs)} of them'}. "
                "Of an elementwise function of arrays take wg.elementwise_grad(f), of others wg.jacobian(f)."
            )
        y, aux, _, blocks = by_columns(call)
        found = with_held_leaves(mirror(y, itself), [block for (block,) in blocks])
        return (found, aux) if options.has_aux else found

    return slope
