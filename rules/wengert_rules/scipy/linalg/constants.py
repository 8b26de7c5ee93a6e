"""Functions of scipy.linalg whose results are counts and answers: they are constant."""

from __future__ import annotations

from scipy import linalg

from wengert.extend import non_differentiable

non_differentiable(linalg.bandwidth, linalg.issymmetric, linalg.ishermitian)
