"""SciPy's backward differentiation formulas for some problems together, each with its own order and steps."""

from __future__ import annotations

import numpy as np
from scipy.integrate._ivp.bdf import MAX_ORDER, NEWTON_MAXITER

from wengert_rules.scipy.integrate.implicit_lockstep import (
    LARGEST_FACTOR,
    LEAST_FACTOR,
    SAFETY,
    Integration,
    Iteration,
    Taken,
    Turn,
    divided,
    powers,
)
from wengert_rules.scipy.integrate.lockstep import Problems

KAPPA = np.array([0, -0.1850, -1 / 9, -0.0823, -0.0415, 0])
GAMMA = np.append(0, np.cumsum(1 / np.arange(1, MAX_ORDER + 1)))
ALPHA = (1 - KAPPA) * GAMMA
OF_ERROR = np.append(KAPPA * GAMMA + 1 / np.arange(1, MAX_ORDER + 2), 0.0)
"""The coefficients of SciPy's method, with a zero behind the errors of the orders."""
ORDERS = np.arange(MAX_ORDER + 1)


def rescaling(order: int, factors: np.ndarray) -> np.ndarray:
    """Return the matrices by which SciPy changes differences for these factors of the length."""
    i, j = ORDERS[1 : order + 1, None], ORDERS[1 : order + 1]
    found = np.zeros((len(factors), order + 1, order + 1))
    found[:, 1:, 1:] = (i - 1 - factors[:, None, None] * j) / i
    found[:, 0] = 1
    return np.cumprod(found, axis=1)


UNITS = [rescaling(order, np.ones(1))[0] for order in range(MAX_ORDER + 1)]


def interpolated(
    start: np.ndarray, end: np.ndarray, y: np.ndarray, D: np.ndarray, h: np.ndarray, t: np.ndarray
) -> np.ndarray:
    """Return the values at rows of times, one for each step, by its differences and the length behind it."""
    h, places = h[:, None, None], np.arange(MAX_ORDER)
    x = (t[:, :, None] - (end[:, None, None] - h * places)) / (h * (1 + places))
    return np.matmul(np.cumprod(x, axis=2), D[:, 1:]) + D[:, :1]


