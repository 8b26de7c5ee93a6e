"""Eigenvalues and singular values with their vectors, and the factorisations of Cholesky and QR.

Where a function reads one triangle of a Hermitian matrix, the cotangent of the other is zero.
"""

from __future__ import annotations

import numpy as np

from wengert.extend import NoDerivativeError, adjoint, is_complex, pullback
from wengert_rules.products import conj


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


def gaps(values, what):
    """Row by row, by how much each of the values exceeds another; 1 on the diagonal.

    Errors: NoDerivativeError where two values of one matrix are the same up to rounding.
    """
    n = np.shape(values)[-1]
    itself = np.eye(n, dtype=bool)
    differences = np.where(itself, 1, by_rows(values) - by_columns(values))
    rounding = n * np.finfo(values.dtype).eps * np.max(np.abs(values), axis=-1, keepdims=True, initial=0)
    if np.any(np.where(itself, False, np.abs(differences) <= by_rows(rounding))):
        raise NoDerivativeError(
            f"two {what} are equal, so that their vectors are any of a plane and have no derivative. "
            f"The {what} alone have one; or move the matrix off the point"
        )
    return differences


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


@pullback(np.linalg.eigvalsh)
def eigvalsh(y_bar, y, a, *, UPLO="L"):
    """A V = V diag(y)  ⇒  Ā = V diag(ȳ) Vᴴ."""
    return from_triangle(from_values(y_bar, np.linalg.eigh(a, UPLO)[1]), UPLO)


@pullback(np.linalg.eigh, parts=True)
def eigh(y_bar, y, a, *, UPLO="L"):
    """A V = V diag(w)  ⇒  Ā = V (diag(w̄) + (Vᴴ V̄)ᵢⱼ / (wⱼ - wᵢ)) Vᴴ."""
    (values_bar, vectors_bar), (values, vectors) = y_bar, y
    if vectors_bar is None:
        return from_triangle(from_values(values_bar, vectors), UPLO)
    turned = adjoint(vectors) @ vectors_bar
    if is_complex(a):
        refuse_phases(np.imag(diagonal_of(turned)), turned)
    core = off_diagonal(turned) / gaps(values, "eigenvalues")
    core = core if values_bar is None else core + on_diagonal(values_bar)
    return from_triangle(vectors @ core @ adjoint(vectors), UPLO)


@pullback(np.linalg.eigvals)
def eigvals(y_bar, y, a):
    """A V = V diag(y)  ⇒  Ā = V⁻ᴴ diag(ȳ) Vᴴ; the eigenvalues that come with V may stand in another order."""
    values, vectors = np.linalg.eig(a)
    gaps(values, "eigenvalues")
    places = np.argmin(np.abs(by_columns(values) - by_rows(y)), axis=-1)
    same = by_columns(places) == np.arange(np.shape(y)[-1])
    values_bar = np.sum(np.where(same, by_rows(y_bar), 0), axis=-1)
    return np.linalg.solve(adjoint(vectors), by_columns(values_bar) * adjoint(vectors))


@pullback(np.linalg.eig, parts=True)
def eig(y_bar, y, a):
    """A V = V diag(w), columns of length 1  ⇒  Ā = V⁻ᴴ (diag(w̄) + Mᵢⱼ / (wⱼ - wᵢ)*) Vᴴ, in which
    M = Vᴴ V̄ - Vᴴ V Re diag(Vᴴ V̄)."""
    (values_bar, vectors_bar), (values, vectors) = y_bar, y
    differences = gaps(values, "eigenvalues")
    if vectors_bar is None:
        return np.linalg.solve(adjoint(vectors), by_columns(values_bar) * adjoint(vectors))
    turned = adjoint(vectors) @ vectors_bar
    if np.iscomplexobj(vectors):  # which a real matrix may have, or not
        refuse_phases(np.imag(diagonal_of(turned)), turned)
    stretched = (adjoint(vectors) @ vectors) * by_rows(np.real(diagonal_of(turned)))
    core = off_diagonal(turned - stretched) / conj(differences)
    core = core if values_bar is None else core + on_diagonal(values_bar)
    return np.linalg.solve(adjoint(vectors), core @ adjoint(vectors))


@pullback(np.linalg.svd, parts=True)
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
        raise NoDerivativeError(
            "the vectors that full_matrices=True adds to a singular value decomposition are any basis of a plane and "
            "have no derivative. Use full_matrices=False"
        )
    return u_bar[..., :k], s_bar, vh_bar[..., :k, :]


