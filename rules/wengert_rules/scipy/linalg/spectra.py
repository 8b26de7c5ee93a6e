"""Eigenvalues of Hermitian matrices with their vectors: all or some, of pairs of matrices, of bands.

V are the vectors that were asked for, F those of all eigenvalues f: V̇ = F (Mᵢⱼ / (wⱼ - fᵢ)) with M = Fᴴ (Ȧ - wⱼ Ḃ) V.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from wengert.extend import adjoint, is_complex, jvp_rule, vjp_rule
from wengert_rules import decompositions
from wengert_rules.decompositions import by_columns, by_rows, equal, in_part, known, refusal, used, with_phases
from wengert_rules.products import conj
from wengert_rules.scipy.linalg.structures import in_double, read, read_bar

FREE = (
    "the phases of complex eigenvectors of a pair of matrices are arbitrary, and have no derivative in forward mode. "
    "Use reverse mode, and a result that does not depend on them"
)


def itself(values, of_all):
    """Where, among all eigenvalues, those stand that were asked for."""
    n, k = np.shape(of_all)[-1], np.shape(values)[-1]
    if n == k:
        return np.eye(n, dtype=bool)
    nearest = np.argmin(np.abs(by_columns(of_all) - by_rows(values)), axis=-2)
    return by_columns(np.arange(n)) == by_rows(nearest)


def gaps(values, of_all):
    """By how much each value exceeds each of all: 1 where it is that itself, nan where it equals another."""
    same = itself(values, of_all)
    differences = np.where(same, 1, by_rows(values) - by_columns(of_all))
    size = np.max(np.abs(of_all), axis=-1, keepdims=True, initial=0)
    rounding = by_rows(np.shape(of_all)[-1] * np.finfo(of_all.dtype).eps * size)
    return np.where(~same & (np.abs(differences) <= rounding), np.nan, differences)


def core_bar(vectors_bar, values, vectors, of_all, basis):
    """The cotangent of M, as far as it comes from V̇."""
    turned = adjoint(basis) @ vectors_bar
    if is_complex(vectors):
        own = np.sum(conj(vectors) * vectors_bar, axis=-2)
        decompositions.refuse_phases(np.imag(own), turned)
    differences = known(gaps(values, of_all), by_rows(used(vectors_bar)), equal("eigenvalues"))
    return np.where(itself(values, of_all), 0, turned) / differences


def bars_of(values_bar, vectors_bar, values, vectors, of_all, basis):
    """Ā = V diag(w̄) Vᴴ + F M̄ Vᴴ, and B̄ = -V diag(w̄ w) Vᴴ - F (M̄ⱼ wⱼ) Vᴴ less what keeps Vᴴ B V at 1."""
    values_bar = np.zeros(np.shape(values), values.dtype) if values_bar is None else values_bar
    a_bar = decompositions.from_values(values_bar, vectors)
    b_bar = -decompositions.from_values(values_bar * values, vectors)
    if vectors_bar is None:
        return a_bar, b_bar
    core = core_bar(vectors_bar, values, vectors, of_all, basis)
    own = np.real(np.sum(conj(vectors) * vectors_bar, axis=-2))
    b_bar = b_bar - basis @ (core * by_rows(values)) @ adjoint(vectors)
    return a_bar + basis @ core @ adjoint(vectors), b_bar - decompositions.from_values(0.5 * own, vectors)


def dots_of(a_dot, b_dot, values, vectors, of_all, basis):
    """ẇ and V̇, nan in the columns that have none."""
    changed = a_dot @ vectors
    if b_dot is not None:
        changed = changed - (b_dot @ vectors) * by_rows(values)
    values_dot = np.real(np.sum(conj(vectors) * changed, axis=-2))
    moved = np.where(itself(values, of_all), 0, adjoint(basis) @ changed)
    free = basis @ (moved / gaps(values, of_all))
    if b_dot is None:
        return values_dot, free
    own = np.real(np.sum(conj(vectors) * (b_dot @ vectors), axis=-2))
    return values_dot, free - 0.5 * vectors * by_rows(own)


def both(y, a, b, lower, kind, subset, driver):
    """Values and vectors that belong to the result, where that may be the values alone."""
    if isinstance(y, tuple):
        return y
    index, value = subset
    return linalg.eigh(a, b, lower=lower, type=kind, subset_by_index=index, subset_by_value=value, driver=driver)


def hermitian_bars(cotangents, y, a, b, lower, kind, subset, driver):
    """The cotangents of A and B, of which triangles are read, for A V = B V w (1), A B V = V w (2), B A V = V w (3)."""
    values_bar, vectors_bar = cotangents
    values, vectors = both(y, a, b, lower, kind, subset, driver)
    of_all, basis = (values, vectors)
    if vectors_bar is not None and np.shape(vectors)[-1] < np.shape(a)[-1]:
        of_all, basis = linalg.eigh(a, b, lower=lower, type=kind, check_finite=False)
    if b is None:
        return read_bar(bars_of(values_bar, vectors_bar, values, vectors, of_all, basis)[0], "her", lower), None
    whole = read(b, "her", lower)
    if kind == 1:
        a_bar, b_bar = bars_of(values_bar, vectors_bar, values, vectors, of_all, basis)
    elif kind == 2:
        a_bar, b_bar = product_bars(values_bar, vectors_bar, values, vectors, of_all, basis, whole)
    else:
        a_bar, inverse_bar = bars_of(values_bar, vectors_bar, values, vectors, of_all, basis)
        b_bar = -np.linalg.solve(whole, adjoint(np.linalg.solve(whole, adjoint(inverse_bar))))
    return read_bar(a_bar, "her", lower), read_bar(b_bar, "her", lower)


def product_bars(values_bar, vectors_bar, values, vectors, of_all, basis, b):
    """A B V = V w is A Z = B⁻¹ Z w of Z = B V."""
    turned_bar = None if vectors_bar is None else np.linalg.solve(b, vectors_bar)
    a_bar, inverse_bar = bars_of(values_bar, turned_bar, values, b @ vectors, of_all, b @ basis)
    b_bar = -np.linalg.solve(b, adjoint(np.linalg.solve(b, adjoint(inverse_bar))))
    return a_bar, b_bar if turned_bar is None else b_bar - turned_bar @ adjoint(vectors)


def hermitian_dots(tangents, y, a, b, lower, kind, subset, driver):
    """ẇ and V̇."""
    a_dot, b_dot = [None if x is None else read(x, "her", lower) for x in (*tangents, None)[:2]]
    a_dot = np.zeros(np.shape(a), a.dtype) if a_dot is None else a_dot
    values, vectors = both(y, a, b, lower, kind, subset, driver)
    of_all, basis = values, vectors
    if np.shape(vectors)[-1] < np.shape(a)[-1]:
        of_all, basis = linalg.eigh(a, b, lower=lower, type=kind, check_finite=False)
    if kind == 1 or b is None:
        return dots_of(a_dot, b_dot, values, vectors, of_all, basis)
    whole = read(b, "her", lower)
    b_dot = np.zeros(np.shape(b), b.dtype) if b_dot is None else b_dot
    inverse_dot = -np.linalg.solve(whole, adjoint(np.linalg.solve(whole, adjoint(b_dot))))
    if kind == 3:
        return dots_of(a_dot, inverse_dot, values, vectors, of_all, basis)
    values_dot, turned_dot = dots_of(a_dot, inverse_dot, values, whole @ vectors, of_all, whole @ basis)
    return values_dot, np.linalg.solve(whole, turned_dot - b_dot @ vectors)


def in_phase(vectors_dot, vectors, row, is_pair):
    """V̇, whose phases LAPACK sets by a row that is real."""
    if is_pair and is_complex(vectors):
        return refusal(FREE)
    return in_part(with_phases(vectors_dot, vectors, lambda x: x[..., row, :]), equal("eigenvalues"))


@vjp_rule(linalg.eigh, parts=True)
def eigh(
    y_bar, y, a, b=None, *, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False, type=1,
    check_finite=True, subset_by_index=None, subset_by_value=None, driver=None,
):  # fmt: skip
    cotangents = (y_bar, None) if eigvals_only else y_bar
    a_bar, b_bar = hermitian_bars(cotangents, y, a, b, lower, type, (subset_by_index, subset_by_value), driver)
    return a_bar, b_bar


@jvp_rule(linalg.eigh)
def push_eigh(
    tangents, y, a, b=None, *, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False, type=1,
    check_finite=True, subset_by_index=None, subset_by_value=None, driver=None,
):  # fmt: skip
    made, vectors_dot = hermitian_dots(tangents, y, a, b, lower, type, (subset_by_index, subset_by_value), driver)
    return made if eigvals_only else (made, in_phase(vectors_dot, y[1], 0 if lower else -1, b is not None))


@vjp_rule(linalg.eigvalsh)
def eigvalsh(
    y_bar, y, a, b=None, *, lower=True, overwrite_a=False, overwrite_b=False, type=1, check_finite=True,
    subset_by_index=None, subset_by_value=None, driver=None,
):  # fmt: skip
    a_bar, b_bar = hermitian_bars((y_bar, None), y, a, b, lower, type, (subset_by_index, subset_by_value), driver)
    return a_bar, b_bar


@jvp_rule(linalg.eigvalsh)
def push_eigvalsh(
    tangents, y, a, b=None, *, lower=True, overwrite_a=False, overwrite_b=False, type=1, check_finite=True,
    subset_by_index=None, subset_by_value=None, driver=None,
):  # fmt: skip
    return hermitian_dots(tangents, y, a, b, lower, type, (subset_by_index, subset_by_value), driver)[0]


@vjp_rule(linalg.svd, parts=True)
def svd(
    y_bar, y, a, *, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd"
):
    return decompositions.svd(y_bar, y, a, full_matrices=full_matrices, compute_uv=compute_uv)


@jvp_rule(linalg.svd, broadcasts=True)
def push_svd(
    tangents, y, a, *, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd"
):
    return decompositions.push_svd(tangents, y, a, full_matrices=full_matrices, compute_uv=compute_uv)


@vjp_rule(linalg.svdvals)
def svdvals(y_bar, y, a, *, overwrite_a=False, check_finite=True):
    return decompositions.singular_values_bar(y_bar, in_double(a))


@jvp_rule(linalg.svdvals, broadcasts=True)
def push_svdvals(tangents, y, a, *, overwrite_a=False, check_finite=True):
    return decompositions.singular_values_dot(in_double(tangents[0]), in_double(a))
