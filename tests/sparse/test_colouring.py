"""Colourings tell all entries apart, and matrices come back from products with them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from wengert.sparse.colouring import greedy
from wengert.sparse.csr import Csr
from wengert.sparse.recovery import fewest_passes, seed_vectors


def csr(matrix: np.ndarray) -> Csr:
    found = sparse.csr_array(matrix)
    return Csr(found.indptr, found.indices, found.shape[1])


def recovered(matrix: np.ndarray) -> tuple[np.ndarray, int]:
    """A matrix from its products, and how many these are."""
    pattern = csr(matrix)
    passes = fewest_passes(pattern)
    by_rows = [seed @ matrix for seed in seed_vectors(passes.rows)]
    by_columns = [matrix @ seed for seed in seed_vectors(passes.columns)]
    assert passes.number == len(by_rows) + len(by_columns)
    entries = passes.entries(
        np.reshape(by_rows, (-1, matrix.shape[1])) if by_rows else np.zeros((0, matrix.shape[1])),
        np.reshape(by_columns, (-1, matrix.shape[0])) if by_columns else np.zeros((0, matrix.shape[0])),
    )
    found = np.zeros(matrix.shape)
    found[pattern.rows, pattern.indices] = entries
    return found, passes.number


@pytest.mark.parametrize("seed", range(40))
def test_a_matrix_comes_back_from_its_products(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n = rng.integers(0, 30, 2)
    matrix = rng.normal(size=(m, n)) * (rng.random((m, n)) < rng.choice([0.02, 0.1, 0.5, 1.0]))
    if m and n:
        matrix[:, rng.integers(n)] = rng.choice([0.0, 1.0])
        matrix[rng.integers(m)] = rng.choice([0.0, 2.0])
    found, number = recovered(matrix)
    np.testing.assert_allclose(found, matrix, atol=1e-14)
    assert number <= min(m, n)


@pytest.mark.parametrize("below", range(4))
@pytest.mark.parametrize("above", range(4))
def test_a_band_takes_as_many_passes_as_it_has_diagonals(below: int, above: int) -> None:
    band = np.tril(np.triu(np.ones((40, 40)), -below), above)
    assert recovered(band)[1] == 1 + below + above


@pytest.mark.parametrize("full", [1, 2, 5])
def test_full_rows_and_columns_beside_a_diagonal(full: int) -> None:
    matrix = np.diag(np.arange(1.0, 41.0))
    matrix[:full] = matrix[:, -full:] = 1.0
    assert recovered(matrix)[1] <= 2 * full + 1
    assert recovered(matrix.T)[1] <= 2 * full + 1


def test_members_of_a_colour_share_nothing() -> None:
    pattern = csr(np.random.default_rng(0).random((60, 50)) < 0.05)
    colours = greedy(*pattern)
    rows = [set(pattern.indices[pattern.indptr[i] : pattern.indptr[i + 1]].tolist()) for i in range(60)]
    for i in range(60):
        assert (colours[i] < 0) == (not rows[i])
        assert not any(rows[i] & rows[j] for j in range(i) if colours[i] == colours[j])


@pytest.mark.parametrize("species", [2, 3])
def test_several_species_on_a_line_take_few_colours(species: int) -> None:
    """A cell's species depend on each other, and on the cells beside it, species by species."""
    line, coupled = np.tril(np.triu(np.ones((40, 40)), -1), 1), np.ones((species, species))
    matrix = np.kron(np.eye(species), line) + np.kron(coupled, np.eye(40))
    assert recovered(matrix)[1] == 2 * species
