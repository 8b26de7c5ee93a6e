"""Random draws as functions of their parameters, in plain Python: instrumented like the user's functions.

Each takes the draw, the parameters, and copies of them that are constants. At these values it returns the draw to the
last bit; its derivatives are those of a draw that keeps its probability while the parameters move. `law` is the
function of `wengert_rules.scipy.stats.draws` for a distribution without a closed form.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ENTERED = "It is instrumented like the user's functions."


def lognormal(draw: Any, mean: Any, sigma: Any, mean_at: Any, sigma_at: Any) -> Any:
    """Move a draw whose logarithm is normal; at `sigma` 0, where it does not depend on chance, by its mean alone."""
    is_known = (draw > 0) & (draw < np.inf) & (sigma_at != 0)
    normal = (np.log(np.where(is_known, draw, 1)) - mean_at) / np.where(is_known, sigma_at, np.inf)
    return draw * np.exp((mean - mean_at) + (sigma - sigma_at) * normal)


def weibull(draw: Any, a: Any, at: Any) -> Any:
    """Move draw = E^(1/a), where E is exponential."""
    return draw ** (at / a)


def pareto(draw: Any, a: Any, at: Any) -> Any:
    """Move draw = exp(E/a) - 1, where E is exponential."""
    moved = draw + (1 + draw) * np.expm1(np.log1p(draw) * (at / a - 1))
    return np.where(np.isinf(draw), draw, moved)[()]


def triangular(draw: Any, left: Any, mode: Any, right: Any, *at: Any) -> Any:
    """Move a draw on its side of the mode."""
    left_at, mode_at, right_at = at
    is_left = draw <= mode_at
    wide_at = np.where(is_left, mode_at - left_at, right_at - mode_at)
    far = np.where(is_left, draw - left_at, right_at - draw)
    tail = far**2 / np.where(wide_at == 0, 1, wide_at * (right_at - left_at))  # the probability beyond the draw
    inward = np.where(is_left, left, right)
    width = np.where(is_left, mode - left, right - mode)
    moved = np.sqrt(tail * width * (right - left))
    before = np.sqrt(tail * wide_at * (right_at - left_at))
    along = inward - np.where(is_left, left_at, right_at)
    return (draw + (along + np.where(is_left, moved - before, before - moved)))[()]


def by_law(law: Any, draw: Any, *parameters: Any) -> Any:
    """Move a draw by its law: half of the parameters are the constants."""
    return law(*parameters, draw)


def scaled_by_law(law: Any, draw: Any, shape: Any, scale: Any, shape_at: Any, scale_at: Any) -> Any:
    """Move a draw that is a scale times a draw from the law."""
    standard = draw / scale_at
    return draw + (scale * law(shape, shape_at, standard) - scale_at * standard)


def chisquare(law: Any, draw: Any, df: Any, at: Any) -> Any:
    """Move twice a draw from the gamma distribution."""
    return 2.0 * law(df / 2, at / 2, draw / 2)


def vonmises(law: Any, draw: Any, mu: Any, kappa: Any, mu_at: Any, kappa_at: Any) -> Any:
    """Move an angle around its mean."""
    turned = (draw - mu_at + np.pi) % (2 * np.pi) - np.pi
    return draw + ((mu - mu_at) + (law(kappa, kappa_at, turned) - turned))


def dirichlet(law: Any, draw: Any, alpha: Any, at: Any) -> Any:
    """Move the parts of a stick: each part of what is left of it is a draw from a beta distribution, by itself."""
    left = np.cumsum(draw[..., ::-1], -1)[..., :0:-1]
    part = draw[..., :-1] / np.where(left == 0, 1, left)
    rest = np.cumsum(alpha[::-1])[:-1][::-1]
    rest_at = np.cumsum(at[::-1])[:-1][::-1]
    moved = law(alpha[:-1], rest, at[:-1], rest_at, part)
    return draw + (_broken(moved) - _broken(part))


def _broken(part: Any) -> Any:
    """Break a stick of length 1: return the pieces, each a part of what the ones before leave, and the last one."""
    end = np.ones((*part.shape[:-1], 1))
    return np.concatenate([part, end], -1) * np.concatenate([end, np.cumprod(1 - part, -1)], -1)


def normal_vector(draw: Any, mean: Any, cov: Any, mean_at: Any, cov_at: Any) -> Any:
    """Move a normal vector by the Cholesky factor of the covariance."""
    normal = np.linalg.solve(np.linalg.cholesky(cov_at), (draw - mean_at)[..., None])
    moved, before = np.linalg.cholesky(cov) @ normal, np.linalg.cholesky(cov_at) @ normal
    return draw + ((mean - mean_at) + (moved - before)[..., 0])


REDRAWN = {triangular, by_law, scaled_by_law, chisquare, vonmises, dirichlet, normal_vector}
"""Formulas that return other numbers than NumPy draws with the same seed, away from the recorded parameters."""
