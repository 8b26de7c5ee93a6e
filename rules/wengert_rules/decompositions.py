"""Eigenvalues and singular values with their vectors.

Where a function reads one triangle of a Hermitian matrix, the cotangent of the other is zero.
"""

from __future__ import annotations

import numpy as np

from wengert.extend import KnownInPart, NoDerivativeError, Thunk, adjoint, is_complex, jvp_rule, vjp_rule
from wengert_rules.elementwise import nonzero
from wengert_rules.products import conj

ADDED = (
    "the vectors that full_matrices=True adds to a singular value decomposition are an arbitrary basis and "
    "have no derivative. Use full_matrices=False"
)
ZERO = (
    "a singular value is zero, so its vectors have no derivative. Use only the singular values, or perturb the matrix"
)


def half(s, uplo):
    """One triangle of S, with half of the diagonal."""
    triangle = np.triu(s) if uplo in ("U", "u") else np.tril(s)
    return np.where(np.eye(np.shape(s)[-1], dtype=bool), 0.5 * s, triangle)


def completed(a, uplo):
    """The Hermitian matrix of which a function reads one triangle."""
    part = half(a, uplo)
    return part + adjoint(part)


def from_triangle(a_bar, uplo):
    """The cotangent of the triangle that is read, from that of the whole Hermitian matrix."""
    return half(a_bar + adjoint(a_bar), uplo)


def by_rows(x):
    """Vectors, one for each matrix of a stack, set against each row."""
    return np.expand_dims(x, -2)


def by_columns(x):
    return np.expand_dims(x, -1)


def on_diagonal(x):
    """The diagonal matrices of a stack of vectors."""
    return np.where(np.eye(np.shape(x)[-1], dtype=bool), by_columns(x), 0)


def diagonal_of(x):
    return np.diagonal(x, 0, -2, -1)


def gaps(values):
    """Row by row, by how much each value exceeds another: 1 on the diagonal, nan for values equal up to rounding."""
    n = np.shape(values)[-1]
    itself = np.eye(n, dtype=bool)
    differences = np.where(itself, 1, by_rows(values) - by_columns(values))
    rounding = n * np.finfo(values.dtype).eps * np.max(np.abs(values), axis=-1, keepdims=True, initial=0)
    return np.where(~itself & (np.abs(differences) <= by_rows(rounding)), np.nan, differences)


def known(numbers, used, why):
    """The `numbers` that vectors are divided by, with 1 for nan.

    Errors: NoDerivativeError, that says `why`, where one is nan and its vector is `used`.
    """
    unknown = np.isnan(numbers)
    if np.any(unknown & used):
        raise NoDerivativeError(why)
    return np.where(unknown, 1, numbers)


def used(vectors_bar):
    """Which of the columns have a cotangent; all, if none has one: a derivative of zero does not say who is used."""
    found = np.any(vectors_bar != 0, axis=-2)
    return found | ~np.any(found, axis=-1, keepdims=True)


def equal(what):
    """Return the error message for the vectors of equal eigenvalues or singular values."""
    return (
        f"two {what} are equal, so their vectors are an arbitrary basis and have no derivative. "
        f"Use only the {what}, or perturb the matrix"
    )


def off_diagonal(x):
    return np.where(np.eye(np.shape(x)[-1], dtype=bool), 0, x)


def refuse_phases(turns, scale):
    """The vectors of a complex matrix are known up to a phase: refuse a result that depends on it.

    `turns` is the derivative with respect to the phase of each vector, a sum of numbers of the size of `scale`.
    """
    if np.any(np.abs(turns) > np.sqrt(np.finfo(turns.dtype).eps) * np.max(np.abs(scale), initial=0)):
        raise NoDerivativeError(
            "the result depends on the phases of complex eigenvectors or singular vectors, which are arbitrary. "
            "Use what does not depend on them, such as absolute values or V V^H"
        )


def from_values(values_bar, vectors):
    """V diag(w̄) Vᴴ."""
    return (vectors * by_rows(values_bar)) @ adjoint(vectors)


def in_part(tangent, why):
    """The tangent of vectors, nan in those that have none, as one that says `why` to whoever reads these."""
    return KnownInPart(tangent, why) if np.any(np.isnan(tangent)) else tangent


def refusal(why):
    def refuse():
        raise NoDerivativeError(why)

    return Thunk(refuse)


def with_phases(tangents, vectors, fixed):
    """The tangents of complex `vectors`, columns of which LAPACK has the elements `fixed`, one of each, real."""
    if not is_complex(vectors):
        return tangents
    turns = np.imag(fixed(tangents) * conj(fixed(vectors))) / nonzero(np.absolute(fixed(vectors)) ** 2)
    return tangents - 1j * vectors * by_rows(turns)


