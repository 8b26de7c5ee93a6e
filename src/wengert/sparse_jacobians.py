"""Sparse Jacobians and Hessians: the pattern is read from a tape, and coloured, and few passes give all entries.

Each call traces the function at its arguments; the pattern and its colouring are found anew only where that tape is
another one. So no entry is missed, whatever the function decides by its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.errors import ArgumentError, RecomputationError, WengertError
from wengert.gradient import grad, pulled, wraps
from wengert.jacobians import Call, Options
from wengert.recording.container_arguments import with_leaves
from wengert.recording.session import followed
from wengert.sparse.pattern import Pattern
from wengert.sparse.recovery import Passes
from wengert.tape.ops import Input
from wengert.tape.tape import Tape
from wengert.taping import trace
from wengert.values.callables import callable_name
from wengert.values.specs import Spec, as_float, is_complex
from wengert.values.trees import itself, leaves, mirror
from wengert.wanted import check_argnums


class SparseJacobian:
    """What `sparse_jacobian(f, argnums, pattern)` returns: called as `f` is, it gives ∂f/∂x as a sparse matrix.

    `passes` is how many derivatives along one direction the last call took for all entries; None before the first one.

    >>> jac = wg.sparse_jacobian(lambda x: x[1:] * x[:-1])
    >>> jac(np.arange(1000.0)).nnz, jac.passes
    (1998, 2)
    """

    def __init__(self, f: Callable[..., Any], argnums: int | str = 0, pattern: Any = None) -> None:
        check_argnums(argnums)
        if not isinstance(argnums, int | str):
            raise ArgumentError(f"argnums={argnums!r}: a sparse Jacobian is that of one argument, by position or name.")
        wraps(f)(self)
        self.passes: int | None = None
        self._f, self._argnums = f, argnums
        self._given = None if pattern is None else _passes_of(pattern)
        self._read: tuple[Pattern, Passes] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The Jacobian at these arguments of f, a `scipy.sparse.csr_array`."""
        call = SparseCall(self._f, args, kwargs, self._argnums)
        found = self._by_given(call, self._given) if self._given is not None else self._by_tape(call)
        self.passes = found[1].count
        return found[0]

    def _by_tape(self, call: SparseCall) -> tuple[Any, Passes]:
        """The Jacobian, and the passes that it took, by the pattern of the tape of the call."""
        value, tape = trace(call.f, *call.args, **call.kwargs)
        if self._read is None or not self._read[0].fits(tape):
            pattern = Pattern(tape, call.inputs(tape))
            self._read = pattern, Passes(pattern.indptr, pattern.indices, pattern.shape)
        passes = self._read[1]
        y, products = call.products(passes, passes.seeds())
        if not _alike(value, y):
            raise RecomputationError(
                f"{callable_name(call.f)} gave another result when it ran a second time on the same arguments, so that "
                "the pattern of the first run may not be that of the second. Draw random numbers, and change what it "
                "remembers, outside of it; or give pattern=."
            )
        return _matrix(passes, products), passes

    def _by_given(self, call: SparseCall, passes: Passes) -> tuple[Any, Passes]:
        """The Jacobian, and the passes that it took, by the user's pattern, which one more product checks."""
        _, products = call.products(passes, [*passes.seeds(), passes.random_seed()])
        matrix = _matrix(passes, products[:-1])
        missed = passes.missed(matrix, products[-1])
        if len(missed):
            raise ArgumentError(
                f"pattern= misses entries of the Jacobian of {callable_name(call.f)}: by a product with it, in column "
                f"{missed[0]}. wg.jacobian_pattern gives the pattern here; without pattern= it is found at each call."
            )
        return matrix, passes


class SparseCall(Call):
    """A call of a function of which one argument is differentiated, outside of any other derivative."""

    def __init__(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: int | str) -> None:
        if followed() is not None:
            raise WengertError(
                "a sparse Jacobian cannot be taken inside another derivative or trace. Call it outside, or use "
                "wg.jacobian inside"
            )
        super().__init__(f, args, kwargs, Options(argnums))
        (place,) = self.places
        self.args = tuple([as_float(arg) if k == place else arg for k, arg in enumerate(args)])
        self.kwargs = {name: as_float(arg) if name == place else arg for name, arg in kwargs.items()}
        self._refuse_complex(self.xs, "takes")

    def inputs(self, tape: Tape) -> list[int]:
        """The positions on the tape of this call of the inputs that it is differentiated by."""
        counts = {key: len(leaves(arg)) for key, arg in [*enumerate(self.args), *self.kwargs.items()]}
        positions = [op.id for op in tape if isinstance(op, Input) and not op.callee]
        if len(positions) != sum(counts.values()):
            raise ArgumentError(
                f"two arguments of {callable_name(self.f)} are, or hold, the same array: give one of them a copy."
            )
        before = sum([counts[key] for key in list(counts)[: list(counts).index(self.places[0])]])
        return positions[before : before + len(self.xs)]

    def products(self, passes: Passes, seeds: Iterable[np.ndarray]) -> tuple[Any, np.ndarray]:
        """The value of the call, and the products of its Jacobian with each of the seeds, in rows."""
        y, pullback, _ = pulled(self.f, self.args, self.kwargs, self.places, False)
        ys = self.checked(y)
        self._refuse_complex(ys, "gives")
        shape = (sum([y.size for y in ys]), sum([x.size for x in self.xs]))
        if passes.shape != shape:
            raise ArgumentError(
                f"the Jacobian of {callable_name(self.f)} has shape {shape}, its pattern {passes.shape}. A result in "
                "other containers than tuples, lists and dictionaries has no pattern."
            )
        rows = [_ravelled(pullback(_filled(y, ys, seed))) for seed in seeds]
        return y, np.array(rows).reshape(len(rows), shape[1])

    def _refuse_complex(self, specs: Sequence[Spec], does: str) -> None:
        if any(map(is_complex, specs)):
            raise ArgumentError(
                f"{callable_name(self.f)} {does} complex numbers: a sparse Jacobian is that of a function of real "
                "numbers to real ones. Take the real and imaginary parts apart, or use wg.jacobian."
            )


