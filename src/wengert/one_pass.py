"""Derivatives that one pass gives: products with the Hessian, and derivatives of functions of single numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.errors import ArgumentError
from wengert.gradient import grad, pulled, wraps
from wengert.jacobians import Call, Options, jacrev
from wengert.values.callables import callable_name

ENTERED = "It computes with derivatives, also with those that an outer derivative watches."

__all__ = ["derivative", "hvp", "vhp"]


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
    return vhp(f, primals, tangents, has_aux, holomorphic)


def vhp(f: Callable[..., Any], primals: Any, cotangents: Any, has_aux: bool = False, holomorphic: bool = False) -> Any:
    """The product vᵀH of a vector with the Hessian of `f`, by reverse mode through the gradient. No matrix is made.

    `primals`, `cotangents`, `has_aux` and `holomorphic`, shapes and errors are as in `hvp`, which gives the same
    numbers in less time.

    >>> wg.vhp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([  6., 120.])
    """
    args, bars = _paired(primals, cotangents)
    places = tuple(range(len(args)))
    gradient = grad(f, argnums=places, has_aux=has_aux, holomorphic=holomorphic)
    _, pullback, aux = pulled(gradient, args, {}, places, has_aux)
    found = pullback(bars)
    found = found if type(primals) is tuple else found[0]
    return (found, aux) if has_aux else found


def _paired(primals: Any, others: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Primals and tangents as tuples, of the same length."""
    if type(primals) is not tuple:
        return (primals,), (others,)
    if not isinstance(others, (tuple, list)) or len(others) != len(primals):
        raise ArgumentError(
            f"there are {len(primals)} primals, in a tuple: there has to be one direction for each, in a tuple, "
            f"not {type(others).__name__}. A tuple that is f's only argument is given in a tuple: (x,)."
        )
    return primals, tuple(others)


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
    if f is None:
        return lambda f: derivative(f, order, argnums, has_aux, holomorphic)
    options = Options(argnums, has_aux, holomorphic)
    found = f
    for _ in range(order):
        found = jacrev(found, *options)

    @wraps(f)
    def of_number(*args: Any, **kwargs: Any) -> Any:
        xs = Call(f, args, kwargs, options).xs
        if [x.shape for x in xs] != [()]:
            raise ArgumentError(
                f"derivative takes functions of one number, but {callable_name(f)} is given "
                f"{xs[0].shape if len(xs) == 1 else f'{len(xs)} of them'}. wg.jacobian(f) has those of others."
            )
        return found(*args, **kwargs)

    return of_number
