"""Gradients through scipy.sparse.csgraph: lengths of shortest paths and of spanning trees, against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array, csgraph, csr_array

import wengert as wg

FROM, TO = np.array([0, 0, 1, 2, 3, 1, 3, 4]), np.array([1, 2, 3, 3, 4, 2, 0, 0])
WEIGHTS = np.array([1.0, 2.5, 2.0, 0.7, 1.1, 0.4, 3.0, 2.2])
NUMBERS = np.cos(np.arange(25.0)).reshape(5, 5)


def dense(w: Any) -> Any:
    graph = np.zeros((5, 5))
    graph[FROM, TO] = w
    return graph


def sparse(w: Any) -> Any:
    return csc_array((w, (FROM, TO)), shape=(5, 5))


def weighted(lengths: Any) -> Any:
    return np.sum(lengths * NUMBERS[: len(lengths)] if np.ndim(lengths) == 2 else lengths * NUMBERS[0])


LENGTHS = {
    "all pairs": lambda g: csgraph.shortest_path(g),
    "undirected": lambda g: csgraph.shortest_path(g, directed=False),
    "Dijkstra": lambda g: csgraph.dijkstra(g, indices=[0, 3]),
    "one source": lambda g: csgraph.dijkstra(g, indices=1, return_predecessors=True)[0],
    "the nearest source": lambda g: csgraph.dijkstra(g, indices=[0, 3], min_only=True),
    "Bellman-Ford": lambda g: csgraph.bellman_ford(g, indices=0),
    "Johnson": lambda g: csgraph.johnson(g),
    "Floyd-Warshall": lambda g: csgraph.floyd_warshall(g, directed=False),
}


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("graph", [dense, sparse])
def test_lengths_of_paths(graph: Any, lengths: Any) -> None:
    def f(w: Any) -> Any:
        return weighted(lengths(graph(w))) ** 2

    expected = np.array([(f(WEIGHTS + 1e-6 * e) - f(WEIGHTS - 1e-6 * e)) / 2e-6 for e in np.eye(len(WEIGHTS))])
    value, gradient = wg.value_and_grad(f)(WEIGHTS)
    assert value == f(WEIGHTS)
    np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(wg.jvp(f, (WEIGHTS,), (WEIGHTS,))[1], expected @ WEIGHTS, rtol=1e-7, atol=1e-7)
    change = wg.grad(f)(WEIGHTS * (1.0 + 1e-5)) - wg.grad(f)(WEIGHTS * (1.0 - 1e-5))
    np.testing.assert_allclose(wg.hessian(f)(WEIGHTS) @ WEIGHTS, change / 2e-5, rtol=1e-6, atol=1e-6)


def test_compiled_lengths_of_paths() -> None:
    gradient = wg.grad(lambda w: weighted(csgraph.dijkstra(sparse(w), indices=[0, 3])) ** 2)
    compiled = wg.compile(gradient)
    for w in (WEIGHTS, WEIGHTS[::-1].copy()):  # whose paths are others
        np.testing.assert_allclose(compiled(w), gradient(w), rtol=1e-12)


def test_a_spanning_tree_and_labels() -> None:
    def f(w: Any) -> Any:
        graph = sparse(w)
        count, label = csgraph.connected_components(graph, directed=False)
        return csgraph.minimum_spanning_tree(graph).sum() ** 2 * count + np.sum(w[label])

    tree = sparse(np.arange(1, 9)).toarray()[csgraph.minimum_spanning_tree(sparse(WEIGHTS)).nonzero()] - 1
    expected = np.zeros(8)
    expected[tree] = 2.0 * WEIGHTS[tree].sum()
    expected[0] += 5.0  # all nodes have the label 0
    np.testing.assert_allclose(wg.grad(f)(WEIGHTS), expected, rtol=1e-14)


def test_a_masked_graph_is_refused() -> None:
    with pytest.raises(wg.NoDerivativeError, match="masked"):
        wg.grad(lambda w: csgraph.shortest_path(np.ma.masked_equal(dense(w), 0.0))[0, 1])(WEIGHTS)


@pytest.mark.parametrize("lengths", [csgraph.shortest_path, csgraph.minimum_spanning_tree])
def test_a_graph_that_holds_an_edge_twice_is_refused(lengths: Any) -> None:
    def f(w: Any) -> Any:
        return lengths(csr_array((w * 1.0, np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))).sum()

    with pytest.raises(wg.NoDerivativeError, match="sum_duplicates"):
        wg.grad(f)(np.array([2.0, 1.0, 3.0]))


@pytest.mark.parametrize("f", [csgraph.floyd_warshall, csgraph.shortest_path, csgraph.minimum_spanning_tree])
def test_a_graph_that_is_overwritten_is_refused(f: Any) -> None:
    with pytest.raises(wg.NoDerivativeError, match="overwrite"):
        wg.grad(lambda w: f(dense(w), overwrite=True).sum())(WEIGHTS)
