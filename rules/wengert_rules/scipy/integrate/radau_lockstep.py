"""Radau's method of order 5 for some problems together, with SciPy's step control."""

from __future__ import annotations

import numpy as np
from scipy.integrate._ivp.radau import MU_COMPLEX, MU_REAL, NEWTON_MAXITER, TI, TI_COMPLEX, TI_REAL, C, E, P, T

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


def interpolated(start: np.ndarray, end: np.ndarray, y: np.ndarray, Q: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return the values at rows of times, one for each step."""
    x = (t - start[:, None]) / (end - start)[:, None]
    of_x = np.cumprod(np.repeat(x[:, None], Q.shape[2], axis=1), axis=1)
    return np.swapaxes(np.matmul(Q, of_x), 1, 2) + y[:, None]


class Radau(Integration):
    """Some problems solved by Radau's method; `real` and `complex` hold the two matrices of each."""

    order = 3
    formula = staticmethod(interpolated)

    def __init__(self, problems: Problems) -> None:
        super().__init__(problems)
        size, n = self.y.shape
        self.real, self.complex = np.zeros((size, n, n)), np.zeros((size, n, n), complex)
        self.Q, self.start, self.y_start = np.zeros((size, n, 3)), self.t - 1.0, self.y.copy()
        self.chosen, self.h_old, self.error_old = self.h.copy(), np.full(size, np.nan), np.full(size, np.nan)
        self.is_rejected = np.zeros(size, bool)

    def begin(self, rows: np.ndarray, lengths: np.ndarray) -> None:
        self.chosen[rows] = self.h[rows]
        is_other = lengths != self.h[rows]
        self.h_old[rows[is_other]] = self.error_old[rows[is_other]] = np.nan
        self.h[rows], self.is_new[rows], self.is_rejected[rows] = lengths, False, False

    def attempt(self, turn: Turn) -> Taken:
        rows, t, y, h, _ = turn
        scale = self.atol[rows] + np.abs(y) * self.rtol[rows]
        guess = interpolated(self.start[rows], t, self.y_start[rows], self.Q[rows], t[:, None] + h[:, None] * C)
        guess = guess - y[:, None]
        done, Z = self._iterate(turn, guess, scale)
        stale = np.flatnonzero(~done.has_converged & ~self.is_current[rows])
        if stale.size:
            of_stale = rows[stale]
            self.find_jacobians(of_stale, t[stale], y[stale], self.slope[of_stale])
            self.is_current[of_stale], self.has_matrix[of_stale] = True, False
            again, Z[stale] = self._iterate(Turn(*[part[stale] for part in turn]), guess[stale], scale[stale])
            done.has_converged[stale], done.counts[stale], done.rates[stale] = (
                again.has_converged, again.counts, again.rates
            )  # fmt: skip
        failed = rows[~done.has_converged]
        self.h[failed] *= 0.5
        self.has_matrix[failed] = False
        some = np.flatnonzero(done.has_converged)
        return self._judge(Turn(*[part[some] for part in turn]), Z[some], done.counts[some], done.rates[some])

    def _iterate(self, turn: Turn, Z: np.ndarray, scale: np.ndarray) -> tuple[Iteration, np.ndarray]:
        """Solve the equations of the stages by Newton's iteration, with the matrices of the problems."""
        rows, t, y, h, _ = turn
        self._set_matrices(rows, h)
        real, of_complex, n, mu = self.real[rows], self.complex[rows], y.shape[1], complex_shares(h)
        W, Z, times = np.matmul(TI, Z), Z.copy(), t[:, None] + h[:, None] * C
        done = Iteration(len(rows), NEWTON_MAXITER, self.tolerance[rows])
        while done.begins():
            k = done.rows
            F = self.f(times[k].ravel(), (y[k][:, None] + Z[k]).reshape(-1, n), np.repeat(rows[k], 3))
            F = done.keep_finite(F.reshape(-1, 3, n))
            k = done.rows
            F, W_k, h_k = np.swapaxes(F, 1, 2), W[k], h[k][:, None]
            f_real = np.matmul(F, TI_REAL) - MU_REAL / h_k * W_k[:, 0]
            f_complex = np.matmul(F, TI_COMPLEX) - mu[k][:, None] * (W_k[:, 1] + 1j * W_k[:, 2])
            of_pair = divided(of_complex[k], f_complex)
            dW = np.stack([divided(real[k], f_real), of_pair.real, of_pair.imag], axis=1)
            is_taken, k = done.stop(self.norms(dW / scale[k][:, None]))
            W[k] += dW[is_taken]
            Z[k] = np.matmul(T, W[k])
        return done, Z

    def _set_matrices(self, rows: np.ndarray, h: np.ndarray) -> None:
        """Set the matrices of those problems that have none for their Jacobian and length."""
        is_missing = ~self.has_matrix[rows]
        rows, of_step, eye = rows[is_missing], h[is_missing][:, None, None], np.eye(self.y.shape[1])
        self.real[rows] = MU_REAL / of_step * eye - self.J[rows]
        self.complex[rows] = complex_shares(h[is_missing])[:, None, None] * eye - self.J[rows]
        self.has_matrix[rows] = True

    def _judge(self, turn: Turn, Z: np.ndarray, counts: np.ndarray, rates: np.ndarray) -> Taken:
        """Accept the steps whose errors are small, and choose the lengths of the next ones."""
        rows, t, y, h, after = turn
        y_new, of_error = y + Z[:, -1], np.matmul(np.swapaxes(Z, 1, 2), E) / h[:, None]
        error = divided(self.real[rows], self.slope[rows] + of_error)
        scale = self.atol[rows] + np.maximum(np.abs(y), np.abs(y_new)) * self.rtol[rows]
        norms = self.norms(error / scale)
        again = np.flatnonzero(self.is_rejected[rows] & (norms > 1))
        if again.size:
            of_again = rows[again]
            slope = self.f(t[again], y[again] + error[again], of_again) + of_error[again]
            norms[again] = self.norms(divided(self.real[of_again], slope) / scale[again])
        safety = SAFETY * (2 * NEWTON_MAXITER + 1) / (2 * NEWTON_MAXITER + counts)
        factors = safety * predicted(self.h[rows], self.h_old[rows], norms, self.error_old[rows])
        is_large = norms > 1
        large = rows[is_large]
        self.h[large] *= np.maximum(LEAST_FACTOR, factors[is_large])
        self.has_matrix[large], self.is_rejected[large] = False, True
        is_good, wants_jacobian = ~is_large, (counts > 2) & (rates > 1e-3)
        parts = rows, after, y_new, Z, norms, np.minimum(LARGEST_FACTOR, factors), wants_jacobian
        self._accept(*[part[is_good] for part in parts])
        rows = rows[is_good]
        return rows, self.t[rows], self.y[rows], self.Q[rows]

    def _accept(
        self, rows: np.ndarray, t: np.ndarray, y: np.ndarray, Z: np.ndarray, norms: np.ndarray, factors: np.ndarray,
        wants_jacobian: np.ndarray,
    ) -> None:  # fmt: skip
        """Go to the ends of steps."""
        keeps = ~wants_jacobian & (factors < 1.2)
        self.has_matrix[rows[~keeps]] = False
        self.start[rows], self.y_start[rows], self.Q[rows] = self.t[rows], self.y[rows], np.swapaxes(Z, 1, 2) @ P
        self.t[rows], self.y[rows] = t, y
        if rows.size:
            self.slope[rows] = self.f(t, y, rows)
        some = rows[wants_jacobian]
        self.find_jacobians(some, self.t[some], self.y[some], self.slope[some])
        self.is_current[rows] = wants_jacobian
        self.h_old[rows], self.error_old[rows] = self.chosen[rows], norms
        self.h[rows] *= np.where(keeps, 1.0, factors)
        self.is_new[rows] = True


def complex_shares(h: np.ndarray) -> np.ndarray:
    """Return the complex eigenvalue divided by each length."""
    return np.array([MU_COMPLEX / length for length in h], complex)  # NumPy's quotients of complex arrays differ


def predicted(h: np.ndarray, h_old: np.ndarray, errors: np.ndarray, errors_old: np.ndarray) -> np.ndarray:
    """Return the factors of SciPy's prediction of the next length, by two steps if there are two."""
    by_two = h / h_old * powers(errors_old / errors, 0.25)
    return np.where(by_two < 1, by_two, 1.0) * powers(errors, -0.25)
