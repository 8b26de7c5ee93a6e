"""Sparse Jacobians and Hessians: the pattern is read from a tape and coloured, so that few passes find all entries.

Each call traces the function at its arguments; the pattern and its colouring are computed again only if the tape has
changed. So no entry is missed, whichever branches the function takes.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.api.gradient import grad, vjp_of_call
from wengert.api.jacobian_blocks import JacobianCall, Options
from wengert.api.tangents import jvp_of_call
from wengert.api.taping import trace
from wengert.errors import ArgumentError, DensePatternWarning, RecomputationError, WengertError
from wengert.recording.container_arguments import with_held_leaves
from wengert.recording.session import active_recording
from wengert.sparse.csr import Csr
from wengert.sparse.pattern import SparsityPattern
from wengert.sparse.recovery import Passes, fewest_passes, seed_vectors
from wengert.tape.ops import Input
from wengert.tape.tape import Tape
from wengert.values import signatures
from wengert.values.argnums import Part, check_argnums
from wengert.values.callables import callable_name, unwrapped
from wengert.values.frames import warn
from wengert.values.progress import Telling
from wengert.values.specs import Spec, as_float, is_complex
from wengert.values.transformed import Remade, check_function
from wengert.values.trees import itself, leaves, mirror

WARN_FROM = 50  # rows and columns from which on we warn of a dense pattern
DIRECTIONS_AT_ONCE = 32  # directions pushed at once: each needs the memory of all values that the function computes


class SparseJacobian(Remade):
    """The function that `sparse_jacobian` returns: called like `f`, it returns ∂f/∂x as a sparse matrix.

    `passes` counts the derivatives along one direction that the last call took for all entries; None before the first.

    >>> jac = wg.sparse_jacobian(lambda x: x[1:] * x[:-1])
    >>> jac(np.arange(1000.0)).nnz, jac.passes
    (1998, 2)
    """

    def __init__(self, f: Callable[..., Any], argnums: int | str = 0, pattern: Any = None, quiet: bool = False) -> None:
        if not isinstance(argnums, int | str):
            raise ArgumentError(f"argnums={argnums!r}: a sparse Jacobian has one argument. Pass its position or name.")
        functools.update_wrapper(self, f)
        self.recipe = SparseJacobian, f, {"argnums": argnums, "pattern": pattern, "quiet": quiet}
        self.passes: int | None = None
        self._f, self._argnums, self._quiet = unwrapped(f), argnums, quiet
        self._user_passes = None if pattern is None else _passes_of(pattern)
        self._traced_pattern: tuple[SparsityPattern, Passes] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the Jacobian at these arguments of f, a `scipy.sparse.csr_array`."""
        with Telling("sparse Jacobian", self._f, "passes", quiet=self._quiet) as progress:
            call = SparseCall(self._f, args, kwargs, self._argnums)
            passes = self._user_passes or self._passes_by_tape(call)
            call.progress, progress.total = progress, passes.number
            matrix = call.checked_matrix(passes) if self._user_passes else call.matrix(passes, call.by_rows(passes))
        self.passes = passes.number
        return matrix

    def _passes_by_tape(self, call: SparseCall) -> Passes:
        """Return the passes for the pattern of the tape of a call."""
        value, tape = trace(call.f, *call.args, **call.kwargs)
        known = self._traced_pattern
        if known is None or not known[0].fits(tape):
            pattern = SparsityPattern(tape, call.inputs(tape))
            is_same = known is not None and pattern.csr.equals(known[0].csr)
            known = self._traced_pattern = pattern, known[1] if known and is_same else fewest_passes(pattern.csr)
            if not is_same:
                self._warn_if_dense(*known)
        call.specs_of(value, known[1])
        call.value = value
        return known[1]

    def _warn_if_dense(self, pattern: SparsityPattern, passes: Passes) -> None:
        """Warn if the pattern needs many passes; name the call that made it dense."""
        op, most = pattern.densest, min(pattern.csr.shape)
        if op is None or most < WARN_FROM or 2 * passes.number < most:
            return
        where = f" at {op.site}" if op.site else ""
        warn(
            f"the Jacobian of {callable_name(self._f)} takes {passes.number} passes, about as many as a dense one: "
            f"each number of the result of {callable_name(op.fn)}{where} counts as dependent on all numbers of its "
            "arguments, or all along its axis. If the Jacobian has few entries, pass pattern=; else use wg.jacobian.",
            DensePatternWarning,
        )