class BDF(Integration):
    """Some problems solved by BDF; `D` holds their differences and `matrices` those of their Newton steps."""

    order = 1
    formula = staticmethod(interpolated)

    def __init__(self, problems: Problems) -> None:
        super().__init__(problems)
        size, n = self.y.shape
        self.D = np.zeros((size, MAX_ORDER + 3, n), self.y.dtype)
        self.D[:, 0], self.D[:, 1] = self.y, self.slope * (self.h * self.direction)[:, None]
        self.orders, self.equal, self.matrices = np.ones(size, int), np.zeros(size, int), np.zeros_like(self.J)

    def rescale(self, rows: np.ndarray, factors: np.ndarray) -> None:
        """Change the differences of problems whose length changes by these factors."""
        for some, order in self.by_order(rows):
            k, upto = rows[some], order + 1
            RU = np.matmul(rescaling(order, factors[some]), UNITS[order])
            self.D[k, :upto] = np.matmul(np.swapaxes(RU, 1, 2), self.D[k, :upto])
        self.equal[rows] = 0

    def by_order(self, rows: np.ndarray) -> list[tuple[np.ndarray, int]]:
        """Return the places of problems of the same order, with the order."""
        orders = self.orders[rows]
        return [(np.flatnonzero(orders == order), order) for order in np.unique(orders).tolist()]

    def begin(self, rows: np.ndarray, lengths: np.ndarray) -> None:
        is_other = lengths != self.h[rows]
        others = rows[is_other]
        self.rescale(others, lengths[is_other] / self.h[others])
        self.h[rows], self.is_new[rows], self.is_current[rows] = lengths, False, False

    def shorten(self, rows: np.ndarray, lengths: np.ndarray) -> None:
        self.rescale(rows, lengths / self.h[rows])
        self.has_matrix[rows] = False

    def attempt(self, turn: Turn) -> Taken:
        rows = turn.rows
        predicted, psi = np.empty_like(turn.y), np.empty_like(turn.y)
        for some, order in self.by_order(rows):
            D = self.D[rows[some], : order + 1]
            predicted[some] = np.sum(D, axis=1)
            psi[some] = np.matmul(np.swapaxes(D[:, 1:], 1, 2), GAMMA[1 : order + 1]) / ALPHA[order]
        turn = turn._replace(y=predicted)
        done, reached, change = self._iterate(turn, psi)
        stale = np.flatnonzero(~done.has_converged & ~self.is_current[rows])
        if stale.size:
            part = Turn(*[each[stale] for each in turn])
            self.find_jacobians(part.rows, part.after, part.y, self.f(part.after, part.y, part.rows))
            self.is_current[part.rows], self.has_matrix[part.rows] = True, False
            again, reached[stale], change[stale] = self._iterate(part, psi[stale])
            done.has_converged[stale], done.counts[stale] = again.has_converged, again.counts
        failed = rows[~done.has_converged]
        self.h[failed] *= 0.5
        self.rescale(failed, np.full(len(failed), 0.5))
        self.has_matrix[failed] = False
        some = np.flatnonzero(done.has_converged)
        turn = turn._replace(y=reached)
        return self._judge(Turn(*[part[some] for part in turn]), change[some], done.counts[some])

    def _iterate(self, turn: Turn, psi: np.ndarray) -> tuple[Iteration, np.ndarray, np.ndarray]:
        """Return the values and their change from the predicted ones, by Newton's iteration."""
        rows, _, y, h, after = turn
        c = (h / ALPHA[self.orders[rows]])[:, None]
        missing = ~self.has_matrix[rows]
        self.matrices[rows[missing]] = np.eye(y.shape[1]) - c[missing][:, :, None] * self.J[rows[missing]]
        self.has_matrix[rows] = True
        matrices, change, y = self.matrices[rows], np.zeros_like(y), y.copy()
        scale = self.atol[rows] + self.rtol[rows] * np.abs(y)
        done = Iteration(len(rows), NEWTON_MAXITER, self.tolerance[rows])
        while done.begins():
            k = done.rows
            slope = done.keep_finite(self.f(after[k], y[k], rows[k]))
            k = done.rows
            dy = divided(matrices[k], c[k] * slope - psi[k] - change[k])
            is_taken, k = done.stop(self.norms(dy / scale[k]))
            y[k] += dy[is_taken]
            change[k] += dy[is_taken]
        return done, y, change

    def _judge(self, turn: Turn, change: np.ndarray, counts: np.ndarray) -> Taken:
        """Accept the steps whose errors are small, and choose the lengths of the next ones."""
        rows, _, y, _, after = turn
        orders = self.orders[rows]
        safety = SAFETY * (2 * NEWTON_MAXITER + 1) / (2 * NEWTON_MAXITER + counts)
        scale = self.atol[rows] + self.rtol[rows] * np.abs(y)
        norms = self.norms(OF_ERROR[orders, None] * change / scale)
        is_large = norms > 1
        factors = np.maximum(LEAST_FACTOR, safety * powers(norms, -1 / (orders + 1)))[is_large]
        self.h[rows[is_large]] *= factors
        self.rescale(rows[is_large], factors)
        good = np.flatnonzero(~is_large)
        rows = rows[good]
        self.t[rows], self.y[rows], self.is_new[rows] = after[good], y[good], True
        self._add_difference(rows, change[good])
        self._choose_order(rows, scale[good], norms[good], safety[good])
        within = self.orders[rows][:, None] >= ORDERS
        D = np.where(within[:, :, None], self.D[rows, : ORDERS.size], 0.0)
        return rows, self.t[rows], self.y[rows], D, self.h[rows] * self.direction[rows]

    def _add_difference(self, rows: np.ndarray, change: np.ndarray) -> None:
        """Update the differences for steps that are accepted."""
        D, orders, every = self.D[rows], self.orders[rows], np.arange(len(rows))
        D[every, orders + 2] = change - D[every, orders + 1]
        D[every, orders + 1] = change
        for i in ORDERS[::-1]:
            D[:, i] += np.where((i <= orders)[:, None], D[:, i + 1], 0.0)
        self.D[rows] = D
        self.equal[rows] += 1

    def _choose_order(self, rows: np.ndarray, scale: np.ndarray, norms: np.ndarray, safety: np.ndarray) -> None:
        """Choose the order and length of those problems that have taken enough equal steps."""
        enough = np.flatnonzero(self.equal[rows] >= self.orders[rows] + 1)
        rows, scale, safety = rows[enough], scale[enough], safety[enough]
        orders, D = self.orders[rows], self.D[rows]
        every, errors = np.arange(len(rows)), np.full((len(rows), 3), np.inf)
        of_less = self.norms(OF_ERROR[orders - 1, None] * D[every, orders] / scale)
        of_more = self.norms(OF_ERROR[orders + 1, None] * D[every, orders + 2] / scale)
        errors[:, 0], errors[:, 1] = np.where(orders > 1, of_less, np.inf), norms[enough]
        errors[:, 2] = np.where(orders < MAX_ORDER, of_more, np.inf)
        factors = errors ** (-1 / (orders[:, None] + np.arange(3)))
        self.orders[rows] = orders + np.argmax(factors, axis=1) - 1
        lengths = np.minimum(LARGEST_FACTOR, safety * np.max(factors, axis=1))
        self.h[rows] *= lengths
        self.rescale(rows, lengths)
        self.has_matrix[rows] = False
