"""Trees of points: which neighbours are found is constant, their distances are computed of the points again."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.spatial import KDTree, cKDTree

from wengert.extend import RefusedCallError, is_traced, non_differentiable, stands_for
from wengert_rules.scipy.spatial.distances import minkowski


class MovingTree(KDTree):
    """A tree of traced points: `constant` is the tree of their numbers, `moving` the points themselves."""

    @property
    def data(self):
        return self.moving


def numbers(x):
    """The numbers of an array, for code in C, of whose objects a tape knows nothing."""
    made = as_constant(x)
    if is_traced(made):
        raise RefusedCallError(
            "a tape cannot record trees, hulls and triangulations of traced points, whose structure may change. "
            "Use wg.grad or wg.jvp, or build them from constant points"
        )
    return made


@non_differentiable
def as_constant(x):
    return np.array(x)


@stands_for(cKDTree, KDTree)
def tree_of(data, leafsize=16, compact_nodes=True, copy_data=False, balanced_tree=True, boxsize=None):
    options = leafsize, compact_nodes, copy_data, balanced_tree, boxsize
    tree = MovingTree(numbers(data), *options)
    tree.constant, tree.moving = KDTree(numbers(data), *options), np.asarray(data)
    return tree


def constant(tree):
    return getattr(tree, "constant", tree)


@non_differentiable
def neighbours(tree, x, k, eps, p, distance_upper_bound, workers):
    return cKDTree.query(tree, x, k, eps, p, distance_upper_bound, workers)[1]


@non_differentiable
def near(tree, x, r, p, eps, workers, return_sorted, return_length):
    return cKDTree.query_ball_point(tree, x, r, p, eps, workers, return_sorted, return_length)


@non_differentiable
def near_pairs(tree, r, p, eps, output_type):
    return cKDTree.query_pairs(tree, r, p, eps, output_type)


@non_differentiable
def near_of_tree(tree, other, r, p, eps):
    return cKDTree.query_ball_tree(tree, other, r, p, eps)


@non_differentiable
def close(tree, other, max_distance, p):
    found = cKDTree.sparse_distance_matrix(tree, other, max_distance, p, "ndarray")
    return found["i"], found["j"]


def distances(tree, i, x, p):
    """The distances of the points number i of a tree from x, around the box where there is one."""
    away = tree.data[i] - x
    box = tree.boxsize
    if box is not None and np.any(box):
        away = away - np.where(box > 0, box * np.round(away / np.where(box > 0, box, 1.0)), 0.0)
    return minkowski(away, 0.0, p=p)


@stands_for(cKDTree.query)
def query(self, x, k=1, eps=0.0, p=2.0, distance_upper_bound=np.inf, workers=1):
    """Where there are too few neighbours, the distance is infinite and the number that of a point too many."""
    i, x = neighbours(constant(self), x, k, eps, p, distance_upper_bound, workers), np.asarray(x)
    found = i < self.n
    centres = x[..., np.newaxis, :] if np.ndim(i) == np.ndim(x) else x
    away = distances(self, np.where(found, i, 0), centres, p)
    return (away if np.all(found) else np.where(found, away, np.inf)), i


@stands_for(cKDTree.query_ball_point)
def query_ball_point(self, x, r, p=2.0, eps=0.0, workers=1, return_sorted=None, return_length=False):
    return near(constant(self), x, r, p, eps, workers, return_sorted, return_length)


@stands_for(cKDTree.query_pairs)
def query_pairs(self, r, p=2.0, eps=0.0, output_type="set"):
    return near_pairs(constant(self), r, p, eps, output_type)


@stands_for(cKDTree.query_ball_tree)
def query_ball_tree(self, other, r, p=2.0, eps=0.0):
    return near_of_tree(constant(self), constant(other), r, p, eps)


@stands_for(cKDTree.sparse_distance_matrix)
def sparse_distance_matrix(self, other, max_distance, p=2.0, output_type="dok_matrix"):
    i, j = close(constant(self), constant(other), max_distance, p)
    away = distances(self, i, other.data[j], p)
    if output_type == "dict":
        return {(int(a), int(b)): away[n] for n, (a, b) in enumerate(zip(i, j, strict=True))}
    return coo_matrix((away, (i, j)), shape=(self.n, other.n)).asformat(output_type.removesuffix("_matrix"))
