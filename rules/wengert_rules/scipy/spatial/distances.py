"""Distances of all pairs of points: what SciPy computes in C, written with NumPy, each metric once.

The C functions write into an array that they are given, or make one; of points that are equal the derivative is 0.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.spatial import _distance_pybind, _distance_wrap, _hausdorff

from wengert.extend import additem, jvp_rule, non_differentiable, stands_for, vjp_rule
from wengert_rules.elementwise import nonzero

# The Euclidean metric, by products of matrices


def apart(a, b):
    """The Euclidean distance of each row of `a` and each of `b`."""
    return _distance_pybind.cdist_euclidean(a, b)


@vjp_rule(apart)
def apart_(y_bar, y, a, b):
    """āᵢ = Σⱼ sᵢⱼ (aᵢ - bⱼ) with s = ȳ/y; about the middle of the points, where least is lost by taking it apart."""
    middle = np.mean(b, axis=0)
    a, b, shares = a - middle, b - middle, np.where(y == 0, 0, y_bar / nonzero(y))
    a_bar = np.sum(shares, axis=1)[:, np.newaxis] * a - shares @ b
    return a_bar, np.sum(shares, axis=0)[:, np.newaxis] * b - shares.T @ a


@jvp_rule(apart)
def push_apart(tangents, y, a, b):
    """ẏᵢⱼ = (aᵢ - bⱼ)·(ȧᵢ - ḃⱼ)/y."""
    a_dot, b_dot = tangents
    middle = np.mean(b, axis=0)
    a, b, moved = a - middle, b - middle, 0.0
    if a_dot is not None:
        moved = moved + np.sum(a * a_dot, axis=1)[:, np.newaxis] - a_dot @ b.T
    if b_dot is not None:
        moved = moved + np.sum(b * b_dot, axis=1) - a @ b_dot.T
    return np.where(y == 0, 0, moved / nonzero(y))


def pairs(x):
    """The Euclidean distance of each row of `x` and each that follows."""
    return _distance_pybind.pdist_euclidean(x)


@vjp_rule(pairs)
def pairs_(y_bar, y, x):
    """x̄ᵢ = Σⱼ sᵢⱼ (xᵢ - xⱼ), where s = ȳ/y is symmetric."""
    i, j = np.triu_indices(np.shape(x)[0], 1)
    x, half = x - np.mean(x, axis=0), np.where(y == 0, 0, y_bar / nonzero(y))
    shares = additem(np.zeros((np.shape(x)[0], np.shape(x)[0])), (i, j), half)
    shares = shares + shares.T
    return np.sum(shares, axis=1)[:, np.newaxis] * x - shares @ x


@jvp_rule(pairs)
def push_pairs(tangents, y, x):
    i, j = np.triu_indices(np.shape(x)[0], 1)
    moved = np.sum((x[i] - x[j]) * (tangents[0][i] - tangents[0][j]), axis=1)
    return np.where(y == 0, 0, moved / nonzero(y))


# The metrics, of vectors along the last axis


def power(x, exponent):
    """x to a power, for x ≥ 0; at 0 the derivative is 0."""
    return np.where(x == 0, 0.0, np.where(x == 0, 1.0, x) ** exponent)


def ratio(a, b):
    """a/b, and 0 for 0/0."""
    return np.where(b == 0, 0.0, a / np.where(b == 0, 1.0, b))


def total(x, w):
    return np.sum(x if w is None else w * x, axis=-1)


def minkowski(a, b, w=None, p=2.0):
    if p == np.inf:
        return chebyshev(a, b, w)
    return power(total(power(np.abs(a - b), p), w), 1 / p)


def sqeuclidean(a, b, w=None):
    return total((a - b) ** 2, w)


def euclidean(a, b, w=None):
    return power(sqeuclidean(a, b, w), 0.5)


def cityblock(a, b, w=None):
    return total(np.abs(a - b), w)


def chebyshev(a, b, w=None):
    """Weights other than 0 only say what counts."""
    return np.max(np.abs(a - b) if w is None else np.where(w > 0, np.abs(a - b), 0.0), axis=-1)


def canberra(a, b, w=None):
    return total(ratio(np.abs(a - b), np.abs(a) + np.abs(b)), w)


def braycurtis(a, b, w=None):
    return total(np.abs(a - b), w) / total(np.abs(a + b), w)


def cosine(a, b):
    return 1 - np.sum(a * b, axis=-1) / np.sqrt(np.sum(a * a, axis=-1) * np.sum(b * b, axis=-1))


def seuclidean(a, b, V):
    return euclidean(a, b, 1 / V)


def mahalanobis(a, b, VI):
    d = a - b
    return power(np.sum(d @ VI * d, axis=-1), 0.5)


def jensenshannon(a, b):
    a, b = a / np.sum(a, axis=-1, keepdims=True), b / np.sum(b, axis=-1, keepdims=True)
    middle = (a + b) / 2
    return power(np.sum(entropy(a, middle) + entropy(b, middle), axis=-1) / 2, 0.5)


def entropy(p, q):
    """p log(p/q), and 0 where p is."""
    positive = p > 0
    return np.where(positive, p * np.log(np.where(positive, p, 1.0) / np.where(positive, q, 1.0)), 0.0)


def counts(a, b, w):
    """How many elements, by weight, are true in both, in the first, in the second, and in neither."""
    a, b = a != 0, b != 0
    return [total(1.0 * both, w) for both in (a & b, a & ~b, ~a & b, ~a & ~b)]


def hamming(a, b, w=None):
    return total(1.0 * (a != b), w) / total(np.ones(np.shape(a)[-1]), w)


def jaccard(a, b, w=None):
    """Up to SciPy 1.14 numbers count as different, since then their truth."""
    either = (a != 0) | (b != 0)
    differ = (a != b) if BY_VALUE else (a != 0) != (b != 0)
    return ratio(total(1.0 * differ, w), total(1.0 * either, w))


BY_VALUE = _distance_pybind.cdist_jaccard([[1.0]], [[2.0]])[0, 0] == 1


def dice(a, b, w=None):
    """By the numbers themselves where there are no weights, as C does it."""
    if w is None:
        both, one = np.sum(a * b, axis=-1), np.sum(a * (1 - b) + (1 - a) * b, axis=-1)
    else:
        both, one = total(1.0 * ((a != 0) & (b != 0)), w), total(1.0 * (a != b), w)
    return one / (2 * both + one)


def rogerstanimoto(a, b, w=None):
    tt, tf, ft, ff = counts(a, b, w)
    return 2 * (tf + ft) / (tt + ff + 2 * (tf + ft))


def russellrao(a, b, w=None):
    tt, tf, ft, ff = counts(a, b, w)
    return (tf + ft + ff) / (tt + tf + ft + ff)


def sokalsneath(a, b, w=None):
    tt, tf, ft, _ = counts(a, b, w)
    return 2 * (tf + ft) / (tt + 2 * (tf + ft))


def yule(a, b, w=None):
    tt, tf, ft, ff = counts(a, b, w)
    return ratio(2 * tf * ft, tt * ff + tf * ft)


# All pairs


def between_all(metric, a, b, out=None, **options):
    """The distance of each row of `a` and each of `b`."""
    plain = metric is euclidean and options.get("w") is None
    return written(apart(a, b) if plain else metric(a[:, np.newaxis], b, **options), out)


def between_pairs(metric, x, out=None, **options):
    """The distance of each row of `x` and each that follows."""
    i, j = np.triu_indices(np.shape(x)[0], 1)
    plain = metric is euclidean and options.get("w") is None
    return written(pairs(x) if plain else metric(x[i], x[j], **options), out)


def written(values, out):
    if out is None:
        return values
    out[...] = values
    return out


BY_NAME: tuple = (
    euclidean, sqeuclidean, minkowski, cityblock, chebyshev, canberra, braycurtis, hamming, jaccard, dice,
    rogerstanimoto, russellrao, sokalsneath, yule,
)  # fmt: skip
WRITING: tuple = (cosine, seuclidean, mahalanobis, jensenshannon)

for _home, _form, _metrics in ((_distance_pybind, "{}", BY_NAME), (_distance_wrap, "{}_double_wrap", WRITING)):
    for _metric in _metrics:
        _name = _form.format(_metric.__name__)
        stands_for(getattr(_home, f"cdist_{_name}"))(partial(between_all, _metric))
        stands_for(getattr(_home, f"pdist_{_name}"))(partial(between_pairs, _metric))


@stands_for(_distance_wrap.to_squareform_from_vector_wrap)
def to_square(square, vector):
    i, j = np.triu_indices(np.shape(square)[0], 1)
    square[i, j] = vector
    square[j, i] = vector


@stands_for(_distance_wrap.to_vector_from_squareform_wrap)
def to_vector(square, vector):
    vector[...] = square[np.triu_indices(np.shape(square)[0], 1)]


@non_differentiable
def farthest(u, v, rng):
    return _hausdorff.directed_hausdorff(u, v, rng)[1:]


@stands_for(_hausdorff.directed_hausdorff)
def directed_hausdorff(u, v, rng):
    i, j = farthest(u, v, rng)
    return euclidean(u[i], v[j]), i, j