def singular_vectors_bar(bars, u, s, vh):
    """Ā = U (Pᵢⱼ sⱼ + sᵢ Qᵢⱼ + diag(s̄)) Vᴴ + (1 - U Uᴴ) Ū s⁻¹ Vᴴ + U s⁻¹ V̄ᴴ (1 - V Vᴴ), in which P and Q are
    Uᴴ Ū and Vᴴ V̄ less their adjoints, over sⱼ² - sᵢ²."""
    u_bar, s_bar, vh_bar = bars
    of_u, of_v = adjoint(u) @ u_bar, vh @ adjoint(vh_bar)
    squares = gaps(s, "singular values") * (by_rows(s) + by_columns(s))
    p, q = (off_diagonal(x - adjoint(x)) / np.where(squares == 0, 1, squares) for x in (of_u, of_v))
    core = p * by_rows(s) + by_columns(s) * q
    if s_bar is not None:
        core = core + on_diagonal(s_bar)
    if is_complex(u):
        refuse_phases(np.imag(diagonal_of(of_u + of_v)), np.abs(of_u) + np.abs(of_v))
        core = core + on_diagonal(1j * np.imag(diagonal_of(of_u)) / positive(s))
    a_bar = u @ core @ vh
    if np.shape(u)[-2] > np.shape(u)[-1]:
        a_bar = a_bar + ((u_bar - u @ of_u) / by_rows(positive(s))) @ vh
    if np.shape(vh)[-1] > np.shape(vh)[-2]:
        a_bar = a_bar + u @ ((vh_bar - adjoint(of_v) @ vh) / by_columns(positive(s)))
    return a_bar


def positive(s):
    """The singular values, none of which may be zero up to rounding."""
    top = np.max(s, axis=-1, keepdims=True, initial=0)
    if np.any(s <= np.shape(s)[-1] * np.finfo(s.dtype).eps * top):
        raise NoDerivativeError(
            "a singular value is zero, so that its vectors have no derivative. The singular values alone have one; "
            "or move the matrix off the point"
        )
    return s


@pullback(np.linalg.cholesky)
def cholesky(y_bar, y, a, *, upper=False):
    """A = L Lᴴ, P the lower half of Lᴴ L̄ with half its diagonal  ⇒  Ā = L⁻ᴴ P L⁻¹."""
    factor_h, bar = (y, adjoint(y_bar)) if upper else (adjoint(y), y_bar)
    inverse = np.linalg.inv(factor_h)
    whole = inverse @ half(factor_h @ bar, "L") @ adjoint(inverse)
    return from_triangle(whole, "U" if upper else "L")


@pullback(np.linalg.qr, parts=True)
def qr(y_bar, y, a, *, mode="reduced"):
    """A = Q R. The columns of A beyond the rows of a wide R = (R₁ R₂) are Q R₂, and follow from Q and R₂."""
    if mode == "raw":
        raise NoDerivativeError("mode='raw' of np.linalg.qr has no rule. Use mode='reduced'")
    q, r = (np.linalg.qr(a)[0], y) if mode == "r" else y
    q_bar, r_bar = (None, y_bar) if mode == "r" else y_bar
    k, n = min(np.shape(a)[-2:]), np.shape(a)[-1]
    q_bar = np.zeros(np.shape(q), q.dtype) if q_bar is None else q_bar
    r_bar = np.zeros(np.shape(r), r.dtype) if r_bar is None else r_bar
    if mode == "complete" and np.any(q_bar[..., k:] != 0):
        raise NoDerivativeError(
            "the columns that mode='complete' adds to Q are any basis of a plane and have no derivative. "
            "Use mode='reduced'"
        )
    q, r, q_bar, r_bar = q[..., :k], r[..., :k, :], q_bar[..., :k], r_bar[..., :k, :]
    if n == k:
        return square_qr_bar(q_bar, r_bar, q, r)
    first = square_qr_bar(q_bar + a[..., k:] @ adjoint(r_bar[..., k:]), r_bar[..., :k], q, r[..., :k])
    return np.concatenate([first, q @ r_bar[..., k:]], axis=-1)


def square_qr_bar(q_bar, r_bar, q, r):
    """X the upper half of R̄ Rᴴ - Qᴴ Q̄ with half its diagonal  ⇒  Ā = (Q̄ + Q (X + Xᴴ)) R⁻ᴴ."""
    x = completed(r_bar @ adjoint(r) - adjoint(q) @ q_bar, "U")
    try:
        return adjoint(np.linalg.solve(r, adjoint(q_bar + q @ x)))
    except np.linalg.LinAlgError:
        raise NoDerivativeError(
            "the columns of the matrix are linearly dependent, where its QR factors have no derivative"
        ) from None