@vjp_rule(np.linalg.eigvalsh)
def eigvalsh(y_bar, y, a, *, UPLO="L"):
    """A V = V diag(y)  ⇒  Ā = V diag(ȳ) Vᴴ."""
    return from_triangle(from_values(y_bar, np.linalg.eigh(a, UPLO)[1]), UPLO)


@jvp_rule(np.linalg.eigvalsh, broadcasts=True)
def push_eigvalsh(tangents, y, a, *, UPLO="L"):
    """ẏ = diag(Vᴴ Ȧ V)."""
    return turned_diagonal(completed(tangents[0], UPLO), np.linalg.eigh(a, UPLO)[1])


def turned_diagonal(a_dot, vectors):
    return np.real(diagonal_of(adjoint(vectors) @ a_dot @ vectors))


@vjp_rule(np.linalg.eigh, parts=True)
def eigh(y_bar, y, a, *, UPLO="L"):
    """A V = V diag(w)  ⇒  Ā = V (diag(w̄) + (Vᴴ V̄)ᵢⱼ / (wⱼ - wᵢ)) Vᴴ."""
    (values_bar, vectors_bar), (values, vectors) = y_bar, y
    if vectors_bar is None:
        return from_triangle(from_values(values_bar, vectors), UPLO)
    turned = adjoint(vectors) @ vectors_bar
    if is_complex(a):
        refuse_phases(np.imag(diagonal_of(turned)), turned)
    core = off_diagonal(turned) / known(gaps(values), by_rows(used(vectors_bar)), equal("eigenvalues"))
    core = core if values_bar is None else core + on_diagonal(values_bar)
    return from_triangle(vectors @ core @ adjoint(vectors), UPLO)


@jvp_rule(np.linalg.eigh, broadcasts=True)
def push_eigh(tangents, y, a, *, UPLO="L"):
    """ẇ = diag(Vᴴ Ȧ V), V̇ = V ((Vᴴ Ȧ V)ᵢⱼ / (wⱼ - wᵢ)); one row of V is real."""
    values, vectors = y
    turned = adjoint(vectors) @ completed(tangents[0], UPLO) @ vectors
    row = 0 if UPLO in ("L", "l") else -1
    free = vectors @ (off_diagonal(turned) / gaps(values))
    vectors_dot = with_phases(free, vectors, lambda x: x[..., row, :])
    return np.real(diagonal_of(turned)), in_part(vectors_dot, equal("eigenvalues"))


@vjp_rule(np.linalg.eigvals)
def eigvals(y_bar, y, a):
    """A V = V diag(y)  ⇒  Ā = V⁻ᴴ diag(ȳ) Vᴴ; the eigenvalues that come with V may stand in another order."""
    values, vectors = np.linalg.eig(a)
    known(gaps(values), True, equal("eigenvalues"))
    places = np.argmin(np.abs(by_columns(values) - by_rows(y)), axis=-1)
    same = by_columns(places) == np.arange(np.shape(y)[-1])
    values_bar = np.sum(np.where(same, by_rows(y_bar), 0), axis=-1)
    return np.linalg.solve(adjoint(vectors), by_columns(values_bar) * adjoint(vectors))


@jvp_rule(np.linalg.eigvals, broadcasts=True)
def push_eigvals(tangents, y, a):
    """ẏ = diag(V⁻¹ Ȧ V), in the order of y."""
    values, vectors = np.linalg.eig(a)
    known(gaps(values), True, equal("eigenvalues"))
    moved = diagonal_of(np.linalg.solve(vectors, tangents[0] @ vectors))
    places = np.argmin(np.abs(by_rows(values) - by_columns(y)), axis=-1)
    return np.sum(np.where(by_columns(places) == np.arange(np.shape(y)[-1]), by_rows(moved), 0), axis=-1)


@vjp_rule(np.linalg.eig, parts=True)
def eig(y_bar, y, a):
    """A V = V diag(w), columns of length 1  ⇒  Ā = V⁻ᴴ (diag(w̄) + Mᵢⱼ / (wⱼ - wᵢ)*) Vᴴ, in which
    M = Vᴴ V̄ - Vᴴ V Re diag(Vᴴ V̄)."""
    (values_bar, vectors_bar), (values, vectors) = y_bar, y
    differences = known(gaps(values), True, equal("eigenvalues"))
    if vectors_bar is None:
        return np.linalg.solve(adjoint(vectors), by_columns(values_bar) * adjoint(vectors))
    turned = adjoint(vectors) @ vectors_bar
    if np.iscomplexobj(vectors):  # which a real matrix may have, or not
        refuse_phases(np.imag(diagonal_of(turned)), turned)
    stretched = (adjoint(vectors) @ vectors) * by_rows(np.real(diagonal_of(turned)))
    core = off_diagonal(turned - stretched) / conj(differences)
    core = core if values_bar is None else core + on_diagonal(values_bar)
    return np.linalg.solve(adjoint(vectors), core @ adjoint(vectors))


