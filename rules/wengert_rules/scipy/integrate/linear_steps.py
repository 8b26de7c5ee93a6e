"""The linear equations between small changes of a method's slopes, and their transpose."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from wengert.extend import batching, linear, vjp_rule


class LinearSteps:
    """The equations κ = r + J (η + h A κ) of the changes κ of the slopes of explicit steps, and η of the values.

    η grows by h B κ in each step, from zero on. J holds ∂f/∂y at each stage of each step.
    """

    def __init__(self, A: np.ndarray, B: np.ndarray, h: np.ndarray, J: np.ndarray) -> None:
        self.A, self.B, self.h, self.J = A, B, h[:, None, None], J
        n = J.shape[-1]
        per_unit = np.empty_like(J)  # κ for each unit of η
        for i in range(B.size):
            per_unit[:, i] = J[:, i] @ (np.eye(n) + self._moved(per_unit, A[i, :i]))
        self.per_unit, self.growth = per_unit, np.eye(n) + self._moved(per_unit, B)

    def _moved(self, slopes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return h Σ wᵢ kᵢ in each step."""
        total = np.zeros(slopes.shape[:1] + slopes.shape[2:])
        for i, weight in enumerate(weights):
            if weight:
                total += weight * slopes[:, i]
        return total * self.h

    def solved(self, r: np.ndarray) -> np.ndarray:
        """Return κ; an axis of examples may stand in front."""
        found = self._within_steps(_examples_last(r))  # (steps, stages, n, examples)
        added = self._moved(found, self.B)
        eta = np.zeros_like(added)
        for k in range(len(eta) - 1):
            eta[k + 1] = self.growth[k] @ eta[k] + added[k]
        return _examples_first(found + self.per_unit @ eta[:, None], r.ndim)

    def transposed(self, kappa_bar: np.ndarray) -> np.ndarray:
        """Return r̄ for the cotangent of κ."""
        found = _examples_last(kappa_bar)
        per_unit, growth = np.swapaxes(self.per_unit, -1, -2), np.swapaxes(self.growth, -1, -2)
        added = (per_unit @ found).sum(axis=1)
        after = np.zeros_like(added)  # the cotangent of η at the end of each step
        for k in range(len(after) - 1, 0, -1):
            after[k - 1] = growth[k] @ after[k] + added[k]
        found += self.B[:, None, None] * (self.h * after)[:, None]
        return _examples_first(self._transposed_within_steps(found), kappa_bar.ndim)

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

    def __init__(self, A: np.ndarray, B: np.ndarray, h: np.ndarray, J: np.ndarray) -> None:
        self.A, self.B, self.h, self.J = A, B, h[:, None, None], J
        steps, stages, n = J.shape[:3]
        size = stages * n
        blocks = -self.h[..., None, None] * (J[:, :, :, None] * A[:, None, :, None])
        self.inverse = np.linalg.inv(np.eye(size) + blocks.reshape(steps, size, size))
        self.per_unit = (self.inverse @ J.reshape(steps, size, n)).reshape(J.shape)
        self.growth = np.eye(n) + self._moved(self.per_unit, B)

    def _within_steps(self, r: np.ndarray) -> np.ndarray:
        return (self.inverse @ r.reshape(*self.inverse.shape[:2], -1)).reshape(r.shape)

    def _transposed_within_steps(self, found: np.ndarray) -> np.ndarray:
        transposed = np.swapaxes(self.inverse, -1, -2)
        return (transposed @ found.reshape(*transposed.shape[:2], -1)).reshape(found.shape)


class DenseJacobians:
    """The Jacobians of all stages, and their products with vectors or the columns of matrices."""

    def __init__(self, J: np.ndarray) -> None:
        self.J = J

    def product(self, stage: int, x: np.ndarray) -> np.ndarray:
        """Return J x."""
        return self.J[stage] @ x

    def transposed(self, stage: int, x: np.ndarray) -> np.ndarray:
        """Return Jᵀ x."""
        return self.J[stage].T @ x


