"""Jacobians and Hessians: the derivatives of all numbers of a result with respect to all numbers of the arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.api.jacobian_blocks import Call, Found, Options, by_columns, by_rows, picked
from wengert.errors import NonScalarOutputError
from wengert.values import signatures
from wengert.values.argnums import Argnums, check_argnums
from wengert.values.callables import callable_name, unwrapped
from wengert.values.transformed import transforms
from wengert.values.trees import leaves

ENTERED = "It computes with derivatives, also with those that an outer derivative watches."

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev", "value_and_jacobian"]


@signatures.jacobian
def jacobian(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    as_matrix: bool = False,
) -> Any:
    """The function that returns the Jacobian ∂f/∂x, for a result of any shape; without `f`, a decorator.

    It goes backward (`jacrev`) where the arguments have more than three times the result's numbers, else forward
    (`jacfwd`).

    >>> wg.jacobian(lambda x: x[:2] * x[2])(np.array([1.0, 2.0, 3.0]))
    array([[3., 0., 1.],
           [0., 3., 2.]])

    `argnums`, `has_aux` and `allow_int` mean what they mean for `grad`: with `has_aux` the function returns
    `(Jacobian, aux)`. Where the result or an argument is a container, the Jacobian is a container, of the result's
    structure, of containers of the arguments', as in JAX:

    >>> wg.jacobian(lambda p: {"y": p["a"] * p["b"]})({"a": 2.0, "b": np.array([3.0, 4.0])})
    {'y': {'a': array([3., 4.]), 'b': array([[2., 0.],
           [0., 2.]])}}

    `as_matrix`: one matrix for each argument, with a row for each number of the result and a column for each of the
    argument, in the order in which `ravel` has them.

    >>> wg.jacobian(lambda x, y: x * y, argnums=(0, 1), as_matrix=True)(2.0, np.array([3.0, 4.0]))
    (array([[3.],
           [4.]]), array([[2., 0.],
           [0., 2.]]))

    `holomorphic`: f is holomorphic, from complex numbers to complex numbers. Without it one of both is real: ∂y/∂x of a
    complex y is complex, and the derivative with respect to a complex a + ib is ∂y/∂a - i ∂y/∂b, as in `grad`.

    Shapes: `y.shape + x.shape`, and the dtype of x, or the complex one of its precision where y is complex.
    Errors: NoGradientPathError where nothing in the result has a derivative; ArgumentError for complex numbers to
    complex numbers without `holomorphic`; else those of `grad`.
    """
    return _without_value(jacobian, picked, f, Options(argnums, has_aux, holomorphic, allow_int, as_matrix))


@signatures.jacobian
def jacrev(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    as_matrix: bool = False,
) -> Any:
    """`jacobian` by reverse mode: a walk back for each number of the result of `f`.

    `argnums`, `has_aux`, `holomorphic`, `allow_int` and `as_matrix`, shapes and errors are those of `jacobian`.

    >>> wg.jacrev(lambda x: np.sum(x * x))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return _without_value(jacrev, by_rows, f, Options(argnums, has_aux, holomorphic, allow_int, as_matrix))


@signatures.jacobian
def jacfwd(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    as_matrix: bool = False,
) -> Any:
    """`jacobian` by forward mode: all columns at once, while `f` runs, and no tape is kept.

    `argnums`, `has_aux`, `holomorphic`, `allow_int` and `as_matrix`, shapes and errors are those of `jacobian`. What f
    computes takes as many times its memory as the arguments have numbers.

    >>> wg.jacfwd(lambda t: np.array([t, t**2]))(3.0)
    array([1., 6.])
    """
    return _without_value(jacfwd, by_columns, f, Options(argnums, has_aux, holomorphic, allow_int, as_matrix))