@jvp_rule(np.linalg.eig, broadcasts=True)
def push_eig(tangents, y, a):
    """M = V⁻¹ Ȧ V  ⇒  ẇ = diag M, V̇ = V (Mᵢⱼ / (wⱼ - wᵢ)), less what would change a column's length."""
    values, vectors = y
    differences = known(gaps(values), True, equal("eigenvalues"))
    moved = np.linalg.solve(vectors, tangents[0] @ vectors)
    free = vectors @ (off_diagonal(moved) / differences)
    free = free - vectors * by_rows(np.real(np.sum(conj(vectors) * free, axis=-2)))
    largest = by_columns(np.arange(np.shape(vectors)[-1])) == by_rows(np.argmax(np.abs(vectors), axis=-2))
    return diagonal_of(moved), with_phases(free, vectors, lambda x: np.sum(np.where(largest, x, 0), axis=-2))


@vjp_rule(np.linalg.svd, parts=True)
def svd(y_bar, y, a, *, full_matrices=True, compute_uv=True, hermitian=False):
    """A = U diag(s) Vᴴ, of which the thin form has a derivative."""
    if not compute_uv:
        a_bar = singular_values_bar(y_bar, a, hermitian)
    elif y_bar[0] is None and y_bar[2] is None:
        u, _, vh = thin(y)
        a_bar = (u * by_rows(y_bar[1] * np.sign(y[1]))) @ vh
    else:
        a_bar = singular_vectors_bar(thin_bars(y_bar, y), *thin(y))
    return from_triangle(a_bar, "L") if hermitian else a_bar


def singular_values_bar(s_bar, a, hermitian=False):
    """Ā = U diag(s̄) Vᴴ, with 0 in place of s̄ where s is 0, the end of its range."""
    u, s, vh = np.linalg.svd(a, full_matrices=False, hermitian=hermitian)
    return (u * by_rows(s_bar * np.sign(s))) @ vh


def singular_values_dot(a_dot, a, hermitian=False):
    """ṡ = Re diag(Uᴴ Ȧ V), and 0 where s is."""
    u, s, vh = np.linalg.svd(a, full_matrices=False, hermitian=hermitian)
    return np.real(diagonal_of(adjoint(u) @ a_dot @ adjoint(vh))) * np.sign(s)


def thin(y):
    """U, s and Vᴴ without the vectors that have no singular value."""
    u, s, vh = y
    k = np.shape(s)[-1]
    return u[..., :k], s, vh[..., :k, :]


def thin_bars(y_bar, y):
    """Their cotangents; None is zero."""
    u_bar, s_bar, vh_bar = y_bar
    k = np.shape(y[1])[-1]
    u_bar = np.zeros(np.shape(y[0]), y[0].dtype) if u_bar is None else u_bar
    vh_bar = np.zeros(np.shape(y[2]), y[2].dtype) if vh_bar is None else vh_bar
    if np.any(u_bar[..., k:] != 0) or np.any(vh_bar[..., k:, :] != 0):
        raise NoDerivativeError(ADDED)
    return u_bar[..., :k], s_bar, vh_bar[..., :k, :]


def singular_vectors_bar(cotangents, u, s, vh):
    """Ā = U (Pᵢⱼ sⱼ + sᵢ Qᵢⱼ + diag(s̄)) Vᴴ + (1 - U Uᴴ) Ū s⁻¹ Vᴴ + U s⁻¹ V̄ᴴ (1 - V Vᴴ), in which P and Q are
    Uᴴ Ū and Vᴴ V̄ less their adjoints, over sⱼ² - sᵢ²."""
    u_bar, s_bar, vh_bar = cotangents
    of_u, of_v = adjoint(u) @ u_bar, vh @ adjoint(vh_bar)
    columns = used(np.concatenate([u_bar, adjoint(vh_bar)], axis=-2))
    squares = known(gaps(s), by_rows(columns), equal("singular values")) * (by_rows(s) + by_columns(s))
    p, q = (off_diagonal(x - adjoint(x)) / np.where(squares == 0, 1, squares) for x in (of_u, of_v))
    core = p * by_rows(s) + by_columns(s) * q
    if s_bar is not None:
        core = core + on_diagonal(s_bar)
    if is_complex(u):
        refuse_phases(np.imag(diagonal_of(of_u + of_v)), np.abs(of_u) + np.abs(of_v))
        core = core + on_diagonal(1j * np.imag(diagonal_of(of_u)) / lengths(s, columns))
    a_bar = u @ core @ vh
    if np.shape(u)[-2] > np.shape(u)[-1]:
        a_bar = a_bar + ((u_bar - u @ of_u) / by_rows(lengths(s, columns))) @ vh
    if np.shape(vh)[-1] > np.shape(vh)[-2]:
        a_bar = a_bar + u @ ((vh_bar - adjoint(of_v) @ vh) / by_columns(lengths(s, columns)))
    return a_bar


