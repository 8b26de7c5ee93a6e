"""The linear equations between small changes of a method's slopes and values, and their transpose."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dgbtrf, dgbtrs, dtbtrs
from scipy.sparse._sparsetools import csc_matvec, csc_matvecs, csr_matvec, csr_matvecs
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from wengert.extend import Sealed, batching, linear, vjp_rule

FEWEST = 4
"""The fewest equations whose matrices are inverted by blocks."""
ACCURATE = 1e-6
"""The largest relative error of inverses."""
NARROW = 64
"""The most bands of a matrix on each side of its diagonal that is not factorised as a general sparse one."""
MOST = 1 << 25
"""The most numbers in all Jacobians that are written out, and in the factors that are kept."""


class LinearSteps(Sealed):
    """The equations κ = r + J (η + h A κ) and η' = q' + η + h B κ of small changes along explicit steps.

    κ changes the slopes of a step, η the value at its start and η' that at its end. J holds ∂f/∂y at each stage of each
    step. An array (steps + 1, stages + 1, n) holds the κ of each step with its η behind them; its last row holds the η
    at the end alone. The residuals r and q lie in the same places; `known` holds the indices of those that are given.
    The rows at `breaks` are ends of solutions, too: another solution begins behind each.
    """

    breaks: Any = slice(0)

    def __init__(
        self, A: np.ndarray, B: np.ndarray, h: np.ndarray, J: np.ndarray, known: Any, breaks: Any = slice(0)
    ) -> None:
        self.A, self.B, self.h, self.J, self.known, self.breaks = A, B, h[:, None, None], J, known, breaks
        n = J.shape[-1]
        per_unit = np.empty_like(J)  # κ for each unit of η
        for i in range(B.size):
            per_unit[:, i] = J[:, i] @ (np.eye(n) + self._moved(per_unit, A[i, :i]))
        self._set_growth(per_unit)

    def _set_growth(self, per_unit: np.ndarray) -> None:
        """Set κ for each unit of η, and the equations η' - growth η = q' + h B κ, as the bands of their matrix."""
        self.per_unit, n = per_unit, per_unit.shape[-1]
        growth = np.eye(n) + self._moved(per_unit, self.B)
        growth[self.breaks] = 0.0
        rows, columns = np.indices((n, n))
        bands = np.zeros((2 * n, len(growth) + 1, n))
        bands[n + rows - columns, :-1, columns] = -np.moveaxis(growth, 0, -1)
        self.bands = bands.reshape(2 * n, -1)

    def _moved(self, slopes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return h Σ wᵢ kᵢ in each step."""
        count, _, *shape = slopes.shape
        flat = slopes[:, : weights.size].reshape(count, weights.size, math.prod(shape))
        return (weights @ flat).reshape(count, *shape) * self.h

    def _along(self, q: np.ndarray, transposed: bool) -> np.ndarray:
        """Return the η for residuals q, (steps + 1, n, examples), or the transpose of that."""
        found, _ = dtbtrs(self.bands, q.reshape(-1, q.shape[-1]), uplo="L", trans="T" if transposed else "N", diag="U")
        return found.reshape(q.shape)

    def changes(self, residuals: np.ndarray) -> np.ndarray:
        """Return the changes for residuals, a row for each that is known."""
        of_examples = residuals.shape[:-2]
        found = np.zeros((len(self.h) + 1, self.B.size + 1, residuals.shape[-1], math.prod(of_examples)))
        if of_examples or np.any(residuals):
            found[self.known] = np.moveaxis(residuals.reshape(-1, *residuals.shape[-2:]), 0, -1)
            self.solved(found)
        return np.moveaxis(found, -1, 0).reshape(*of_examples, *found.shape[:-1])

    def residuals(self, y: np.ndarray) -> np.ndarray:
        """Return the transpose of `changes`."""
        of_examples = y.shape[:-3]
        found = np.array(np.moveaxis(y.reshape(-1, *y.shape[-3:]), 0, -1), order="C")
        self.transposed(found)
        found = found[self.known]
        return np.moveaxis(found, -1, 0).reshape(*of_examples, *found.shape[:-1])

    def solved(self, found: np.ndarray) -> None:
        """Replace the residuals, with an axis of examples behind, by the changes."""
        kappa, eta = found[:-1, :-1], found[:, -1]
        kappa[...] = self._within_steps(kappa)
        eta[1:] += self._moved(kappa, self.B)
        eta[...] = self._along(eta, False)
        kappa += self.per_unit @ eta[:-1, None]

    def transposed(self, found: np.ndarray) -> None:
        """Replace the cotangents of the changes by those of the residuals."""
        kappa, eta = found[:-1, :-1], found[:, -1]
        eta[:-1] += (np.swapaxes(self.per_unit, -1, -2) @ kappa).sum(axis=1)
        eta[...] = self._along(eta, True)
        kappa += self.B[:, None, None] * (self.h * eta[1:])[:, None]
        kappa[...] = self._transposed_within_steps(kappa)

    def _within_steps(self, r: np.ndarray) -> np.ndarray:
        """Return κ for η = 0 in each step; r may be overwritten."""
        for i in range(self.B.size):
            if np.any(self.A[i, :i]):
                r[:, i] += self.J[:, i] @ self._moved(r, self.A[i, :i])
        return r

    def _transposed_within_steps(self, found: np.ndarray) -> np.ndarray:
        """Return the transpose of `_within_steps` on the same array."""
        for i in range(self.B.size - 1, -1, -1):
            if np.any(self.A[i, :i]):
                moved = self.h * (np.swapaxes(self.J[:, i], -1, -2) @ found[:, i])
                for j in np.flatnonzero(self.A[i, :i]):
                    found[:, j] += self.A[i, j] * moved
        return found