@signatures.value_and_jacobian
def value_and_jacobian(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    as_matrix: bool = False,
) -> Any:
    """The function that returns `(f(x), ∂f/∂x)`, as SciPy's solvers take it; without `f`, a decorator.

    `argnums`, `holomorphic`, `allow_int` and `as_matrix`, shapes and errors are those of `jacobian`. With `has_aux`, f
    returns `(y, aux)`, and the function returns `((y, aux), ∂y/∂x)`.

    >>> from scipy.optimize import root
    >>> root(wg.value_and_jacobian(lambda x: x**2 - np.array([1.0, 4.0])), np.array([2.0, 3.0]), jac=True).x.round(6)
    array([1., 2.])
    """
    options = Options(argnums, has_aux, holomorphic, allow_int, as_matrix)
    check_argnums(argnums)
    if f is None:
        return lambda f: value_and_jacobian(f, *options)
    return transforms(value_and_jacobian, f, **options._asdict())(_made(picked, unwrapped(f), options))


@signatures.jacobian
def hessian(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    as_matrix: bool = False,
) -> Any:
    """The function that returns the Hessian ∂²f/∂x², by forward mode through the gradient; without `f`, a decorator.

    >>> wg.hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 5.0]))
    array([[10.,  6.],
           [ 6.,  0.]])

    `argnums`, `has_aux`, `holomorphic` and `allow_int` mean what they mean for `jacobian`. Of arguments in containers,
    and of several, it is a container of containers:

    >>> wg.hessian(lambda x, y: x * x * y, argnums=(0, 1))(3.0, 5.0)
    ((10.0, 6.0), (6.0, 0.0))

    `as_matrix`: one matrix, with a row and a column for each number of all arguments that `argnums` asks for.

    Shapes: `x.shape + x.shape`, with the shape of the result in front.
    Errors: those of `jacobian`; NonScalarOutputError for the matrix of a result that is not one number.
    """
    options = Options(argnums, has_aux, holomorphic, allow_int, as_matrix)
    if f is None:
        return lambda f: hessian(f, *options)
    made = transforms(hessian, f, **options._asdict())
    second = unwrapped(jacfwd(_first(f, options) if as_matrix else jacrev(f, *options), *options))
    if not as_matrix or isinstance(argnums, (int, str)):
        return made(second)

    @made
    def joined(*args: Any, **kwargs: Any) -> Any:
        found = second(*args, **kwargs)
        parts, *aux = found if has_aux else (found,)
        whole = np.concatenate([part for part in parts if part is not None], axis=1)
        return (whole, *aux) if has_aux else whole

    return joined


def _first(f: Callable[..., Any], options: Options) -> Callable[..., Any]:
    """The first derivative of a function of one number, in matrices of one row."""
    by_value = unwrapped(value_and_jacobian(f, *options))

    @functools.wraps(f)
    def rows(*args: Any, **kwargs: Any) -> Any:
        value, found = by_value(*args, **kwargs)
        y = value[0] if options.has_aux else value
        count = sum([np.size(leaf) for _, leaf in leaves(y)])
        if count != 1:
            raise NonScalarOutputError(
                f"the Hessian as a matrix is that of one number, but {callable_name(f)} returned {count}. "
                "Leave out as_matrix=True, which gives one Hessian for each number."
            )
        return (found, value[1]) if options.has_aux else found

    return rows


def _made(mode: Callable[[Call], Found], f: Callable[..., Any], options: Options) -> Callable[..., Any]:
    """The function that returns a value and its Jacobian."""

    def value_and_blocks(*args: Any, **kwargs: Any) -> Any:
        call = Call(f, args, kwargs, options)
        y, aux, ys, blocks = mode(call)
        found = call.matrices(ys, blocks) if options.as_matrix else call.nested(y, blocks)
        return ((y, aux) if options.has_aux else y), found

    return value_and_blocks


def _without_value(
    make: Callable[..., Any], mode: Callable[[Call], Found], f: Callable[..., Any] | None, options: Options
) -> Any:
    """Return the function that computes the Jacobian alone, or a decorator if no function is given."""
    check_argnums(options.argnums)
    if f is None:
        return lambda f: make(f, *options)
    both = _made(mode, unwrapped(f), options)

    @transforms(make, f, **options._asdict())
    def blocks(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if options.has_aux else found

    return blocks
