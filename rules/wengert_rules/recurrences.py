"""Linear recurrences and products of all others, along the last axis: what accumulations and products walk back by.

Both are primitives, with rules of their own. In blocks, and by a division where nothing is 0, they take a time
proportional to the length. What nobody reads of a result has a cotangent of 0, and gives 0 also where it is infinite.
"""

from __future__ import annotations

import math

import numpy as np

from wengert.extend import jvp_rule, vjp_rule
from wengert_rules.products import conj

FEW = 16  # steps that are taken one by one


def share(cotangent, factor, both=False):
    """`cotangent` times `factor`, and 0 where `cotangent` is (or one of `both`), also of an infinity.

    A primitive, whose derivative with respect to `cotangent` is the factor there too.
    """
    shape = np.broadcast_shapes(np.shape(cotangent), np.shape(factor))
    counts = np.not_equal(cotangent, 0) & np.not_equal(factor, 0) if both else np.not_equal(cotangent, 0)
    return np.multiply(cotangent, factor, out=np.zeros(shape, np.result_type(cotangent, factor)), where=counts)


@vjp_rule(share, broadcasts=True)
def share_(y_bar, y, cotangent, factor, *, both=False):
    return share(y_bar, conj(factor), both), share(y_bar, conj(cotangent), both)


@jvp_rule(share, broadcasts=True)
def push_share(tangents, y, cotangent, factor, *, both=False):
    parts = [
        share(tangent, x, both) for tangent, x in zip(tangents, (factor, cotangent), strict=True) if tangent is not None
    ]
    return sum(parts)


def sums_onward(weights, z):
    """Rᵢ = zᵢ + wᵢ Rᵢ₊₁; the last of z has no weight.

    In about √n blocks: step by step in all of them at once, then what each hands on to the one before.
    """
    n = np.shape(z)[-1]
    if n <= FEW or not np.all(np.isfinite(weights)):
        return one_by_one(weights, np.array(z, np.result_type(weights, z)))
    length = math.isqrt(n)
    with np.errstate(all="ignore"):  # a product that overflows may be met by nothing but zeros
        w, r = in_blocks(weights, length, -(-n // length)), in_blocks(z, length, -(-n // length))
        r = r.astype(np.result_type(w, r), copy=False)
        for k in range(length - 2, -1, -1):
            r[k] += w[k] * r[k + 1]
            w[k] *= w[k + 1]
        finite = np.nan_to_num(w[0], nan=np.nan)  # the largest float is, met by 0, 0 as the weights themselves are
        handed_on = sums_onward(finite[..., :-1], r[0])[..., 1:]
        r[..., :-1] += np.where(handed_on == 0, 0, w[..., :-1] * handed_on)
    return np.reshape(np.moveaxis(r, 0, -1), (*np.shape(z)[:-1], -1))[..., :n]


def one_by_one(weights, r):
    for i in range(np.shape(r)[-1] - 2, -1, -1):
        r[..., i] += share(r[..., i + 1], weights[..., i])
    return r


def in_blocks(x, length, blocks):
    """A copy of `x`, zeros behind it, with the place in a block as its first axis and the block as its last."""
    padded = np.zeros((*np.shape(x)[:-1], blocks * length), x.dtype)
    padded[..., : np.shape(x)[-1]] = x
    return np.moveaxis(np.reshape(padded, (*np.shape(x)[:-1], blocks, length)), -1, 0).copy()


@vjp_rule(sums_onward)
def sums_onward_(y_bar, y, weights, z):
    """z̄ᵢ = ȳᵢ + wᵢ₋₁* z̄ᵢ₋₁,  w̄ᵢ = z̄ᵢ Rᵢ₊₁*."""
    z_bar = np.flip(sums_onward(np.flip(conj(weights), -1), np.flip(y_bar, -1)), -1)
    return share(z_bar[..., :-1], conj(y[..., 1:]), True), z_bar


@jvp_rule(sums_onward, broadcasts=True)
def push_sums_onward(tangents, y, weights, z):
    """Ṙᵢ = żᵢ + ẇᵢ Rᵢ₊₁ + wᵢ Ṙᵢ₊₁."""
    weights_dot, z_dot = tangents
    if weights_dot is None:
        return onward_in_front(weights, z_dot)
    moved = share(weights_dot, y[..., 1:], True)
    fed = np.concatenate([moved, np.zeros((*np.shape(moved)[:-1], 1), moved.dtype)], axis=-1)
    return onward_in_front(weights, fed if z_dot is None else fed + z_dot)


def onward_in_front(weights, z):
    """`sums_onward`, where z may have more axes in front than the weights."""
    if np.ndim(z) > np.ndim(weights):
        weights = np.broadcast_to(weights, (*np.shape(z)[:-1], np.shape(weights)[-1]))
    return sums_onward(weights, z)


def products_of_others(a):
    """For each place the product of all others, exact where some are 0: a quotient where that loses nothing."""
    with np.errstate(all="ignore"):
        y = np.prod(a, axis=-1, keepdims=True)
    size = np.absolute(y)
    limits = np.finfo(y.dtype)
    if np.all((size > limits.tiny / limits.eps) & (size < limits.max * limits.eps)):
        return y / a
    before, after = products_around(a)
    return before * after


def products_around(a):
    """For each place the product of those before it and that of those after it."""
    one = np.ones((*np.shape(a)[:-1], min(np.shape(a)[-1], 1)), a.dtype)
    before = np.concatenate([one, np.cumprod(a[..., :-1], -1)], axis=-1)
    after = np.concatenate([one, np.cumprod(np.flip(a[..., 1:], -1), -1)], axis=-1)
    return before, np.flip(after, -1)


def moved_on(x):
    """`x` one place towards the end, which falls out, with 0 in front."""
    return np.concatenate([np.zeros((*np.shape(x)[:-1], 1), x.dtype), x[..., :-1]], axis=-1)


@vjp_rule(products_of_others)
def products_of_others_(y_bar, y, a):
    """āₖ = Σᵢ ȳᵢ Π aⱼ* over all j but i and k: the i beyond k by one recurrence, those before it by another."""
    a = conj(a)
    before, after = products_around(a)
    onward = sums_onward(a[..., :-1], share(y_bar, after))
    back = sums_onward(np.flip(a[..., 1:], -1), np.flip(share(y_bar, before), -1))
    return share(np.flip(moved_on(np.flip(onward, -1)), -1), before) + share(moved_on(np.flip(back, -1)), after)


@jvp_rule(products_of_others)
def push_products_of_others(tangents, y, a):
    """ẏₖ = Σᵢ ȧᵢ Π aⱼ over all j but i and k: the pullback, but for the conjugate."""
    return products_of_others_(tangents[0], y, conj(a))