class SparseCall(JacobianCall):
    """A call of a function with one argument to differentiate by, outside of any other derivative.

    `value` is the value of its trace, if there was one; later runs must return the same.
    """

    value: Any = None
    progress: Telling

    def __init__(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: int | str) -> None:
        if active_recording() is not None:
            raise WengertError(
                "a sparse Jacobian cannot be computed inside another derivative or trace. Compute it outside, or use "
                "wg.jacobian inside"
            )
        super().__init__(f, args, kwargs, Options(argnums))
        (place,) = self.places
        if isinstance(place, Part):
            raise ArgumentError(f"argnums={argnums!r}: a sparse Jacobian is that of a whole argument. Name it alone.")
        self.args = tuple([as_float(arg) if k == place else arg for k, arg in enumerate(args)])
        self.kwargs = {name: as_float(arg) if name == place else arg for name, arg in kwargs.items()}
        self._refuse_complex(self.xs, "takes")

    def inputs(self, tape: Tape) -> list[int]:
        """Return the positions, on the tape of this call, of the inputs to differentiate by."""
        counts = {key: len(leaves(arg)) for key, arg in [*enumerate(self.args), *self.kwargs.items()]}
        positions = [op.id for op in tape if isinstance(op, Input) and not op.callee]
        if len(positions) != sum(counts.values()):
            raise ArgumentError(
                f"two arguments of {callable_name(self.f)} are, or contain, the same array. Pass a copy of one of them."
            )
        before = sum([counts[key] for key in list(counts)[: list(counts).index(self.places[0])]])
        return positions[before : before + len(self.xs)]

    def by_rows(self, passes: Passes, *more: np.ndarray) -> np.ndarray:
        """Return the products sᵀJ for the seeds s of the passes and some `more`, in rows."""
        seeds = [*seed_vectors(passes.rows), *more]
        if not seeds:
            return np.zeros((0, passes.pattern.columns))
        y, pullback, _ = vjp_of_call(self.f, self.args, self.kwargs, self.places, False)
        ys = self.specs_of(y, passes)
        return np.array([self._count(1, _numbers_of(pullback(_with_numbers(y, ys, seed)))) for seed in seeds])

    def by_columns(self, passes: Passes) -> np.ndarray:
        """Return the products J s for the seeds s of the passes, in rows."""
        seeds, found = seed_vectors(passes.columns), [np.zeros((0, passes.pattern.shape[0]))]
        while some := list(itertools.islice(seeds, DIRECTIONS_AT_ONCE)):
            tangents = [_with_numbers(self.forms[0], self.xs, np.array(some))]
            y, y_dot, _ = jvp_of_call(self.f, self.args, self.kwargs, self.places, tangents, size=len(some))
            self.specs_of(y, passes)
            found.append(self._count(len(some), _numbers_of(y_dot, (len(some),))))
        return np.concatenate(found)

    def _count(self, passes: int, products: np.ndarray) -> np.ndarray:
        """Count these passes as done; return their products."""
        self.progress.count(passes)
        return products

    def matrix(self, passes: Passes, by_rows: np.ndarray) -> Any:
        """Return the Jacobian, from the products by rows and by columns."""
        return _csr_array(passes.pattern, passes.entries(by_rows, self.by_columns(passes)))

    def checked_matrix(self, passes: Passes) -> Any:
        """Return the Jacobian by passes for the user's pattern, which one more product checks."""
        direction = np.random.default_rng(passes.number).normal(size=passes.pattern.shape[0])
        *by_rows, product = self.by_rows(passes, direction)
        found = self.matrix(passes, np.reshape(by_rows, (len(by_rows), passes.pattern.columns)))
        near = np.sqrt(np.finfo(product.dtype).eps)
        size = abs(found).T @ abs(direction) + abs(product)
        most = np.max(size, initial=0.0, where=np.isfinite(size))
        missed = abs(product - found.T @ direction) > near * size + near**1.5 * most  # False where both are nan
        if missed.any():
            raise ArgumentError(
                f"pattern= misses entries of the Jacobian of {callable_name(self.f)}: a product with it differs in "
                f"column {np.argmax(missed)}. wg.jacobian_pattern returns the pattern at these arguments; without "
                "pattern= each call finds it."
            )
        return found

    def specs_of(self, y: Any, passes: Passes) -> list[Spec]:
        """Return the Specs of the leaves of the result y.

        Errors: ArgumentError if it does not fit the passes; RecomputationError if it is not the `value` of the trace.
        """
        ys = self.check_result(y)
        self._refuse_complex(ys, "returns")
        shape = (sum([y.size for y in ys]), sum([x.size for x in self.xs]))
        if passes.pattern.shape != shape:
            raise ArgumentError(
                f"the Jacobian of {callable_name(self.f)} has shape {shape}, its pattern {passes.pattern.shape}. "
                "Return a number, an array, or a tuple, list or dictionary of these."
            )
        if self.value is not None and not _equal_but_rounding(self.value, y):
            raise RecomputationError(
                f"{callable_name(self.f)} returned another result when it ran again on the same arguments, so that the "
                "pattern of the first run may not fit the second. Draw random numbers and change state outside of it, "
                "or pass pattern=."
            )
        return ys

    def _refuse_complex(self, specs: Sequence[Spec], does: str) -> None:
        if any(map(is_complex, specs)):
            raise ArgumentError(
                f"{callable_name(self.f)} {does} complex numbers, but a sparse Jacobian needs real arguments and "
                "results. Split the real and imaginary parts, or use wg.jacobian."
            )


