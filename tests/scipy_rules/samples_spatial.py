"""Samples of scipy.spatial: distances, trees and rotations."""

from __future__ import annotations

from typing import Any

import numpy as np
from sampling import Sample, call, values
from scipy.spatial import distance, distance_matrix, minkowski_distance

from wengert_rules.scipy.spatial import distances

A = np.random.default_rng(0).uniform(0.3, 2.1, (4, 3))  # `values` are evenly spaced: their differences tie
B = np.random.default_rng(1).uniform(0.3, 1.7, (3, 3))
W = values(3, low=0.2, high=0.9)

SAMPLES: list[Sample] = [
    call(distances.apart, A, B),
    call(distances.apart, A + 1000, B + 1000),
    call(distances.pairs, A),
]

SMOOTH = (
    "euclidean", "sqeuclidean", "cityblock", "chebyshev", "canberra", "braycurtis", "cosine", "correlation",
    "jensenshannon", "dice", "seuclidean", "mahalanobis",
)  # fmt: skip
WEIGHTED = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "canberra", "braycurtis")
OF_TRUTHS = ("hamming", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
TRUTHS = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])


def cdist(metric: str) -> Any:
    def all_distances(a: Any, b: Any, **options: Any) -> Any:
        return distance.cdist(a, b, metric, **options)

    return all_distances


def pdist(metric: str) -> Any:
    def pairs_of(x: Any, **options: Any) -> Any:
        return distance.pdist(x, metric, **options)

    return pairs_of


def weighted(metric: str) -> Any:
    def by_weight(a: Any, b: Any, w: Any) -> Any:
        return distance.cdist(a, b, metric, w=w)

    return by_weight


def of_truths(metric: str) -> Any:
    def by_weight(w: Any) -> Any:
        return distance.cdist(TRUTHS, TRUTHS[::-1], metric, w=w)

    return by_weight


def into(a: Any, b: Any) -> Any:
    out = np.empty((len(a), len(b)))
    distance.cdist(a, b, "cosine", out=out)
    return out


def squared(x: Any) -> Any:
    return distance.squareform(distance.squareform(distance.pdist(x)))


def by_minkowski(a: Any, b: Any, p: Any) -> Any:
    return distance.cdist(a, b, "minkowski", p=p)


def by_variances(a: Any, b: Any, v: Any) -> Any:
    return distance.cdist(a, b, "seuclidean", V=v)


def by_covariance(a: Any, b: Any, inverse: Any) -> Any:
    return distance.cdist(a, b, "mahalanobis", VI=inverse)


def farthest(a: Any, b: Any) -> Any:
    return distance.directed_hausdorff(a, b)[0]


TRACED = [
    *[call(cdist(metric), A, B) for metric in SMOOTH],
    *[call(pdist(metric), A) for metric in SMOOTH],
    *[call(weighted(metric), A, B, W) for metric in WEIGHTED],
    *[call(of_truths(metric), W) for metric in OF_TRUTHS],
    *[call(by_minkowski, A, B, p) for p in (1.5, 3.0)],
    *[call(cdist("minkowski"), A, B, p=p, w=W) for p in (1, 2, 3.5, np.inf)],
    call(by_variances, A, B, W),
    call(by_covariance, A, B, np.eye(3) + 0.1 * B),
    call(cdist("euclidean"), A, A[:2]),
    call(into, A, B),
    call(squared, A),
    call(farthest, A, B),
    call(distance_matrix, A, B),
    call(minkowski_distance, A[:3], B),
]