class CollocationSteps(LinearSteps):
    """The same equations for implicit methods, in which all stages of a step depend on each other."""

    def __init__(self, A: np.ndarray, B: np.ndarray, h: np.ndarray, J: np.ndarray, known: Any) -> None:
        self.A, self.B, self.h, self.J, self.known = A, B, h[:, None, None], J, known
        steps, stages, n = J.shape[:3]
        self.inverse = inverse_by_blocks(
            [[-(self.h * A[i, j]) * J[:, i] for j in range(stages)] for i in range(stages)]
        )
        self._set_growth((self.inverse @ J.reshape(steps, stages * n, n)).reshape(J.shape))

    def speeds(self, units: np.ndarray) -> np.ndarray:
        """Return the largest norm of h J in each step, for states in these units; nan if one is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.abs(np.ravel(self.h)) * np.max(np.abs(self.J) @ units / units, axis=(1, 2))

    def _within_steps(self, r: np.ndarray) -> np.ndarray:
        return (self.inverse @ r.reshape(*self.inverse.shape[:2], -1)).reshape(r.shape)

    def _transposed_within_steps(self, found: np.ndarray) -> np.ndarray:
        transposed = np.swapaxes(self.inverse, -1, -2)
        return (transposed @ found.reshape(*transposed.shape[:2], -1)).reshape(found.shape)


def inverse_by_blocks(blocks: list[list[np.ndarray]]) -> np.ndarray:
    """Return the inverses of 1 + the matrices of these blocks, arrays (steps, n, n), by Gauss-Jordan elimination.

    Inverses of small matrices and their products take less time than inverses of large ones.
    Errors: RuntimeError if a pivot is almost singular.
    """
    count, n = range(len(blocks)), blocks[0][0].shape[-1]
    if n < FEWEST:
        matrices = joined(blocks)
        return np.linalg.inv(np.eye(matrices.shape[-1]) + matrices)
    x = np.cos(np.arange(len(blocks) * n)).reshape(-1, n, 1)
    product = np.concatenate([x[i] + sum([blocks[i][j] @ x[j] for j in count]) for i in count], axis=1)
    for k in count:
        pivot = blocks[k][k] = np.linalg.inv(np.eye(n) + blocks[k][k])
        others = [i for i in count if i != k]
        for j in others:
            blocks[k][j] = pivot @ blocks[k][j]
        for i in others:
            for j in others:
                blocks[i][j] -= blocks[i][k] @ blocks[k][j]
            blocks[i][k] = -blocks[i][k] @ pivot
    found = joined(blocks)
    if not np.all(np.abs(found @ product - x.reshape(-1, 1)) <= ACCURATE):
        raise RuntimeError("a pivot is almost singular")
    return found


def joined(blocks: list[list[np.ndarray]]) -> np.ndarray:
    """Return the matrices of blocks, one for each step."""
    (steps, n, _), count = blocks[0][0].shape, len(blocks)
    parts = np.empty((steps, count, n, count, n))
    for i, j in itertools.product(range(count), range(count)):
        parts[:, i, :, j] = blocks[i][j]
    return parts.reshape(steps, count * n, count * n)


AddProduct = Callable[[int, np.ndarray, np.ndarray], None]
"""A function that adds the product of the Jacobian of a stage, or of its transpose, with a matrix to another one."""


class JacobiansByCode:
    """The Jacobians of all stages by their products: stage k is number `places[k]` of them, or zero if that is -1."""

    def __init__(self, products: Any, places: np.ndarray) -> None:
        self.products, self.places = products, places

    def add_product(self, is_transposed: bool = False) -> AddProduct:
        """Return the function that adds J x, or Jᵀ x."""
        of_rows = self.products.pulled if is_transposed else self.products.pushed

        def add(stage: int, x: np.ndarray, sums: np.ndarray) -> None:
            if (k := self.places[stage]) >= 0:
                sums += of_rows(k, np.ascontiguousarray(x.T)).T

        return add


class SparseJacobians:
    """The same for Jacobians that have one pattern, with a row of entries for each."""

    def __init__(self, pattern: Any, entries: np.ndarray, places: np.ndarray) -> None:
        self.size, self.rows, self.entries, self.places = pattern.shape[0], pattern.rows, entries, places
        self.columns, self.starts = pattern.indices.astype(np.int32), pattern.indptr.astype(np.int32)

    def add_product(self, is_transposed: bool = False) -> AddProduct:
        """Return the function that adds J x, or Jᵀ x, to sums; both are contiguous."""
        of_vector, of_matrix = (csc_matvec, csc_matvecs) if is_transposed else (csr_matvec, csr_matvecs)
        n, columns, starts = self.size, self.columns, self.starts
        entries, places = [*self.entries], self.places.tolist()

        def add(stage: int, x: np.ndarray, sums: np.ndarray) -> None:
            if (k := places[stage]) < 0:
                return
            if x.size == n:
                of_vector(n, n, starts, columns, entries[k], x, sums)
            else:
                of_matrix(n, n, x.shape[1], starts, columns, entries[k], x, sums)

        return add


class LargeSteps(LinearSteps):
    """The same equations, stage by stage, for Jacobians that are too large to write out or multiply with each other."""

    def __init__(self, A: np.ndarray, B: np.ndarray, h: np.ndarray, jacobians: Any, known: Any) -> None:
        self.A, self.B, self.h, self.jacobians, self.known = A, B, h, jacobians, known

    def solved(self, found: np.ndarray) -> None:
        stages, of_stage, add_product = self.B.size, found.shape[2:], self.jacobians.add_product()
        for k in range(len(self.h)):
            slopes, eta, weights = found[k, :-1].reshape(stages, -1), found[k, -1], self.h[k] * self.A
            for i in range(stages):
                moved = eta + (weights[i, :i] @ slopes[:i]).reshape(of_stage)
                add_product(k * stages + i, moved, found[k, i])
            found[k + 1, -1] += eta + self.h[k] * (self.B @ slopes).reshape(of_stage)

    def transposed(self, found: np.ndarray) -> None:
        stages, add_product = self.B.size, self.jacobians.add_product(is_transposed=True)
        moved = np.empty((stages, *found.shape[2:]))  # the cotangents of the values at the stages
        flat = moved.reshape(stages, -1)
        for k in range(len(self.h) - 1, -1, -1):
            weights, slopes, after = self.h[k] * self.A.T, found[k], found[k + 1, -1]
            slopes[:-1] += (self.h[k] * self.B)[:, None, None] * after
            moved[...] = 0.0
            for i in range(stages - 1, -1, -1):
                slope = slopes[i]
                slope += weights[i].dot(flat).reshape(slope.shape)
                add_product(k * stages + i, slope, moved[i])
            slopes[-1] += after + moved.sum(axis=0)


class SparseMatrices:
    """Sparse matrices with entries at the same rows and columns; those at one place are added."""

    def __init__(self, rows: np.ndarray, columns: np.ndarray, size: int) -> None:
        places, self.cell_of = np.unique(columns * size + rows, return_inverse=True)
        starts = np.searchsorted(places, np.arange(size + 1) * size)
        self.indices, self.starts, self.size = (places % size).astype(np.int32), starts.astype(np.int32), size

    def factorised(self, entries: np.ndarray) -> Any:
        """Return the factors of the matrix with these entries. Errors: RuntimeError if it is singular."""
        numbers = np.bincount(self.cell_of, entries)
        return splu(sparse.csc_array((numbers, self.indices, self.starts), (self.size, self.size)))


class BandedMatrices:
    """The same in bands, the `below` and `above` of which have entries besides the diagonal."""

    def __init__(self, rows: np.ndarray, columns: np.ndarray, size: int) -> None:
        self.below, self.above, self.size = np.max(rows - columns), np.max(columns - rows), size
        self.height = 2 * self.below + self.above + 1
        self.cell_of = columns * self.height + self.below + self.above + rows - columns

    def factorised(self, entries: np.ndarray) -> BandedFactors:
        """Return the factors of the matrix with these entries. Errors: RuntimeError if it is singular."""
        bands = np.bincount(self.cell_of, entries, self.height * self.size).reshape(self.size, self.height).T
        factors, pivots, info = dgbtrf(bands, self.below, self.above, overwrite_ab=True)
        if info:
            raise RuntimeError("a matrix of a step is singular")
        return BandedFactors(factors, pivots, self.below, self.above)


class BandedFactors:
    """The factors of a banded matrix, with the methods of SciPy's for sparse ones."""

    def __init__(self, factors: np.ndarray, pivots: np.ndarray, below: int, above: int) -> None:
        self.factors, self.pivots, self.below, self.above, self.nnz = factors, pivots, below, above, factors.size

    def solve(self, b: np.ndarray, of: str) -> np.ndarray:
        return dgbtrs(self.factors, self.below, self.above, b, self.pivots, trans=of == "T")[0]