def _with_numbers(tree: Any, specs: Sequence[Spec], numbers: np.ndarray) -> Any:
    """Return a structure like `tree` with leaves of these Specs, filled with numbers, or with several rows of them."""
    parts = np.split(numbers, np.cumsum([spec.size for spec in specs])[:-1], axis=-1)
    before = numbers.shape[:-1]
    arrays = [part.astype(spec.dtype).reshape(before + spec.shape) for part, spec in zip(parts, specs, strict=True)]
    return with_held_leaves(mirror(tree, itself), arrays)


def _numbers_of(tree: Any, before: tuple[int, ...] = ()) -> np.ndarray:
    """Flatten the numbers in a structure to a vector; if its leaves have axes `before` their own, to rows."""
    return np.concatenate([np.reshape(leaf, (*before, -1)) for _, leaf in leaves(tree)], axis=-1)


def _equal_but_rounding(a: Any, b: Any) -> bool:
    """Whether two results are equal up to rounding."""
    a, b = _numbers_of(a), _numbers_of(b)
    finite = np.abs(a[np.isfinite(a)])
    near = np.sqrt(np.finfo(a.dtype).eps)
    return a.shape == b.shape and np.allclose(a, b, near, near * np.max(finite, initial=0.0), equal_nan=True)


def _scipy_sparse() -> Any:
    try:
        from scipy import sparse
    except ImportError as error:
        raise ImportError(
            "sparse_jacobian returns a SciPy sparse matrix, but SciPy is not installed: pip install scipy"
        ) from error
    return sparse


def _passes_of(pattern: Any) -> Passes:
    """Return the passes for the user's pattern: a sparse matrix, or an array that is zero where there is no entry."""
    matrix = _scipy_sparse().csr_array(pattern)
    matrix.sum_duplicates()
    return fewest_passes(Csr(matrix.indptr, matrix.indices, matrix.shape[1]))


def _csr_array(pattern: Csr, entries: np.ndarray) -> Any:
    return _scipy_sparse().csr_array((entries, pattern.indices.copy(), pattern.indptr.copy()), shape=pattern.shape)