def lengths(s, columns):
    """The singular values, of which those of used `columns` may not be zero."""
    return known(above_zero(s), columns, ZERO)


def above_zero(s):
    """The singular values, nan in place of those that are zero up to rounding."""
    top = np.max(s, axis=-1, keepdims=True, initial=0)
    return np.where(s <= np.shape(s)[-1] * np.finfo(s.dtype).eps * top, np.nan, s)


@jvp_rule(np.linalg.svd, broadcasts=True)
def push_svd(tangents, y, a, *, full_matrices=True, compute_uv=True, hermitian=False):
    """The thin form's; what full_matrices=True adds has no derivative."""
    a_dot = completed(tangents[0], "L") if hermitian else tangents[0]
    if not compute_uv:
        return singular_values_dot(a_dot, a, hermitian)
    u, s, vh = thin(y)
    turned = adjoint(u) @ a_dot @ adjoint(vh)
    u_dot, v_dot = singular_vectors_dot(turned, a_dot, u, s, vh)
    s_dot, why = np.real(diagonal_of(turned)) * np.sign(s), unknown_vectors(s)
    vh_dot = adjoint(with_added(v_dot, adjoint(y[2])))
    return in_part(with_added(u_dot, y[0]), why), s_dot, in_part(vh_dot, why)


def with_added(tangent, vectors):
    """The tangent of all of the `vectors`: nan for those that no singular value belongs to."""
    added = np.full((*np.shape(tangent)[:-1], np.shape(vectors)[-1] - np.shape(tangent)[-1]), np.nan, tangent.dtype)
    return np.concatenate([tangent, added], axis=-1)


def unknown_vectors(s):
    """Why some of the singular vectors have no derivative."""
    if np.any(np.isnan(gaps(s))):
        return equal("singular values")
    return ZERO if np.any(np.isnan(above_zero(s))) else ADDED


def singular_vectors_dot(turned, a_dot, u, s, vh):
    """D = Uᴴ Ȧ V  ⇒  U̇ = U ((Dᵢⱼ sⱼ + sᵢ D*ⱼᵢ)/(sⱼ² - sᵢ²)) + (1 - U Uᴴ) Ȧ V s⁻¹, and of Aᴴ the same for V.

    Of complex vectors LAPACK has the first elements of the shorter ones real.
    """
    squares = gaps(s) * (by_rows(s) + by_columns(s))
    squares = np.where(squares == 0, 1, squares)
    p, q = ((x * by_rows(s) + by_columns(s) * adjoint(x)) / squares for x in (turned, adjoint(turned)))
    u_dot, v_dot = u @ off_diagonal(p), adjoint(vh) @ off_diagonal(q)
    if np.shape(u)[-2] > np.shape(u)[-1]:
        u_dot = u_dot + (a_dot @ adjoint(vh) - u @ turned) / by_rows(above_zero(s))
    if np.shape(vh)[-1] > np.shape(vh)[-2]:
        v_dot = v_dot + (adjoint(a_dot) @ u - adjoint(vh) @ adjoint(turned)) / by_rows(above_zero(s))
    if is_complex(u):
        u_dot = u_dot + u * by_rows(1j * np.imag(diagonal_of(turned)) / above_zero(s))
        both = np.concatenate([u, adjoint(vh)], axis=-2)
        row = np.shape(u)[-2] if np.shape(u)[-2] >= np.shape(vh)[-1] else 0
        both_dot = with_phases(np.concatenate([u_dot, v_dot], axis=-2), both, lambda x: x[..., row, :])
        u_dot, v_dot = both_dot[..., : np.shape(u)[-2], :], both_dot[..., np.shape(u)[-2] :, :]
    return u_dot, v_dot