def _filled(y: Any, ys: Sequence[Spec], seed: np.ndarray) -> Any:
    """A cotangent of the structure of the result y, from one of all the numbers in it."""
    parts = zip(np.split(seed, np.cumsum([y.size for y in ys])[:-1]), ys, strict=True)
    return with_leaves(mirror(y, itself), [part.astype(y.dtype).reshape(y.shape) for part, y in parts])


def _ravelled(tree: Any) -> np.ndarray:
    """The numbers in a structure, one after the other."""
    return np.concatenate([np.ravel(leaf) for _, leaf in leaves(tree)])


def _alike(a: Any, b: Any) -> bool:
    """Whether two results are the same but for rounding."""
    a, b = _ravelled(a), _ravelled(b)
    finite = np.abs(a[np.isfinite(a)])
    near = np.sqrt(np.finfo(a.dtype).eps)
    return a.shape == b.shape and np.allclose(a, b, near, near * np.max(finite, initial=0.0), equal_nan=True)


def _sparse() -> Any:
    try:
        from scipy import sparse
    except ImportError as error:
        raise ImportError(
            "a sparse Jacobian is a matrix of SciPy, which is not installed: pip install scipy"
        ) from error
    return sparse


def _passes_of(pattern: Any) -> Passes:
    """The passes for a pattern that the user gives: a sparse matrix, or an array that is zero where it has no entry."""
    matrix = _sparse().csr_array(pattern)
    matrix.sum_duplicates()
    return Passes(matrix.indptr, matrix.indices, matrix.shape)


def _matrix(passes: Passes, products: np.ndarray) -> Any:
    entries = (passes.entries(products), passes.indices.copy(), passes.indptr.copy())
    return _sparse().csr_array(entries, shape=passes.shape)


def sparse_jacobian(f: Callable[..., Any] | None = None, argnums: int | str = 0, pattern: Any = None) -> Any:
    """The function that returns the Jacobian ∂f/∂x as a sparse matrix, in few passes; without `f`, a decorator.

    It is called as f is, and gives a `scipy.sparse.csr_array`, with a row for each number of the result and a column
    for each one of the argument, in C order, those of containers one after the other. Which entries there are is read
    from the tape of the call; those of no common row, or column, are found in one pass (`SparseJacobian.passes`).

    >>> jac = wg.sparse_jacobian(lambda x: x[1:] * x[:-1])
    >>> jac(np.array([1.0, 2.0, 3.0])).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]])

    `argnums` says which argument, by position or name: `scipy.integrate.solve_ivp(f, ..., jac=sparse_jacobian(f, 1))`.
    `pattern` is a sparse matrix with the entries that there may be, or a dense one that is not zero there. Then nothing
    is traced but for the derivative, and one more product checks that no entry is missing.

    Errors: those of `vjp`; ArgumentError for complex numbers, and for a `pattern` that misses entries;
    RecomputationError where f gives another result when it runs a second time; WengertError inside another derivative.
    """
    if f is None:
        return lambda f: sparse_jacobian(f, argnums, pattern)
    return SparseJacobian(f, argnums, pattern)


def sparse_hessian(f: Callable[..., Any] | None = None, argnums: int | str = 0, pattern: Any = None) -> Any:
    """The function that returns the Hessian ∂²f/∂x² of a function of one number as a sparse matrix.

    It is the sparse Jacobian of the gradient: `f`, `argnums` and `pattern`, shapes and errors are those of
    `sparse_jacobian`, and those of `grad`.

    >>> hess = wg.sparse_hessian(lambda x: np.sum(x[1:] * x[:-1] ** 2))
    >>> hess(np.array([1.0, 2.0, 3.0])).toarray()
    array([[4., 2., 0.],
           [2., 6., 4.],
           [0., 4., 0.]])
    """
    if f is None:
        return lambda f: sparse_hessian(f, argnums, pattern)
    return SparseJacobian(grad(f, argnums=argnums), argnums, pattern)


def jacobian_pattern(f: Callable[..., Any], *args: Any, argnums: int | str = 0, **kwargs: Any) -> Any:
    """Where the Jacobian of `f` at these arguments may have entries: a sparse matrix of bools.

    `argnums` is that of `sparse_jacobian`, which takes such a `pattern`. The pattern is that of the branches taken.

    >>> wg.jacobian_pattern(lambda x: x[1:] * x[:-1], np.ones(3)).toarray().astype(int)
    array([[1, 1, 0],
           [0, 1, 1]])

    Errors: those of `sparse_jacobian`.
    """
    call = SparseCall(f, args, kwargs, argnums)
    _, tape = trace(f, *call.args, **call.kwargs)
    pattern = Pattern(tape, call.inputs(tape))
    entries = (np.ones(len(pattern.indices), bool), pattern.indices, pattern.indptr)
    return _sparse().csr_array(entries, shape=pattern.shape)


__all__ = ["SparseJacobian", "jacobian_pattern", "sparse_hessian", "sparse_jacobian"]