@signatures.sparse_jacobian
def sparse_jacobian(
    f: Callable[..., Any] | None = None, argnums: int | str = 0, pattern: Any = None, quiet: bool = False
) -> Any:
    """Return the function that computes ∂f/∂x as a sparse matrix, in few passes; without `f`, a decorator.

    The pattern of entries is read from the tape of the call; one pass computes all entries that share no row, or no
    column. On a terminal a call shows its progress. As SciPy's solvers expect it:
    `scipy.integrate.solve_ivp(f, ..., jac=sparse_jacobian(f, 1))`.

    Parameters:
        f (callable): The function. Without it, `sparse_jacobian` returns a decorator.
        argnums (int | str): The argument to differentiate, by position or name.
        pattern (sparse matrix | array | None): The possible entries, as a sparse matrix, or as a dense one that is not
            zero there. With it f is traced only for the derivative, and one more product checks that no entry is
            missing.
        quiet (bool): Show no progress.
    Returns:
        callable: A function of f's arguments that returns a `scipy.sparse.csr_array`, with a row for each number of the
            result and a column for each number of the argument, in C order, containers leaf by leaf. Its attribute
            `passes` counts the passes of the last call.
    Raises:
        ArgumentError: A number is complex, or `pattern` misses entries; else the errors of `vjp`.
        RecomputationError: f returns another result when it runs again.
        WengertError: The call is inside another derivative.
    Warns:
        DensePatternWarning: It takes about as many passes as a dense Jacobian. Call `jacobian`.
    See Also:
        sparse_hessian, jacobian_pattern, jacobian

    Examples:
        >>> jac = wg.sparse_jacobian(lambda x: x[1:] * x[:-1])
        >>> jac(np.array([1.0, 2.0, 3.0])).toarray()
        array([[2., 1., 0.],
               [0., 3., 2.]])
    """
    if f is None:
        return lambda f: sparse_jacobian(f, argnums, pattern, quiet)
    check_function(sparse_jacobian, f)
    check_argnums(sparse_jacobian, argnums)
    return SparseJacobian(f, argnums, pattern, quiet)


@signatures.sparse_jacobian
def sparse_hessian(
    f: Callable[..., Any] | None = None, argnums: int | str = 0, pattern: Any = None, quiet: bool = False
) -> Any:
    """Return the function that computes the Hessian ∂²f/∂x² of an `f` that returns one number, as a sparse matrix.

    It is the sparse Jacobian of the gradient.

    Parameters:
        f (callable): The function. Without it, `sparse_hessian` returns a decorator.
        argnums (int | str): The argument to differentiate, by position or name.
        pattern (sparse matrix | array | None): The possible entries, as for `sparse_jacobian`.
        quiet (bool): Show no progress.
    Returns:
        callable: A function of f's arguments that returns a `scipy.sparse.csr_array`, with a row and a column for each
            number of the argument.
    Raises:
        NonScalarOutputError: The result is not one number; else the errors of `sparse_jacobian`.
    Warns:
        DensePatternWarning: It takes about as many passes as a dense Hessian. Call `hessian`.
    See Also:
        sparse_jacobian, jacobian_pattern, hessian

    Examples:
        >>> hess = wg.sparse_hessian(lambda x: np.sum(x[1:] * x[:-1] ** 2))
        >>> hess(np.array([1.0, 2.0, 3.0])).toarray()
        array([[4., 2., 0.],
               [2., 6., 4.],
               [0., 4., 0.]])
    """
    if f is None:
        return lambda f: sparse_hessian(f, argnums, pattern, quiet)
    check_function(sparse_hessian, f)
    check_argnums(sparse_hessian, argnums)
    return SparseJacobian(grad(f, argnums=argnums), argnums, pattern, quiet)


def jacobian_pattern(f: Callable[..., Any], *args: Any, argnums: int | str = 0, **kwargs: Any) -> Any:
    """Return where the Jacobian of `f` at these arguments may have entries: a sparse matrix of bools.

    It holds for the branches taken here.

    Parameters:
        f (callable): The function.
        *args (Any): Its positional arguments.
        argnums (int | str): The argument to differentiate, by position or name.
        **kwargs (Any): Its keyword arguments.
    Returns:
        csr_array: The pattern, which `sparse_jacobian` takes as `pattern`.
    Raises:
        ArgumentError: A number is complex; else the errors of `vjp`.
    See Also:
        sparse_jacobian, sparse_hessian

    Examples:
        >>> wg.jacobian_pattern(lambda x: x[1:] * x[:-1], np.ones(3)).toarray().astype(int)
        array([[1, 1, 0],
               [0, 1, 1]])
    """
    call = SparseCall(f, args, kwargs, argnums)
    _, tape = trace(f, *call.args, **call.kwargs)
    pattern = SparsityPattern(tape, call.inputs(tape)).csr
    return _csr_array(pattern, np.ones(len(pattern.indices), bool))


__all__ = ["SparseJacobian", "jacobian_pattern", "sparse_hessian", "sparse_jacobian"]