class SparseJacobians:
    """The same for Jacobians that have one pattern: stage k has the entries at `places[k]`."""

    def __init__(self, pattern: Any, entries: np.ndarray, places: np.ndarray) -> None:
        self.shape, self.rows, self.columns = pattern.shape, pattern.rows, pattern.indices
        self.entries, self.places = entries, places

    def product(self, stage: int, x: np.ndarray) -> np.ndarray:
        """Return J x."""
        return self._summed(stage, x, self.rows, self.columns)

    def transposed(self, stage: int, x: np.ndarray) -> np.ndarray:
        """Return Jᵀ x."""
        return self._summed(stage, x, self.columns, self.rows)

    def _summed(self, stage: int, x: np.ndarray, to: np.ndarray, of: np.ndarray) -> np.ndarray:
        """Return the sums, at the places `to`, of entries times those of x at the places `of`."""
        entries = self.entries[self.places[stage]]
        if x.ndim == 1:
            return np.bincount(to, entries * x[of], len(x))
        return sparse.coo_array((entries, (to, of)), self.shape) @ x


class LargeSteps(LinearSteps):
    """The same equations, stage by stage, for Jacobians that are too large to multiply with each other."""

    def __init__(self, A: np.ndarray, B: np.ndarray, h: np.ndarray, jacobians: Any) -> None:
        self.A, self.B, self.h, self.jacobians = A, B, h, jacobians

    def solved(self, r: np.ndarray) -> np.ndarray:
        found = _examples_last(r)
        steps, stages, *of_stage = found.shape[: r.ndim]
        found = found.reshape(steps, stages, *of_stage)
        eta = np.zeros(of_stage)
        for k in range(steps):
            slopes = found[k].reshape(stages, -1)
            for i in range(stages):
                moved = eta + self.h[k] * (self.A[i, :i] @ slopes[:i]).reshape(of_stage)
                found[k, i] += self.jacobians.product(k * stages + i, moved)
            eta += self.h[k] * (self.B @ slopes).reshape(of_stage)
        return _examples_first(found, r.ndim)

    def transposed(self, kappa_bar: np.ndarray) -> np.ndarray:
        found = _examples_last(kappa_bar)
        steps, stages, *of_stage = found.shape[: kappa_bar.ndim]
        found = found.reshape(steps, stages, *of_stage)
        eta_bar = np.zeros(of_stage)
        moved = np.empty((stages, eta_bar.size))  # the cotangents of the values at the stages
        for k in range(steps - 1, -1, -1):
            slopes, weights = found[k].reshape(stages, -1), self.h[k] * self.A.T
            slopes += np.outer(self.h[k] * self.B, eta_bar)
            for i in range(stages - 1, -1, -1):
                slopes[i] += weights[i, i + 1 :] @ moved[i + 1 :]
                moved[i] = self.jacobians.transposed(k * stages + i, found[k, i]).ravel()
            eta_bar += moved.sum(axis=0).reshape(of_stage)
        return _examples_first(found, kappa_bar.ndim)


def _examples_last(x: np.ndarray) -> np.ndarray:
    """Copy an array of three axes, with the axis of examples behind them."""
    return np.array(np.moveaxis(x, 0, -1) if x.ndim == 4 else x[..., None], order="C")


def _examples_first(x: np.ndarray, ndim: int) -> np.ndarray:
    return np.moveaxis(x, -1, 0) if ndim == 4 else x.reshape(x.shape[:3])


def changes_of_slopes(r: Any, *, steps: Any) -> Any:
    """The changes of all slopes for the residuals `r` of their equations."""
    return _solved(steps.solved, r)


def residuals_of_slopes(r: Any, *, steps: Any) -> Any:
    """The transpose of `changes_of_slopes`."""
    return _solved(steps.transposed, r)


def _solved(solve: Any, r: np.ndarray) -> Any:
    """Solve for residuals, which may have more than one axis of examples in front."""
    if not np.any(r):
        return np.zeros_like(r)
    return solve(r) if r.ndim <= 4 else solve(r.reshape(-1, *r.shape[-3:])).reshape(r.shape)


@vjp_rule(changes_of_slopes)
def changes_of_slopes_(y_bar, y, r, *, steps):
    """κ = S r  ⇒  r̄ = Sᵀ κ̄."""
    return residuals_of_slopes(y_bar, steps=steps)


@vjp_rule(residuals_of_slopes)
def residuals_of_slopes_(y_bar, y, r, *, steps):
    """κ = Sᵀ r  ⇒  r̄ = S κ̄."""
    return changes_of_slopes(y_bar, steps=steps)


linear(changes_of_slopes)
linear(residuals_of_slopes)


@batching(changes_of_slopes, residuals_of_slopes)
def on_batch(batch, r, *, steps):
    return batch.fn(r, steps=steps)
