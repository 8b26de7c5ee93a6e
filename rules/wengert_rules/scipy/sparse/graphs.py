"""Rules for scipy.sparse.csgraph: which edges a path or a tree takes is constant, their weights are not."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csgraph, csr_matrix, issparse

from wengert.extend import NoDerivativeError, jvp_rule, non_differentiable, stands_for, vjp_rule
from wengert_rules.scipy.arguments import arguments

MASKED = "csgraph functions have no derivative in a masked array. Pass a matrix with 0 where there is no edge"
DOUBLED = "csgraph functions have no derivative in a matrix that holds an edge twice. Call its sum_duplicates() before"
OVERWRITTEN = "csgraph functions have no derivative with overwrite=True, which changes the graph. Leave it out"
TREE = type(csgraph.minimum_spanning_tree(np.zeros((1, 1))))


def parts(graph, overwrite=False):
    """The weights of a graph and, for a sparse matrix, where they stand."""
    if overwrite:
        raise NoDerivativeError(OVERWRITTEN)
    if issparse(graph):
        rows = graph.tocsr()
        return rows.data, rows.indices, rows.indptr, rows.shape
    if np.ma.isMaskedArray(graph):
        raise NoDerivativeError(MASKED)
    return np.asarray(graph), None, None, None


def graph_of(weights, indices, indptr, shape):
    return weights if indices is None else csr_matrix((weights, indices, indptr), shape=shape)


@non_differentiable
def found(f, options, *given):
    """Return what `f` finds for the numbers of a graph."""
    return f(graph_of(*given), **options)


@non_differentiable
def tree_edges(*given):
    """Return where the edges of a minimum spanning tree start and end, and where its rows begin."""
    tree = csgraph.minimum_spanning_tree(graph_of(*given))
    return np.repeat(np.arange(tree.shape[0]), np.diff(tree.indptr)), tree.indices, tree.indptr


@non_differentiable
def share(weights, others):
    """The part that each weight has of an undirected edge, beside that of its other direction: the smaller is taken."""
    a, b = (np.where(np.isfinite(w) & (w != 0), w, np.inf) for w in (weights, others))
    return np.where(a < b, 1.0, np.where((a == b) & (a < np.inf), 0.5, 0.0))


def weights_between(given, i, j):
    """The weights of the edges from i to j, 0 where there is none."""
    weights, indices, indptr, shape = given
    if indices is None:
        return weights[i, j]
    numbers = csr_matrix((np.arange(1, len(indices) + 1), indices, indptr), shape=shape, copy=True)
    numbers.sum_duplicates()
    if numbers.nnz < len(indices):
        raise NoDerivativeError(DOUBLED)
    place = np.reshape(np.asarray(numbers[np.ravel(i), np.ravel(j)]), np.shape(i))
    return np.where(place > 0, weights[place - 1], 0.0)


def last_edges(given, predecessors, directed):
    """The weight of each path's last edge, 0 for a path without edges."""
    has_edge = predecessors >= 0
    i, j = np.where(has_edge, predecessors, 0), np.broadcast_to(np.arange(predecessors.shape[-1]), predecessors.shape)
    weights = weights_between(given, i, j)
    if not directed:
        others = weights_between(given, j, i)
        forth, back = share(weights, others), share(others, weights)
        weights = forth * np.where(forth > 0, weights, 0.0) + back * np.where(back > 0, others, 0.0)
    return np.where(has_edge, weights, 0.0)


def levels(predecessors):
    """The rows, columns and predecessors of the nodes of trees, the nodes one edge from a root first."""
    depth, node, row = (predecessors >= 0).astype(int), predecessors, np.arange(len(predecessors))[:, np.newaxis]
    while np.any(node >= 0):  # twice as far up at each turn
        at, above = node >= 0, np.maximum(node, 0)
        depth, node = np.where(at, depth + depth[row, above], depth), np.where(at, node[row, above], node)
    order = np.argsort(depth, axis=None, kind="stable")
    rows, columns = np.unravel_index(order, depth.shape)
    cuts = np.searchsorted(np.ravel(depth)[order], np.arange(1, np.max(depth, initial=0) + 1))
    for r, c in zip(np.split(rows, cuts)[1:], np.split(columns, cuts)[1:], strict=True):
        yield r, c, predecessors[r, c]


def along_paths(last, lengths, predecessors):
    """The lengths of paths, which are the sums of the weights of their edges; `last` are those of the last edges."""
    return np.array(lengths)


@vjp_rule(along_paths)
def along_paths_(y_bar, y, last, lengths, predecessors):
    """The cotangent of an edge is the sum of those of all the paths that take it."""
    total, before = np.array(np.atleast_2d(y_bar)), np.atleast_2d(predecessors)
    for row, node, parent in reversed([*levels(before)]):
        np.add.at(total, (row, parent), total[row, node])
    return np.reshape(np.where(before >= 0, total, 0.0), np.shape(last)), None, None


@jvp_rule(along_paths)
def push_along_paths(tangents, y, last, lengths, predecessors):
    total, before = np.array(np.atleast_2d(tangents[0])), np.atleast_2d(predecessors)
    for row, node, parent in levels(before):
        total[row, node] = total[row, node] + total[row, parent]
    return np.reshape(total, np.shape(y))


def stand_in(f):
    """Return a function that finds paths as `f` does, and gives their lengths their derivative."""

    def lengths(*args, **kwargs):
        options = arguments(f, args, kwargs)
        given = parts(options.pop("csgraph"), options.pop("overwrite", False))
        y, predecessors, *sources = found(f, options | {"return_predecessors": True}, *given)
        if not options["unweighted"]:
            y = along_paths(last_edges(given, predecessors, options["directed"]), y, predecessors)
        return (y, predecessors, *sources) if options["return_predecessors"] else y

    return lengths


for function in (
    csgraph.shortest_path, csgraph.dijkstra, csgraph.bellman_ford, csgraph.johnson, csgraph.floyd_warshall,
):  # fmt: skip
    stands_for(function)(stand_in(function))


@stands_for(csgraph.minimum_spanning_tree)
def minimum_spanning_tree(csgraph, overwrite=False):
    given = parts(csgraph, overwrite)
    i, j, indptr = tree_edges(*given)
    return TREE((weights_between(given, i, j), j, indptr), shape=(len(indptr) - 1, len(indptr) - 1))


def labels(f):
    """Return a function that finds the labels or the order of nodes as `f` does."""

    def call(*args, **kwargs):
        options = arguments(f, args, kwargs)
        return found(f, options, *parts(options.pop(next(iter(options)))))

    return call


for function in (
    csgraph.connected_components, csgraph.breadth_first_order, csgraph.depth_first_order,
    csgraph.reverse_cuthill_mckee, csgraph.structural_rank, csgraph.maximum_bipartite_matching,
    csgraph.min_weight_full_bipartite_matching,
):  # fmt: skip
    stands_for(function)(labels(function))
