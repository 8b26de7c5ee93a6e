"""Jacobians and Hessians: the derivatives of all numbers of a result with respect to all numbers of the arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.api.derivative_code import warm_call
from wengert.api.gradient import are_plain_at, vjp_of_call
from wengert.api.jacobian_blocks import (
    JacobianBlocks,
    JacobianCall,
    Options,
    blocks_of_rows,
    by_cheaper_mode,
    by_cheaper_pass,
    by_columns,
    by_pushforward,
    by_rows,
)
from wengert.errors import NonScalarOutputError
from wengert.values import signatures
from wengert.values.argnums import Argnums, check_argnums
from wengert.values.callables import callable_name, unwrapped
from wengert.values.transformed import transforms
from wengert.values.trees import leaves

ENTERED = "It computes with derivatives, also with those that an outer derivative traces."

Mode = Callable[[JacobianCall], JacobianBlocks]

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev", "value_and_jacobian"]


@signatures.jacobian
def jacobian(
    f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False,
    allow_int: bool = False, as_matrix: bool = False,
) -> Any:  # fmt: skip
    """Return the function that computes the Jacobian ∂f/∂x, for a result of any shape; without `f`, a decorator.

    It uses reverse mode (`jacrev`) if the arguments have more than three times as many numbers as the result, else
    forward mode (`jacfwd`). If the result or an argument is a container, the Jacobian has the structure of the result,
    and at each leaf the structure of the arguments, as in JAX.

    Parameters:
        f (callable): The function. Without it, `jacobian` returns a decorator.
        argnums (int | str | tuple): The arguments to differentiate, as for `grad`.
        has_aux (bool): f returns `(y, aux)`, only y is differentiated, and the result is `(Jacobian, aux)`.
        holomorphic (bool): f is holomorphic, from complex numbers to complex numbers. Without it the arguments or the
            result must be real: ∂y/∂x of a complex y is complex, and the derivative with respect to a complex a + ib is
            ∂y/∂a - i ∂y/∂b, as in `grad`.
        allow_int (bool): Arguments without derivative get None, as for `grad`.
        as_matrix (bool): Return a matrix of shape `(y.size, x.size)`, with a row for each number of the result and a
            column for each number of the argument, in the order of `ravel`. If `argnums` is a tuple, return a tuple of
            such matrices, one for each argument: `(y.size, a.size)`, `(y.size, b.size)`, ...; `np.hstack` joins them.
    Returns:
        callable: A function with f's parameters that returns the Jacobian: an array of shape `y.shape + x.shape`, with
            the dtype of x, or the complex dtype of its precision if y is complex.
    Raises:
        NoGradientPathError: Nothing in the result has a derivative.
        ArgumentError: The arguments and the result are complex, without `holomorphic`; else the errors of `grad`.
    See Also:
        jacrev, jacfwd, value_and_jacobian, sparse_jacobian, hessian

    Examples:
        >>> wg.jacobian(lambda x: x[:2] * x[2])(np.array([1.0, 2.0, 3.0]))
        array([[3., 0., 1.],
               [0., 3., 2.]])

        >>> wg.jacobian(lambda p: {"y": p["a"] * p["b"]})({"a": 2.0, "b": np.array([3.0, 4.0])})
        {'y': {'a': array([3., 4.]), 'b': array([[2., 0.],
               [0., 2.]])}}

        >>> wg.jacobian(lambda x, y: x * y, argnums=(0, 1), as_matrix=True)(2.0, np.array([3.0, 4.0]))
        (array([[3.],
               [4.]]), array([[2., 0.],
               [0., 2.]]))
    """
    return _jacobian_by(jacobian, by_cheaper_mode, f, Options(argnums, has_aux, holomorphic, allow_int, as_matrix))


@signatures.jacobian
def jacrev(
    f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False,
    allow_int: bool = False, as_matrix: bool = False,
) -> Any:  # fmt: skip
    """Return the `jacobian` function by reverse mode: one walk back for each number of the result of `f`.

    Parameters:
        f (callable): The function. Without it, `jacrev` returns a decorator.
        argnums (int | str | tuple): The arguments to differentiate, as for `grad`.
        has_aux (bool): f returns `(y, aux)`, as for `jacobian`.
        holomorphic (bool): f is holomorphic, as for `jacobian`.
        allow_int (bool): Arguments without derivative get None, as for `grad`.
        as_matrix (bool): Return matrices, as for `jacobian`.
    Returns:
        callable: A function with f's parameters that returns the Jacobian.
    Raises:
        NoGradientPathError: As in `jacobian`; else the errors of `grad`.
    See Also:
        jacobian, jacfwd, vjp

    Examples:
        >>> wg.jacrev(lambda x: np.sum(x * x))(np.array([1.0, 2.0]))
        array([2., 4.])
    """
    return _jacobian_by(jacrev, by_rows, f, Options(argnums, has_aux, holomorphic, allow_int, as_matrix))


@signatures.jacobian
def jacfwd(
    f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False,
    allow_int: bool = False, as_matrix: bool = False,
) -> Any:  # fmt: skip
    """Return the `jacobian` function by forward mode: all columns at once, while `f` runs; no tape is kept.

    Each value that f computes takes its memory once more for each number of the arguments.

    Parameters:
        f (callable): The function. Without it, `jacfwd` returns a decorator.
        argnums (int | str | tuple): The arguments to differentiate, as for `grad`.
        has_aux (bool): f returns `(y, aux)`, as for `jacobian`.
        holomorphic (bool): f is holomorphic, as for `jacobian`.
        allow_int (bool): Arguments without derivative get None, as for `grad`.
        as_matrix (bool): Return matrices, as for `jacobian`.
    Returns:
        callable: A function with f's parameters that returns the Jacobian.
    Raises:
        NoGradientPathError: As in `jacobian`; else the errors of `grad`.
    See Also:
        jacobian, jacrev, jvp

    Examples:
        >>> wg.jacfwd(lambda t: np.array([t, t**2]))(3.0)
        array([1., 6.])
    """
    return _jacobian_by(jacfwd, by_columns, f, Options(argnums, has_aux, holomorphic, allow_int, as_matrix))


@signatures.value_and_jacobian
def value_and_jacobian(
    f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False,
    allow_int: bool = False, as_matrix: bool = False,
) -> Any:  # fmt: skip
    """Return the function that computes `(f(x), ∂f/∂x)`, as SciPy's solvers expect it; without `f`, a decorator.

    Parameters:
        f (callable): The function. Without it, `value_and_jacobian` returns a decorator.
        argnums (int | str | tuple): The arguments to differentiate, as for `grad`.
        has_aux (bool): f returns `(y, aux)`, and only y is differentiated.
        holomorphic (bool): f is holomorphic, as for `jacobian`.
        allow_int (bool): Arguments without derivative get None, as for `grad`.
        as_matrix (bool): Return matrices, as for `jacobian`.
    Returns:
        callable: A function with f's parameters that returns the value and the Jacobian; with `has_aux`,
            `((y, aux), ∂y/∂x)`.
    Raises:
        NoGradientPathError: As in `jacobian`; else the errors of `grad`.
    See Also:
        jacobian, value_and_grad

    Examples:
        >>> from scipy.optimize import root
        >>> f = wg.value_and_jacobian(lambda x: x**2 - np.array([1.0, 4.0]))
        >>> root(f, np.array([2.0, 3.0]), jac=True).x.round(6)
        array([1., 2.])
    """
    options = Options(argnums, has_aux, holomorphic, allow_int, as_matrix)
    return _jacobian_by(value_and_jacobian, by_cheaper_mode, f, options, with_value=True)


@signatures.jacobian
def hessian(
    f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False,
    allow_int: bool = False, as_matrix: bool = False,
) -> Any:  # fmt: skip
    """Return the function that computes the Hessian ∂²f/∂x², forward through the gradient; without `f`, a decorator.

    For arguments in containers, and for several arguments, the Hessian is a container of containers.

    Parameters:
        f (callable): The function. Without it, `hessian` returns a decorator.
        argnums (int | str | tuple): The arguments to differentiate, as for `grad`.
        has_aux (bool): f returns `(y, aux)`, and the result is `(Hessian, aux)`.
        holomorphic (bool): f is holomorphic, as for `jacobian`.
        allow_int (bool): Arguments without derivative get None, as for `grad`.
        as_matrix (bool): Return one matrix, with a row and a column for each number of all arguments that `argnums`
            names: for arguments a and b, of shape `(a.size + b.size, a.size + b.size)`.
    Returns:
        callable: A function with f's parameters that returns the Hessian, of shape `x.shape + x.shape`, with the shape
            of the result in front.
    Raises:
        NonScalarOutputError: With `as_matrix`, the result is not one number; else the errors of `jacobian`.
    See Also:
        hvp, vhp, sparse_hessian, jacobian

    Examples:
        >>> wg.hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 5.0]))
        array([[10.,  6.],
               [ 6.,  0.]])

        >>> wg.hessian(lambda x, y: x * x * y, argnums=(0, 1))(3.0, 5.0)
        ((10.0, 6.0), (6.0, 0.0))
    """
    options = Options(argnums, has_aux, holomorphic, allow_int, as_matrix)
    check_argnums(hessian, argnums)
    if f is None:
        return lambda f: hessian(f, *options)
    finish = transforms(hessian, f, **options._asdict())
    second = unwrapped(jacfwd((_gradient_in_rows if as_matrix else _gradient_or_rows)(f, options), *options))
    if options == Options(argnums):
        return finish(_by_code_when_warm(hessian, f, argnums, second))
    if not as_matrix or isinstance(argnums, (int, str)):
        return finish(second)

    @finish
    def one_matrix(*args: Any, **kwargs: Any) -> Any:
        result = second(*args, **kwargs)
        parts, *aux = result if has_aux else (result,)
        matrix = np.concatenate([part for part in parts if part is not None], axis=1)
        return (matrix, *aux) if has_aux else matrix

    return one_matrix


def _gradient_or_rows(f: Callable[..., Any], options: Options) -> Callable[..., Any]:
    """Return `jacrev(f, *options)`; if f returns one number, its gradient is the only row, and takes fewer steps.

    The forward mode around it traces each of these steps.
    """
    function, in_general, argnums = unwrapped(f), unwrapped(jacrev(f, *options)), options.argnums
    places = argnums if type(argnums) is tuple else (argnums,)
    plain = options == Options(argnums) and len({*places}) == len(places)

    @functools.wraps(f)
    def rows(*args: Any, **kwargs: Any) -> Any:
        if not plain or kwargs or not are_plain_at(args, places):
            return in_general(*args, **kwargs)
        y, pullback, _ = vjp_of_call(function, args, kwargs, places, False)
        if type(y) is float or type(y) is np.float64:
            gradients = pullback(type(y)(1.0))
            return gradients if type(argnums) is tuple else gradients[0]
        call = JacobianCall(function, args, kwargs, options)
        return call.nested(y, blocks_of_rows(call, y, pullback, None).blocks)

    return rows


def _jacobian_at_once(f: Callable[..., Any], argnums: Argnums) -> Callable[..., Any]:
    """Return `jacobian(f, argnums)` with all rows in one walk back, to generate code from."""
    return _at_once(by_cheaper_mode, f, argnums)


def _rows_at_once(f: Callable[..., Any], argnums: Argnums) -> Callable[..., Any]:
    """Return `jacrev(f, argnums)` in one walk back."""
    return _at_once(by_rows, f, argnums)


def _at_once(mode: Callable[..., JacobianBlocks], f: Callable[..., Any], argnums: Argnums) -> Callable[..., Any]:
    def at_once(*args: Any) -> Any:
        call = JacobianCall(f, args, {}, Options(argnums))
        y, _, _, blocks = mode(call, at_once=True)
        return call.nested(y, blocks)

    return at_once


def _by_code_when_warm(
    make: Callable[..., Any], f: Callable[..., Any], argnums: Argnums, in_general: Callable[..., Any]
) -> Callable[..., Any]:
    """Return `in_general`, a Jacobian or Hessian, as a function that computes it by generated code if there is some."""
    function, options = unwrapped(f), Options(argnums)
    traced: Any = {jacobian: _jacobian_at_once, jacrev: _rows_at_once}.get(make, make)

    def rows_of(args: tuple[Any, ...], y: Any, pullback: Callable[[Any], Any]) -> Any:
        call = JacobianCall(function, args, {}, options)
        return call.nested(y, blocks_of_rows(call, y, pullback, None).blocks)

    @functools.wraps(f)
    def by_code(*args: Any, **kwargs: Any) -> Any:
        coded = None if kwargs else warm_call(traced, function, argnums, args, walks=make is hessian)
        if coded is None:
            return in_general(*args, **kwargs)
        if make is hessian:
            coded.rows_of = rows_of
            linear = coded.linearize(coded.call_gradient, args)
        else:
            linear = coded.linearize(coded.call_function, args, backward=True)
        if linear is None:
            return coded.value
        call, (y, push, pullback) = JacobianCall(function, args, {}, options), linear
        if make is jacobian:
            blocks = by_cheaper_pass(call, y, push, pullback, None)
        else:
            blocks = by_pushforward(call, y, push, None) if make is hessian else blocks_of_rows(call, y, pullback, None)
        return coded.learn(call.nested(linear[0], blocks.blocks))

    return by_code


def _gradient_in_rows(f: Callable[..., Any], options: Options) -> Callable[..., Any]:
    """Return the gradient function of an f that returns one number, as matrices of one row."""
    value_and_rows = unwrapped(value_and_jacobian(f, *options))

    @functools.wraps(f)
    def rows(*args: Any, **kwargs: Any) -> Any:
        value, found = value_and_rows(*args, **kwargs)
        y = value[0] if options.has_aux else value
        count = sum([np.size(leaf) for _, leaf in leaves(y)])
        if count != 1:
            raise NonScalarOutputError(
                f"hessian with as_matrix=True needs a function that returns one number, but {callable_name(f)} "
                f"returned {count}. Without as_matrix=True you get one Hessian for each number."
            )
        return (found, value[1]) if options.has_aux else found

    return rows


def _value_and_jacobian_by(mode: Mode, f: Callable[..., Any], options: Options) -> Callable[..., Any]:
    """Return the function that computes a value and its Jacobian."""

    def value_and_blocks(*args: Any, **kwargs: Any) -> Any:
        call = JacobianCall(f, args, kwargs, options)
        y, aux, ys, blocks = mode(call)
        found = call.matrices(ys, blocks) if options.as_matrix else call.nested(y, blocks)
        return ((y, aux) if options.has_aux else y), found

    return value_and_blocks


def _jacobian_by(
    make: Callable[..., Any], mode: Mode, f: Callable[..., Any] | None, options: Options, with_value: bool = False
) -> Any:
    """Return `make(f, *options)`: the function that computes the Jacobian by a mode; without `f`, a decorator."""
    check_argnums(make, options.argnums)
    if f is None:
        return lambda f: make(f, *options)
    both = _value_and_jacobian_by(mode, unwrapped(f), options)

    def jacobian_alone(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if options.has_aux else found

    alone: Any = jacobian_alone
    if make in (jacobian, jacrev) and options == Options(options.argnums):
        alone = _by_code_when_warm(make, f, options.argnums, alone)
    return transforms(make, f, **options._asdict())(both if with_value else alone)