class SparseCollocationSteps(LinearSteps):
    """The same equations for implicit methods whose last stage is the end, by factors of a sparse matrix for each step.

    ζ = A κ solves (A⁻¹ - h J) ζ = r + J η for the Jacobians of all stages, and η' = q' + η + h ζ for the last stage.
    The rows are the stages of one equation after the other; the order of Cuthill and McKee makes bands narrow.
    """

    def __init__(self, A: np.ndarray, B: np.ndarray, h: np.ndarray, jacobians: SparseJacobians, known: Any) -> None:
        self.A, self.B, self.h, self.known, self.inverse = A, B, h, known, np.linalg.inv(A)
        n, count, nnz = jacobians.size, B.size, len(jacobians.rows)
        pattern = sparse.csr_matrix((np.ones(nnz), jacobians.columns, jacobians.starts), (n, n))
        self.order = reverse_cuthill_mckee(pattern)
        rank, stage = np.argsort(self.order), np.repeat(np.arange(count), nnz)
        rows, columns = rank[np.tile(jacobians.rows, count)] * count + stage, rank[np.tile(jacobians.columns, count)]
        by_row = np.argsort(rows, kind="stable")
        self.entries = jacobians.entries[jacobians.places].reshape(len(h), -1)[:, by_row]
        self.columns = columns[by_row].astype(np.int32)
        self.starts = np.searchsorted(rows[by_row], np.arange(n * count + 1)).astype(np.int32)
        equation, i, j = (part.ravel() for part in np.indices((n, count, count)))
        rows = np.concatenate([rows[by_row], equation * count + i])
        columns = np.concatenate([(columns * count + stage)[by_row], equation * count + j])
        is_narrow = np.max(np.abs(rows - columns)) <= NARROW
        self.matrices = (BandedMatrices if is_narrow else SparseMatrices)(rows, columns, n * count)
        self.of_inverse = self.inverse[i, j]
        first = self._factorised(0)
        self.factors = [first, *map(self._factorised, range(1, len(h)))] if len(h) * first.nnz <= MOST else None

    def speeds(self, units: np.ndarray) -> np.ndarray:
        """Return an upper bound of that norm, by the largest entry and the number of entries in each row."""
        units, lengths = units[self.order], np.diff(self.starts)
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = units[self.columns] * np.repeat(lengths / np.repeat(units, self.B.size), lengths)
            return np.abs(self.h) * np.max(np.abs(self.entries) * weights, axis=1, initial=0.0)

    def _factorised(self, k: int) -> Any:
        """Return the factors of A⁻¹ - h J."""
        return self.matrices.factorised(np.concatenate([-self.h[k] * self.entries[k], self.of_inverse]))

    def _divided(self, k: int, zeta: np.ndarray, of: str) -> np.ndarray:
        """Return ζ of a step divided by its matrix, or by the transpose of that."""
        return (self._factorised(k) if self.factors is None else self.factors[k]).solve(zeta, of)

    def _by_equation(self, kappa: np.ndarray) -> np.ndarray:
        """Return an array (steps, rows of the matrices, examples) for one of (steps, stages, n, examples)."""
        return np.take(np.swapaxes(kappa, 1, 2), self.order, axis=1).reshape(len(kappa), -1, kappa.shape[-1])

    def _by_stage(self, zeta: np.ndarray) -> np.ndarray:
        """Return the inverse of `_by_equation`."""
        by_equation = zeta.reshape(len(zeta), self.order.size, self.B.size, -1)
        return np.swapaxes(np.take(by_equation, np.argsort(self.order), axis=1), 1, 2)

    def solved(self, found: np.ndarray) -> None:
        zeta, eta = self._by_equation(found[:-1, :-1]), np.take(found[:, -1], self.order, axis=1)
        (size, examples), n, stages = zeta.shape[1:], self.order.size, self.B.size
        for k in range(len(self.h)):
            vectors = self.entries[k], eta[k].reshape(-1), zeta[k].reshape(-1)
            csr_matvecs(size, n, examples, self.starts, self.columns, *vectors)
            zeta[k] = self._divided(k, zeta[k], "N")
            eta[k + 1] += eta[k] + self.h[k] * zeta[k, stages - 1 :: stages]
        found[:, -1, self.order] = eta
        found[:-1, :-1] = times(self.inverse, self._by_stage(zeta))

    def transposed(self, found: np.ndarray) -> None:
        zeta, eta = self._by_equation(times(self.inverse.T, found[:-1, :-1])), np.take(found[:, -1], self.order, axis=1)
        (size, examples), n, stages = zeta.shape[1:], self.order.size, self.B.size
        for k in range(len(self.h) - 1, -1, -1):
            zeta[k, stages - 1 :: stages] += self.h[k] * eta[k + 1]
            zeta[k] = self._divided(k, zeta[k], "T")
            eta[k] += eta[k + 1]
            vectors = self.entries[k], zeta[k].reshape(-1), eta[k].reshape(-1)
            csc_matvecs(n, size, examples, self.starts, self.columns, *vectors)
        found[:, -1, self.order] = eta
        found[:-1, :-1] = self._by_stage(zeta)


def times(matrix: np.ndarray, kappa: np.ndarray) -> np.ndarray:
    """Return the product of a matrix with the stages of each step."""
    return (matrix @ kappa.reshape(*kappa.shape[:2], -1)).reshape(kappa.shape)


def changes(residuals: Any, *, steps: Any) -> Any:
    """The changes of all slopes and values, or of those at some times, for the residuals of their equations."""
    return steps.changes(residuals)


def residuals_of_changes(y: Any, *, steps: Any) -> Any:
    """The transpose of `changes`."""
    return steps.residuals(y)


@vjp_rule(changes)
def changes_(y_bar, y, residuals, *, steps):
    """y = S r  ⇒  r̄ = Sᵀ ȳ."""
    return residuals_of_changes(y_bar, steps=steps)


@vjp_rule(residuals_of_changes)
def residuals_of_changes_(y_bar, y, x, *, steps):
    """y = Sᵀ x  ⇒  x̄ = S ȳ."""
    return changes(y_bar, steps=steps)


linear(changes)
linear(residuals_of_changes)


@batching(changes, residuals_of_changes)
def on_batch(batch, x, *, steps):
    return batch.fn(x, steps=steps)
